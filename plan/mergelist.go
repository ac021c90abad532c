// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// id names an item of a list as the server does, by the values of its keys. n
// counts the items before it that have the same values: of some lists, such as a
// container's variables, the server keeps them all.
type id struct {
	value any    // of the key
	more  string // of the other keys, each behind a slash; "" where there is none
	n     int
}

// String is the id as paths show it: "web", "53/UDP".
func (i id) String() string { return fmt.Sprint(i.value) + i.more }

// list merges the list under key item by item.
func (m *merger) list(c *change, key string, f field, olds [][]any, live, want []any) error {
	if m.unmoved(f, olds, live, want) {
		return nil
	}
	if f.key == "" {
		live, want = unique(live), unique(want)
	}
	wantIDs, err := f.identify(want)
	if err != nil {
		return err
	}
	liveIDs, err := f.identify(live)
	if err != nil {
		return &problem{"", "as it is in the cluster: " + err.Error()}
	}
	l := merging{merger: m, field: f, live: live, liveIDs: liveIDs, want: want, wantIDs: wantIDs}
	if err := l.merge(olds); err != nil {
		return err
	}
	after, ids := l.ordered()
	moved := f.key != "" && !slices.Equal(ids, liveIDs) // plain values, such as finalizers, have no order
	if len(l.patch) == 0 && len(l.deleted) == 0 && !moved {
		return nil
	}
	c.begin()
	c.after[key] = after
	if len(after) == 0 {
		delete(c.after, key)
	}
	m.whole = m.whole || l.ambiguous()
	l.write(c.patch, key)
	return nil
}

// ambiguous reports whether the list has different items that a strategic merge
// patch cannot tell apart: ports of two protocols, or a variable that is there
// twice. It also cannot name an item that the server keeps without its key.
func (l *merging) ambiguous() bool {
	if l.field.key == "" {
		return false
	}
	seen := make(map[any]id, len(l.liveIDs)+len(l.wantIDs))
	for _, ids := range [][]id{l.liveIDs, l.wantIDs} {
		for _, id := range ids {
			if first, there := seen[id.value]; there && first != id || id.value == l.field.keyless {
				return true
			}
			seen[id.value] = id
		}
	}
	return false
}

// unmoved reports whether nothing is to change in a list whose items are, in
// their places, those that all manifests have: most lists, and the quick way.
// What is odd is left to the long way.
func (m *merger) unmoved(f field, olds [][]any, live, want []any) bool {
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
		patch, _, err := m.fields("", field{node: f.node, retain: f.retain}, former, have, f.named(w, have, former))
		if err != nil || patch != nil {
			return false
		}
	}
	return true
}

// sameItem reports whether a and b are the same item of a list.
func (f field) sameItem(a, b map[string]any) bool {
	if !equal(f.keyOf(a), f.keyOf(b)) {
		return false
	}
	for _, k := range f.more {
		if !equal(k.of(a), k.of(b)) {
			return false
		}
	}
	return true
}

// keyOf is the first key's value in an item.
func (f field) keyOf(item map[string]any) any { return listKey{f.key, f.keyless}.of(item) }

// of is the key's value in an item.
func (k listKey) of(item map[string]any) any {
	if v := item[k.name]; v != nil {
		return v
	}
	return k.fallback
}

// merging is the merge of one list.
type merging struct {
	*merger
	field         field
	live, want    []any
	liveIDs       []id
	wantIDs       []id
	items         map[id]any // what is left and what is new
	patch         []any      // items that change or are new
	deleted       []id
	liveIndex     map[id]int
	wantIndex     map[id]int
	oldIndex      map[id][]map[string]any
	formerlyThere map[id]bool
}

