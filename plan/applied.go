// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/json"
	"slices"
	"strings"
)

// isApplied reports whether server-side apply of want by the release's manager certainly
// changes nothing: metadata.managedFields of live lists exactly the fields of want for the
// manager, and they have want's values. It returns false if that is not certain, for example
// if a CRD's schema, which is not known here, sets the default of an item's key; then the
// server decides.
func (m *merger) isApplied(f field, previous []map[string]any, live, want map[string]any) bool {
	owned := m.ownedFields(f, previous, live, want)
	if owned == nil {
		return false
	}
	return m.owns(owned, "", f, want, live)
}

// ownedFields returns the fieldsV1 entry of the release's manager, in the API version of the
// manifest. It returns nil if there is none, if there are several or one in another API
// version, or if fields of another manager still have to become the release's.
func (m *merger) ownedFields(f field, previous []map[string]any, live, want map[string]any) map[string]any {
	var owned map[string]any
	for _, e := range entries(live) {
		switch {
		case e.isOtherHelm():
			return nil
		case e.Subresource == "" && Migrates(e.Name):
			if taken, _ := m.migratedFields(f, e.fields, append(slices.Clone(previous), want)); taken != nil {
				return nil
			}
		case !e.isRelease():
		case owned != nil || e.APIVersion != want["apiVersion"]:
			return nil
		default:
			owned = e.fields
		}
	}
	return owned
}

// owns reports whether the owned fields of a map are exactly those of want, and live has their
// values.
func (m *merger) owns(owned map[string]any, name string, f field, want, live map[string]any) bool {
	fields := 0
	for key, w := range want {
		if f.skips(key) && key != "status" { // some kinds take a status: their managedFields lists it
			continue
		}
		inner, ok := owned["f:"+key].(map[string]any)
		if ok {
			fields++
		}
		omitted := f.position == top && key == "metadata" // managedFields omits metadata with only a name
		if !ok && !omitted {
			if list, isList := w.([]any); isList && len(list) == 0 && f.subfield(key).merge {
				continue // an empty list has no items to own
			}
			return false
		}
		if len(inner) == 0 && !omitted {
			if !m.sameValue(name, key, w, live[key]) {
				return false
			}
			continue
		}
		switch w := w.(type) {
		case map[string]any:
			have, ok := live[key].(map[string]any)
			if !ok || !m.owns(inner, key, f.subfield(key), w, have) {
				return false
			}
		case []any:
			have, ok := live[key].([]any)
			if !ok || !m.ownsItems(inner, f.subfield(key), w, have) {
				return false
			}
		default:
			return false
		}
	}
	if _, has := owned["."]; has {
		fields++
	}
	return fields == len(owned)
}

// ownsItems is owns for the items of a list. The items of want must be in order, with any
// other items between them.
func (m *merger) ownsItems(owned map[string]any, f field, want, live []any) bool {
	items, ok := ownedItems(owned)
	if !ok || len(items) != len(want) {
		return false
	}
	n := 0
	for _, w := range want {
		i := slices.IndexFunc(items, func(o ownedItem) bool { return o.matches(f, w) })
		if i < 0 {
			return false
		}
		for n < len(live) && !items[i].matches(f, live[n]) {
			n++
		}
		if n == len(live) {
			return false
		}
		item, isMap := w.(map[string]any)
		switch {
		case isMap && len(items[i].fields) == 0: // owned as a whole
			if !m.sameValue("", "", item, live[n]) {
				return false
			}
		case isMap && !m.owns(items[i].fields, "", field{node: f.node}, item, live[n].(map[string]any)):
			return false
		}
		n++
	}
	return true
}

// ownedItem is an item of a list in managedFields, identified by its value or its keys, and
// the owned fields in it.
type ownedItem struct {
	path   string // in managedFields
	value  any
	keys   map[string]any // nil if the item is identified by its value
	fields map[string]any
}

// ownedItems parses the items of a list in managedFields. ok is false if there are entries of
// another form.
func ownedItems(owned map[string]any) (items []ownedItem, ok bool) {
	items = make([]ownedItem, 0, len(owned))
	for path, fields := range owned {
		if path == "." {
			continue
		}
		item := ownedItem{path: path}
		item.fields, _ = fields.(map[string]any)
		kind, text, _ := strings.Cut(path, ":")
		switch {
		case kind == "k" && json.Unmarshal([]byte(text), &item.keys) == nil && len(item.keys) > 0:
		case kind == "v" && json.Unmarshal([]byte(text), &item.value) == nil:
		default:
			return nil, false
		}
		items = append(items, item)
	}
	return items, true
}

// matches reports whether v is the item: the values of its keys, or their defaults, are equal.
func (o ownedItem) matches(f field, v any) bool {
	if o.keys == nil {
		return equal(o.value, v)
	}
	item, isMap := v.(map[string]any)
	if !isMap {
		return false
	}
	for name, key := range o.keys {
		have := item[name]
		if name == f.key {
			have = f.keyOf(item)
		}
		for _, k := range f.more {
			if k.name == name {
				have = k.valueIn(item)
			}
		}
		if !equal(have, key) {
			return false
		}
	}
	return true
}
