// SPDX-License-Identifier: Apache-2.0

// Package cli is the command tree of helm. [Main] finds the command, runs it, and prints an error
// as a message, hints and an exit code.
package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	applycmd "github.com/moonhelm/moonhelm/internal/cli/apply"
	"github.com/moonhelm/moonhelm/internal/cli/completion"
	"github.com/moonhelm/moonhelm/internal/cli/crds"
	"github.com/moonhelm/moonhelm/internal/cli/create"
	"github.com/moonhelm/moonhelm/internal/cli/dependency"
	"github.com/moonhelm/moonhelm/internal/cli/diff"
	"github.com/moonhelm/moonhelm/internal/cli/docs"
	"github.com/moonhelm/moonhelm/internal/cli/drift"
	envcmd "github.com/moonhelm/moonhelm/internal/cli/env"
	"github.com/moonhelm/moonhelm/internal/cli/get"
	"github.com/moonhelm/moonhelm/internal/cli/graph"
	"github.com/moonhelm/moonhelm/internal/cli/help"
	"github.com/moonhelm/moonhelm/internal/cli/history"
	"github.com/moonhelm/moonhelm/internal/cli/install"
	"github.com/moonhelm/moonhelm/internal/cli/lint"
	"github.com/moonhelm/moonhelm/internal/cli/list"
	lspcmd "github.com/moonhelm/moonhelm/internal/cli/lsp"
	"github.com/moonhelm/moonhelm/internal/cli/ownership"
	packaging "github.com/moonhelm/moonhelm/internal/cli/package"
	"github.com/moonhelm/moonhelm/internal/cli/plugin"
	"github.com/moonhelm/moonhelm/internal/cli/pull"
	"github.com/moonhelm/moonhelm/internal/cli/push"
	readmecmd "github.com/moonhelm/moonhelm/internal/cli/readme"
	"github.com/moonhelm/moonhelm/internal/cli/registry"
	"github.com/moonhelm/moonhelm/internal/cli/repo"
	"github.com/moonhelm/moonhelm/internal/cli/rollback"
	"github.com/moonhelm/moonhelm/internal/cli/rollout"
	"github.com/moonhelm/moonhelm/internal/cli/schema"
	"github.com/moonhelm/moonhelm/internal/cli/script"
	"github.com/moonhelm/moonhelm/internal/cli/search"
	"github.com/moonhelm/moonhelm/internal/cli/show"
	"github.com/moonhelm/moonhelm/internal/cli/status"
	"github.com/moonhelm/moonhelm/internal/cli/template"
	"github.com/moonhelm/moonhelm/internal/cli/test"
	"github.com/moonhelm/moonhelm/internal/cli/uninstall"
	"github.com/moonhelm/moonhelm/internal/cli/unittest"
	"github.com/moonhelm/moonhelm/internal/cli/upgrade"
	valuescmd "github.com/moonhelm/moonhelm/internal/cli/values"
	"github.com/moonhelm/moonhelm/internal/cli/verify"
	"github.com/moonhelm/moonhelm/internal/cli/version"
	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/internal/ui"
)

// Main runs helm with the given arguments, without the program's name, and returns the exit code:
// 0, or 1 after an error. An interrupt cancels the command.
func Main(args []string, streams term.Streams) int {
	if len(args) > 0 && args[0] == cmdutil.LuaCommand {
		return luaPlugin(args[1:], streams)
	}
	ctx, stop := signal.NotifyContext(context.Background(), interrupts()...)
	defer stop()
	context.AfterFunc(ctx, func() {
		// A second interrupt must end the program at once, whatever hangs. But when a terminal is
		// closed, the kernel and the shell send a SIGHUP each.
		signal.Ignore(syscall.SIGHUP)
		stop()
	})
	f := cmdutil.New(streams)
	f.Settings.CalledAs(os.Args[0])
	return Run(ctx, args, f)
}

