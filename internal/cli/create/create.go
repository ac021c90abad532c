// SPDX-License-Identifier: Apache-2.0

// Package create provides the command that creates a chart.
package create

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/scaffold"
	"github.com/moonhelm/moonhelm/internal/cmdutil"
)

// Options are the flags of `helm create`.
type Options struct {
	cmdutil.ScriptFlags

	Path        string
	Starter     string
	WithScripts bool
	APIVersion  string
}

// New creates the command.
func New(f *cmdutil.Factory) *cobra.Command {
	var o Options
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Create a chart",
		Long: `Create a chart directory with common files: a
Deployment, a Service, and related objects. The chart passes lint and installs as is.

NAME may be a path; its last element is the chart's name. --starter copies
another chart: the path of a directory, or the name of one in
$HELM_DATA_HOME/starters. Every <CHARTNAME> in it is replaced with the name.`,
		Example: `  helm create mychart
  helm create charts/mychart --starter ./our-starter
  helm create scripted --with-scripts`,
		Args: cmdutil.Args(1, 1, "a name for the chart"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Path = args[0]
			return run(cmd.Context(), f, o)
		},
	}
	fs := cmd.Flags()
	o.ScriptFlags.Bind(fs)
	fs.StringVarP(&o.Starter, "starter", "p", "", "name or path of a starter chart")
	_ = cmd.RegisterFlagCompletionFunc("starter", f.CompleteStarters)
	fs.StringVar(&o.APIVersion, "chart-api-version", chart.APIVersionV2, "apiVersion of the chart: v2 or v3")
	// The only error is that the flag does not exist.
	_ = cmd.RegisterFlagCompletionFunc("chart-api-version",
		cobra.FixedCompletions(versions(), cobra.ShellCompDirectiveNoFileComp))
	if !f.Settings.ChartV3 { // there is no choice
		_ = fs.MarkHidden("chart-api-version")
	}
	fs.BoolVar(&o.WithScripts, "with-scripts", false, "add ext/lua/chart.lua, a commented example script")
	cmdutil.CompleteChoices(cmd)
	return cmd
}

// versions returns the supported apiVersions of new charts.
func versions() []string { return []string{chart.APIVersionV2, chart.APIVersionV3} }

// checkVersion validates the apiVersion of a new chart. The messages are Helm's.
func checkVersion(f *cmdutil.Factory, version string) error {
	if !slices.Contains(versions(), version) {
		return fmt.Errorf("unsupported chart API version: %s (supported: %s)", version, strings.Join(versions(), ", "))
	}
	if version == chart.APIVersionV3 && !f.Settings.ChartV3 {
		return fmt.Errorf("this feature has been marked as experimental and is not enabled by default. Please set %s=1 in "+
			"your environment to use this feature", chart.VariableV3)
	}
	return nil
}

func run(ctx context.Context, factory *cmdutil.Factory, o Options) error {
	if err := checkVersion(factory, o.APIVersion); err != nil {
		return err
	}
	starter := o.Starter
	if starter != "" && !filepath.IsAbs(starter) && filepath.Base(starter) == starter {
		starter = filepath.Join(factory.Settings.DataHome, "starters", starter)
	}
	name := filepath.Base(o.Path)
	if _, err := fmt.Fprintf(factory.Out, "Creating %s\n", o.Path); err != nil {
		return err
	}
	files, err := scaffold.Chart{Name: name, Starter: starter, APIVersion: o.APIVersion, Loader: factory.Loader()}.Files()
	if err != nil {
		return fmt.Errorf("create chart: %w", err)
	}
	if o.WithScripts {
		files = scaffold.WithScripts(files)
	}
	verb := action.Create{Loader: factory.Loader()}
	if verb.Events, err = factory.Events(o.ScriptFlags); err != nil {
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
		fmt.Fprintf(factory.Err, "WARNING: File %q already exists. Overwriting.\n", f)
	}
	return nil
}
