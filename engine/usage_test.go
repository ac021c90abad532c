// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/engine"
)

// used returns the leaves of u: "a.b" for a value whose keys are not used, "a.b..." for one that is
// used whole. "*" is any key.
func used(u *engine.Usage, path string) []string {
	var out []string
	if u.Whole {
		return []string{path + "..."}
	}
	for key, below := range u.Keys {
		out = append(out, used(below, strings.TrimPrefix(path+"."+key, "."))...)
	}
	if u.Any != nil {
		out = append(out, used(u.Any, strings.TrimPrefix(path+".*", "."))...)
	}
	if len(out) == 0 {
		return []string{path}
	}
	slices.Sort(out)
	return out
}

func usageOf(t *testing.T, c *chart.Chart, vals map[string]any) *engine.Usage {
	t.Helper()
	u, err := engine.FindUsage(context.Background(), engine.Input{Chart: c, Values: vals})
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestFindUsage(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"a field", `{{ .Values.a.b }}`, "a.b..."},
		{"a condition", `{{ if .Values.a.on }}{{ end }}`, "a.on"},
		{"both branches", `{{ if .Values.on }}{{ .Values.a.b }}{{ else }}{{ .Values.a.c }}{{ end }}`, "a.b... a.c... on"},
		{"with", `{{ with .Values.a }}{{ .b }}{{ $.Values.c }}{{ else }}{{ .Values.d }}{{ end }}`, "a.b... c... d..."},
		{"a table as text", `{{ toYaml .Values.a | indent 2 }}`, "a..."},
		{"a variable", `{{ $a := .Values.a }}{{ $a.b }}`, "a.b..."},
		{"assigned in a branch", `{{ $a := .Values.a }}{{ if .x }}{{ $a = .Values.b }}{{ end }}{{ $a.c }}`, "a.c... b.c..."},
		{"range over a table", `{{ range $k, $v := .Values.a }}{{ $v.b }}{{ end }}`, "a.*.b..."},
		{"range over a list", `{{ range .Values.a }}{{ .b }}{{ end }}`, "a.*.b..."},
		{"what an iteration sets", `{{ $a := dict }}{{ range list 1 2 }}{{ $a.b }}{{ $a = .Values.c }}{{ end }}`, ""},
		{"set in an iteration", `{{ $a := dict }}{{ range list 1 2 }}{{ with $a.x }}{{ .b }}{{ end }}` +
			`{{ $_ := set $a "x" $.Values.c }}{{ end }}`, "c.b..."},
		{"an argument of a template", `{{ define "n" }}{{ .x.b }}{{ end }}{{ include "n" (dict "x" .Values.a) }}`, "a.b..."},
		{"the root as argument", `{{ define "n" }}{{ .Values.a.b }}{{ end }}{{ template "n" . }}`, "a.b..."},
		{"a name that is made", `{{ define "web.n" }}{{ .Values.a.b }}{{ end }}{{ include (printf "%s.n" .Chart.Name) . }}`, "a.b..."},
		{"a name that is not known", `{{ define "n" }}{{ .b }}{{ end }}{{ include .Values.name .Values.a }}`, "a.b... name..."},
		{"a template that is not called", `{{ define "n" }}{{ .Values.a.b }}{{ end }}`, ""},
		{"default", `{{ (default .Values.a .Values.b).c }}`, "a.c... b.c..."},
		{"required", `{{ (required "x" .Values.a).c }}`, "a.c..."},
		{"index", `{{ index .Values "a" "b-c" }}`, "a.b-c..."},
		{"index by a value", `{{ index .Values.a .Values.k }}`, "a.*... k..."},
		{"index by one of two texts", `{{ range list "x" "y" }}{{ index $.Values.a . }}{{ end }}`, "a.x... a.y..."},
		{"dig", `{{ dig "a" "b" .Values.c .Values.d }}`, "c... d.a.b..."},
		{"hasKey", `{{ if hasKey .Values.a "b" }}{{ end }}`, "a.b"},
		{"keys", `{{ keys .Values.a | len }}`, "a.*"},
		{"pick", `{{ toYaml (pick .Values.a "b") }}`, "a.b..."},
		{"omit", `{{ toYaml (omit .Values.a "b") }}`, "a..."},
		{"merge", `{{ $m := merge (dict) .Values.a .Values.b }}{{ $m.c }}`, "a.c... b.c..."},
		{"merged in place", `{{ $m := dict }}{{ $_ := merge $m .Values.a }}{{ $m.c }}`, "a.c..."},
		{"set in the values", `{{ $_ := set .Values "a" .Values.b }}{{ .Values.a.c }}`, "a.c... b.c..."},
		{"set after it is read", `{{ .Values.a.c }}{{ $_ := set .Values "a" .Values.b }}`, "a.c... b.c..."},
		{"deepCopy", `{{ (deepCopy .Values.a).b }}`, "a.b..."},
		{"first", `{{ (first .Values.a).b }}`, "a.*.b..."},
		{"one of the arguments", `{{ define "n" }}{{ (index . 1).b }}{{ end }}{{ include "n" (list .Values.x .Values.a) }}`, "a.b... x"},
		{"a path that is split", `{{ $v := .Values }}{{ range splitList "." "a.b" }}{{ $v = index $v . }}{{ end }}{{ $v.c }}`,
			"a.b.c... a.c... b.c... c..."},
		{"a path that is not known", `{{ $v := .Values }}{{ range .Values.keys }}{{ $v = index $v . }}{{ end }}{{ $v.c }}`, "..."},
		{"the length", `{{ len .Values.a }}`, "a.*"},
		{"an unknown function", `{{ .Values.a | sha256sum }}`, "a..."},
		{"the argument of a method", `{{ .Capabilities.APIVersions.Has .Values.a }}`, "a..."},
		{"a text with a template", `{{ tpl "{{ .Values.a.b }}" . }}`, "a.b..."},
		{"a value with a template", `{{ tpl .Values.text . }}`, "inText.x... text..."},
		{"recursion", `{{ define "n" }}{{ .a.b }}{{ include "n" (dict "a" .a.next) }}{{ end }}` +
			`{{ include "n" (dict "a" .Values.a) }}`, "a.b... a.next.b... a.next.next..."},
		{"a template that calls itself", `{{ define "n" }}{{ .Values.a }}{{ include "n" . }}{{ end }}{{ include "n" . }}`, "a..."},
		{"everything", `{{ toYaml .Values }}`, "..."},
		{"nothing", `text`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			ch := &chart.Chart{Metadata: &chart.Metadata{Name: "web"},
				Templates: []*chart.File{{Name: "templates/a.yaml", Data: []byte(c.text)}}}
			vals := map[string]any{}
			if strings.Contains(c.text, ".Values.text") {
				vals["text"] = "{{ .Values.inText.x }}"
			}
			if got := strings.Join(used(usageOf(t, ch, vals), ""), " "); got != c.want {
				t.Errorf("%s uses %q, want %q", c.text, got, c.want)
			}
		})
	}
}

