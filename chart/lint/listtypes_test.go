// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/chart"
)

func TestListTypes(t *testing.T) {
	for _, test := range []struct {
		name, file, schema string
		want               string // of the only finding, or "" for none
		line               int
	}{
		{"valid", chart.FileSchemaYAML, "properties:\n  a: {x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name]}\n" +
			"  b: {x-kubernetes-list-type: set}\n  c: {x-kubernetes-list-type: atomic}\n", "", 0},
		{"a misspelled type", chart.FileSchemaYAML, "properties:\n  a:\n    x-kubernetes-list-type: mapp\n", `is "mapp": it must be`, 3},
		{"a number", chart.FileSchemaYAML, "items: {x-kubernetes-list-type: 5}\n", `is "5"`, 1},
		{"a list", chart.FileSchemaYAML, "allOf:\n- x-kubernetes-list-type: [map]\n", "is not a word", 2},
		{"no keys", chart.FileSchema, `{"properties": {"a": {` + "\n" + `"x-kubernetes-list-type": "map"}}}`, "map needs", 2},
		{"empty keys", chart.FileSchema, `{"$defs": {"a": {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": []}}}`, "map needs", 1},
		{"keys are a word", chart.FileSchema, `{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": "name"}`, "map needs", 1},
		{"a key is a number", chart.FileSchema, `{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [1]}`, "names of fields", 1},
		{"keys alone", chart.FileSchema, `{"x-kubernetes-list-map-keys": ["name"]}`, "needs x-kubernetes-list-type: map", 1},
		{"names of values", chart.FileSchemaYAML, "properties:\n  x-kubernetes-list-type: {type: string}\ndefault:\n  x-kubernetes-list-type: q\n", "", 0},
		{"aliases", chart.FileSchemaYAML, "a: &a {x-kubernetes-list-type: q}\nb: *a\n", `is "q"`, 1},
		{"invalid", chart.FileSchema, `{"x-kubernetes-list-type": `, "", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			file := &chart.File{Name: test.file, Data: []byte(test.schema)}
			l := &linter{files: map[string]*chart.File{test.file: file}}
			l.checkListTypes()
			if test.want == "" {
				if len(l.findings) > 0 {
					t.Errorf("got %v, want no finding", l.findings)
				}
				return
			}
			if len(l.findings) != 1 {
				t.Fatalf("got %v, want one finding", l.findings)
			}
			got := l.findings[0]
			if got.Severity != Warning || got.Line != test.line || !strings.Contains(got.Message, test.want) {
				t.Errorf("got %v at line %d, want a warning with %q at line %d", got, got.Line, test.want, test.line)
			}
		})
	}
}