// Run is [Main] with its dependencies injected.
func Run(ctx context.Context, args []string, f *cmdutil.Factory) int {
	if f.Settings.Binary == "" {
		f.Settings.Binary, _ = os.Executable() // "" if the system does not support it
	}
	defer f.Close()
	f.Context = ctx
	root := newFor(f, args)
	root.SetArgs(args)
	if isCompletion(root, args) {
		completeArguments(root)              // it visits every flag, which takes time
		root.SetOut(term.CleanWriter(f.Out)) // names come from plugins, repositories and releases
	} else {
		warnBuiltin(root, f)
	}
	addPlugins(root, f, args)
	root.SetArgs(diff.Args(root, args))
	if err := checkCommand(root, args); err != nil {
		fmt.Fprint(f.Err, explain(err, f))
		return 1
	}
	cmd, err := root.ExecuteContextC(ctx)
	if err != nil {
		code := 1
		if exit, ok := errors.AsType[*cmdutil.ExitError](err); ok {
			if exit.Err == nil {
				return exit.Code
			}
			code, err = exit.Code, exit.Err
		}
		err = withNearby(ctx, f, err)
		f.Close() // ends the progress display, so that the error is the last output
		if errors.Is(err, context.Canceled) && !changesReleases(cmd) {
			err = &interruptedError{Err: err, Cause: context.Cause(ctx)}
		}
		clearEcho(ctx, f)
		fmt.Fprint(f.Err, explain(err, f))
		return code
	}
	clearEcho(ctx, f)
	return 0
}

// clearEcho removes the "^C" of a terminal from the line that is written next.
func clearEcho(ctx context.Context, f *cmdutil.Factory) {
	if ctx.Err() != nil && f.Movable(f.Err) {
		fmt.Fprint(f.Err, "\r\x1b[K")
	}
}

// New creates the command tree.
func New(f *cmdutil.Factory) *cobra.Command {
	root := newRoot(f)
	for _, c := range commands() {
		root.AddCommand(c.new(f))
	}
	describeReplaceable(root)
	return root
}

// newFor creates the part of the tree that args need. Creating all of it takes 0.7 MB and a tenth
// of the time of a short command.
func newFor(f *cmdutil.Factory, args []string) *cobra.Command {
	if len(args) > 0 && len(f.Settings.Builtin) == 0 {
		for _, c := range commands() {
			if c.name == args[0] && !c.needsTree {
				root := newRoot(f)
				root.AddCommand(c.new(f))
				return root
			}
		}
	}
	return New(f)
}

// command creates a command of the tree.
type command struct {
	name string
	new  func(*cmdutil.Factory) *cobra.Command
	// needsTree is true if the command inspects the whole tree, or if a plugin may replace it.
	needsTree bool
}

// commands returns the commands below the root.
func commands() []command {
	reference := func(f *cmdutil.Factory) *cobra.Command {
		return docs.New(f, docs.Tree{New: New, Bash: completion.Bash})
	}
	return []command{
		{"adopt", ownership.NewAdopt, true}, {"apply", applycmd.New, true},
		{"disown", ownership.NewDisown, true}, {"mv", ownership.NewMv, true}, {"rename", ownership.NewRename, true},
		{"completion", completion.New, true}, {"crds", crds.New, true}, {"create", create.New, false},
		{"dag", graph.NewDAG, true}, {"dependency", dependency.New, false}, {"diff", diff.New, true},
		{"docs", reference, true}, {"drift", drift.New, true}, {"env", envcmd.New, false}, {"get", get.New, false},
		{"graph", graph.New, true}, {"history", history.New, false}, {"install", install.New, false},
		{"lint", lint.New, false}, {"list", list.New, false}, {"lsp", lspcmd.New, true},
		{"package", packaging.New, false}, {"plan", diff.NewPlan, true}, {"plugin", plugin.New, true},
		{"pull", pull.New, false}, {"push", push.New, false},
		{"readme", readmecmd.New, true}, {"registry", registry.New, false}, {"repo", repo.New, false},
		{"rollback", rollback.New, false}, {"rollout", rollout.New, true},
		{"schema", schema.New, true}, {"script", script.New, true},
		{"search", search.New, false}, {"show", show.New, false}, {"status", status.New, false},
		{"template", template.New, false}, {"test", test.New, false}, {"uninstall", uninstall.New, false},
		{"unittest", unittest.New, true},
		{"upgrade", upgrade.New, false}, {"values", valuescmd.New, true}, {"verify", verify.New, false},
		{"version", version.New, false},
	}
}

