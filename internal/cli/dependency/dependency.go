// SPDX-License-Identifier: Apache-2.0

// Package dependency provides the commands for a chart's dependencies.
package dependency

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/internal/cmdutil"
)

// New creates the command and its subcommands.
func New(f *cmdutil.Factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "dependency",
		Aliases: []string{"dep", "dependencies"},
		Short:   "Manage the dependencies of a chart",
		Long: `Manage the dependencies of a chart, which lists them under dependencies: in its
Chart.yaml (requirements.yaml in charts of apiVersion v1), and vendors them in charts/.
Library charts may be listed under libraries: instead, and are vendored in library/.

  dependencies:
    - name: mysql
      version: ^1.2.0
      repository: https://example.com/charts   # or oci://, file://../mysql, @name`,
		Example: `  # Fetch the newest matching versions, and lock them
  helm dependency update ./umbrella

  # Fetch the locked versions
  helm dependency build ./umbrella

  helm dependency list ./umbrella`,
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
		Long: `Fetch the newest versions in the ranges that the chart lists, store their
archives in charts/ (those of libraries: in library/), remove archives that
are no longer listed, and write the versions to Chart.lock. Unpacked
charts are kept. If anything fails, nothing is changed.

Repositories need not have been added: a URL is enough.`,
		Example: `  helm dependency update ./umbrella`,
	}, f.UpdateDependencies)
}

func newBuild(f *cmdutil.Factory) *cobra.Command {
	return command(f, &cobra.Command{
		Use:   "build [CHART]",
		Short: "Fetch the locked dependencies of a chart",
		Long: `Fetch exactly the versions in Chart.lock, and store them in charts/ and
library/. An archive that differs from the locked one is rejected. Archives in the
content cache are used without the network. Without a Chart.lock, build
does the same as update.`,
		Example: `  helm dependency build ./umbrella`,
	}, f.BuildDependencies)
}

// runFunc is the type of Factory.UpdateDependencies and BuildDependencies.
type runFunc func(ctx context.Context, path string, f cmdutil.DependencyFlags, out io.Writer) error

func command(f *cmdutil.Factory, cmd *cobra.Command, do runFunc) *cobra.Command {
	o := options{Path: "."}
	cmd.Args = cmdutil.Args(0, 1, "the path of a chart directory, default the current one")
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
