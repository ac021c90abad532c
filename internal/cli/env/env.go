// SPDX-License-Identifier: Apache-2.0

// Package env provides the command that prints helm's environment.
package env

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/internal/cmdutil"
)

// New creates the command.
func New(f *cmdutil.Factory) *cobra.Command {
	return &cobra.Command{
		Use:   "env [NAME]",
		Short: "Print the environment of helm",
		Long: `Print all variables of helm, or one of them, with the current value: from the
environment, a flag, or the default.`,
		Example: `  helm env
  helm env HELM_CACHE_HOME`,
		Args: cmdutil.Args(0, 1, "the name of a variable, default all"),
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
		// Print an empty line for an unknown name: scripts read it as unset.
		_, err := fmt.Fprintln(w)
		return err
	}
	return nil
}
