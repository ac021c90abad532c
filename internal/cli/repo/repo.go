// SPDX-License-Identifier: Apache-2.0

// Package repo is the group of commands about chart repositories. They share
// the file of repositories and are small, so they live in one package.
package repo

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/internal/cmdutil"
)

// New makes the command with its children.
func New(f *cmdutil.Factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "repo",
		Short: "Add, list, remove, update and index chart repositories",
		Long: `Manage chart repositories: web servers with an index of their charts. Once one was
added under a name, its charts are called NAME/CHART.

  helm repo add mine https://charts.example.com
  helm search repo web
  helm install web mine/web
  helm repo update`,
		Args: cmdutil.Group,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newAdd(f), newIndex(f), newList(f), newRemove(f), newUpdate(f))
	return cmd
}

// completeNames completes names of repositories that are not among the
// arguments yet.
func completeNames(f *cmdutil.Factory) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		var names []string
		for _, r := range f.Repositories().Added() {
			if strings.HasPrefix(r.Name, toComplete) && !slices.Contains(args, r.Name) {
				names = append(names, r.Name+"\t"+r.Shown())
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}
