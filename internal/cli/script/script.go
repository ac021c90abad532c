// SPDX-License-Identifier: Apache-2.0

// Package script provides the commands for those who write charts' scripts. They are small and
// load charts in the same way, so they are one package.
package script

import (
	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/internal/cmdutil"
)

// New creates the command and its subcommands.
func New(f *cmdutil.Factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "script",
		Short: "Work on a chart's scripts",
		Long: `Tools for those who write scripts for charts. "helm lint" checks scripts,
and "helm template --trace-events" shows what they do.`,
		Example: `  # Look at what scripts see, and try them
  helm script repl ./mychart

  # Have an editor know what scripts can use
  helm script types ./mychart`,
		Annotations: map[string]string{cmdutil.NotInHelm: ""},
		Args:        cmdutil.Group,
		RunE:        func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newREPL(f), newTypes(f))
	return cmd
}
