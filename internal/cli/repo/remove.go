// SPDX-License-Identifier: Apache-2.0

package repo

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/internal/term"
)

func newRemove(f *cmdutil.Factory) *cobra.Command {
	return &cobra.Command{
		Use:               "remove NAME...",
		Aliases:           []string{"rm"},
		Short:             "Remove repositories",
		Example:           `  helm repo remove example`,
		Args:              cmdutil.Args(1, -1, "the name of a repository"),
		ValidArgsFunction: completeNames(f),
		RunE:              func(cmd *cobra.Command, args []string) error { return remove(cmd.Context(), f, args) },
	}
}

func remove(ctx context.Context, f *cmdutil.Factory, names []string) error {
	for _, name := range names {
		if err := f.Collection().Remove(ctx, name); err != nil {
			return err
		}
		if _, err := fmt.Fprintf(term.SafeWriter(f.Out), "%q has been removed from your repositories\n", name); err != nil {
			return err
		}
	}
	return nil
}
