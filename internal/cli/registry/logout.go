// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/fetch"
	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/progress"
)

func newLogout(f *cmdutil.Factory) *cobra.Command {
	return &cobra.Command{
		Use:   "logout HOST[/PATH]",
		Short: "Log out of a registry",
		Long: `Remove the credentials that helm registry login has stored. Docker's credentials
are kept.`,
		Example:           `  helm registry logout registry.example.com`,
		Args:              cmdutil.Args(1, 1, "the registry's host"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			return logout(cmd.Context(), f, args[0])
		},
	}
}

func logout(ctx context.Context, f *cmdutil.Factory, host string) error {
	ref, err := parseHost(host)
	if err != nil {
		return err
	}
	client, err := f.Registry().Client(ctx, fetch.HostOptions{})
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(f.Out, "Removing login credentials for %s\n", term.SafeLine(ref.String())); err != nil {
		return err
	}
	had, err := client.Logout(ctx, ref)
	if err == nil && !had {
		f.Report().Send(progress.Event{Kind: progress.Warning, Text: "no stored credentials for " + ref.String()})
	}
	return err
}
