// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"
)

// Directives of a strategic merge patch.
const (
	directive       = "$patch"
	orderPrefix     = "$setElementOrder/"
	primitivePrefix = "$deleteFromPrimitiveList/"
)

// id names an item of a list: the value of its key, and the how manieth of
// that value it is, because Service ports of two protocols share a number.
type id struct {
	value any
	n     int
}

// list merges the list under key item by item.
func (m *merger) list(c *change, key string, f field, olds [][]any, live, want []any) error {
	if m.unmoved(f, olds, live, want) {
		return nil
	}
	wantIDs, repeated, err := identify(want, f.key)
	if err != nil {
		return err
	}
	liveIDs, liveRepeated, err := identify(live, f.key)
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
	if repeated || liveRepeated {
		m.whole = true
	}
	c.begin()
	c.after[key] = after
	if len(after) == 0 {
		delete(c.after, key)
	}
	l.write(c.patch, key)
	return nil
}

// unmoved tells whether nothing is to change in a list whose items are, in
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
		if !isMap || !wasMap || !equal(w[f.key], have[f.key]) || w[f.key] == nil {
			return false
		}
		for j, old := range olds {
			o, ok := old[i].(map[string]any)
			if !ok || !equal(o[f.key], w[f.key]) {
				return false
			}
			former[j] = o
		}
		patch, _, err := m.fields("", field{node: f.node, retain: f.retain}, former, have, w)
		if err != nil || patch != nil {
			return false
		}
	}
	return true
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
		patch, after, err := l.fields("", field{node: l.field.node, retain: l.field.retain}, l.oldIndex[id], have, w)
		if err != nil {
			return at(fmt.Sprintf("[%v]", id.value), err)
		}
		if patch != nil {
			patch[l.field.key] = have[l.field.key]
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
		ids, _, err := identify(old, l.field.key)
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
	for _, id := range l.wantIDs {
		order = append(order, map[string]any{l.field.key: id.value})
	}
	patch[orderPrefix+key] = order
}

// identify names the items of a list; repeated tells that a key occurs twice.
func identify(list []any, key string) (ids []id, repeated bool, err error) {
	ids = make([]id, 0, len(list))
	seen := make(map[any]int, len(list))
	for i, item := range list {
		value := item
		if m, ok := item.(map[string]any); ok && key != "" {
			value = m[key]
		} else if key != "" {
			return nil, false, &problem{fmt.Sprintf("[%d]", i), "is " + shape(item) + ", and must be a map"}
		}
		switch v := value.(type) {
		case nil:
			if key == "" {
				return nil, false, &problem{fmt.Sprintf("[%d]", i), "is empty, and must have a value"}
			}
			return nil, false, &problem{fmt.Sprintf("[%d]", i), "must have the field " + key}
		case map[string]any, []any:
			return nil, false, &problem{fmt.Sprintf("[%d]", i), "is " + shape(v) + ", and must be a plain value"}
		case float64:
			if whole, ok := integer(v); ok {
				value = whole
			}
		}
		n := seen[value]
		seen[value], repeated = n+1, repeated || n > 0
		ids = append(ids, id{value, n})
	}
	return ids, repeated, nil
}

func indexed(ids []id) map[id]int {
	m := make(map[id]int, len(ids))
	for i, id := range ids {
		m[id] = i
	}
	return m
}
