// SPDX-License-Identifier: Apache-2.0

package dependency_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/dependency"
	"github.com/moonhelm/moonhelm/chart/schema"
	"github.com/moonhelm/moonhelm/chart/values"
	"github.com/moonhelm/moonhelm/engine"
)

// with adds files to the charts of a tree, by their paths from the root. values.yaml is JSON.
func with(t *testing.T, c *chart.Chart, files map[string]string) *chart.Chart {
	t.Helper()
	byPath := map[string]*chart.Chart{}
	c.Walk(func(x *chart.Chart) { byPath[x.FullPath()] = x })
	for name, text := range files {
		at, file, _ := strings.Cut(name, ": ")
		x := byPath[at]
		if x == nil {
			t.Fatalf("there is no chart %s", at)
		}
		f := &chart.File{Name: file, Data: []byte(text)}
		switch {
		case file == "values":
			if err := json.Unmarshal(f.Data, &x.Values); err != nil {
				t.Fatal(err)
			}
		case file == "schema":
			x.Schema = f.Data
		case strings.HasPrefix(file, "templates/"):
			x.Templates = append(x.Templates, f)
		default:
			x.Files = append(x.Files, f)
		}
	}
	c.Walk(func(x *chart.Chart) {
		slices.SortFunc(x.Templates, func(a, b *chart.File) int { return strings.Compare(a.Name, b.Name) })
	})
	return c
}

// rendered resolves and renders like an operation and returns the output of each template.
func rendered(t *testing.T, c *chart.Chart, user map[string]any) (map[string]string, *engine.Output, *values.Resolved) {
	t.Helper()
	res, err := values.Resolve(c, user)
	if err != nil {
		t.Fatal(err)
	}
	before, _ := json.Marshal(res.Values)
	if _, err := dependency.Libraries(res.Chart); err != nil {
		t.Fatal(err)
	}
	if after, _ := json.Marshal(res.Values); string(after) != string(before) {
		t.Errorf("hoisting changed the values from %s to %s", before, after)
	}
	if err := schema.Validate(res.Chart, res.Values); err != nil {
		t.Error(err)
	}
	out, err := engine.Render(t.Context(), engine.Input{Chart: res.Chart, Values: res.Values, Release: engine.Release{Name: "r"}})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, f := range out.Files {
		got[f.Name] = strings.TrimSpace(f.Content)
	}
	return got, out, res
}

func wantText(t *testing.T, got map[string]string, name, want string) {
	t.Helper()
	if got[name] != want {
		t.Errorf("%s rendered %q, want %q", name, got[name], want)
	}
}

// All charts use the definitions of one of two versions of a library.
func TestRenderLibraryVersions(t *testing.T) {
	c := with(t, tree(t, `web uses common >=1.0.0
		web/library/common 1.0.0
		web/charts/db uses common ^1.5.0
		web/charts/db/library/common 1.6.0`), map[string]string{
		"web: templates/a.yaml":                                `{{ include "common.version" . }} {{ include "common.only-new" . }}`,
		"web/charts/db: templates/b.yaml":                      `{{ include "common.version" . }} {{ .Chart.Name }}`,
		"web/library/common: templates/_v.tpl":                 `{{ define "common.version" }}1.0 for {{ .Chart.Name }}{{ end }}`,
		"web/charts/db/library/common: templates/_v.tpl":       `{{ define "common.version" }}1.6 for {{ .Chart.Name }}{{ end }}`,
		"web/charts/db/library/common: templates/helpers.yaml": `{{ define "common.only-new" }}new{{ end }}`,
	})
	got, _, _ := rendered(t, c, nil)
	wantText(t, got, "web/templates/a.yaml", "1.6 for web new")
	wantText(t, got, "web/charts/db/templates/b.yaml", "1.6 for db db")
}

