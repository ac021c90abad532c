// SPDX-License-Identifier: Apache-2.0

// Package diff provides the commands that preview the changes of an operation, and compare
// revisions, releases and charts. Flags, variables and formats are those of the helm-diff plugin.
package diff

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/moonhelm/moonhelm/internal/build"
	"github.com/moonhelm/moonhelm/internal/cmdutil"
)

// helmDiffVersion is the version of helm-diff with these flags and formats.
const helmDiffVersion = "3.15.11"

// New creates the command and its subcommands.
func New(f *cmdutil.Factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "diff",
		Short: "Preview changes, object by object",
		Long: `Preview the changes of an upgrade or a rollback, or compare revisions,
releases or charts with each other. Secrets are redacted. Nothing is written to
the cluster. If nothing changes, nothing is printed.

Flags, HELM_DIFF_ variables and formats are those of the helm-diff plugin.`,
		Example: `  helm diff upgrade web ./mychart -f production.yaml
  helm diff rollback web 1
  helm diff revision web 1 2
  helm diff release web web-staging
  helm diff local ./mychart ./mychart-new`,
		Annotations: map[string]string{cmdutil.NotInHelm: "", builtIn: "true"},
	}
	bindBareUpgrade(cmd, f)
	bindColor(cmd.PersistentFlags(), f)
	cmd.AddCommand(upgrade(f, ofDiff), rollback(f, false), uninstall(f, false), revision(f), release(f), local(f), version(f))
	if ignore, _ := strconv.ParseBool(f.Getenv("HELM_DIFF_IGNORE_UNKNOWN_FLAGS")); ignore {
		for _, c := range append(cmd.Commands(), cmd) {
			c.FParseErrWhitelist.UnknownFlags = true
		}
	}
	return cmd
}

// bindBareUpgrade makes `helm diff NAME CHART` an alias of `helm diff upgrade`, as in the first
// versions of helm-diff. It has upgrade's flags, so a subcommand's flag may also precede the
// subcommand's name.
func bindBareUpgrade(cmd *cobra.Command, factory *cmdutil.Factory) {
	var f upgradeFlags
	f.bind(cmd, factory, ofDiff)
	cmd.LocalFlags().VisitAll(func(flag *pflag.Flag) { flag.Hidden = true })
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		// A misspelled subcommand is not a release, unless the next argument is surely a chart.
		if len(args) == 2 && (strings.Contains(args[1], "/") || len(cmdutil.SimilarCommands(cmd, args[0])) == 0) {
			return nil
		}
		return cmdutil.Group(cmd, args)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		if _, err := fmt.Fprintln(factory.Err,
			`Command "helm diff" is deprecated, use "helm diff upgrade" instead`); err != nil {
			return err
		}
		return f.run(cmd, factory, args)
	}
}

func version(f *cmdutil.Factory) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the compatible helm-diff version",
		Long: `Print the version of the helm-diff plugin with the same flags and formats,
and after the plus this program's version.`,
		Example: `  helm diff version`,
		Args:    cmdutil.Args(0, 0, ""),
		RunE: func(*cobra.Command, []string) error {
			own := build.Current().Version
			for i, r := range own {
				if r == '+' {
					own = own[i+1:]
					break
				}
			}
			_, err := fmt.Fprintln(f.Out, helmDiffVersion+"+"+own)
			return err
		},
	}
}

// builtIn annotates this command, to tell it from a plugin of the same name.
const builtIn = "moonhelm-diff"

// color implements pflag.Value for --color, a boolean in helm-diff and a word in Helm.
type color struct{ to *string }

func (c color) String() string { return *c.to }
func (c color) Type() string   { return "bool" }
func (c color) Set(v string) error {
	on, err := strconv.ParseBool(v)
	switch {
	case v == "always" || v == "auto" || v == "never":
		*c.to = v
	case err != nil:
		return fmt.Errorf("must be true or false, or always, auto or never")
	case on:
		*c.to = "always"
	default:
		*c.to = "never"
	}
	return nil
}

// noColor implements pflag.Value for --no-color.
type noColor struct{ color }

func (c noColor) String() string { return strconv.FormatBool(*c.to == "never") }
func (c noColor) Set(v string) error {
	if on, err := strconv.ParseBool(v); err != nil {
		return fmt.Errorf("must be true or false")
	} else if on {
		*c.to = "never"
	}
	return nil
}

func bindColor(fs *pflag.FlagSet, f *cmdutil.Factory) {
	fs.Var(color{&f.Settings.Color}, "color",
		"use colour: true, false, always, auto or never; the default is HELM_DIFF_COLOR (true or false), else "+
			"auto")
	fs.Lookup("color").NoOptDefVal = "true"
	fs.Var(noColor{color{&f.Settings.Color}}, "no-color", "disable colour")
	fs.Lookup("no-color").NoOptDefVal = "true"
}

// Args returns args with --color and the word after it joined, if they are meant for this group.
// Helm's --color has a word as its value, helm-diff's has none: this accepts both.
func Args(root *cobra.Command, args []string) []string {
	cmd, _, err := root.Find(args)
	if err != nil || cmd == nil {
		return args
	}
	found := false
	for ; cmd != nil; cmd = cmd.Parent() {
		found = found || cmd.Annotations[builtIn] != ""
	}
	if !found {
		return args
	}
	out := make([]string, 0, len(args))
	for i := 0; i < len(args); i++ {
		if args[i] == "--" {
			return append(out, args[i:]...)
		}
		flag := args[i] == "--color" || args[i] == "--colour"
		if flag && i+1 < len(args) && slices.Contains([]string{"always", "auto", "never"}, args[i+1]) {
			out = append(out, "--color="+args[i+1])
			i++
			continue
		}
		out = append(out, args[i])
	}
	return out
}
