// SPDX-License-Identifier: Apache-2.0

// Package env is the command that prints helm's environment.
package env

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/internal/cmdutil"
)

// New makes the command.
func New(f *cmdutil.Factory) *cobra.Command {
	return &cobra.Command{
		Use:   "env [NAME]",
		Short: "Print the environment of helm",
		Long: `Print every variable that helm works with, or one of them, with the value in
force: from the environment, a flag, or the default.`,
		Args: cmdutil.Args(0, 1, "the name of a variable, or none for all of them"),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			var names []string
			for _, v := range f.Settings.Vars("") {
				names = append(names, v.Name)
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			return run(f.Out, f.Settings.Vars(f.Namespace()), args)
		},
	}
}

func run(w io.Writer, vars []cmdutil.Var, args []string) error {
	for _, v := range vars {
		if len(args) == 0 {
			if _, err := fmt.Fprintf(w, "%s=%q\n", v.Name, v.Value); err != nil {
				return err
			}
		} else if v.Name == args[0] {
			_, err := fmt.Fprintln(w, v.Value)
			return err
		}
	}
	if len(args) > 0 {
		// An unknown name prints an empty line: scripts read it as unset.
		_, err := fmt.Fprintln(w)
		return err
	}
	return nil
}
