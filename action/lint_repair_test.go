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
			req, err := LoadForLint(loader.Loader{}, dir)
			if err != nil {
				t.Fatal(err)
			}
			findings, err := Lint{}.Run(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range findings {
				got = append(got, f.String())
			}
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

func TestTopLevelBlocks(t *testing.T) {
	text := "# a comment\nname: a\nkeywords:\n- x\n- y\nmaintainers:\n  - name: b\n\nversion: 1\n"
	got := topLevelBlocks(text)
	want := []string{"# a comment\n", "name: a\n", "keywords:\n- x\n- y\n", "maintainers:\n  - name: b\n\n", "version: 1\n"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
