// SPDX-License-Identifier: Apache-2.0

package values

import (
	"fmt"
	"testing"
)

// The user's values that Helm 3.22 and 4.3.1 record if an upgrade reuses the old ones; observed
// with charts of one ConfigMap.
func TestOverride(t *testing.T) {
	type table = map[string]any
	for _, test := range []struct {
		name      string
		old, over table
		want      string // "nil" for none
	}{
		{"nothing over something", table{"a": 1}, nil, "map[a:1]"},
		{"something over nothing", nil, table{"a": 1}, "map[a:1]"},
		{"nothing at all", nil, nil, "nil"},
		{"empty over empty", table{}, table{}, "nil"},
		{"one key over another", table{"a": 1}, table{"b": 2}, "map[a:1 b:2]"},
		{"the same key", table{"a": 1}, table{"a": 2}, "map[a:2]"},
		{"tables are merged", table{"m": table{"x": 5}}, table{"m": table{"y": 7}}, "map[m:map[x:5 y:7]]"},
		{"all the way down", table{"m": table{"n": table{"x": 5}}}, table{"m": table{"n": table{"y": 7}}}, "map[m:map[n:map[x:5 y:7]]]"},
		{"null takes the old value away", table{"a": 1, "b": 2}, table{"a": nil}, "map[b:2]"},
		{"null takes an old table away", table{"m": table{"x": 5}, "b": 2}, table{"m": nil}, "map[b:2]"},
		{"null inside a table", table{"m": table{"x": 5, "y": 7}}, table{"m": table{"x": nil}}, "map[m:map[y:7]]"},
		{"null where there is nothing stays, for the default", table{"b": 2}, table{"a": nil}, "map[a:<nil> b:2]"},
		{"null over null stays", table{"a": nil}, table{"a": nil}, "map[a:<nil>]"},
		{"an old null stays", table{"a": nil}, table{"b": 1}, "map[a:<nil> b:1]"},
		{"a value over an old null", table{"a": nil}, table{"a": 1}, "map[a:1]"},
		{"a table over a value", table{"a": 1}, table{"a": table{"x": 1}}, "map[a:map[x:1]]"},
		{"a value over a table", table{"a": table{"x": 1}}, table{"a": 1}, "map[a:1]"},
		{"a new table with a null", table{"b": 1}, table{"a": table{"x": nil}}, "map[a:map[x:<nil>] b:1]"},
		{"lists are values", table{"l": []any{1, 2}}, table{"l": []any{3}}, "map[l:[3]]"},
		{"an empty table over an empty one", table{"m": table{}}, table{"m": table{}}, "map[m:map[]]"},
		{"an empty table over a full one", table{"m": table{"x": 1}}, table{"m": table{}}, "map[m:map[x:1]]"},
		{"false and zero are values", table{"a": true, "b": 1}, table{"a": false, "b": 0}, "map[a:false b:0]"},
	} {
		t.Run(test.name, func(t *testing.T) {
			old, over := fmt.Sprint(test.old), fmt.Sprint(test.over)
			got := Override(test.old, test.over)
			text := fmt.Sprint(got)
			if got == nil {
				text = "nil"
			}
			if text != test.want {
				t.Errorf("got %s, wanted %s", text, test.want)
			}
			if fmt.Sprint(test.old) != old || fmt.Sprint(test.over) != over {
				t.Error("an input was changed")
			}
		})
	}
}

// If a null removes the last key, an empty table remains, as in Helm.
func TestOverrideEmptyTable(t *testing.T) {
	got := Override(map[string]any{"m": map[string]any{"x": 1}}, map[string]any{"m": map[string]any{"x": nil}})
	if fmt.Sprint(got) != "map[m:map[]]" {
		t.Error(got)
	}
}
