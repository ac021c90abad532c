// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/plugin"
)

// addPlugins adds plugins' commands to root if args may name one. For a command that no plugin can
// replace, it does not read the plugins' directory.
func addPlugins(root *cobra.Command, f *cmdutil.Factory, args []string) {
	place, found := findCommand(root, args)
	if !found {
		addAll(root, f, f.Plugins().All(), pluginCall{factory: f, root: root}, false)
		return
	}
	word := args[place]
	if strings.HasPrefix(word, cobra.ShellCompRequestCmd) {
		words := args[place+1:]
		if at, ok := findCommand(root, words[:max(len(words)-1, 0)]); ok && words[at] != "help" &&
			isBuiltin(root, f, words[at]) {
			return
		}
		// Warnings would appear in the line that the user is typing.
		addAll(root, f, f.Plugins().Quietly(), pluginCall{factory: f, root: root}, true)
		return
	}
	if word != "help" && isBuiltin(root, f, word) {
		return
	}
	addAll(root, f, f.Plugins().All(), pluginCall{f, root, args[:place], args[place+1:]}, word == "help")
}

// addAll adds plugins' commands, some as replacements of built-in ones. subcommands adds the
// commands and flags in completion.yaml too.
func addAll(root *cobra.Command, f *cmdutil.Factory, plugins []*plugin.Plugin, call pluginCall, words bool) {
	for _, p := range plugins {
		if !p.HasCommand() || isBuiltin(root, f, p.Name) {
			continue
		}
		cmd := call.command(p, removeBuiltin(root, p.Name))
		if words {
			if c, err := p.Completion(); err == nil {
				call.addSubcommands(cmd, p, c)
			}
		}
		root.AddCommand(cmd)
	}
}

// findCommand returns the index of the command's name in args, by Cobra's rules: an unknown flag
// has a value.
func findCommand(root *cobra.Command, args []string) (int, bool) {
	flags := root.PersistentFlags()
	alone := func(f *pflag.Flag) bool { return f != nil && f.NoOptDefVal != "" }
	for i := 0; i < len(args); i++ {
		s := args[i]
		switch {
		case s == "--":
			return 0, false
		case strings.Contains(s, "=") && strings.HasPrefix(s, "-"):
		case strings.HasPrefix(s, "--") && !alone(flags.Lookup(s[2:])):
			i++
		case len(s) == 2 && s[0] == '-' && s[1] < 0x80 && !alone(flags.ShorthandLookup(s[1:])):
			i++
		case s != "" && s[0] != '-':
			return i, true
		}
	}
	return 0, false
}

// isCompletion reports whether args are a completion request of a shell.
func isCompletion(root *cobra.Command, args []string) bool {
	place, found := findCommand(root, args)
	return found && strings.HasPrefix(args[place], cobra.ShellCompRequestCmd)
}

// pluginCall holds the arguments before and after a plugin's name.
type pluginCall struct {
	factory       *cmdutil.Factory
	root          *cobra.Command
	before, after []string
}

// command returns a plugin's command, which gets all arguments after its name except helm's global
// flags. replaces says whether it replaces a built-in command.
func (call pluginCall) command(p *plugin.Plugin, replaces bool) *cobra.Command {
	cmd := &cobra.Command{
		Use: p.Name, Short: p.Short, Long: p.Long,
		DisableFlagParsing: true,
		ValidArgsFunction:  call.complete(p),
		// run parses the flags.
		PersistentPreRunE: func(*cobra.Command, []string) error { return nil },
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := call.run(cmd, p)
			if replaces && isHelpRequest(call.after) {
				fmt.Fprintf(call.factory.Err, "\n%s\n", replacementNote(p))
			}
			return err
		},
	}
	if words := strings.Fields(p.Usage); len(words) > 1 && words[0] == p.Name {
		cmd.Use = p.Usage
	}
	if cmd.Short == "" {
		cmd.Short = fmt.Sprintf("the plugin %q", p.Name)
	}
	if replaces {
		describeReplacement(cmd, p)
	}
	return cmd
}

func (call pluginCall) run(cmd *cobra.Command, p *plugin.Plugin) error {
	f := call.factory
	globals, rest := splitGlobals(call.after)
	if err := call.root.PersistentFlags().Parse(slices.Concat(call.before, globals)); errors.Is(err, pflag.ErrHelp) {
		return call.root.Help()
	} else if err != nil {
		return flagError(call.root, err)
	}
	if err := f.Start(); err != nil {
		return err
	}
	err := f.Plugins().Command(cmd.Context(), p, rest)
	var exit *plugin.ExitError
	switch {
	case errors.As(err, &exit):
		if p.Runtime != plugin.Lua { // Lua plugins print their own error
			fmt.Fprintf(f.Err, "%s plugin %q exited with error\n", f.Style(f.Err).Red("Error:"), p.Name)
		}
		return &cmdutil.ExitError{Code: exit.Code}
	case errors.Is(err, context.Canceled):
		return context.Canceled
	}
	return err
}

