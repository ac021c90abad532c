// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/plan"
)

// fieldChange is a field with its values before and after, which are absent if the field is not
// set.
type fieldChange struct {
	Path   string `json:"path"` // spec.template.spec.containers[web].image
	Before any    `json:"before,omitempty"`
	After  any    `json:"after,omitempty"`

	place location
}

// location is the path of a field's parent, and the field's key or its index in brackets.
type location struct{ parent, field string }

func (p location) String() string {
	if strings.HasPrefix(p.field, "[") {
		return p.parent + p.field
	}
	return plan.FieldPath(p.parent, p.field)
}

// fieldChanges returns the fields that differ, sorted by name. List items are identified by name if
// they have one, otherwise or with byNumber by index.
func fieldChanges(before, after map[string]any, byNumber bool) []fieldChange {
	w := fieldWalk{byNumber: byNumber, out: []fieldChange{}}
	w.tables("", before, after)
	return w.out
}

type fieldWalk struct {
	byNumber bool
	out      []fieldChange
}

func (w *fieldWalk) tables(path string, before, after map[string]any) {
	for _, key := range keys(before, after) {
		w.values(location{path, key}, before[key], after[key])
	}
}

func (w *fieldWalk) values(at location, before, after any) {
	switch b := before.(type) {
	case map[string]any:
		if a, ok := after.(map[string]any); ok {
			w.tables(at.String(), b, a)
			return
		}
	case []any:
		if a, ok := after.([]any); ok && (len(a) > 0 || len(b) > 0) {
			w.items(at, b, a)
			return
		}
	}
	if !reflect.DeepEqual(before, after) && !sameNumber(before, after) {
		w.add(at, before, after)
	}
}

func (w *fieldWalk) add(at location, before, after any) {
	w.out = append(w.out, fieldChange{Path: at.String(), Before: before, After: after, place: at})
}

func (w *fieldWalk) items(list location, before, after []any) {
	b, named := itemNames(before)
	a, alsoNamed := itemNames(after)
	if named && alsoNamed && !w.byNumber {
		w.namedItems(list, before, after, b, a)
		return
	}
	at := func(list []any, i int) any {
		if i < len(list) {
			return list[i]
		}
		return nil
	}
	for i := range max(len(before), len(after)) {
		w.values(location{list.String(), fmt.Sprintf("[%d]", i)}, at(before, i), at(after, i))
	}
}

// namedItems compares lists whose items have the names b and a.
func (w *fieldWalk) namedItems(list location, before, after []any, b, a []string) {
	index := func(list []any, names []string, name string) any {
		if i := slices.Index(names, name); i >= 0 {
			return list[i]
		}
		return nil
	}
	had := len(w.out)
	for _, name := range b {
		w.values(location{list.String(), "[" + name + "]"}, index(before, b, name), index(after, a, name))
	}
	for _, name := range a {
		if !slices.Contains(b, name) {
			w.values(location{list.String(), "[" + name + "]"}, nil, index(after, a, name))
		}
	}
	if len(w.out) == had && !slices.Equal(b, a) { // only their order differs
		w.add(list, before, after)
	}
}

// itemNames returns the names of a list's items, if each has a unique name.
func itemNames(list []any) ([]string, bool) {
	const many = 1000 // finding items by name searches the whole list
	out := make([]string, 0, len(list))
	for _, item := range list {
		m, _ := item.(map[string]any)
		name, ok := m["name"].(string)
		if !ok || len(list) > many {
			return nil, false
		}
		out = append(out, name)
	}
	return out, unique(out)
}

func keys(a, b map[string]any) []string {
	all := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(all)
	return slices.Compact(all)
}

// sameNumber reports whether two values are the same number, possibly of different Go types.
func sameNumber(a, b any) bool {
	x, ok := number(a)
	y, also := number(b)
	return ok && also && x == y
}

func number(v any) (float64, bool) {
	switch n := v.(type) {
	case int:
		return float64(n), true
	case int64:
		return float64(n), true
	case float64:
		return n, true
	}
	return 0, false
}
