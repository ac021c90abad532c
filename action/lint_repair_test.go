// SPDX-License-Identifier: Apache-2.0

package action

import (
	"slices"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/chart/loader"
	"github.com/moonhelm/moonhelm/internal/filetest"
)

// TestLintBrokenMetadata checks that a Chart.yaml that cannot be loaded does not hide the
// findings in other files.
func TestLintBrokenMetadata(t *testing.T) {
	for _, test := range []struct{ name, metadata, want string }{
		{"not YAML", "apiVersion: v2\nname: web\nversion: 1.2.3\nmaintainers: [x\n", "Chart.yaml:4"},
		{"a field of another type", "apiVersion: v2\nname: web\nversion: 1.2.3\nkeywords: one\n", "Chart.yaml:4"},
		{"no version", "apiVersion: v2\nname: web\n", "Chart.yaml:0"},
		{"nothing valid", "[", "Chart.yaml:1"},
		{"a name that is not valid", "apiVersion: v2\nname: a/b\nversion: 1.2.3\n", "Chart.yaml:2"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			filetest.WriteFile(t, dir+"/Chart.yaml", test.metadata)
			filetest.WriteFile(t, dir+"/values.yaml", "a: 1\n")
			filetest.WriteFile(t, dir+"/templates/a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: {{ .Values.b.c }}}\n")
			filetest.WriteFile(t, dir+"/templates/b.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Chart.Name | lower }}}\ndata: {a: {{ .Values.a }}}\n")
			got := lintDir(t, dir)
			all := strings.Join(got, "\n")
			for _, want := range []string{"[ERROR] " + strings.TrimSuffix(test.want, ":0"), "[ERROR] templates/a.yaml:4: .Values.b is not set",
				"[ERROR] templates/b.yaml:4: .data.a: expected a string, got number"} {
				if !slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, want) }) {
					t.Errorf("%q is missing in\n%s", want, all)
				}
			}
		})
	}
}

// A values.yaml that cannot be read does not hide the findings in templates, and causes none.
func TestLintBrokenValues(t *testing.T) {
	for _, test := range []struct{ name, values, broken, info string }{
		{"one key", "a: 1\nlost:\n  x: 1\n   y: 2\n", "values.yaml:4", "values.yaml: the templates are checked without lost"},
		{"an open quote", "lost: \"x\na: 1\n", "values.yaml:", "values.yaml: the templates are checked without lost"},
		{"a line that is not a key", "lost: {x: 1}\na: 1\n}\n", "values.yaml:2", "values.yaml: the templates are checked with its valid keys only"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			filetest.WriteFile(t, dir+"/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.2.3\n")
			filetest.WriteFile(t, dir+"/values.yaml", test.values)
			filetest.WriteFile(t, dir+"/values.schema.json", `{"required": ["lost"]}`)
			filetest.WriteFile(t, dir+"/templates/a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: {{ .Values.a }}}\n")
			filetest.WriteFile(t, dir+"/templates/b.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\ndata: {a: \"{{ .Values.lost.x }}\"}\n")
			filetest.WriteFile(t, dir+"/templates/c.yaml", "{{ if }}\n")
			got := lintDir(t, dir)
			for i, want := range []string{test.info, test.broken, "templates/a.yaml:4: .data.a: expected a string, got number", "templates/c.yaml:1: "} {
				if got = slices.DeleteFunc(got, func(s string) bool { return strings.Contains(s, "icon") }); i >= len(got) ||
					!strings.Contains(got[i], "] "+want) {
					t.Fatalf("got\n%s\nwant %q as %d", strings.Join(got, "\n"), want, i)
				}
			}
			if len(got) != 4 {
				t.Errorf("got\n%s", strings.Join(got, "\n"))
			}
		})
	}
}

func TestLintDuplicateObjects(t *testing.T) {
	const object = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n"
	dir := t.TempDir()
	for name, text := range map[string]string{
		"Chart.yaml":           "apiVersion: v2\nname: web\nversion: 1.2.3\nicon: https://example.com/a.png\n",
		"templates/1.yaml":     object + "---\n" + object,
		"templates/2.yaml":     "# a comment\n" + object,
		"templates/hook.yaml":  object + "  annotations: {helm.sh/hook: pre-install}\n",
		"templates/none.yaml":  "kind: ConfigMap\nmetadata: {name: b}\n---\nkind: ConfigMap\nmetadata: {name: b}\n---\nkind: Secret\nmetadata: {name: a}\n",
		"templates/other.yaml": object + "  namespace: elsewhere\n",
		"templates/kind.yaml":  strings.Replace(object, "ConfigMap", "Secret", 1),
		"templates/group.yaml": strings.Replace(object, "v1", "example.com/v1", 1),
	} {
		filetest.WriteFile(t, dir+"/"+name, text)
	}
	const once = ": a release can contain an object only once"
	got, want := lintDir(t, dir), []string{
		"[ERROR] templates/1.yaml:4: ConfigMap/a is defined twice here" + once,
		"[ERROR] templates/2.yaml:5: ConfigMap/a is defined twice, here and at templates/1.yaml:4" + once,
		"[ERROR] templates/none.yaml:2: ConfigMap/b is defined twice here" + once,
	}
	got = slices.DeleteFunc(got, func(s string) bool { return !strings.Contains(s, "twice") })
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// lintDir returns the findings about the chart in dir.
func lintDir(t *testing.T, dir string) []string {
	t.Helper()
	req, err := LoadForLint(loader.Loader{}, dir)
	if err != nil {
		t.Fatal(err)
	}
	findings, err := Lint{}.Run(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, f := range findings {
		out = append(out, f.String())
	}
	return out
}

func TestTopLevelBlocks(t *testing.T) {
	text := "# a comment\nname: a\nkeywords:\n- x\n- y\nmaintainers:\n  - name: b\n\nversion: 1\n"
	got := topLevelBlocks(text)
	want := []string{"# a comment\n", "name: a\n", "keywords:\n- x\n- y\n", "maintainers:\n  - name: b\n\n", "version: 1\n"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