// TestFindUsageOfSubcharts has the values of subcharts, the globals that they share, and places.
func TestFindUsageOfSubcharts(t *testing.T) {
	sub := &chart.Chart{Metadata: &chart.Metadata{Name: "db"}, Templates: []*chart.File{
		{Name: "templates/a.yaml", Data: []byte("\n{{ .Values.port }}{{ .Values.global.region }}")}}}
	root := &chart.Chart{Metadata: &chart.Metadata{Name: "web"}, Templates: []*chart.File{
		{Name: "templates/b.yaml", Data: []byte("{{ .Subcharts.db.Values.host }}")}}}
	root.SetDependencies(sub)
	u := usageOf(t, root, nil)
	want := "db.global.region... db.host... db.port... global.region..."
	if got := strings.Join(used(u, ""), " "); got != want {
		t.Errorf("used are %q, want %q", got, want)
	}
	port := u.Keys["db"].Keys["port"]
	if port.File != "web/charts/db/templates/a.yaml" || port.Line != 2 {
		t.Errorf("db.port is used at %s:%d, want web/charts/db/templates/a.yaml:2", port.File, port.Line)
	}
}

func TestFindUsageErrors(t *testing.T) {
	var invalid *engine.Error
	c := &chart.Chart{Metadata: &chart.Metadata{Name: "web"},
		Templates: []*chart.File{{Name: "templates/a.yaml", Data: []byte("{{ if }}")}}}
	if _, err := engine.FindUsage(context.Background(), engine.Input{Chart: c}); !errors.As(err, &invalid) {
		t.Errorf("a template that cannot be parsed: %v, want an *engine.Error", err)
	}
	// Each template calls the next with two arguments of its own, twice over.
	var text strings.Builder
	for i := range 40 {
		fmt.Fprintf(&text, `{{ define "n%d" }}{{ include "n%d" (dict "a" . "x" "1") }}{{ include "n%d" (dict "b" . "x" "2") }}{{ end }}`,
			i, i+1, i+1)
	}
	text.WriteString(`{{ include "n0" . }}`)
	c.Templates[0].Data = []byte(text.String())
	if _, err := engine.FindUsage(context.Background(), engine.Input{Chart: c}); !errors.Is(err, engine.ErrUsageLimit) {
		t.Errorf("templates without an end: %v, want ErrUsageLimit", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := engine.FindUsage(ctx, engine.Input{Chart: c}); !errors.Is(err, context.Canceled) {
		t.Errorf("after its context has ended: %v, want its error", err)
	}
}

// FuzzFindUsage follows any template: it ends, with what it uses or an error.
func FuzzFindUsage(f *testing.F) {
	f.Add(`{{ define "n" }}{{ .a.b }}{{ include "n" (dict "a" .a.next) }}{{ end }}{{ include "n" (dict "a" .Values.a) }}`)
	f.Add(`{{ $m := dict }}{{ range $k, $v := .Values }}{{ $_ := set $m $k (merge $v $m) }}{{ $m = list $m }}{{ end }}`)
	f.Add(`{{ tpl (printf "{{ .Values.%s }}" "x") (pick . "Values") }}{{ dig "a" 1 }}{{ pluck }}{{ index (index .) .x }}`)
	f.Fuzz(func(_ *testing.T, text string) {
		c := &chart.Chart{Metadata: &chart.Metadata{Name: "web"},
			Templates: []*chart.File{{Name: "templates/a.yaml", Data: []byte(text)}}}
		_, _ = engine.FindUsage(context.Background(), engine.Input{Chart: c, Values: map[string]any{"text": text}})
	})
}

// BenchmarkFindUsage follows a chart whose templates call each other.
func BenchmarkFindUsage(b *testing.B) {
	var text strings.Builder
	for i := range 200 {
		fmt.Fprintf(&text, `{{ define "n%d" }}{{ .Values.a%d.b }}{{ end }}{{ include "n%d" . }}{{ toYaml .Values.c%d }}`, i, i, i, i)
	}
	c := &chart.Chart{Metadata: &chart.Metadata{Name: "web"},
		Templates: []*chart.File{{Name: "templates/a.yaml", Data: []byte(text.String())}}}
	for b.Loop() {
		if _, err := engine.FindUsage(context.Background(), engine.Input{Chart: c}); err != nil {
			b.Fatal(err)
		}
	}
}

// TestFindUsageGoal checks that the templates with the words come first, and that the others are not
// followed when the goal is reached.
func TestFindUsageGoal(t *testing.T) {
	c := &chart.Chart{Metadata: &chart.Metadata{Name: "web"}}
	for _, name := range []string{"a", "b", "c"} {
		c.Templates = append(c.Templates, &chart.File{Name: "templates/" + name + ".yaml",
			Data: []byte(strings.Repeat("{{ .Values.image."+name+" }}\n", 100))})
	}
	goal := engine.UsageGoal{Words: []string{".b ", "image"},
		Reached: func(u *engine.Usage) bool { return u.Keys["image"] != nil && u.Keys["image"].Keys["b"] != nil }}
	u, err := engine.FindUsage(context.Background(), engine.Input{Chart: c, Goal: goal})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(used(u, ""), " "), "image.b..."; got != want {
		t.Errorf("used is %s, want %s", got, want)
	}
	goal.Reached = func(*engine.Usage) bool { return false }
	if u, err = engine.FindUsage(context.Background(), engine.Input{Chart: c, Goal: goal}); err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(used(u, ""), " "), "image.a... image.b... image.c..."; got != want {
		t.Errorf("without reaching the goal: used is %s, want %s", got, want)
	}
}
