// SPDX-License-Identifier: Apache-2.0

package repo

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/internal/env"
	"github.com/moonhelm/moonhelm/internal/term"
)

func newRemove(e *env.Env) *cobra.Command {
	return &cobra.Command{
		Use:               "remove NAME...",
		Aliases:           []string{"rm"},
		Short:             "Remove repositories",
		Args:              env.Args(1, -1, "the name of a repository"),
		ValidArgsFunction: completeNames(e),
		RunE:              func(cmd *cobra.Command, args []string) error { return remove(cmd.Context(), e, args) },
	}
}

func remove(ctx context.Context, e *env.Env, names []string) error {
	for _, name := range names {
		if err := e.Collection().Remove(ctx, name); err != nil {
			return err
		}
		if _, err := fmt.Fprintf(term.SafeWriter(e.Out), "%q has been removed from your repositories\n", name); err != nil {
			return err
		}
	}
	return nil
}
