// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// id identifies an item of a list by the values of its keys, as the server does. n is the
// number of preceding items with the same values: in some lists, such as a container's
// environment variables, the server keeps duplicates.
type id struct {
	value any    // of the key
	more  string // the values of the other keys, each after a slash, or ""
	n     int
}

// String returns the id as paths show it: "web", "53/UDP".
func (i id) String() string { return fmt.Sprint(i.value) + i.more }

// mergeList merges the list at key by items.
func (m *merger) mergeList(c *change, key string, f field, olds [][]any, live, want []any) error {
	if m.isUnchanged(f, olds, live, want) {
		return nil
	}
	if f.key == "" {
		live, want = uniqueValues(live), uniqueValues(want)
	}
	wantIDs, err := f.identify(want)
	if err != nil {
		return err
	}
	liveIDs, err := f.identify(live)
	if err != nil {
		return &problem{"", "of the live object: " + err.Error()}
	}
	l := listMerge{merger: m, field: f, live: live, liveIDs: liveIDs, want: want, wantIDs: wantIDs}
	if err := l.merge(olds); err != nil {
		return err
	}
	after, ids := l.orderedItems()
	moved := f.key != "" && !slices.Equal(ids, liveIDs) // plain values, such as finalizers, have no order
	if len(l.patch) == 0 && len(l.deleted) == 0 && !moved {
		return nil
	}
	c.begin()
	c.after[key] = after
	if len(after) == 0 {
		delete(c.after, key)
	}
	m.wholeLists = m.wholeLists || l.isAmbiguous()
	l.writePatch(c.patch, key)
	return nil
}

// isAmbiguous reports whether the list has different items that a strategic merge patch cannot
// distinguish, such as ports of two protocols or duplicate variables, or an item that the
// server keeps without its key.
func (l *listMerge) isAmbiguous() bool {
	if l.field.key == "" {
		return false
	}
	seen := make(map[any]id, len(l.liveIDs)+len(l.wantIDs))
	for _, ids := range [][]id{l.liveIDs, l.wantIDs} {
		for _, id := range ids {
			if first, there := seen[id.value]; there && first != id || id.value == l.field.keyDefault {
				return true
			}
			seen[id.value] = id
		}
	}
	return false
}

// isUnchanged reports whether all manifests and the live object have the same items in the
// same order, and none changes. It is a fast path for most lists, and returns false for
// unusual ones.
func (m *merger) isUnchanged(f field, olds [][]any, live, want []any) bool {
	if f.key == "" || len(live) != len(want) {
		return false
	}
	for _, old := range olds {
		if len(old) != len(want) {
			return false
		}
	}
	former := make([]map[string]any, len(olds))
	for i := range want {
		w, isMap := want[i].(map[string]any)
		have, wasMap := live[i].(map[string]any)
		if !isMap || !wasMap || w[f.key] == nil || !f.sameItem(w, have) {
			return false
		}
		for j, old := range olds {
			o, ok := old[i].(map[string]any)
			if !ok || !f.sameItem(o, w) {
				return false
			}
			former[j] = o
		}
		w = f.keepOmittedKeys(w, have, former)
		patch, _, err := m.mergeMaps("", field{node: f.node, retain: f.retain}, former, have, w)
		if err != nil || patch != nil {
			return false
		}
	}
	return true
}

// sameItem reports whether a and b have the same keys.
func (f field) sameItem(a, b map[string]any) bool {
	if !equal(f.keyOf(a), f.keyOf(b)) {
		return false
	}
	for _, k := range f.more {
		if !equal(k.valueIn(a), k.valueIn(b)) {
			return false
		}
	}
	return true
}

// keyOf returns the value of the first key in an item.
func (f field) keyOf(item map[string]any) any { return listKey{f.key, f.keyDefault}.valueIn(item) }

// valueIn returns the value of the key in an item, or its default.
func (k listKey) valueIn(item map[string]any) any {
	if v := item[k.name]; v != nil {
		return v
	}
	return k.defaultValue
}

