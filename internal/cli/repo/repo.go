// SPDX-License-Identifier: Apache-2.0

// Package repo provides the commands for chart repositories. They are small and share the
// repositories file, so they are one package.
package repo

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/internal/cmdutil"
)

// New creates the command and its subcommands.
func New(f *cmdutil.Factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "repo",
		Short: "Add, list, remove, update and index chart repositories",
		Long: `Manage chart repositories: web servers with an index of their charts. Charts of an
added repository are called NAME/CHART.`,
		Example: `  helm repo add example https://charts.example.com
  helm repo update
  helm search repo web
  helm install shop example/web`,
		Args: cmdutil.Group,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newAdd(f), newIndex(f), newList(f), newRemove(f), newUpdate(f))
	return cmd
}

// completeNames completes the names of repositories, except for those in args.
func completeNames(f *cmdutil.Factory) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		var names []string
		for _, r := range f.Repositories().Added() {
			if strings.HasPrefix(r.Name, toComplete) && !slices.Contains(args, r.Name) {
				names = append(names, r.Name+"\t"+r.RedactedURL())
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}
