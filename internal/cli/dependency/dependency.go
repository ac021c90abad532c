// SPDX-License-Identifier: Apache-2.0

// Package dependency holds the commands about the charts that a chart depends on.
package dependency

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/internal/cmdutil"
)

// New makes the command and its own commands.
func New(f *cmdutil.Factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "dependency",
		Aliases: []string{"dep", "dependencies"},
		Short:   "Manage the dependencies of a chart",
		Long: `Manage the charts that a chart depends on. It lists them under dependencies: in its
Chart.yaml (requirements.yaml in charts of apiVersion v1), and keeps them in charts/.
Library charts may be listed under libraries: instead, and are kept in library/.

  dependencies:
    - name: mysql
      version: ^1.2.0
      repository: https://example.com/charts   # or oci://, file://../mysql, @name

  helm dependency update ./web   fetches the newest versions that suit, and locks them
  helm dependency build ./web    fetches what is locked in Chart.lock
  helm dependency list ./web     shows what is there`,
		Args: cmdutil.Group,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newList(f), newUpdate(f), newBuild(f))
	return cmd
}

// options are the flags of update and build.
type options struct {
	Flags cmdutil.DependencyFlags
	Path  string
}

func newUpdate(f *cmdutil.Factory) *cobra.Command {
	return command(f, &cobra.Command{
		Use:     "update [CHART]",
		Aliases: []string{"up"},
		Short:   "Update and lock the dependencies of a chart",
		Long: `Fetch the newest versions within the ranges that the chart lists, put their
archives into charts/ (those of libraries: into library/), remove archives that
are not listed any more, and write the chosen versions to Chart.lock. Unpacked
charts stay as they are. If anything fails, nothing has changed.

Repositories need not have been added: a URL is enough.`,
	}, f.UpdateDependencies)
}

func newBuild(f *cmdutil.Factory) *cobra.Command {
	return command(f, &cobra.Command{
		Use:   "build [CHART]",
		Short: "Fetch the locked dependencies of a chart",
		Long: `Fetch what Chart.lock says, neither newer nor older, and put it into charts/ and
library/. An archive that is not the one that was locked is refused. What is in the
content cache is taken from there, without the network. Without a Chart.lock it
does what update does.`,
	}, f.BuildDependencies)
}

// work updates or builds.
type work func(ctx context.Context, path string, f cmdutil.DependencyFlags, out io.Writer) error

func command(f *cmdutil.Factory, cmd *cobra.Command, do work) *cobra.Command {
	o := options{Path: "."}
	cmd.Args = cmdutil.Args(0, 1, "the path of a chart's directory, or none for the current one")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			o.Path = args[0]
		}
		return do(cmd.Context(), o.Path, o.Flags, f.Lines())
	}
	o.Flags.Bind(cmd.Flags(), f)
	cmdutil.CompleteChoices(cmd)
	return cmd
}
