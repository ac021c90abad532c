// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/plan"
	"github.com/moonhelm/moonhelm/progress"
)

// dagOptions are the flags of `helm dag`.
type dagOptions struct {
	cmdutil.ValueFlags
	cmdutil.ScriptFlags

	Ref         string
	Output      format
	KubeVersion string
	APIVersions []string
	SkipSchema  bool
	chartFlags  cmdutil.ChartFlags
}

// NewDAG creates the command `helm dag` of Helm's proposal 25.
func NewDAG(f *cmdutil.Factory) *cobra.Command {
	var o dagOptions
	cmd := &cobra.Command{
		Use:   "dag CHART",
		Short: "Show the order in which a chart's objects are applied",
		Long: `Show the order in which the objects of a chart and its subcharts would be applied:
in groups, each of which must be ready before the next is applied. The chart
is rendered with the given values, without a cluster. Hooks have no place in
the order. Resource groups or subcharts that wait for each other are an error.

"helm graph release" shows the same of a release.`,
		Example: `  helm dag ./mychart
  helm dag ./mychart -f production.yaml -o mermaid`,
		Annotations:       map[string]string{cmdutil.NotInHelm: ""},
		Args:              cmdutil.Args(1, 1, "a chart: a directory, an archive, repository/name or a URL"),
		ValidArgsFunction: f.CompleteChart(1, true),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Ref = args[0]
			return o.run(cmd.Context(), f)
		},
	}
	fs := cmd.Flags()
	o.Output.bind(cmd)
	o.ValueFlags.Bind(fs)
	o.ScriptFlags.Bind(fs)
	o.chartFlags.Bind(cmd, f)
	o.chartFlags.BindUpdate(fs, &o.ScriptFlags)
	fs.StringVar(&o.KubeVersion, "kube-version", "", "Kubernetes version to render for")
	cmdutil.StringSliceVarP(fs, &o.APIVersions, "api-versions", "a",
		"additional API versions in .Capabilities.APIVersions (may be repeated)")
	fs.BoolVar(&o.SkipSchema, "skip-schema-validation", false, "do not validate values against the charts' schemas")
	cmdutil.CompleteChoices(cmd)
	return cmd
}

func (o *dagOptions) run(ctx context.Context, f *cmdutil.Factory) error {
	c, err := f.Chart(ctx, o.Ref, &o.chartFlags)
	if err != nil {
		return err
	}
	vals, err := o.Build(ctx, f, c)
	if err != nil {
		return err
	}
	config, err := f.Offline(o.ScriptFlags)
	if err != nil {
		return err
	}
	out, err := action.Template{Config: config}.Run(ctx, action.TemplateRequest{
		Chart: c, Values: vals, Name: "release-name", Namespace: f.Namespace(), KubeVersion: o.KubeVersion,
		APIVersions: o.APIVersions, SkipSchema: o.SkipSchema, ValueCheck: o.Check(ctx, f),
	})
	if err != nil {
		return err
	}
	order, err := plan.OrderOf(out.Chart)
	if err != nil {
		return err
	}
	objects, err := manifest.Flatten(out.Objects)
	if err != nil {
		return err
	}
	groups, warnings, err := batches(order, objects)
	if err != nil {
		return err
	}
	for _, w := range warnings {
		f.Report().Send(progress.Event{Kind: progress.Warning, Text: w})
	}
	if o.Output == asText {
		return writeGroups(f.Streams, "chart "+c.Name(), groups)
	}
	_, err = io.WriteString(f.Out, drawGroups("Order of chart "+c.Name(), groups).text(o.Output))
	return err
}
