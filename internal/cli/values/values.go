// SPDX-License-Identifier: Apache-2.0

// Package values provides the command that prints the final values of a chart, and where each
// comes from.
package values

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/unused"
	"github.com/moonhelm/moonhelm/chart/values"
	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/internal/output"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/internal/yaml"
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
condition, tag, import or script reads, with the key that was probably meant.`,
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
		Chart: c, Values: user, Name: "release-name", Namespace: f.Namespace(), SkipSchema: o.SkipSchema,
		ValueCheck: o.Check(ctx, f),
	}
	if o.Unused {
		return printUnused(ctx, f, config, req, o.Output)
	}
	resolved, vals, err := action.Template{Config: config}.Values(ctx, req)
	if err != nil {
		return err
	}
	if !o.Origin {
		if o.Output == output.JSON {
			return output.WriteJSON(f.Out, vals)
		}
		return output.WriteYAML(f.Out, vals)
	}
	origins, err := values.Explain(c, o.Sources(), o.Reader(ctx, f))
	if err != nil {
		return err
	}
	origins.Update(vals, func(path []string) values.Origin { return values.Origin{Script: scripted(resolved, path)} })
	if o.Output == output.JSON {
		return output.WriteJSON(f.Out, leaves(vals, origins, nil, []value{}))
	}
	return write(f.Out, vals, origins)
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
	for _, k := range keys {
		if _, err := fmt.Fprintln(f.Out, k); err != nil {
			return err
		}
	}
	return nil
}

// scripted returns the name of the chart whose script may have set the value at path: the nearest
// one that has scripts, from the value's chart up.
func scripted(c *chart.Chart, path []string) string {
	for _, key := range path {
		below := (*chart.Chart)(nil)
		for _, d := range c.Subcharts() {
			if d.Name() == key {
				below = d
			}
		}
		if below == nil {
			break
		}
		c = below
	}
	for ; !c.IsRoot() && c.File(chart.FileScript) == nil; c = c.Parent() {
	}
	return c.Name()
}

// value is a value in the JSON output.
type value struct {
	Path    []string        `json:"path"`
	Value   any             `json:"value"`
	Origins []values.Origin `json:"origins"`
}

// leaves appends the scalars and lists of vals to out, in the order of their keys.
func leaves(vals map[string]any, origins *values.Origins, path []string, out []value) []value {
	for _, key := range slices.Sorted(maps.Keys(vals)) {
		out = leaf(vals[key], origins, append(path[:len(path):len(path)], key), out)
	}
	return out
}

// leaf appends a value to out: if it is a table or a list that merges, what is in it.
func leaf(v any, origins *values.Origins, path []string, out []value) []value {
	if table, ok := v.(map[string]any); ok && len(table) > 0 {
		return leaves(table, origins, path, out)
	}
	if list, ok := v.([]any); ok && len(list) > 0 {
		if steps := origins.Items(path...); len(steps) == len(list) {
			for i, step := range steps {
				out = leaf(list[i], origins, append(path[:len(path):len(path)], step), out)
			}
			return out
		}
	}
	of := origins.Of(path...)
	if of == nil {
		of = []values.Origin{}
	}
	return append(out, value{Path: path, Value: v, Origins: of})
}

// comment returns the origins of a value in one line, or "" if there are none.
func comment(origins []values.Origin) string {
	texts := make([]string, len(origins))
	for i, o := range origins {
		texts[i] = term.SafeLine(o.String())
	}
	switch len(texts) {
	case 0:
		return ""
	case 1:
		return texts[0]
	}
	return texts[0] + ", over " + strings.Join(texts[1:], ", ")
}

// write prints vals as YAML with the origins as comments.
func write(w io.Writer, vals map[string]any, origins *values.Origins) error {
	node, err := commented(vals, origins, nil)
	if err != nil {
		return fmt.Errorf("write values: %w", err)
	}
	enc := yaml.NewEncoderV3(term.SafeWriter(w))
	enc.SetIndent(2)
	return errors.Join(enc.Encode(node), enc.Close())
}

// commented returns vals as a node with the origins as comments.
func commented(vals map[string]any, origins *values.Origins, path []string) (*yaml.Node, error) {
	out := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for _, key := range slices.Sorted(maps.Keys(vals)) {
		below := append(path[:len(path):len(path)], key)
		text, err := yaml.Marshal(map[string]any{key: vals[key]}) // as helm get values writes it
		if err != nil {
			return nil, err
		}
		pair := yaml.Root(text)
		if pair == nil || len(pair.Content) != 2 {
			return nil, fmt.Errorf("%s cannot be written as YAML", strings.Join(below, "."))
		}
		name, value := pair.Content[0], pair.Content[1]
		if value, err = commentedValue(vals[key], name, value, origins, below); err != nil {
			return nil, err
		}
		out.Content = append(out.Content, name, value)
	}
	return out, nil
}

// commentedValue returns the node of v with the origins as comments. The comment of a list that does not
// merge stands at name, the node of its key.
func commentedValue(v any, name, node *yaml.Node, origins *values.Origins, path []string) (*yaml.Node, error) {
	if table, ok := v.(map[string]any); ok && len(table) > 0 {
		return commented(table, origins, path)
	}
	list, _ := v.([]any)
	if steps := origins.Items(path...); len(list) > 0 && len(steps) == len(list) && len(node.Content) == len(list) {
		for i, step := range steps {
			var err error
			below := append(path[:len(path):len(path)], step)
			if node.Content[i], err = commentedValue(list[i], node.Content[i], node.Content[i], origins, below); err != nil {
				return nil, err
			}
		}
		return node, nil
	}
	if c := comment(origins.Of(path...)); c != "" {
		if node.Kind == yaml.ScalarNode || len(node.Content) == 0 {
			node.LineComment = c
		} else {
			name.LineComment = c
		}
	}
	return node, nil
}
