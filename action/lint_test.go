// SPDX-License-Identifier: Apache-2.0

package action_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/lint"
	"github.com/moonhelm/moonhelm/event"
)

const lintMetadata = "apiVersion: v2\nname: web\nversion: 1.2.3\nicon: https://example.com/web.png\n"

// lintChart returns the request for a chart with templates.
func lintChart(t *testing.T, defaults map[string]any, templates map[string]string) action.LintRequest {
	t.Helper()
	m, err := chart.ParseMetadata(chart.FileMetadata, []byte(lintMetadata))
	if err != nil {
		t.Fatal(err)
	}
	text := "{}\n"
	if defaults != nil {
		text = "# see the test\n"
	}
	c := &chart.Chart{Metadata: m, Values: defaults}
	files := []*chart.File{{Name: chart.FileMetadata, Data: []byte(lintMetadata)}, {Name: chart.FileValues, Data: []byte(text)}}
	for name, text := range templates {
		f := &chart.File{Name: "templates/" + name, Data: []byte(text)}
		c.Templates = append(c.Templates, f)
		files = append(files, f)
	}
	if c.Values == nil {
		c.Values = map[string]any{}
	}
	c.Raw = files
	return action.LintRequest{Files: files, Chart: c, Namespace: "default"}
}

// heads returns the first lines of the findings.
func heads(findings []lint.Finding) []string {
	out := []string{}
	for _, f := range findings {
		line, _, _ := strings.Cut(f.String(), "\n")
		out = append(out, line)
	}
	return out
}

func TestLintTemplateErrors(t *testing.T) {
	req := lintChart(t, nil, map[string]string{
		"_names.tpl": `{{ define "deep" }}{{ .Values.no.thing }}{{ end }}`,
		"a.yaml":     "{{ define \"shared\" }}cm{{ end }}\na: {{ .Values.x.y }}\n",
		"b.yaml":     "b: 1\nc: {{ include \"deep\" . }}\n",
		"c.yaml":     "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ include \"shared\" . }}_\n",
		"d.yaml":     "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: d\ndata: {{ required \"data is needed\" .Values.data | quote }}\n",
	})
	got, err := action.Lint{}.Run(context.Background(), req)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`[ERROR] templates/_names.tpl:1: .Values.no is not set, so it has no "thing" (nil pointer evaluating interface {}.thing)`,
		`[ERROR] templates/a.yaml:2: .Values.x is not set, so it has no "y" (nil pointer evaluating interface {}.y)`,
		`[WARNING] templates/c.yaml:4: object name does not conform to Kubernetes naming requirements: "cm_": must consist of lower case letters, digits, '-' or '.', and start and end with a letter or digit (such as my-name or example.com)`,
		`[INFO] templates/d.yaml:5: a required value is missing: data is needed`,
	}
	if !slices.Equal(heads(got), want) {
		t.Errorf("got\n  %s\nwant\n  %s", strings.Join(heads(got), "\n  "), strings.Join(want, "\n  "))
	}
}

// Errors caused by missing definitions of a template with a syntax error are not reported.
func TestLintSyntaxErrors(t *testing.T) {
	req := lintChart(t, nil, map[string]string{
		"_a.tpl": "{{ define \"a\" }}x",
		"b.yaml": "b: {{ nothing }}\n",
		"c.yaml": "c: {{ include \"a\" . }}\n",
	})
	got, err := action.Lint{}.Run(context.Background(), req)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"[ERROR] templates/_a.tpl:1: parse error at (web/templates/_a.tpl:1): unexpected EOF", `[ERROR] templates/b.yaml:1: parse error at (web/templates/b.yaml:1:7): function "nothing" not defined`}
	if !slices.Equal(heads(got), want) {
		t.Errorf("got %q, want %q", heads(got), want)
	}
}

func TestLintMaxTemplateErrors(t *testing.T) {
	templates := map[string]string{}
	for i := range 100 {
		templates[fmt.Sprintf("t%03d.yaml", i)] = "a: {{ .Values.x.y }}\n"
	}
	got, err := action.Lint{}.Run(context.Background(), lintChart(t, nil, templates))
	if err != nil {
		t.Fatal(err)
	}
	if len(got) < 2 || len(got) > 50 {
		t.Errorf("%d findings, want a handful", len(got))
	}
}

func TestLintLoadError(t *testing.T) {
	files := []*chart.File{
		{Name: chart.FileMetadata, Data: []byte("apiVersion: v2\nname: web\nversion: x\n")},
		{Name: chart.FileValues, Data: []byte("a: [\n")},
		{Name: "templates/x.yaml"},
	}
	m, err := chart.ParseMetadata(chart.FileMetadata, files[0].Data)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		req  action.LintRequest
		want []string
	}{
		{
			"an error of a file is reported once",
			action.LintRequest{Files: files, LoadErr: m.Validate()},
			[]string{
				"[INFO] Chart.yaml: icon is recommended",
				`[ERROR] Chart.yaml:3: version is "x", must be a semantic version such as 1.2.3`,
				"[ERROR] values.yaml:1: unable to parse YAML: did not find expected node content",
			},
		},
		{
			"a broken subchart has its own place",
			action.LintRequest{Files: []*chart.File{{Name: chart.FileMetadata, Data: []byte(lintMetadata)}, {Name: chart.FileValues}, {Name: "templates/x.yaml"}},
				LoadPath: "charts/db", LoadErr: errors.Join(&chart.InvalidError{File: "Chart.yaml", Line: 3, Field: "version", Problem: "is required"})},
			[]string{"[ERROR] charts/db/Chart.yaml:3: version is required"},
		},
		{
			"an unreadable chart has one finding",
			action.LintRequest{LoadErr: errors.New("the directory has more than 250000 files")},
			[]string{"[ERROR] the directory has more than 250000 files"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := action.Lint{}.Run(context.Background(), tt.req)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(heads(got), tt.want) {
				t.Errorf("got\n  %s\nwant\n  %s", strings.Join(heads(got), "\n  "), strings.Join(tt.want, "\n  "))
			}
		})
	}
}

// Handlers see the chart as during an install, and their errors are findings.
func TestLintEvents(t *testing.T) {
	var seen []string
	bus := &event.Bus{}
	event.On(bus, "test", 0.5, func(_ context.Context, e *event.PreRender) error {
		seen = append(seen, e.Name())
		e.Values["name"] = "from-handler"
		return nil
	})
	event.On(bus, "test", 0.5, func(_ context.Context, e *event.PostRender) error {
		seen = append(seen, e.Name()+" "+e.Objects[0].Name)
		return errors.New("I do not like it")
	})
	req := lintChart(t, map[string]any{"name": "x"}, map[string]string{
		"a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Values.name }}\n",
	})
	got, err := action.Lint{Events: bus}.Run(context.Background(), req)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"pre-render", "post-render from-handler"}; !slices.Equal(seen, want) {
		t.Errorf("handlers got %q, want %q", seen, want)
	}
	if len(got) != 1 || got[0].Severity != lint.Error || !strings.Contains(got[0].Message, "I do not like it") {
		t.Errorf("got %q, want the handler's error", heads(got))
	}
}

func TestLintCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	req := lintChart(t, nil, map[string]string{"a.yaml": "a: 1\n"})
	if _, err := (action.Lint{}).Run(ctx, req); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's error", err)
	}
	if _, err := (action.Lint{}).Run(context.Background(), action.LintRequest{KubeVersion: "zz"}); err == nil {
		t.Error("got no error for an invalid Kubernetes version")
	}
}