// newRoot creates the root of the tree, with the global flags.
func newRoot(f *cmdutil.Factory) *cobra.Command {
	root := &cobra.Command{
		Use:   "helm",
		Short: "The Kubernetes package manager",
		Long: `Install charts, packages of Kubernetes objects, into a cluster.

Files are stored in $HELM_CACHE_HOME, $HELM_CONFIG_HOME and $HELM_DATA_HOME, which
follow the XDG base directories; "helm env" prints all variables.`,
		Example: `  # Find a chart in a repository and install it as the release "web"
  helm repo add example https://charts.example.com
  helm search repo web
  helm install web example/web

  # Write a chart and install it
  helm create mychart
  helm template blog ./mychart
  helm install blog ./mychart

  # Look at what is installed, change it, and remove it
  helm list
  helm status blog
  helm diff upgrade blog ./mychart --set replicaCount=3
  helm upgrade blog ./mychart --set replicaCount=3
  helm rollback blog
  helm uninstall blog`,
		Args:          cobra.ArbitraryArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return cmd.Help()
		},
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.Start(); err != nil {
				return err
			}
			f.WarnFlags(cmd)
			return nil
		},
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.SetIn(f.In)
	root.SetOut(f.Out)
	root.SetErr(f.Err)
	root.SetFlagErrorFunc(flagError)
	f.Settings.Bind(root.PersistentFlags())
	// The only error is that the flag does not exist.
	_ = root.RegisterFlagCompletionFunc("namespace", f.CompleteNamespaces)
	_ = root.RegisterFlagCompletionFunc("kube-context", f.CompleteContexts)
	_ = root.RegisterFlagCompletionFunc("color",
		cobra.FixedCompletions([]string{"never", "auto", "always"}, cobra.ShellCompDirectiveNoFileComp))
	_ = root.RegisterFlagCompletionFunc("progress", cobra.FixedCompletions(ui.Modes(), cobra.ShellCompDirectiveNoFileComp))
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		_ = help.Show(f, cmd) // standard output is gone: there is no one to tell
	})
	root.SetUsageFunc(help.ShowUsage)
	root.SetHelpCommand(help.New(f, root, func(word string, near []string) error {
		err := unknownCommand(root, word)
		if e, ok := errors.AsType[*unknownCommandError](err); ok && e.Instead == "" && len(e.Similar) == 0 && len(near) > 0 {
			e.Similar = []string{"help " + near[0]}
		}
		return err
	}))
	return root
}

// checkCommand returns an error if args name an unknown command. Cobra would report an unknown flag
// of that command first.
func checkCommand(root *cobra.Command, args []string) error {
	place, found := findCommand(root, args)
	if !found {
		return nil
	}
	word := args[place]
	there := slices.ContainsFunc(root.Commands(),
		func(c *cobra.Command) bool { return c.Name() == word || c.HasAlias(word) })
	if there || word == "help" || strings.HasPrefix(word, "__") { // commands of Cobra
		return nil
	}
	return unknownCommand(root, word)
}

func unknownCommand(cmd *cobra.Command, name string) error {
	if instead := removedCommand(name); instead != "" {
		return &unknownCommandError{Name: name, Instead: instead}
	}
	return &unknownCommandError{Name: name, Similar: cmdutil.SimilarCommands(cmd, name)}
}

// An unknownCommandError is returned if there is no command called Name.
type unknownCommandError struct {
	Name    string
	Similar []string
	// Instead says what replaces a command of earlier versions of Helm.
	Instead string
}

func (e *unknownCommandError) Error() string {
	text := fmt.Sprintf("unknown command %q for \"helm\"", e.Name)
	if e.Instead != "" {
		text += ": " + e.Instead
	}
	return text
}

// Hint suggests similar commands, or nothing if Error names the replacement.
func (e *unknownCommandError) Hint() string {
	switch {
	case e.Instead != "":
		return ""
	case len(e.Similar) > 0:
		return "did you mean: helm " + strings.Join(e.Similar, ", helm ")
	}
	return "helm --help lists the commands"
}