// listMerge merges one list.
type listMerge struct {
	*merger
	field      field
	live, want []any
	liveIDs    []id
	wantIDs    []id
	items      map[id]any // the items of the result
	patch      []any      // changed and new items
	deleted    []id
	liveIndex  map[id]int
	wantIndex  map[id]int
	oldIndex   map[id][]map[string]any
	inOld      map[id]bool
}

func (l *listMerge) merge(olds [][]any) error {
	l.liveIndex, l.wantIndex = indexIDs(l.liveIDs), indexIDs(l.wantIDs)
	l.indexOld(olds)
	l.items = make(map[id]any, len(l.live)+len(l.want))
	for i, id := range l.liveIDs {
		if _, wanted := l.wantIndex[id]; !wanted && l.inOld[id] {
			l.deleted = append(l.deleted, id)
			continue
		}
		l.items[id] = l.live[i]
	}
	for i, id := range l.wantIDs {
		j, there := l.liveIndex[id]
		if !there {
			l.items[id] = l.clean(l.want[i])
			l.patch = append(l.patch, l.items[id])
			continue
		}
		if l.field.key == "" {
			continue
		}
		w, have := l.want[i].(map[string]any), l.live[j].(map[string]any)
		w = l.field.keepOmittedKeys(w, have, l.oldIndex[id])
		patch, after, err := l.mergeMaps("", field{node: l.field.node, retain: l.field.retain}, l.oldIndex[id], have, w)
		if err != nil {
			return prefixPath(fmt.Sprintf("[%v]", id), err)
		}
		if patch != nil {
			l.field.copyKeys(patch, have)
			l.items[id] = after
			l.patch = append(l.patch, patch)
		}
	}
	return nil
}

// indexOld indexes the items of the old manifests. It skips invalid lists, which no cluster
// has accepted.
func (l *listMerge) indexOld(olds [][]any) {
	for _, old := range olds {
		ids, err := l.field.identify(old)
		if err != nil {
			continue
		}
		if l.inOld == nil {
			l.inOld, l.oldIndex = make(map[id]bool, len(ids)), make(map[id][]map[string]any, len(ids))
		}
		for i, id := range ids {
			l.inOld[id] = true
			if item, ok := old[i].(map[string]any); ok {
				l.oldIndex[id] = append(l.oldIndex[id], item)
			}
		}
	}
}

// orderedItems returns the list in the order that the server will use: the wanted items in the
// order of the manifest, and each other item before the first wanted item that it preceded.
func (l *listMerge) orderedItems() ([]any, []id) {
	var others []id
	for _, id := range l.liveIDs {
		if _, left := l.items[id]; left {
			if _, wanted := l.wantIndex[id]; !wanted {
				others = append(others, id)
			}
		}
	}
	after, ids := make([]any, 0, len(l.items)), make([]id, 0, len(l.items))
	add := func(id id) { after, ids = append(after, l.items[id]), append(ids, id) }
	for _, id := range l.wantIDs {
		index, there := l.liveIndex[id]
		for there && len(others) > 0 && l.liveIndex[others[0]] < index {
			add(others[0])
			others = others[1:]
		}
		add(id)
	}
	for _, id := range others {
		add(id)
	}
	return after, ids
}

// writePatch adds the changes of the list to the patch of the map that contains it.
func (l *listMerge) writePatch(patch map[string]any, key string) {
	order := make([]any, 0, len(l.wantIDs))
	if l.field.key == "" {
		for _, id := range l.deleted {
			order = append(order, id.value)
		}
		if len(order) > 0 {
			patch[primitivePrefix+key] = order
		}
		if len(l.patch) > 0 {
			patch[key] = l.patch
		}
		patch[orderPrefix+key] = l.want
		return
	}
	items := l.patch
	for _, id := range l.deleted {
		items = append(items, map[string]any{directive: "delete", l.field.key: id.value})
	}
	if len(items) > 0 {
		patch[key] = items
	}
	for i, id := range l.wantIDs {
		entry := map[string]any{l.field.key: id.value}
		if l.forDrift {
			l.field.copyKeys(entry, l.want[i].(map[string]any))
		}
		order = append(order, entry)
	}
	patch[orderPrefix+key] = order
}

