// SPDX-License-Identifier: Apache-2.0

// Package diff is the group of commands that show what a change would do, or
// has done, to a release's objects. Its flags, variables and formats are those of the
// helm-diff plugin.
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

// spoken is the version of helm-diff whose flags and formats these are.
const spoken = "3.15.11"

// New makes the group of commands.
func New(f *cmdutil.Factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "diff",
		Short: "Preview changes, object by object",
		Long: `Compare the objects of a release: with what an upgrade or a rollback would make of
them, revisions with each other, releases with each other, charts with each
other. Secrets are redacted; nothing is written, and nothing is printed where
nothing changes.

  helm diff upgrade web ./mychart -f production.yaml
  helm diff rollback web 3
  helm diff revision web 3 4
  helm diff release web web-staging
  helm diff local ./mychart ./mychart-new

Flags, HELM_DIFF_ variables and formats are those of the helm-diff plugin.`,
		Annotations: map[string]string{cmdutil.NotInHelm: "", builtIn: "true"},
	}
	withoutWord(cmd, f)
	bindColor(cmd.PersistentFlags(), f)
	cmd.AddCommand(upgrade(f), rollback(f), revision(f), release(f), local(f), version(f))
	if ignore, _ := strconv.ParseBool(f.Getenv("HELM_DIFF_IGNORE_UNKNOWN_FLAGS")); ignore {
		for _, c := range append(cmd.Commands(), cmd) {
			c.FParseErrWhitelist.UnknownFlags = true
		}
	}
	return cmd
}

// withoutWord makes the group itself do what its member upgrade does where it is given a
// release and a chart, as the first versions of helm-diff had it. It knows upgrade's flags,
// so that a flag of a member may also precede the member's name.
func withoutWord(cmd *cobra.Command, factory *cmdutil.Factory) {
	var f upgradeFlags
	f.bind(cmd, factory)
	cmd.LocalFlags().VisitAll(func(flag *pflag.Flag) { flag.Hidden = true })
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		cmd.SuggestionsMinimumDistance = 2
		// A misspelled member is not a release, unless what follows is surely a chart.
		if len(args) == 2 && (strings.Contains(args[1], "/") || len(cmd.SuggestionsFor(args[0])) == 0) {
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
		Short: "Print the version of helm-diff that is spoken",
		Long: `Print the version of the helm-diff plugin whose flags and formats the built-in
command has; behind the plus stands what program it is.`,
		Args: cmdutil.Args(0, 0, ""),
		RunE: func(*cobra.Command, []string) error {
			own := build.Current().Version
			for i, r := range own {
				if r == '+' {
					own = own[i+1:]
					break
				}
			}
			_, err := fmt.Fprintln(f.Out, spoken+"+"+own)
			return err
		},
	}
}

// builtIn marks the command as this one, and not a plugin's of the same name.
const builtIn = "moonhelm-diff"

// color is the value of --color, which helm-diff has as a switch, and Helm with a word.
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

// noColor is the value of --no-color.
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
		"use colour: true, false, always, auto or never; HELM_DIFF_COLOR=true or false is the default, else "+
			"a terminal decides")
	fs.Lookup("color").NoOptDefVal = "true"
	fs.Var(noColor{color{&f.Settings.Color}}, "no-color", "use no colour")
	fs.Lookup("no-color").NoOptDefVal = "true"
}

// Args are the arguments of a command line with --color and the word behind it in one
// where they are meant for this group. Helm's --color takes a word, helm-diff's none:
// here both are understood.
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
