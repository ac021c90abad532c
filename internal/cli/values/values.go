// SPDX-License-Identifier: Apache-2.0

// Package values provides the command that prints the final values of a chart, and where each
// comes from.
package values

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/unused"
	"github.com/moonhelm/moonhelm/chart/values"
	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/internal/output"
	"github.com/moonhelm/moonhelm/internal/report"
)

// Options are the flags of `helm values`.
type Options struct {
	cmdutil.ValueFlags
	cmdutil.ScriptFlags

	Chart      string
	Origin     bool
	Unused     bool
	Output     output.Format
	SkipSchema bool
	chartFlags cmdutil.ChartFlags
}

// New creates the command.
func New(f *cmdutil.Factory) *cobra.Command {
	var o Options
	cmd := &cobra.Command{
		Use:   "values CHART",
		Short: "Print the final values of a chart",
		Long: `Print the values that the templates of a chart and its subcharts would get: the
defaults of the charts, the values files and --set flags, globals, imported
values, and what scripts change. No cluster is needed.

With --origin, a comment names the file and line, or the flag, that set each
value, and then those that it took precedence over, the nearest first.

With --unused, it prints the keys of the given values that no template, schema,
condition, tag, import or script reads, with the key that was probably meant;
without given values, those of the chart's values.yaml.`,
		Example: `  helm values ./mychart
  helm values ./mychart -f production.yaml --set image.tag=2 --origin
  helm values ./mychart --origin -o json
  helm values ./mychart -f production.yaml --unused`,
		Annotations: map[string]string{cmdutil.NotInHelm: ""},
		Args:        cmdutil.Args(1, 1, "a chart: a directory, an archive, repository/name or a URL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Chart = args[0]
			return run(cmd.Context(), f, o)
		},
	}
	fs := cmd.Flags()
	o.ValueFlags.Bind(fs)
	o.ScriptFlags.Bind(fs)
	o.chartFlags.Bind(cmd, f)
	fs.BoolVar(&o.Origin, "origin", false, "show which file, line or flag set each value")
	fs.BoolVar(&o.Unused, "unused", false, "show the keys of the given values that nothing in the chart reads")
	cmd.MarkFlagsMutuallyExclusive("origin", "unused")
	fs.BoolVar(&o.SkipSchema, "skip-schema-validation", false, "do not validate values against the charts' schemas")
	o.Output.Bind(fs)
	output.Complete(cmd)
	cmdutil.CompleteChoices(cmd)
	return cmd
}

func run(ctx context.Context, f *cmdutil.Factory, o Options) error {
	c, err := f.Chart(ctx, o.Chart, &o.chartFlags)
	if err != nil {
		return err
	}
	user, err := o.ValueFlags.Build(ctx, f, c)
	if err != nil {
		return err
	}
	config, err := f.Offline(o.ScriptFlags)
	if err != nil {
		return err
	}
	req := action.TemplateRequest{
		Chart: c, Values: user, ValueOrigins: o.Origins(ctx, f), Name: "release-name", Namespace: f.Namespace(),
		SkipSchema: o.SkipSchema, ValueCheck: o.Check(ctx, f),
	}
	if o.Unused {
		if !o.Given() {
			req.Values, req.LocateValue = c.Values, locateDefaults(c)
		}
		return printUnused(ctx, f, config, req, o.Output)
	}
	if o.Origin {
		return printOrigins(ctx, f, config, req, o.Output)
	}
	_, vals, err := action.Template{Config: config}.Values(ctx, req)
	if err != nil {
		return err
	}
	if o.Output == output.JSON {
		return output.WriteJSON(f.Out, vals)
	}
	return output.WriteYAML(f.Out, vals)
}

// printOrigins prints the values with where they come from.
func printOrigins(ctx context.Context, f *cmdutil.Factory, config *action.Config, req action.TemplateRequest,
	format output.Format) error {
	vals, origins, err := action.Template{Config: config}.ExplainValues(ctx, req)
	if err != nil {
		return err
	}
	if format == output.JSON {
		return output.WriteJSON(f.Out, report.OriginValues(vals, origins))
	}
	return report.WriteOrigins(f.Out, vals, origins)
}

// locateDefaults returns a function that returns which line of a chart's values.yaml sets a value.
func locateDefaults(c *chart.Chart) func(path ...string) values.Origin {
	o := values.Options{Files: []string{c.Name() + "/" + chart.FileValues}}
	return o.Locator(func(string) ([]byte, error) {
		if f := c.File(chart.FileValues); f != nil {
			return f.Data, nil
		}
		return nil, nil // a chart without defaults
	})
}

// printUnused prints the keys of the given values that nothing reads.
func printUnused(ctx context.Context, f *cmdutil.Factory, config *action.Config, req action.TemplateRequest,
	format output.Format) error {
	keys, err := action.Template{Config: config}.UnusedValues(ctx, req)
	if err != nil {
		return err
	}
	if format == output.JSON {
		return output.WriteJSON(f.Out, append([]unused.Key{}, keys...))
	}
	if format == output.YAML {
		return output.WriteYAML(f.Out, append([]unused.Key{}, keys...))
	}
	for _, k := range keys {
		if _, err := fmt.Fprintln(f.Out, k); err != nil {
			return err
		}
	}
	return nil
}
