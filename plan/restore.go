// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"maps"
	"slices"
)

// Restore returns item for [Compute] to make a step of that undoes the drift that d has, and no
// other difference: fields that may differ keep their live values, and added fields are removed.
// d must be from [FindDrift] for the item; item.New, the manifest to restore, must be the last of
// item.Old. ok is false if there is no drift.
func Restore(item Item, d ObjectDrift) (restored Item, ok bool) {
	if !d.Drifted() {
		return item, false
	}
	if item.Live == nil {
		return item, true
	}
	m := mergerOf(item)
	var added []DriftedField
	want := item.New
	for _, f := range d.Fields {
		path, found := m.locate(m.rootField(item.Ref), want, f.steps)
		switch {
		case f.Kind == DriftAdded && f.Allowed == "":
			added = append(added, f)
		case f.Allowed == "" || f.Kind == DriftAdded && !found:
		case f.Kind == DriftMissing && found:
			want = removeFields(want, [][]pathStep{path})
		case f.isOrder() && found:
			want = keepValue(want, path, valueAt(item.Live, path))
		case found:
			want = keepValue(want, path, f.Have)
		}
	}
	item.New = want
	if len(added) > 0 {
		item.Old = append([]map[string]any{skeleton(added)}, item.Old...)
	}
	for _, f := range added {
		if r, err := f.displaced(); err == nil {
			item.Remove = append(item.Remove, r)
		}
	}
	return item, true
}

// keepValue returns a manifest with another value of a field.
func keepValue(want map[string]any, path []pathStep, live any) map[string]any {
	return editFields(want, [][]pathStep{path}, func(any) (any, bool) { return live, live != nil }).(map[string]any)
}

// valueAt returns the value of a key at a path without items, or nil.
func valueAt(object map[string]any, path []pathStep) any {
	var v any = object
	for _, s := range path {
		switch in := v.(type) {
		case map[string]any:
			v = in[s.name]
		case []any:
			i := slices.IndexFunc(in, func(item any) bool {
				m, ok := item.(map[string]any)
				return ok && (ownedItem{keys: s.keys}).hasKeys(m)
			})
			if i < 0 {
				return nil
			}
			v = in[i]
		default:
			return nil
		}
	}
	return v
}

// locate returns a path with the indexes that its items have in v. found is false if v does not
// have the field that the path leads to, or its parent.
func (m *merger) locate(f field, v any, path []pathStep) (located []pathStep, found bool) {
	located = slices.Clone(path)
	for i, s := range path {
		switch in := v.(type) {
		case map[string]any:
			if v, f = in[s.name], f.subfield(s.name); v == nil && i < len(path)-1 {
				return nil, false
			}
		case []any:
			index := slices.IndexFunc(in, func(item any) bool { return s.isItem(f, item) })
			if index < 0 {
				return nil, false
			}
			located[i].index, v, f = index, in[index], field{node: f.node}
		default:
			return nil, false
		}
	}
	return located, v != nil
}

// isItem reports whether the step leads to an item of a list that merges as f.
func (s pathStep) isItem(f field, item any) bool {
	object, isMap := item.(map[string]any)
	if !isMap {
		return s.keys == nil && stringOf(item) == s.name
	}
	return s.keys != nil && ownedItem{keys: s.keys}.matches(f, object)
}

// skeleton returns an object that has the given fields and nothing else but what leads to them.
func skeleton(fields []DriftedField) map[string]any {
	out := map[string]any{}
	for _, f := range fields {
		out = grow(out, f.steps, f.Have).(map[string]any)
	}
	return out
}

// grow returns v with a value at path.
func grow(v any, path []pathStep, value any) any {
	if len(path) == 0 {
		return value
	}
	s := path[0]
	if !s.item {
		m, _ := v.(map[string]any)
		m = maps.Clone(m)
		if m == nil {
			m = map[string]any{}
		}
		m[s.name] = grow(m[s.name], path[1:], value)
		return m
	}
	list, _ := v.([]any)
	list = slices.Clone(list)
	for i, item := range list {
		if m, ok := item.(map[string]any); ok && s.keys != nil && (ownedItem{keys: s.keys}).hasKeys(m) {
			list[i] = grow(m, path[1:], value)
			return list
		}
	}
	if s.keys == nil {
		return append(list, value)
	}
	return append(list, grow(maps.Clone(s.keys), path[1:], value))
}

// displaced returns the field for the removal by server-side apply.
func (f DriftedField) displaced() (DisplacedField, error) {
	var path []string
	for _, s := range f.steps {
		e, err := s.managedElement()
		if err != nil {
			return DisplacedField{}, err
		}
		path = append(path, e)
	}
	return DisplacedField{Path: path}, nil
}
