// SPDX-License-Identifier: Apache-2.0

// Package create is the command that makes a new chart.
package create

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/archive/scaffold"
	"github.com/moonhelm/moonhelm/internal/env"
	"github.com/moonhelm/moonhelm/op"
)

// Options are the flags of `helm create`.
type Options struct {
	env.ScriptFlags

	Path        string
	Starter     string
	WithScripts bool
}

// New makes the command.
func New(e *env.Env) *cobra.Command {
	var o Options
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Create a chart",
		Long: `Create a directory of that name with a chart that lints clean and installs: a
Deployment, a Service and what usually goes with them, to be edited.

NAME may be a path; its last element is the chart's name. --starter takes
another chart as the pattern: the path of a directory, or the name of one in
$HELM_DATA_HOME/starters. Every <CHARTNAME> in it becomes the new name.

  helm create web
  helm create charts/web --starter ./our-starter
  helm create web --with-scripts`,
		Args: env.Args(1, 1, "a name for the chart"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Path = args[0]
			return run(cmd.Context(), e, o)
		},
	}
	fs := cmd.Flags()
	o.ScriptFlags.Bind(fs)
	fs.StringVarP(&o.Starter, "starter", "p", "", "name or path of the chart to start from")
	fs.BoolVar(&o.WithScripts, "with-scripts", false, "add ext/lua/chart.lua, a script with comments to start from")
	env.CompleteChoices(cmd)
	return cmd
}

func run(ctx context.Context, e *env.Env, o Options) error {
	starter := o.Starter
	if starter != "" && !filepath.IsAbs(starter) && filepath.Base(starter) == starter {
		starter = filepath.Join(e.Settings.DataHome, "starters", starter)
	}
	name := filepath.Base(o.Path)
	if _, err := fmt.Fprintf(e.Out, "Creating %s\n", o.Path); err != nil {
		return err
	}
	files, err := scaffold.Files(name, starter)
	if err != nil {
		return fmt.Errorf("create chart: %w", err)
	}
	if o.WithScripts {
		files = scaffold.WithScripts(files)
	}
	verb := op.Create{Charts: e.Assembler()}
	if verb.Events, err = e.Events(o.ScriptFlags, env.Hooks{}); err != nil {
		return err
	}
	if files, err = verb.Run(ctx, files); err != nil {
		return fmt.Errorf("create chart %s: %w", name, err)
	}
	overwritten, err := scaffold.Write(o.Path, files)
	if err != nil {
		return fmt.Errorf("create chart %s: %w", name, err)
	}
	for _, f := range overwritten {
		fmt.Fprintf(e.Err, "WARNING: File %q already exists. Overwriting.\n", f)
	}
	return nil
}
