// SPDX-License-Identifier: Apache-2.0

// Package registry provides the commands that log in to and out of OCI registries.
package registry

import (
	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/internal/cmdutil"
)

// New creates the command and its subcommands.
func New(f *cmdutil.Factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "registry",
		Short: "Log in to and out of OCI registries",
		Long: `Log in to and out of OCI registries. A chart in a registry is
oci://host/path/name in all commands.`,
		Example: `  echo "$TOKEN" | helm registry login registry.example.com -u ann --password-stdin
  helm push mychart-0.1.0.tgz oci://registry.example.com/charts
  helm install shop oci://registry.example.com/charts/web --version ^1.2
  helm registry logout registry.example.com`,
		Args: cmdutil.Group,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newLogin(f), newLogout(f))
	return cmd
}
