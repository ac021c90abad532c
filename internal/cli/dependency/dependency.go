// SPDX-License-Identifier: Apache-2.0

// Package dependency holds the commands about the charts that a chart depends on.
package dependency

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/internal/env"
)

// New makes the command and its own commands.
func New(e *env.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "dependency",
		Aliases: []string{"dep", "dependencies"},
		Short:   "manage the charts that a chart depends on",
		Long: `A chart lists the charts that it needs under dependencies: in its Chart.yaml
(requirements.yaml in charts of apiVersion v1), and keeps them in charts/. Library
charts may stand under libraries: instead, and are kept in library/.

  dependencies:
    - name: mysql
      version: ^1.2.0
      repository: https://example.com/charts   # or oci://, file://../mysql, @name

  helm dependency update ./web   fetches the newest versions that suit, and locks them
  helm dependency build ./web    fetches what is locked in Chart.lock
  helm dependency list ./web     shows what is there`,
		Args: env.Group,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newList(e), newUpdate(e), newBuild(e))
	return cmd
}

// options are the flags of update and build.
type options struct {
	env.DependencyFlags
	Path string
}

func newUpdate(e *env.Env) *cobra.Command {
	return command(e, &cobra.Command{
		Use:     "update [CHART]",
		Aliases: []string{"up"},
		Short:   "fetch the newest versions of a chart's dependencies that suit, and lock them",
		Long: `Fetches the newest versions within the ranges that the chart lists, puts their
archives into charts/ (those of libraries: into library/), removes archives that
nothing lists any more, and writes down in Chart.lock what was chosen. Unpacked
charts stay as they are. If anything fails, nothing has changed.

Repositories need not have been added: a URL is enough.`,
	}, e.UpdateDependencies)
}

func newBuild(e *env.Env) *cobra.Command {
	return command(e, &cobra.Command{
		Use:   "build [CHART]",
		Short: "fetch the versions of a chart's dependencies that are locked",
		Long: `Fetches what Chart.lock says, neither newer nor older, and puts it into charts/ and
library/. An archive that is not the one that was locked is refused. What is in the
content cache is taken from there, without the network. Without a Chart.lock it
does what update does.`,
	}, e.BuildDependencies)
}

// work updates or builds.
type work func(ctx context.Context, path string, f env.DependencyFlags, out io.Writer) error

func command(e *env.Env, cmd *cobra.Command, do work) *cobra.Command {
	o := options{Path: "."}
	cmd.Args = env.Args(0, 1, "the path of a chart's folder, or none for this folder")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			o.Path = args[0]
		}
		return do(cmd.Context(), o.Path, o.DependencyFlags, e.Lines())
	}
	o.Bind(cmd.Flags(), e)
	env.CompleteChoices(cmd)
	return cmd
}
