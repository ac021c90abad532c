// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/json"
	"slices"
	"strings"
)

// applied reports whether server-side apply of want by the release's manager is
// known to change nothing: metadata.managedFields of live says that the manager
// has applied just these fields, and they have want's values. What cannot be
// known from that, such as an item's key that a schema fills in, counts as no:
// the server then finds out.
//
// A map or list that the server holds as one value is one field there, so that
// what another client has added to it takes it from the manager.
func (m *merger) applied(f field, olds []map[string]any, live, want map[string]any) bool {
	owned := m.ownedFields(f, olds, live, want)
	if owned == nil {
		return false
	}
	return m.owns(owned, "", f, want, live)
}

// ownedFields is what the release's manager has applied, by the API version that
// the manifest is written in, as managedFields has it: nil where it has not, or
// where fields that another manager has set are still to become its own.
func (m *merger) ownedFields(f field, olds []map[string]any, live, want map[string]any) map[string]any {
	var owned map[string]any
	for _, e := range entries(live) {
		switch {
		case e.former():
			return nil
		case e.Subresource == "" && Migrates(e.Name):
			if taken, _ := m.joined(f, e.fields, append(slices.Clone(olds), want)); taken != nil {
				return nil
			}
		case !e.releases():
		case owned != nil || e.APIVersion != want["apiVersion"]:
			return nil
		default:
			owned = e.fields
		}
	}
	return owned
}

// owns compares a map with the fields that are owned in it and with what it is.
func (m *merger) owns(owned map[string]any, name string, f field, want, live map[string]any) bool {
	fields := 0
	for key, w := range want {
		if f.skips(key) && key != "status" {
			continue
		}
		inner, ok := owned["f:"+key].(map[string]any)
		if ok {
			fields++
		}
		named := f.place == top && key == "metadata" // with a name only, it is not there
		if !ok && !named {
			if list, isList := w.([]any); isList && len(list) == 0 && f.below(key).merge {
				continue // a list without an item to own
			}
			return false
		}
		if len(inner) == 0 && !named {
			if !m.same(name, key, w, live[key]) {
				return false
			}
			continue
		}
		switch w := w.(type) {
		case map[string]any:
			have, ok := live[key].(map[string]any)
			if !ok || !m.owns(inner, key, f.below(key), w, have) {
				return false
			}
		case []any:
			have, ok := live[key].([]any)
			if !ok || !m.ownsItems(inner, f.below(key), w, have) {
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

// ownsItems is owns for the items of a list. Those that are wanted must stand in
// their order, whatever stands between them.
func (m *merger) ownsItems(owned map[string]any, f field, want, live []any) bool {
	items, ok := ownedItems(owned)
	if !ok || len(items) != len(want) {
		return false
	}
	at := 0
	for _, w := range want {
		i := slices.IndexFunc(items, func(o ownedItem) bool { return o.is(f, w) })
		if i < 0 {
			return false
		}
		for at < len(live) && !items[i].is(f, live[at]) {
			at++
		}
		if at == len(live) {
			return false
		}
		item, isMap := w.(map[string]any)
		switch {
		case isMap && len(items[i].fields) == 0: // it is one value
			if !m.same("", "", item, live[at]) {
				return false
			}
		case isMap && !m.owns(items[i].fields, "", field{node: f.node}, item, live[at].(map[string]any)):
			return false
		}
		at++
	}
	return true
}

// ownedItem is an item of a list, known by its value or by its keys, and the
// fields that are owned in it.
type ownedItem struct {
	path   string // as managedFields has it
	value  any
	keys   map[string]any // nil where it is known by its value
	fields map[string]any
}

// ownedItems reads managedFields' words for the items of a list. ok is false
// where there are others.
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

// is reports whether v is the item: the values of its keys are the same, or
// their defaults.
func (o ownedItem) is(f field, v any) bool {
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
				have = k.of(item)
			}
		}
		if !equal(have, key) {
			return false
		}
	}
	return true
}
