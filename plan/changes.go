// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// Changes returns what executing s does to the fields of the live object: Have is the live value
// and Want the one after the step, nil if there is none. It is sorted by path. A field that the
// step leaves alone is not in it, nor are status and the metadata that only the server sets: two
// plans for an object do the same if their changes are equal, whatever else has changed in the
// object between them.
//
// Items of lists that merge by a key are named by it: an item that another client has added does
// not move the others. Changes returns nil for steps other than [Update].
func Changes(s Step) []Difference {
	if s.Action != Update || s.Live == nil {
		return nil
	}
	after := s.After
	if s.Type == Put { // After keeps fields that a PUT removes
		after = asPut(s.Patch)
	}
	m := mergerOf(s.Item)
	var out []Difference
	w := changeWalk{out: &out, secret: isSecret(s.New)}
	w.maps("", m.rootField(s.Ref), serverless(m, s.Live), serverless(m, after))
	slices.SortFunc(out, func(a, b Difference) int { return cmp.Compare(a.Path, b.Path) })
	return out
}

// asPut returns the object that a PUT sends.
func asPut(body []byte) map[string]any {
	var object map[string]any
	if json.Unmarshal(body, &object) != nil {
		return nil
	}
	return object
}

// serverless returns an object without what only the server sets.
func serverless(m *merger, object map[string]any) map[string]any {
	object, _ = m.clean(without(normalize(object), "status")).(map[string]any)
	meta := metadata(object)
	if meta == nil {
		return object
	}
	object = maps.Clone(object)
	object["metadata"] = without(meta, "managedFields", "uid", "resourceVersion", "generation", "creationTimestamp",
		"selfLink", "deletionTimestamp", "deletionGracePeriodSeconds", "namespace")
	return object
}

// changeWalk collects the differences between two states of an object.
type changeWalk struct {
	out    *[]Difference
	secret bool
}

func (w changeWalk) add(path string, have, want any) {
	top, _, _ := cutPath(path)
	*w.out = append(*w.out, Difference{Path: path, Have: have, Want: want,
		Secret: w.secret && (top == "data" || top == "stringData")})
}

// cutPath returns the first key of a path, and the rest.
func cutPath(path string) (first, rest string, more bool) {
	for i, r := range path {
		if r == '.' || r == '[' {
			return path[:i], path[i:], true
		}
	}
	return path, "", false
}

func (w changeWalk) maps(path string, f field, before, after map[string]any) {
	for key, want := range after {
		have, had := before[key]
		if here := FieldPath(path, key); had {
			w.values(here, f.subfield(key), have, want)
		} else {
			w.add(here, nil, want)
		}
	}
	for key, have := range before {
		if _, still := after[key]; !still {
			w.add(FieldPath(path, key), have, nil)
		}
	}
}

func (w changeWalk) values(path string, f field, have, want any) {
	if equalValues(have, want) {
		return
	}
	before, wasMap := have.(map[string]any)
	after, isMap := want.(map[string]any)
	if wasMap && isMap {
		w.maps(path, f, before, after)
		return
	}
	from, wasList := have.([]any)
	to, isList := want.([]any)
	if wasList && isList && f.merge && w.items(path, f, from, to) {
		return
	}
	w.add(path, have, want)
}

// items compares lists that merge by a key. It returns false for lists without unique keys.
func (w changeWalk) items(path string, f field, from, to []any) bool {
	before, err := f.identify(from)
	after, otherErr := f.identify(to)
	if err != nil || otherErr != nil {
		return false
	}
	item := field{node: f.node}
	for i, key := range after {
		here := fmt.Sprintf("%s[%v]", path, key)
		at := slices.Index(before, key)
		if at < 0 {
			w.add(here, nil, to[i])
			continue
		}
		w.values(here, item, from[at], to[i])
	}
	for i, key := range before {
		if !slices.Contains(after, key) {
			w.add(fmt.Sprintf("%s[%v]", path, key), from[i], nil)
		}
	}
	common := func(ids, others []id) []any {
		var out []any
		for _, key := range ids {
			if slices.Contains(others, key) {
				out = append(out, fmt.Sprint(key))
			}
		}
		return out
	}
	if a, b := common(before, after), common(after, before); !reflect.DeepEqual(a, b) {
		w.add(path+" (order)", a, b)
	}
	return true
}

// equalValues reports whether two values are equal, numbers by value: JSON has no types of them.
func equalValues(a, b any) bool {
	if x, ok := a.(float64); ok {
		if whole, isWhole := integer(x); isWhole {
			a = whole
		}
	}
	if x, ok := b.(float64); ok {
		if whole, isWhole := integer(x); isWhole {
			b = whole
		}
	}
	return reflect.DeepEqual(a, b)
}
