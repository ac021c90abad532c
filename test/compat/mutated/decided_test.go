// SPDX-License-Identifier: Apache-2.0

package mutated

import "testing"

// TestDecisionsAreNarrow checks that the rules of Decided match the intended differences and no
// similar ones.
func TestDecisionsAreNarrow(t *testing.T) {
	const shown = "umbrella-1/templates/values.yaml"
	imports := &Case{Edits: []Edit{{Path: []string{ImportedBelow, "by"}, Form: InDefaults}}}
	for _, test := range []struct {
		name string
		c    *Case
		d    Difference
		want string
	}{
		{"a default that an import sets", &Case{}, Difference{shown, ".values.imported.shared", "child",
			"parent"}, "imported values win"},
		{"another that the case sets", imports, Difference{shown, ".values.imported.by", "child", "parent"},
			"imported values win"},
		{"another that it does not", &Case{}, Difference{shown, ".values.imported.by", "child", "parent"}, ""},
		{"in a subchart's object", &Case{}, Difference{"umbrella-1/charts/a/templates/values.yaml",
			".values.imported.shared", "1", "2"}, ""},
		{"another's values in a subchart's", &Case{}, Difference{shown, ".values.a.exported.table.b", missing,
			"1"}, "imports leave subcharts alone"},
		{"its own values, changed", &Case{}, Difference{shown, ".values.a.exported.by", "x", "y"}, ""},
		{"its other values", &Case{}, Difference{shown, ".values.a.image.tag", missing, "y"}, ""},
		{"a subchart's null", &Case{}, Difference{Path: "fails", Helm: "type mismatch on a: %!t(<nil>)"},
			"null is no values for a subchart"},
		{"a subchart's number", &Case{}, Difference{Path: "fails", Helm: "type mismatch on a: %!t(float64=1)"}, ""},
		{"--set over null", &Case{}, Difference{
			Path: "fails", Helm: "unable to parse key: interface conversion: interface {} is nil, not map[string]interface {}",
		}, "--set makes a table of null"},
		{"ours fails so", &Case{}, Difference{Path: "fails",
			Ours: "interface conversion: interface {} is nil, not map[string]interface {}"}, ""},
		{"an error of a template", &Case{}, Difference{Path: "fails", Helm: "nil pointer evaluating interface {}.x"}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := ""
			if by := decided(test.c, test.d); by != nil {
				got = by.Name
			}
			if got != test.want {
				t.Errorf("the decision is %q, want %q", got, test.want)
			}
		})
	}
}
