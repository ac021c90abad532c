// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
)

// coverageOf renders a template and describes its coverage: "1:2" for a line and its hits, and
// "3 if:1" for a branch.
func coverageOf(t *testing.T, text string, values map[string]any) string {
	t.Helper()
	in := input(t, tree(t, "web", map[string]string{"templates/a.yaml": text}))
	in.Values = values
	in.Coverage = &Coverage{}
	if _, err := Render(context.Background(), in); err != nil {
		t.Fatal(err)
	}
	f, ok := in.Coverage.File("web/templates/a.yaml", text)
	if !ok {
		t.Fatal("File: not a template")
	}
	return describeCoverage(f)
}

func describeCoverage(f CoveredFile) string {
	var out []string
	for _, line := range slices.Sorted(maps.Keys(f.Lines)) {
		out = append(out, fmt.Sprintf("%d:%d", line, f.Lines[line]))
	}
	for _, b := range f.Branches {
		out = append(out, fmt.Sprintf("%d %s:%d", b.Line, b.Name, b.Hits))
	}
	return strings.Join(out, ", ")
}

func TestCoverage(t *testing.T) {
	tests := []struct {
		name, text string
		values     map[string]any
		want       string
	}{
		{"text", "a: 1\n\n# c\nb: 2\n", nil, "1:1, 3:1, 4:1"},
		{"a condition that is true", "{{ if .Values.a }}\na: 1\n{{ end }}\n", map[string]any{"a": true},
			"1:1, 2:1, 1 if:1, 1 else:0"},
		{"a condition that is false", "{{ if .Values.a }}\na: 1\n{{ end }}\n", nil, "1:1, 2:0, 1 if:0, 1 else:1"},
		{"else if", "{{ if .Values.a }}\na: 1\n{{ else if .Values.b }}\nb: 1\n{{ else }}\nc: 1\n{{ end }}",
			map[string]any{"b": 1}, "1:1, 2:0, 3:1, 4:1, 6:0, 1 if:0, 1 else:1, 3 if:1, 3 else:0"},
		{"range", "{{ range .Values.l }}\n- {{ . }}\n{{ end }}", map[string]any{"l": []any{1, 2, 3}},
			"1:1, 2:3, 1 range:1, 1 else:0"},
		{"an empty range", "{{ range .Values.l }}\n- x\n{{ else }}\n- y\n{{ end }}", nil,
			"1:1, 2:0, 4:1, 1 range:0, 1 else:1"},
		{"break", "{{ range .Values.l }}\n{{ break }}\n- x\n{{ end }}", map[string]any{"l": []any{1, 2}},
			"1:1, 2:1, 3:0, 1 range:1, 1 else:0"},
		{"with", "{{ with .Values.a }}\na: {{ . }}\n{{ end }}", map[string]any{"a": 1}, "1:1, 2:1, 1 with:1, 1 else:0"},
		{"two on a line", "{{ if .Values.a }}x{{ else }}y{{ end }}{{ if .Values.b }}z{{ end }}", map[string]any{"a": 1},
			"1:1, 1 if:1, 1 else:0, 1 if:0, 1 else:1"},
		{"a definition that is used", "{{ define \"x\" }}\na: 1\n{{ end }}\n{{ define \"y\" }}\nb: 1\n{{ end }}\n" +
			"{{ include \"x\" . }}\n{{ template \"x\" . }}", nil, "2:2, 5:0, 7:1, 8:1"},
		{"comments and variables", "{{/* a\nb */}}\n{{ $x := 1 }}\n{{- /* c */ -}}\n", nil, "3:1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := coverageOf(t, tt.text, tt.values); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestCoverageFileNotRendered(t *testing.T) {
	var c Coverage
	f, ok := c.File("web/templates/a.yaml", "{{ if unknownFunction }}\na: 1\n{{ end }}")
	if got, want := describeCoverage(f), "1:0, 2:0, 1 if:0, 1 else:0"; !ok || got != want {
		t.Errorf("got %s, %v, want %s", got, ok, want)
	}
	if _, ok := c.File("web/templates/a.yaml", "{{ if }}"); ok {
		t.Error("File of a text that is not a template: ok")
	}
}

// Renderings that add to one Coverage, with one Cache, at the same time.
func TestCoverageTogether(t *testing.T) {
	text := "{{ if .Values.a }}\na: 1\n{{ else }}\nb: 1\n{{ end }}"
	in := input(t, tree(t, "web", map[string]string{"templates/a.yaml": text}))
	in.Coverage, in.Cache = &Coverage{}, &Cache{}
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			in := in
			in.Values = map[string]any{"a": i%4 == 0}
			if _, err := Render(context.Background(), in); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	f, _ := in.Coverage.File("web/templates/a.yaml", text)
	if got, want := describeCoverage(f), "1:20, 2:5, 4:15, 1 if:5, 1 else:15"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
