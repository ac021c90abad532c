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

// addPlugins adds the commands of plugins to root where args can mean one. For a
// command whose place no plugin can take, the plugins' directory is not read.
func addPlugins(root *cobra.Command, f *cmdutil.Factory, args []string) {
	place, found := commandPlace(root, args)
	if !found {
		addAll(root, f, f.Plugins().All(), pluginCall{e: f, root: root}, false)
		return
	}
	word := args[place]
	if strings.HasPrefix(word, cobra.ShellCompRequestCmd) {
		words := args[place+1:]
		if at, ok := commandPlace(root, words[:max(len(words)-1, 0)]); ok && words[at] != "help" &&
			stays(root, f, words[at]) {
			return
		}
		// Warnings would appear in the middle of what the user types.
		addAll(root, f, f.Plugins().Quietly(), pluginCall{e: f, root: root}, true)
		return
	}
	if word != "help" && stays(root, f, word) {
		return
	}
	addAll(root, f, f.Plugins().All(), pluginCall{f, root, args[:place], args[place+1:]}, word == "help")
}

// addAll adds plugins' commands, some in place of built-in ones; words says whether
// also the commands below them that completion.yaml tells of.
func addAll(root *cobra.Command, f *cmdutil.Factory, plugins []*plugin.Plugin, call pluginCall, words bool) {
	for _, p := range plugins {
		if !p.HasCommand() || stays(root, f, p.Name) {
			continue
		}
		cmd := call.command(p, replace(root, p.Name))
		if words {
			if c, err := p.Completion(); err == nil {
				call.addWords(cmd, p, c)
			}
		}
		root.AddCommand(cmd)
	}
}

// commandPlace finds the word that is the command, by Cobra's rules: a flag that
// no one knows takes a value.
func commandPlace(root *cobra.Command, args []string) (int, bool) {
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

// completes reports whether args ask what a command line may go on with.
func completes(root *cobra.Command, args []string) bool {
	place, found := commandPlace(root, args)
	return found && strings.HasPrefix(args[place], cobra.ShellCompRequestCmd)
}

// pluginCall is what was typed around a plugin's name.
type pluginCall struct {
	e             *cmdutil.Factory
	root          *cobra.Command
	before, after []string
}

// command is a plugin's command. It gets everything behind its name, but for the
// global flags that helm takes out; replaces says whether it runs in place of a
// built-in one.
func (call pluginCall) command(p *plugin.Plugin, replaces bool) *cobra.Command {
	cmd := &cobra.Command{
		Use: p.Name, Short: p.Short, Long: p.Long,
		DisableFlagParsing: true,
		ValidArgsFunction:  call.complete(p),
		// Flags are read by run.
		PersistentPreRunE: func(*cobra.Command, []string) error { return nil },
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := call.run(cmd, p)
			if replaces && asksHelp(call.after) {
				fmt.Fprintf(call.e.Err, "\n%s\n", replacementNote(p))
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
	f := call.e
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
		if p.Runtime != plugin.Lua { // those say by themselves what went wrong
			fmt.Fprintf(f.Err, "%s plugin %q exited with error\n", f.Style(f.Err).Red("Error:"), p.Name)
		}
		return &cmdutil.ExitError{Code: exit.Code}
	case errors.Is(err, context.Canceled):
		return context.Canceled
	}
	return err
}

// takenFlags are the global flags that helm takes out of what is behind a
// plugin's name, with whether they have a value; the others are the plugin's own
// to understand. The list is Helm's.
var takenFlags = map[string]bool{
	"--debug": false, "--kube-insecure-skip-tls-verify": false,
	"-n": true, "--namespace": true, "--kubeconfig": true, "--kube-context": true, "--kube-apiserver": true,
	"--kube-token": true, "--kube-as-user": true, "--kube-as-group": true, "--kube-ca-file": true,
	"--kube-tls-server-name": true, "--registry-config": true, "--repository-config": true, "--repository-cache": true,
}

// splitGlobals parts arguments into global flags and those for the plugin, as
// Helm does: wherever they stand, behind "--" too.
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

// addWords adds what completion.yaml tells of a command, for completion and help.
func (call pluginCall) addWords(cmd *cobra.Command, p *plugin.Plugin, c plugin.Completion) {
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
			Run: func(*cobra.Command, []string) {}, // only what runs is shown
		}
		call.addWords(child, p, sub)
		cmd.AddCommand(child)
	}
}

// addFlags adds flags, of which a letter is another name of the word that follows
// in the list. Names that helm needs itself stay helm's.
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

// pluginPatience bounds what a shell waits for.
const pluginPatience = 10 * time.Second

// complete asks the plugin's own program.
func (call pluginCall) complete(p *plugin.Plugin) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		if !p.HasProgram() {
			return nil, cobra.ShellCompDirectiveDefault
		}
		globals, rest := splitGlobals(args)
		// Of a line that is being typed, the last flag may not have its value yet.
		_ = call.root.PersistentFlags().Parse(globals)
		var path []string // of the commands that completion.yaml tells of
		for c := cmd; c.HasParent() && c.Parent() != call.root; c = c.Parent() {
			path = append([]string{c.Name()}, path...)
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), pluginPatience)
		defer cancel()
		words, directive, err := call.e.Plugins().Complete(ctx, p, slices.Concat(path, rest, []string{toComplete}))
		if err != nil {
			return nil, cobra.ShellCompDirectiveDefault
		}
		return slices.DeleteFunc(words, call.offered), cobra.ShellCompDirective(directive)
	}
}

// offered reports whether a word is one of helm's own flags, which are offered
// anyway: a plugin that asks helm for words has them a second time.
func (call pluginCall) offered(word string) bool {
	word, _, _ = strings.Cut(word, "\t")
	name, flag := strings.CutPrefix(word, "--")
	return flag && call.root.PersistentFlags().Lookup(name) != nil
}
