// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A PatchError is returned for a patch that does not fit an object.
type PatchError struct {
	Path string // the field, or "" for the whole object
	Text string // the problem, to follow the path: "is a list, and must be a map"
}

func (e *PatchError) Error() string { return strings.TrimPrefix(e.Path+" "+e.Text, " ") }

// ApplyStrategic returns the result of a strategic merge patch for an object. The result is nil if
// the patch deletes the object ("$patch: delete"). The directives $patch, $retainKeys,
// $deleteFromPrimitiveList and $setElementOrder have the meaning that they have for the API server.
//
// Lists of built-in kinds merge by the keys that the API declares. Their order is that of
// kustomize: the items of the patch come first, then the others; if items are identified by several
// keys, such as ports with protocols, only new ones come first. In objects of other kinds lists are
// replaced, as in a JSON merge patch. An error is a [*PatchError]. ApplyStrategic does not change
// its arguments, and the result shares parts with them.
func ApplyStrategic(object, patch map[string]any) (map[string]any, error) {
	kind, _ := object["kind"].(string)
	version, _ := object["apiVersion"].(string)
	root, known := kinds().kinds[version+" "+kind]
	p := patcher{builtIn: known}
	out, err := p.mergeMap(field{node: root}, object, patch)
	if err != nil {
		if at, ok := err.(*problem); ok {
			return nil, &PatchError{Path: at.path, Text: at.text}
		}
		return nil, err
	}
	return out, nil
}

// patcher applies a strategic merge patch.
type patcher struct {
	builtIn bool // the kind's lists have known keys
}

// mergeMap merges patch into the map have, which may be nil. The result is nil if the patch deletes
// the map.
func (p patcher) mergeMap(f field, have, patch map[string]any) (map[string]any, error) {
	switch patch[directive] {
	case nil, "merge":
	case "replace":
		have = nil
	case "delete":
		return nil, nil
	default:
		return nil, &problem{directive, fmt.Sprintf("is %v, and must be merge, replace or delete", patch[directive])}
	}
	out := maps.Clone(have)
	if out == nil {
		out = make(map[string]any, len(patch))
	}
	keys := slices.Sorted(maps.Keys(patch)) // for the same error each time
	directives := false
	for _, key := range keys {
		if isDirective(key) {
			directives = true
			continue
		}
		merged, err := p.mergeValue(f.node.field(key), have[key], patch[key], patch[orderPrefix+key])
		switch {
		case err != nil:
			return nil, prefixPath(key, err)
		case merged == nil:
			delete(out, key)
		default:
			out[key] = merged
		}
	}
	if !directives {
		return out, nil
	}
	return out, p.directives(f, keys, have, out, patch)
}

// directives executes the directives of a patch that are about keys of out, which have was merged to. keys
// are those of the patch.
func (p patcher) directives(f field, keys []string, have, out, patch map[string]any) error {
	for _, key := range keys {
		name, order := strings.CutPrefix(key, orderPrefix)
		list, deletes := strings.CutPrefix(key, primitivePrefix)
		switch {
		case key == retainDirective:
			keep, ok := patch[key].([]any)
			if !ok {
				return &problem{key, "is " + valueType(patch[key]) + ", and must be a list of keys"}
			}
			maps.DeleteFunc(out, func(k string, _ any) bool { return !slices.Contains(keep, any(k)) })
		case deletes:
			drop, isList := patch[key].([]any)
			old, hasList := out[list].([]any)
			if !isList {
				return &problem{key, "is " + valueType(patch[key]) + ", and must be a list of values"}
			}
			if hasList {
				out[list] = slices.DeleteFunc(slices.Clone(old), func(v any) bool { return containsValue(drop, v) })
			}
		case order && patch[name] == nil && out[name] != nil:
			sorted, err := p.mergeValue(f.node.field(name), have[name], []any{}, patch[key])
			if err != nil {
				return prefixPath(name, err)
			}
			out[name] = sorted
		}
	}
	return nil
}

// mergeValue merges a value of a patch into have. The result is nil if the patch removes the value.
// order is the value of the directive for the order of the list, or nil.
func (p patcher) mergeValue(f field, have, patch, order any) (any, error) {
	switch patch := patch.(type) {
	case nil:
		return nil, nil
	case map[string]any:
		old, isMap := have.(map[string]any)
		if !isMap && have != nil && patch[directive] == nil {
			return nil, mismatch(have, patch)
		}
		if f.replace {
			old = nil
		}
		merged, err := p.mergeMap(f, old, patch)
		if merged == nil || err != nil {
			return nil, err
		}
		return merged, nil
	case []any:
		old, isList := have.([]any)
		if !isList && have != nil {
			return nil, mismatch(have, patch)
		}
		return p.mergeList(f, old, patch, order)
	}
	switch have.(type) {
	case map[string]any, []any:
		return nil, mismatch(have, patch)
	}
	return patch, nil
}

