// SPDX-License-Identifier: Apache-2.0

// Package schema provides the command that derives a JSON Schema from a chart's values.
package schema

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/schema"
	"github.com/moonhelm/moonhelm/chart/values"
	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/internal/file"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/progress"
)

// Options are the flags of `helm schema`.
type Options struct {
	Ref    string // the chart
	Output string // "" and "-" mean standard output
	Check  bool
}

// New creates the command.
func New(f *cmdutil.Factory) *cobra.Command {
	var o Options
	cmd := &cobra.Command{
		Use:   "schema CHART",
		Short: "Derive a schema from a chart's values",
		Long: `Derive a JSON Schema from a chart's values.yaml: types and defaults from the
values, descriptions from the comments above them, and further constraints from
"@schema" comments:

  # Number of pods
  # @schema minimum:1; maximum:10
  replicas: 2

A list whose items have a key may merge item by item; see "helm help values":

  # @schema
  # x-kubernetes-list-type: map
  # x-kubernetes-list-map-keys: [name]
  # @schema
  env: []

If the chart has a schema already, it is extended: existing keywords are
kept. The schema is printed, or written to --output, as YAML,
or as JSON if the name ends in .json.`,
		Example: `  helm schema ./mychart
  helm schema ./mychart --output ./mychart/values.schema.yaml

  # Fail if the schema is out of date
  helm schema ./mychart --check`,
		Annotations: map[string]string{cmdutil.NotInHelm: ""},
		Args:        cmdutil.Args(1, 1, "a chart: a directory, an archive, repository/name or a URL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Ref = args[0]
			return run(cmd.Context(), f, o)
		},
	}
	fs := cmd.Flags()
	fs.StringVarP(&o.Output, "output", "o", "", "file to write the schema to, - for standard output")
	fs.BoolVar(&o.Check, "check", false, "fail and print the difference if the chart's schema, or "+
		"the file of --output, is out of date")
	return cmd
}

func run(ctx context.Context, f *cmdutil.Factory, o Options) error {
	c, err := f.Chart(ctx, o.Ref, nil)
	if err != nil {
		return err
	}
	if o.Output == "-" {
		o.Output = ""
	}
	old, err := o.existing(c)
	if err != nil {
		return err
	}
	text, err := derive(c, old)
	if err != nil {
		return fmt.Errorf("derive the schema of %s: %w", c.Name(), err)
	}
	warnInvalidValues(f, c, text)
	if !o.Check {
		propose(f, c, text)
	}
	derived := cmdutil.Derived{
		Command: "schema", Ref: o.Ref, Output: o.Output, Name: old.name, Old: old.data, Text: text,
	}
	switch {
	case o.Check:
		return derived.Check(f.Out)
	case o.Output == "":
		_, err := fmt.Fprint(term.SafeWriter(f.Out), string(text))
		return err
	}
	if err := derived.Write(); err != nil {
		return err
	}
	warnTwoSchemas(f, o.Output)
	_, err = fmt.Fprintf(f.Out, "Wrote %s\n", o.Output)
	return err
}

// schemaFile is an existing schema. data is nil if there is none.
type schemaFile struct {
	name string // in errors and differences
	data []byte
	from string // name of the file with base
	base []byte // schema to extend: data, or the chart's
}

// existing returns the schema in the file of --output, or else the chart's.
func (o Options) existing(c *chart.Chart) (schemaFile, error) {
	f := schemaFile{name: schema.FileOf(c), data: c.SchemaYAML}
	switch f.name {
	case "":
		f.name, f.data = chart.FileSchemaYAML, nil
	case chart.FileSchema:
		f.data = c.Schema
	}
	f.from, f.base = f.name, f.data
	if f.name == chart.FileSchema && o.Output == "" && !o.Check { // to print
		f.name, f.data = chart.FileSchemaYAML, nil
	}
	if o.Output == "" {
		return f, nil
	}
	data, err := file.Read(o.Output, cmdutil.MaxDerived)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return schemaFile{name: o.Output, from: f.from, base: f.base}, nil
	case err != nil:
		return schemaFile{}, fmt.Errorf("read the existing schema: %w", err)
	}
	return schemaFile{name: o.Output, data: data, from: o.Output, base: data}, nil
}

func derive(c *chart.Chart, old schemaFile) ([]byte, error) {
	var vals []byte
	if f := c.File(chart.FileValues); f != nil {
		vals = f.Data
	}
	text, err := schema.Options{ExistingName: old.from, Chart: c}.Derive(vals, old.base)
	if err != nil {
		return nil, err
	}
	if filepath.Ext(old.name) == ".json" {
		return schema.JSON(text)
	}
	return schema.YAML(text)
}

// warnInvalidValues warns if the chart's own values violate the schema: annotations or hand-written
// parts of it may be stricter than the defaults.
func warnInvalidValues(f *cmdutil.Factory, c *chart.Chart, text []byte) {
	res, err := values.Resolve(c, nil)
	if err != nil {
		return // reported when the chart is used
	}
	alone := res.Chart.Shallow()
	alone.SchemaYAML, alone.Schema = text, nil
	if bad, ok := errors.AsType[*schema.Error](schema.Validate(alone, values.Rounded(res.Values))); ok {
		for _, v := range bad.Violations {
			warn(f, fmt.Sprintf("the schema rejects the chart's own values: %s", v))
		}
	}
}

// maxProposals is the number of lists that propose names.
const maxProposals = 5

// propose says which lists could merge by a key of their items, as far as the schema says nothing about
// them.
func propose(f *cmdutil.Factory, c *chart.Chart, text []byte) {
	alone := c.Shallow()
	alone.SchemaYAML, alone.Schema = text, nil
	found := values.ListsOf(alone).Propose(c.Values)
	if len(found) == 0 {
		return
	}
	var b strings.Builder
	b.WriteString("hint: values files replace these lists; with a comment above its key, a list merges item by item:")
	for _, p := range found[:min(len(found), maxProposals)] {
		fmt.Fprintf(&b, "\n  %s: # @schema x-kubernetes-list-type:map; x-kubernetes-list-map-keys:[%s]", p.Path, p.Key)
	}
	if more := len(found) - maxProposals; more > 0 {
		fmt.Fprintf(&b, "\n  and %d more", more)
	}
	fmt.Fprintln(term.SafeWriter(f.Err), b.String())
}

// warnTwoSchemas warns if the chart has two schemas.
func warnTwoSchemas(f *cmdutil.Factory, output string) {
	other := map[string]string{chart.FileSchemaYAML: chart.FileSchema,
		chart.FileSchema: chart.FileSchemaYAML}[filepath.Base(output)]
	if other == "" {
		return
	}
	other = filepath.Join(filepath.Dir(output), other)
	if _, err := os.Stat(other); err == nil {
		warn(f, fmt.Sprintf("there is a %s too: keep only one, %s takes precedence", other, chart.FileSchemaYAML))
	}
}

func warn(f *cmdutil.Factory, text string) {
	f.Report().Send(progress.Event{Kind: progress.Warning, Text: strings.TrimSpace(text)})
}