// takenFlags are the global flags that helm parses even after a plugin's name, and whether they
// have a value. The list is Helm's.
var takenFlags = map[string]bool{
	"--debug": false, "--kube-insecure-skip-tls-verify": false,
	"-n": true, "--namespace": true, "--kubeconfig": true, "--kube-context": true, "--kube-apiserver": true,
	"--kube-token": true, "--kube-as-user": true, "--kube-as-group": true, "--kube-ca-file": true,
	"--kube-tls-server-name": true, "--registry-config": true, "--repository-config": true, "--repository-cache": true,
}

// splitGlobals splits arguments into global flags and those for the plugin. As in Helm, it finds
// global flags after "--" too.
func splitGlobals(args []string) (globals, rest []string) {
	for i := 0; i < len(args); i++ {
		name, _, has := strings.Cut(args[i], "=")
		value, taken := takenFlags[name]
		switch {
		case !taken, has && name == "--debug":
			rest = append(rest, args[i])
		case value && !has:
			globals = append(globals, args[i:min(i+2, len(args))]...)
			i++
		default:
			globals = append(globals, args[i])
		}
	}
	return globals, rest
}

// addSubcommands adds the flags and commands in completion.yaml, for completion and help.
func (call pluginCall) addSubcommands(cmd *cobra.Command, p *plugin.Plugin, c plugin.Completion) {
	call.addFlags(cmd, c.Flags)
	if len(c.ValidArgs) > 0 {
		cmd.ValidArgs, cmd.ValidArgsFunction = c.ValidArgs, nil
	}
	if len(c.Commands) > 0 {
		cmd.ValidArgsFunction = nil
	}
	for _, sub := range c.Commands {
		child := &cobra.Command{
			Use: sub.Name, DisableFlagParsing: true, ValidArgsFunction: call.complete(p),
			Run: func(*cobra.Command, []string) {}, // Cobra hides commands without Run
		}
		call.addSubcommands(child, p, sub)
		cmd.AddCommand(child)
	}
}

// addFlags adds boolean flags. A single letter in names is the shorthand of the next long name.
// Names of helm's own flags are skipped.
func (call pluginCall) addFlags(cmd *cobra.Command, names []string) {
	fs, globals := cmd.Flags(), call.root.PersistentFlags()
	var letters []string
	add := func(name, letter string) {
		if letter == "h" || letter != "" && (globals.ShorthandLookup(letter) != nil || fs.ShorthandLookup(letter) != nil) {
			letter = ""
		}
		if name != "help" && name != "" && fs.Lookup(name) == nil && globals.Lookup(name) == nil {
			fs.BoolP(name, letter, false, "")
		}
	}
	for _, name := range names {
		if len(name) == 1 {
			letters = append(letters, name)
		}
	}
	for _, name := range names {
		if len(name) == 1 {
			continue
		}
		letter := ""
		if len(letters) > 0 {
			letter, letters = letters[0], letters[1:]
		}
		add(name, letter)
	}
	for _, letter := range letters {
		add(letter, letter)
	}
}

// pluginTimeout limits a plugin's completion.
const pluginTimeout = 10 * time.Second

// complete returns a completion function that asks the plugin's program.
func (call pluginCall) complete(p *plugin.Plugin) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		if !p.HasProgram() {
			return nil, cobra.ShellCompDirectiveDefault
		}
		globals, rest := splitGlobals(args)
		// The last flag of a line that is being typed may lack its value.
		_ = call.root.PersistentFlags().Parse(globals)
		var path []string // of the commands in completion.yaml
		for c := cmd; c.HasParent() && c.Parent() != call.root; c = c.Parent() {
			path = append([]string{c.Name()}, path...)
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), pluginTimeout)
		defer cancel()
		words, directive, err := call.factory.Plugins().Complete(ctx, p, slices.Concat(path, rest, []string{toComplete}))
		if err != nil {
			return nil, cobra.ShellCompDirectiveDefault
		}
		return slices.DeleteFunc(words, call.isGlobalFlag), cobra.ShellCompDirective(directive)
	}
}

// isGlobalFlag reports whether word is one of helm's global flags, which Cobra offers anyway.
func (call pluginCall) isGlobalFlag(word string) bool {
	word, _, _ = strings.Cut(word, "\t")
	name, flag := strings.CutPrefix(word, "--")
	return flag && call.root.PersistentFlags().Lookup(name) != nil
}
