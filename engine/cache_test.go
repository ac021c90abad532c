// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"reflect"
	"testing"
)

func TestCache(t *testing.T) {
	in := input(t, tree(t, "web", map[string]string{"templates/a.yaml": `a: {{ tpl .Values.t . }}`}))
	in.Cache = &Cache{}
	for i := range 3 {
		in.Values = map[string]any{"t": fmt.Sprintf("{{ add %d 1 }}", i)}
		out, err := Render(context.Background(), in)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := out.Files[0].Content, fmt.Sprintf("a: %d", i+1); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := len(in.Cache.texts); got != 4 {
		t.Errorf("the cache has %d texts, want the template and three of tpl", got)
	}
	in.Cache.size = maxCached
	in.Values = map[string]any{"t": "{{ 7 }}"}
	if _, err := Render(context.Background(), in); err != nil || len(in.Cache.texts) != 4 {
		t.Errorf("a full cache: %v, %d texts", err, len(in.Cache.texts))
	}
}

// A rendering gives the same whether templates are parsed before it, while it runs, or not at all.
func TestParseAhead(t *testing.T) {
	files := map[string]string{
		"templates/own.yaml":           "own: {{ own }}", // only the rendering knows the function
		"charts/sub/Chart.yaml":        "apiVersion: v2\nname: sub\nversion: 1.0.0\n",
		"charts/sub/templates/a.yaml":  "sub: {{ .Values.a }}",
		"charts/sub/templates/_h.yaml": `{{ define "name" }}{{ .Chart.Name }}{{ end }}`,
	}
	for i := range 100 {
		files[fmt.Sprintf("templates/%d.yaml", i)] = fmt.Sprintf(`n: {{ add %d 1 }}, {{ include "name" . }}`, i)
	}
	in := input(t, tree(t, "web", files))
	in.Functions = map[string]map[string]func(...any) (any, error){
		"web": {"own": func(...any) (any, error) { return "mine", nil }},
	}
	want, err := Render(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	for _, wait := range []bool{true, false} {
		t.Run(fmt.Sprintf("wait %t", wait), func(t *testing.T) {
			in.Cache = &Cache{}
			ended := in.Cache.ParseAhead(context.Background(), in.Chart)
			if wait {
				<-ended
				if got, want := len(in.Cache.texts), len(files)-2; got != want {
					t.Errorf("%d texts are parsed, want %d", got, want)
				}
			}
			got, err := Render(context.Background(), in)
			if err != nil {
				t.Fatal(err)
			}
			<-ended
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got %v\nwant %v", got, want)
			}
		})
	}
	t.Run("an ended context", func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		c := &Cache{}
		if <-c.ParseAhead(ctx, in.Chart); len(c.texts) != 0 {
			t.Errorf("%d texts are parsed", len(c.texts))
		}
	})
}
