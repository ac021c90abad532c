// SPDX-License-Identifier: Apache-2.0

package readme

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/engine"
)

// chartOf returns a chart with values and other files, by their names.
func chartOf(values string, files map[string]string) *chart.Chart {
	c := &chart.Chart{Metadata: &chart.Metadata{Name: "web", Version: "1.0.0", APIVersion: chart.APIVersionV2}}
	files["values.yaml"] = values
	for name, text := range files {
		f := &chart.File{Name: name, Data: []byte(text)}
		c.Raw = append(c.Raw, f)
		if name == "values.schema.yaml" {
			c.SchemaYAML = f.Data
		}
	}
	return c
}

// table returns the rows of the table of values.
func table(t *testing.T, in Input) string {
	t.Helper()
	text, err := Write(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	_, rows, _ := strings.Cut(string(text), "|-----|------|---------|-------------|\n")
	return strings.TrimSuffix(rows, "\n")
}

// TestDescriptions: where they come from. Comments of helm-docs are compared with helm-docs in
// test/compat.
func TestDescriptions(t *testing.T) {
	tests := []struct{ name, values, schema, want string }{
		{"comments of helm-docs", "# -- How many\nn: 1\n# which\nm: 2\n", "properties: {m: {description: from the schema}}",
			"| m | int | `2` |  |\n| n | int | `1` | How many |\n"},
		{"plain comments", "a: 1\n# How many\npods: 1\n", "", "| a | int | `1` |  |\n| pods | int | `1` | How many |\n"},
		{"comments of readme-generator", "## @param tag [string] Which\ntag: \"\"\n", "", "| tag | string | `\"\"` | Which |\n"},
		{"a schema", "image:\n  tag: x\nn: 1\n", "properties: {image: {properties: {tag: {description: \"The\\n tag\"}}}}",
			"| image.tag | string | `\"x\"` | The tag |\n| n | int | `1` |  |\n"},
		{"none", "n: 1\n", "", "| n | int | `1` |  |\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			files := map[string]string{}
			if test.schema != "" {
				files["values.schema.yaml"] = test.schema
			}
			if got := table(t, Input{Chart: chartOf(test.values, files)}); got != test.want {
				t.Errorf("got\n%swant\n%s", got, test.want)
			}
		})
	}
}

func TestOnlyDescribed(t *testing.T) {
	c := chartOf("# -- How many\nn: 1\nm: 2\n", map[string]string{})
	if got, want := table(t, Input{Chart: c, OnlyDescribed: true}), "| n | int | `1` | How many |\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestFaults(t *testing.T) {
	deep := strings.Repeat("{a: ", maxDepth+5) + "1" + strings.Repeat("}", maxDepth+5)
	tests := []struct {
		name string
		in   Input
		want string
	}{
		{"order", Input{Chart: chartOf("", map[string]string{}), Order: "size"}, `values cannot be sorted by "size"`},
		{"not YAML", Input{Chart: chartOf("a: [", map[string]string{})}, "values.yaml"},
		{"not a map", Input{Chart: chartOf("- a\n", map[string]string{})}, "values.yaml:1: the values are not a map"},
		{"deep", Input{Chart: chartOf("a: "+deep, map[string]string{})}, "nest deeper than 100 levels"},
		{"a template's mistake", Input{Chart: chartOf("", map[string]string{}),
			Templates: []Template{{"one.gotmpl", "x"}, {"two.gotmpl", "\n{{ .Nmae }}"}}}, "two.gotmpl:2"},
		{"a template without end", Input{Chart: chartOf("", map[string]string{}),
			Templates: []Template{{"one.gotmpl", `{{ define "x" }}{{ template "x" . }}{{ end }}{{ template "x" . }}`}}}, "one.gotmpl:1"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := Write(context.Background(), test.in)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
		})
	}
	var e *engine.Error
	_, err := Write(context.Background(), Input{Chart: chartOf("", map[string]string{}), Templates: []Template{{"one", "{{ fail `x` }}"}}})
	if !errors.As(err, &e) {
		t.Errorf("got %T, want an *engine.Error", err)
	}
}

// TestCycle: an alias of a map in itself is no endless tree.
func TestCycle(t *testing.T) {
	_, err := Write(context.Background(), Input{Chart: chartOf("a: &x\n  b: *x\n", map[string]string{})})
	if err == nil {
		t.Error("got no error, want one")
	}
}