// keepOmittedKeys returns an item with the live values of keys that old manifests had and the
// item omits: the server sets them to their defaults, so omitting them changes nothing.
func (f field) keepOmittedKeys(item, have map[string]any, olds []map[string]any) map[string]any {
	for _, k := range f.more {
		drops := slices.ContainsFunc(olds, func(old map[string]any) bool { return old[k.name] != nil })
		if drops && item[k.name] == nil && have[k.name] != nil {
			item = maps.Clone(item)
			item[k.name] = have[k.name]
		}
	}
	return item
}

// copyKeys copies the keys of an item to another map.
func (f field) copyKeys(to, item map[string]any) {
	to[f.key] = item[f.key]
	for _, k := range f.more {
		if v := item[k.name]; v != nil {
			to[k.name] = v
		}
	}
}

// identify returns the ids of the items of a list. Plain values must be unique.
func (f field) identify(list []any) ([]id, error) {
	ids := make([]id, 0, len(list))
	seen := make(map[id]int, len(list))
	for i, item := range list {
		this := id{value: item}
		if f.key != "" {
			m, ok := item.(map[string]any)
			if !ok {
				return nil, &problem{fmt.Sprintf("[%d]", i), "is " + valueType(item) + ", and must be a map"}
			}
			this = id{value: f.keyOf(m), more: f.otherKeys(m)}
		}
		switch v := this.value.(type) {
		case nil:
			if f.key == "" {
				return nil, &problem{fmt.Sprintf("[%d]", i), "is empty, and must have a value"}
			}
			return nil, &problem{fmt.Sprintf("[%d]", i), "must have the field " + f.key}
		case map[string]any, []any:
			return nil, &problem{fmt.Sprintf("[%d]", i), "is " + valueType(v) + ", and must be a plain value"}
		case float64:
			if whole, ok := integer(v); ok {
				this.value = whole
			}
		}
		n := seen[this]
		seen[this] = n + 1
		this.n = n
		ids = append(ids, this)
	}
	return ids, nil
}

// match is an item of a list that two states of an object have.
type match struct {
	step       pathStep // with the item's keys and its index in the manifest
	want, live map[string]any
}

// matches returns the items of want that live has too. It returns none for lists that cannot be
// merged, for which the merge returns an error.
func (f field) matches(want, live []any) []match {
	ids, err := f.identify(want)
	liveIDs, liveErr := f.identify(live)
	if err != nil || liveErr != nil {
		return nil
	}
	var out []match
	for i, id := range ids {
		j := slices.Index(liveIDs, id)
		if j < 0 {
			continue
		}
		item := want[i].(map[string]any)
		out = append(out, match{f.itemStep(id, i, item), item, live[j].(map[string]any)})
	}
	return out
}

// otherKeys returns the values of an item's keys except the first.
func (f field) otherKeys(item map[string]any) string {
	if len(f.more) == 1 {
		if s, ok := f.more[0].valueIn(item).(string); ok {
			return "/" + s // the most frequent case
		}
	}
	var b strings.Builder
	for _, k := range f.more {
		fmt.Fprintf(&b, "/%v", k.valueIn(item))
	}
	return b.String()
}

// uniqueValues returns a list of plain values without duplicates.
func uniqueValues(list []any) []any {
	out := make([]any, 0, len(list))
	for _, v := range list {
		if !slices.ContainsFunc(out, func(o any) bool { return equal(o, v) }) {
			out = append(out, v)
		}
	}
	return out
}

func indexIDs(ids []id) map[id]int {
	m := make(map[id]int, len(ids))
	for i, id := range ids {
		m[id] = i
	}
	return m
}