// mismatch returns the error for a patch that has another type than the field.
func mismatch(have, patch any) error {
	text := fmt.Sprintf("is %s in the object, and %s in the patch", valueType(have), valueType(patch))
	if _, isMap := patch.(map[string]any); isMap {
		text += "; $patch: replace in the map replaces it"
	}
	return &problem{"", text}
}

// mergeList merges a list. The result is nil if the patch removes it.
func (p patcher) mergeList(f field, have, patch []any, order any) (any, error) {
	items, whole, err := listDirective(patch)
	if err != nil || whole == "delete" {
		return nil, err
	}
	if whole == "replace" {
		have = nil
	}
	switch {
	case !f.merge || !p.builtIn:
		if order != nil {
			return nil, &problem{"", "has no merge key that " + strings.TrimSuffix(orderPrefix, "/") + " could order by"}
		}
		return items, noDirectives(items)
	case f.key == "":
		return mergeValues(have, items, order)
	}
	return p.mergeItems(f, have, items, order)
}

// listDirective returns the items of a list in a patch without an item that consists of the
// directive for the whole list, and the directive.
func listDirective(patch []any) (items []any, whole string, err error) {
	items = patch
	for i, item := range patch {
		m, ok := item.(map[string]any)
		if !ok || m[directive] == nil {
			continue
		}
		what, _ := m[directive].(string)
		switch {
		case len(m) == 1 && (what == "replace" || what == "delete"):
			whole, items = what, slices.Delete(slices.Clone(items), i-len(patch)+len(items), i-len(patch)+len(items)+1)
		case what == "replace":
			return nil, "", &problem{fmt.Sprintf("[%d]", i), "has $patch: replace beside other fields; an item of " +
				"only $patch: replace replaces the list with its other items"}
		case what != "merge" && what != "delete":
			return nil, "", &problem{fmt.Sprintf("[%d].%s", i, directive),
				fmt.Sprintf("is %v, and must be merge, replace or delete", m[directive])}
		}
	}
	return items, whole, nil
}

// noDirectives returns an error if a list that is replaced as a whole has directives, which would
// be left in the object.
func noDirectives(items []any) error {
	if at := directiveIn("", items); at != "" {
		return &problem{"", "is a list without merge keys, which a patch replaces as a whole, and has " + at +
			": a JSON 6902 patch can change single items"}
	}
	return nil
}

// mergeValues merges a list of plain values.
func mergeValues(have, patch []any, order any) (any, error) {
	for i, v := range patch {
		if t := valueType(v); t != "a plain value" || v == nil {
			return nil, &problem{fmt.Sprintf("[%d]", i), "is " + t + ", and must be a plain value"}
		}
	}
	out := uniqueValues(slices.Concat(patch, have))
	if order == nil {
		return out, nil
	}
	first, ok := order.([]any)
	if !ok {
		return nil, &problem{"", "has an order that is " + valueType(order) + ", and must be a list"}
	}
	out = uniqueValues(slices.Concat(have, patch))
	return inOrder(out, func(v any) int { return slices.IndexFunc(first, func(o any) bool { return equal(o, v) }) }), nil
}

// mergeItems merges a list whose items have keys.
func (p patcher) mergeItems(f field, have, patch []any, order any) (any, error) {
	m := itemMerge{patcher: p, field: f, have: slices.Clone(have), named: make([]bool, len(have)),
		removed: make([]bool, len(have))}
	for i, item := range patch {
		if err := m.merge(item); err != nil {
			return nil, prefixPath(fmt.Sprintf("[%d]", i), err)
		}
	}
	if order != nil {
		return m.ordered(order)
	}
	return m.list(f.severalKeys(have) || f.severalKeys(patch)), nil
}

// severalKeys reports whether an item has another key than the first.
func (f field) severalKeys(items []any) bool {
	for _, item := range items {
		m, _ := item.(map[string]any)
		for _, k := range f.more {
			if m[k.name] != nil {
				return true
			}
		}
	}
	return false
}

// itemMerge merges the items of one list.
type itemMerge struct {
	patcher
	field          field
	have           []any
	named, removed []bool // which of have the patch has merged and deleted
	// fromPatch are the items of the patch in its order, and created those of them that are new.
	fromPatch, created []any
	index              []int // the index in have of each of fromPatch, or -1
}

