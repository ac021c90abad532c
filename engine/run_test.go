// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"
)

// many returns a tree of 12 subcharts with the same templates.
func many(root, sub map[string]string) map[string]string {
	files := map[string]string{}
	for name, text := range root {
		files[name] = text
	}
	for i := range 12 {
		for name, text := range sub {
			files[fmt.Sprintf("charts/c%02d/%s", i, name)] = text
		}
	}
	return files
}

// Rendering on several processors has the same result as on one.
func TestChartsRenderedTogetherAreAsInTurn(t *testing.T) {
	count := `{{ $_ := set .Values.global.m .Chart.Name (add1 (len .Values.global.m)) }}{{ toJson .Values }}`
	for name, contents := range map[string]map[string]string{
		"reading": many(map[string]string{"templates/a.yaml": "{{ toJson .Values }}"}, map[string]string{
			"values.yaml": "a: 1", "templates/a.yaml": "{{ .Chart.Name }} {{ .Values.a }}", "templates/_h.tpl": `{{ define "x" }}{{ .Chart.Name }}{{ end }}`, "templates/b.yaml": `{{ include "x" . }}`,
		}),
		"writing to their values": many(map[string]string{"values.yaml": "global: {m: {}}", "templates/a.yaml": count}, map[string]string{"templates/a.yaml": count, "templates/b.yaml": count}),
		"writing to the release": many(map[string]string{"templates/a.yaml": "{{ .Release.n }}"}, map[string]string{
			"templates/a.yaml": `{{ $_ := set .Release "n" (add1 (default 0 .Release.n)) }}{{ .Release.n }}`, "templates/b.yaml": "{{ .Release.n }}",
		}),
		"writing in a text for tpl": many(map[string]string{"values.yaml": "global: {m: {}, t: '" + count + "'}", "templates/a.yaml": "{{ tpl .Values.global.t . }}"}, map[string]string{
			"templates/a.yaml": "{{ tpl .Values.global.t . }}", "templates/b.yaml": "{{ tpl .Values.global.t . }}",
		}),
		"the root in between": many(map[string]string{"templates/a/b/c/d.yaml": `{{ range $k, $v := .Values }}{{ $_ := set $v "by" "root" }}{{ end }}`}, map[string]string{
			"values.yaml": "a: 1", "templates/a.yaml": "{{ .Values.by }}", "templates/a/b/c/d/e/f.yaml": "{{ .Values.by }}",
		}),
		"failing": many(nil, map[string]string{"templates/a.yaml": `{{ if lt .Chart.Name "c03" }}{{ fail .Chart.Name }}{{ end }}`, "templates/b.yaml": `{{ if eq .Chart.Name "c03" }}{{ fail "b" }}{{ end }}`}),
		"lint":    many(nil, map[string]string{"templates/a.yaml": `{{ fail .Chart.Name }}`, "templates/b.yaml": `b`}),
	} {
		t.Run(name, func(t *testing.T) {
			run := func() (*Output, string) {
				in := input(t, tree(t, "p", contents))
				in.Lint = name == "lint"
				out, err := Render(context.Background(), in)
				return out, fmt.Sprint(err)
			}
			before := runtime.GOMAXPROCS(1)
			want, wantErr := run()
			runtime.GOMAXPROCS(max(4, before))
			for range 5 {
				if got, gotErr := run(); gotErr != wantErr || !reflect.DeepEqual(got, want) {
					t.Errorf("got\n%+v, %s\nwant\n%+v, %s", got, gotErr, want, wantErr)
				}
			}
			runtime.GOMAXPROCS(before)
			if name == "failing" && !strings.HasPrefix(wantErr, "execution error at (p/charts/c03/") {
				t.Errorf("the first error is %s", wantErr)
			}
		})
	}
}

func TestCancelledBeforeAnyTemplate(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	in := input(t, tree(t, "p", many(nil, map[string]string{"templates/a.yaml": "a", "templates/b.yaml": "b"})))
	if _, err := Render(ctx, in); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