// Only the definitions of a library are used, whatever its type: its templates and notes are
// not rendered, its CRDs not installed, its schema is not used, and it has no values.
func TestRenderLibraryDefinitions(t *testing.T) {
	c := with(t, tree(t, `web
		web/charts/db uses mysql
		web/charts/db/library/mysql 8.0.0
		web/charts/db/library/mysql/charts/common`), map[string]string{
		"web: templates/a.yaml":                                          `{{ include "mysql.name" . }} {{ include "deep" . }} {{ .Values.mark }}`,
		"web: values":                                                    `{"mark": "unmarked", "mysql": "not a table"}`,
		"web/charts/db: templates/b.yaml":                                `{{ .Values | toJson }}{{ .Subcharts | toJson }}`,
		"web/charts/db: values":                                          `{"own": 1, "mysql": 5}`,
		"web/charts/db/library/mysql: values":                            `{"root": {"password": "x"}, "global": {"a": 1}}`,
		"web/charts/db/library/mysql: schema":                            `{"required": ["nothing has this"]}`,
		"web/charts/db/library/mysql: templates/pod.yaml":                "{{ define \"mysql.name\" }}mysql{{ end }}\nkind: Pod\n{{ fail \"rendered\" }}",
		"web/charts/db/library/mysql: templates/_x.tpl":                  `{{ $_ := set .Values "mark" "marked" }}{{ fail "rendered" }}`,
		"web/charts/db/library/mysql: templates/NOTES.txt":               `{{ fail "rendered" }}`,
		"web/charts/db/library/mysql: crds/crd.yaml":                     "kind: CustomResourceDefinition",
		"web/charts/db/library/mysql/charts/common: templates/c.yaml":    "{{ define \"deep\" }}deep{{ end }}kind: Pod\n{{ fail \"rendered\" }}",
		"web/charts/db/library/mysql/charts/common: templates/_b.tpl":    `{{ fail "rendered" }}`,
		"web/charts/db/library/mysql/charts/common: crds/crd.yaml":       "kind: CustomResourceDefinition",
		"web/charts/db/library/mysql/charts/common: templates/NOTES.txt": `x`,
		"web/charts/db/library/mysql/charts/common: values":              `{"b": 2}`,
		"web/charts/db/library/mysql/charts/common: schema":              `{"required": ["nothing has this"]}`,
	})
	got, out, res := rendered(t, c, nil)
	wantText(t, got, "web/templates/a.yaml", "mysql deep unmarked")
	wantText(t, got, "web/charts/db/templates/b.yaml", `{"global":{},"mysql":5,"own":1}{}`)
	if len(got) != 2 || len(out.Notes) != 0 {
		t.Errorf("rendered %q and the notes %q", got, out.Notes)
	}
	if crds := res.Chart.CRDs(); len(crds) > 0 {
		t.Errorf("CRDs %v", crds)
	}
}

// A chart's definition replaces a library's anywhere in the tree, and a library's that of a
// library which it uses.
func TestRenderDefinitionPrecedence(t *testing.T) {
	c := with(t, tree(t, `web
		web/charts/a
		web/charts/a/charts/b uses zcommon
		web/charts/a/charts/b/library/zcommon uses base
		web/charts/a/charts/b/library/zcommon/library/base`), map[string]string{
		"web: templates/w.yaml":                                                   `{{ include "one" . }} {{ include "two" . }} {{ include "three" . }}`,
		"web/charts/a/charts/b: templates/_b.tpl":                                 `{{ define "one" }}b{{ end }}`,
		"web/charts/a/charts/b/library/zcommon: templates/_z.tpl":                 `{{ define "one" }}zcommon{{ end }}{{ define "two" }}zcommon{{ end }}`,
		"web/charts/a/charts/b/library/zcommon/library/base: templates/_base.tpl": `{{ define "one" }}base{{ end }}{{ define "two" }}base{{ end }}{{ define "three" }}base{{ end }}`,
	})
	got, _, _ := rendered(t, c, nil)
	wantText(t, got, "web/templates/w.yaml", "b zcommon base")
}

// A library and a subchart may have the same name.
func TestRenderLibraryAndSubchartSameName(t *testing.T) {
	root := tree(t, `web uses common
		web/charts/common
		web/library/common 2.0.0`)
	root.Metadata.Dependencies = []*chart.Dependency{{Name: "common", Version: "^1.0.0", Condition: "common.enabled"}}
	c := with(t, root, map[string]string{
		"web: values":                          `{"common": {"x": "web's"}}`,
		"web: templates/a.yaml":                `{{ include "lib" . }}`,
		"web/charts/common: templates/b.yaml":  `{{ include "lib" . }} {{ .Values.x }} {{ .Values.y }}`,
		"web/charts/common: values":            `{"x": "common's", "y": "common's"}`,
		"web/library/common: templates/_l.tpl": `{{ define "lib" }}lib{{ end }}`,
		"web/library/common: values":           `{"x": "library's", "y": "library's", "z": "library's"}`,
	})
	got, _, res := rendered(t, c, nil)
	wantText(t, got, "web/templates/a.yaml", "lib")
	wantText(t, got, "web/charts/common/templates/b.yaml", "lib web's common's")
	if _, leaked := res.Values["common"].(map[string]any)["z"]; leaked {
		t.Error("a library's values are in the tree")
	}
	got, _, _ = rendered(t, c, map[string]any{"common": map[string]any{"enabled": false}})
	wantText(t, got, "web/templates/a.yaml", "lib")
	if len(got) != 1 {
		t.Errorf("the condition of the subchart is not the library's: %q", got)
	}
}