func (l *merging) merge(olds [][]any) error {
	l.liveIndex, l.wantIndex = indexed(l.liveIDs), indexed(l.wantIDs)
	l.remember(olds)
	l.items = make(map[id]any, len(l.live)+len(l.want))
	for i, id := range l.liveIDs {
		if _, wanted := l.wantIndex[id]; !wanted && l.formerlyThere[id] {
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
		w = l.field.named(w, have, l.oldIndex[id])
		patch, after, err := l.fields("", field{node: l.field.node, retain: l.field.retain}, l.oldIndex[id], have, w)
		if err != nil {
			return at(fmt.Sprintf("[%v]", id), err)
		}
		if patch != nil {
			l.field.name(patch, have)
			l.items[id] = after
			l.patch = append(l.patch, patch)
		}
	}
	return nil
}

// remember notes the items of the old manifests. Some of those may never have
// been accepted by a cluster: what makes no sense in them counts as not there.
func (l *merging) remember(olds [][]any) {
	for _, old := range olds {
		ids, err := l.field.identify(old)
		if err != nil {
			continue
		}
		if l.formerlyThere == nil {
			l.formerlyThere, l.oldIndex = make(map[id]bool, len(ids)), make(map[id][]map[string]any, len(ids))
		}
		for i, id := range ids {
			l.formerlyThere[id] = true
			if item, ok := old[i].(map[string]any); ok {
				l.oldIndex[id] = append(l.oldIndex[id], item)
			}
		}
	}
}

// ordered is the list as the server will order it: wanted items as the
// manifest has them, and each of the others before the first of those that it
// stood before.
func (l *merging) ordered() ([]any, []id) {
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
		at, there := l.liveIndex[id]
		for there && len(others) > 0 && l.liveIndex[others[0]] < at {
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

// write puts what changes in the list into the patch of the map that has it.
func (l *merging) write(patch map[string]any, key string) {
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
		place := map[string]any{l.field.key: id.value}
		if l.past {
			l.field.name(place, l.want[i].(map[string]any))
		}
		order = append(order, place)
	}
	patch[orderPrefix+key] = order
}

// named is an item with the keys that it leaves to their defaults from now on, as
// have spells them out: to drop such a key changes nothing.
func (f field) named(item, have map[string]any, olds []map[string]any) map[string]any {
	for _, k := range f.more {
		drops := slices.ContainsFunc(olds, func(old map[string]any) bool { return old[k.name] != nil })
		if drops && item[k.name] == nil && have[k.name] != nil {
			item = maps.Clone(item)
			item[k.name] = have[k.name]
		}
	}
	return item
}

// name copies what names an item into another map.
func (f field) name(to, item map[string]any) {
	to[f.key] = item[f.key]
	for _, k := range f.more {
		if v := item[k.name]; v != nil {
			to[k.name] = v
		}
	}
}

// identify names the items of a list. Of plain values, each must be there once.
func (f field) identify(list []any) ([]id, error) {
	ids := make([]id, 0, len(list))
	seen := make(map[id]int, len(list))
	for i, item := range list {
		this := id{value: item}
		if f.key != "" {
			m, ok := item.(map[string]any)
			if !ok {
				return nil, &problem{fmt.Sprintf("[%d]", i), "is " + shape(item) + ", and must be a map"}
			}
			this = id{value: f.keyOf(m), more: f.others(m)}
		}
		switch v := this.value.(type) {
		case nil:
			if f.key == "" {
				return nil, &problem{fmt.Sprintf("[%d]", i), "is empty, and must have a value"}
			}
			return nil, &problem{fmt.Sprintf("[%d]", i), "must have the field " + f.key}
		case map[string]any, []any:
			return nil, &problem{fmt.Sprintf("[%d]", i), "is " + shape(v) + ", and must be a plain value"}
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

// others are the values of an item's keys but the first.
func (f field) others(item map[string]any) string {
	if len(f.more) == 1 {
		if s, ok := f.more[0].of(item).(string); ok {
			return "/" + s // nearly always
		}
	}
	var b strings.Builder
	for _, k := range f.more {
		fmt.Fprintf(&b, "/%v", k.of(item))
	}
	return b.String()
}

// unique is a list of plain values with each of them once.
func unique(list []any) []any {
	out := make([]any, 0, len(list))
	for _, v := range list {
		if !slices.ContainsFunc(out, func(o any) bool { return equal(o, v) }) {
			out = append(out, v)
		}
	}
	return out
}

func indexed(ids []id) map[id]int {
	m := make(map[id]int, len(ids))
	for i, id := range ids {
		m[id] = i
	}
	return m
}
