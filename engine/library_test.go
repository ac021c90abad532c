// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"reflect"
	"testing"

	"github.com/moonhelm/moonhelm/chart"
)

// Only the definitions of a library are used, whether it has the type library or is in
// library/, and whatever its files are called.
func TestLibrariesOnlyDefine(t *testing.T) {
	lib := func(kind string) *chart.Chart {
		files := map[string]string{
			"templates/pod.yaml":      `{{ fail "pod.yaml of a library was run" }}`,
			"templates/NOTES.txt":     `{{ fail "notes of a library were run" }}`,
			"templates/sub/NOTES.txt": "notes of a library",
			"templates/_helpers.tpl":  `{{ fail "outside of define" }}{{ define "` + kind + `" }}{{ .Chart.Name }} by ` + kind + `{{ end }}text`,
		}
		return tree(t, kind, files)
	}
	root := tree(t, "web", map[string]string{
		"templates/a.yaml":    `{{ include "typed" . }}, {{ include "directory" . }}, {{ include "nested" . }}, {{ .Subcharts | keys }}`,
		"templates/NOTES.txt": "notes",
	})
	typed, directory, nested := lib("typed"), lib("directory"), lib("nested")
	typed.Metadata.Type = chart.TypeLibrary
	directory.FromLibrary = true
	directory.SetDependencies(nested) // in charts/ of a library, without a type
	root.SetDependencies(typed, directory)
	out, err := Render(context.Background(), input(t, root))
	if err != nil {
		t.Fatal(err)
	}
	if want := []File{{"web/templates/a.yaml", "web by typed, web by directory, web by nested, [typed]"}}; !reflect.DeepEqual(out.Files, want) {
		t.Errorf("got %q", out.Files)
	}
	if want := []File{{"web/templates/NOTES.txt", "notes"}}; !reflect.DeepEqual(out.Notes, want) {
		t.Errorf("got notes %q", out.Notes)
	}
}
