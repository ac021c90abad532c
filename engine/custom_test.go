// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/chart/values"
)

type functionsOf = map[string]map[string]func(args ...any) (any, error)

// says returns a function that returns its name and arguments.
func says(who string) func(args ...any) (any, error) {
	return func(args ...any) (any, error) { return fmt.Sprintf("%s%v", who, args), nil }
}

func TestInputFunctions(t *testing.T) {
	c := tree(t, "web", map[string]string{
		"templates/a.yaml":           `{{ greet "x" 1 .Values.n | quote }} {{ include "db.name" . }} {{ tpl "{{ greet }}" . }}`,
		"templates/_same.tpl":        `{{ define "web.same" }}{{ same }}{{ end }}`,
		"charts/db/templates/_n.tpl": `{{ define "db.name" }}{{ greet }}-{{ tpl "{{ greet 1 }}" . }}{{ end }}`,
		"charts/db/templates/b.yaml": `{{ same }} {{ include "web.same" . }} {{ (data).list | first }} {{ with nothing }}no{{ else }}nil{{ end }}`,
	})
	in := input(t, c)
	in.Values = map[string]any{"n": values.Real(3)}
	in.Functions = functionsOf{
		"web": {"greet": says("web"), "same": says("web's")},
		"web/charts/db": {"greet": says("db"), "same": says("db's"),
			"data":    func(...any) (any, error) { return map[string]any{"list": []any{"one", "two"}}, nil },
			"nothing": func(...any) (any, error) { return nil, nil }},
	}
	out, err := Render(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	want := []File{
		{"web/charts/db/templates/b.yaml", `db's[] web's[] one nil`},
		{"web/templates/a.yaml", `"web[x 1 3]" db[]-db[1] web[]`},
	}
	if !reflect.DeepEqual(out.Files, want) {
		t.Errorf("got %q", out.Files)
	}
}

// The same text is valid in one chart and an error in another.
func TestInputFunctionsPerChart(t *testing.T) {
	const text = "a: 1\nb: {{ greet }}\n"
	for _, c := range []struct {
		files      map[string]string
		file, hint string
	}{
		{map[string]string{"templates/a.yaml": text, "charts/db/templates/a.yaml": text}, "web/charts/db/templates/a.yaml", "chart web offers greet, to its own templates only"},
		{map[string]string{"templates/a.yaml": "{{ salut }}"}, "web/templates/a.yaml", "did you mean salute?"},
		{map[string]string{"templates/a.yaml": `{{ include "db" . }}`, "charts/db/templates/_a.tpl": `{{ define "db" }}{{ tpl "{{ greet }}" . }}{{ end }}`},
			"web/charts/db/templates/_a.tpl", "chart web offers greet, to its own templates only"},
	} {
		t.Run(c.file, func(t *testing.T) {
			in := input(t, tree(t, "web", c.files))
			in.Functions = functionsOf{"web": {"greet": says("web"), "salute": says("web")}}
			_, err := Render(context.Background(), in)
			var e *Error
			if !errors.As(err, &e) || e.File != c.file || e.Hint != c.hint || !strings.Contains(e.Cause, "not defined") || e.Line == 0 {
				t.Errorf("%v: %v", c.files, err)
			}
		})
	}
}

func TestInputFunctionsInvalidName(t *testing.T) {
	for name, problem := range map[string]string{
		"quote": "cannot be replaced", "include": "cannot be replaced", "and": "cannot be replaced", "lookup": "cannot be replaced",
		"": "a name holds", "1a": "a name holds", "a-b": "a name holds", "a.b": "a name holds", "if": "a name holds", "true": "a name holds", "nil": "a name holds",
	} {
		t.Run(name, func(t *testing.T) {
			in := input(t, tree(t, "web", map[string]string{"templates/a.yaml": ""}))
			in.Functions = functionsOf{"web": {"fine_1": says(""), "über": says(""), name: says("")}}
			_, err := Render(context.Background(), in)
			var e *FunctionError
			if !errors.As(err, &e) || e.Chart != "web" || e.Name != name || !strings.Contains(err.Error(), problem) {
				t.Errorf("%q: %v", name, err)
			}
		})
	}
}

func TestInputFunctionsError(t *testing.T) {
	broken := errors.New("broken at ext/lua/chart.lua:3")
	c := tree(t, "web", map[string]string{
		"templates/_a.tpl": "{{ define \"outer\" }}\n{{ fetch .Values.url }}{{ end }}",
		"templates/a.yaml": `x: {{ include "outer" . }}`,
	})
	for name, fn := range map[string]func(args ...any) (any, error){
		"returned": func(...any) (any, error) { return nil, broken },
		"thrown":   func(...any) (any, error) { panic(broken) },
	} {
		t.Run(name, func(t *testing.T) {
			in := input(t, c)
			in.Functions = functionsOf{"web": {"fetch": fn}}
			_, err := Render(context.Background(), in)
			var e *Error
			if !errors.As(err, &e) || !errors.Is(err, broken) || e.Position() != "web/templates/_a.tpl:2:4" || len(e.Calls) != 2 ||
				!strings.Contains(err.Error(), "error calling fetch: broken at ext/lua/chart.lua:3") ||
				!strings.Contains(err.Error(), "called by web/templates/a.yaml:1:7") {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	in := input(t, c)
	in.Functions = functionsOf{"web": {"fetch": says("")}}
	c.Templates[0].Data = []byte("{{ define \"outer\" }}{{ $d := dict }}{{ $_ := set $d \"me\" $d }}{{ fetch $d }}{{ end }}")
	if _, err := Render(context.Background(), in); err == nil || !strings.Contains(err.Error(), errCyclic.Error()) {
		t.Errorf("a map that holds itself: %v", err)
	}
}

// Functions of scripts have state, so they must be called in the same order on every run, and
// once each.
func TestInputFunctionsCallOrder(t *testing.T) {
	files := map[string]string{"templates/z.yaml": `{{ count "root" }}{{ tpl "{{ $_ := set .Values \"a\" 1 }}{{ .Values.a }}" . }}`}
	for i := range 30 {
		files[fmt.Sprintf("charts/sub%02d/templates/a.yaml", i)] = fmt.Sprintf(`{{ count %d }}`, i)
	}
	c := tree(t, "web", files)
	var first []any
	for range 5 {
		var requests []any
		count := func(args ...any) (any, error) {
			requests = append(requests, args[0])
			return len(requests), nil
		}
		in := input(t, c)
		in.Functions = functionsOf{"web": {"count": count}}
		for _, sub := range c.Dependencies() {
			in.Functions[sub.FullPath()] = functionsOf{"": {"count": count}}[""]
		}
		if _, err := Render(context.Background(), in); err != nil {
			t.Fatal(err)
		}
		if len(requests) != 31 || requests[30] != "root" {
			t.Fatalf("asked %v", requests)
		}
		if first == nil {
			first = requests
		} else if !reflect.DeepEqual(requests, first) {
			t.Errorf("asked %v, first %v", requests, first)
		}
	}
}

func TestInputReplace(t *testing.T) {
	c := tree(t, "web", map[string]string{"templates/a.yaml": `{{ now }} {{ tpl "{{ now | upper }}" . }}`})
	in := input(t, c)
	in.Replace = functionsOf{"": {"now": says("noon")}}[""]
	out, err := Render(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := out.Files[0].Content, "noon[] NOON[]"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	in.Replace = functionsOf{"": {"nwo": says("noon")}}[""]
	_, err = Render(context.Background(), in)
	var e *FunctionError
	if !errors.As(err, &e) || e.Name != "nwo" {
		t.Errorf("got %v, want a *FunctionError for nwo", err)
	}
}