// merge merges one item of the patch.
func (m *itemMerge) merge(item any) error {
	patch, ok := item.(map[string]any)
	if !ok {
		return &problem{"", "is " + valueType(item) + ", and must be a map"}
	}
	if m.field.keyOf(patch) == nil {
		return &problem{"", "has no " + m.field.key + ", which identifies the item"}
	}
	at := m.find(patch)
	if patch[directive] == "delete" {
		for at >= 0 {
			m.removed[at] = true
			at = m.find(patch)
		}
		return nil
	}
	if at >= 0 && m.named[at] || at < 0 && m.isCreated(patch) {
		return &problem{"", fmt.Sprintf("has the %s %v, which another item of the patch has too", m.field.key,
			m.field.keyOf(patch))}
	}
	var old map[string]any
	if at >= 0 {
		old, _ = m.have[at].(map[string]any)
	}
	merged, err := m.mergeMap(field{node: m.field.node}, old, patch)
	if err != nil {
		return err
	}
	if at >= 0 {
		m.have[at], m.named[at] = merged, true
	} else {
		m.created = append(m.created, merged)
	}
	m.fromPatch, m.index = append(m.fromPatch, merged), append(m.index, at)
	return nil
}

// find returns the index of the item with the keys of patch, or -1. If the patch omits a key, the
// only item with the others is the one.
func (m *itemMerge) find(patch map[string]any) int {
	near, count := -1, 0
	for i, item := range m.have {
		have, ok := item.(map[string]any)
		if !ok || m.removed[i] || !equal(m.field.keyOf(have), m.field.keyOf(patch)) {
			continue
		}
		if m.field.sameItem(patch, have) {
			return i
		}
		if m.field.agrees(patch, have) {
			near, count = i, count+1
		}
	}
	if count == 1 {
		return near
	}
	return -1
}

// agrees reports whether an item has the keys that patch has.
func (f field) agrees(patch, have map[string]any) bool {
	for _, k := range f.more {
		if patch[k.name] != nil && !equal(patch[k.name], k.valueIn(have)) {
			return false
		}
	}
	return true
}

// isCreated reports whether the patch has had the item before.
func (m *itemMerge) isCreated(patch map[string]any) bool {
	return slices.ContainsFunc(m.created, func(item any) bool { return m.field.sameItem(patch, item.(map[string]any)) })
}

// list returns the merged list. With several keys, only new items come first.
func (m *itemMerge) list(several bool) []any {
	first := m.fromPatch
	if several {
		first = m.created
	}
	out := append(make([]any, 0, len(m.have)+len(first)), first...)
	for i, item := range m.have {
		if !m.removed[i] && (several || !m.named[i]) {
			out = append(out, item)
		}
	}
	return out
}

// ordered returns the merged list in the order of the directive.
func (m *itemMerge) ordered(order any) (any, error) {
	list, ok := order.([]any)
	if !ok {
		return nil, &problem{"", "has an order that is " + valueType(order) + ", and must be a list"}
	}
	var out []any
	for i, item := range m.have {
		if !m.removed[i] {
			out = append(out, item)
		}
	}
	out = append(out, m.created...)
	return inOrder(out, func(item any) int {
		have, _ := item.(map[string]any)
		return slices.IndexFunc(list, func(o any) bool {
			named, ok := o.(map[string]any)
			return ok && equal(m.field.keyOf(named), m.field.keyOf(have)) && m.field.agrees(named, have)
		})
	}), nil
}

// inOrder returns the items that rank ranks in the order of their ranks; each other item, whose rank is
// -1, stays before the first of them that it preceded.
func inOrder(items []any, rank func(any) int) []any {
	type ranked struct {
		item any
		rank int
	}
	var named []ranked
	before := make(map[int][]any) // by the number of named items that precede them
	for _, item := range items {
		if r := rank(item); r >= 0 {
			named = append(named, ranked{item, r})
			continue
		}
		before[len(named)] = append(before[len(named)], item)
	}
	slices.SortStableFunc(named, func(a, b ranked) int { return a.rank - b.rank })
	out := make([]any, 0, len(items))
	for i := range len(named) + 1 {
		out = append(out, before[i]...)
		if i < len(named) {
			out = append(out, named[i].item)
		}
	}
	return out
}

func containsValue(list []any, v any) bool {
	return slices.ContainsFunc(list, func(o any) bool { return equal(o, v) })
}
