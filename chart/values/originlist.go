// SPDX-License-Identifier: Apache-2.0

package values

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/moonhelm/moonhelm/internal/yaml"
)

// Items returns the steps of the paths of the items of list, such as "[name=web]", or "[0]" for one that
// lacks a key. list is a list for path: that of the values of o, or a layer of it. Items returns nil if there
// is no list at path, or if the list does not merge: then [Origins.Of] returns the origins of the whole list.
func (o *Origins) Items(list []any, path ...string) []string {
	if o == nil {
		return nil
	}
	v, l, _ := o.at(path)
	own, ok := v.([]any)
	r := l.list()
	if !ok || r == nil {
		return nil
	}
	index := o.index(own, r)
	out := make([]string, len(list))
	for i, item := range list {
		if out[i], ok = r.step(item); !ok {
			out[i] = fmt.Sprintf("[%d]", index.of(r.id(item), len(own)))
		}
	}
	return out
}

// maxItemOrigins is the largest number of origins of a list that merges.
const maxItemOrigins = 10

// OfItems returns the places that set the items of the list at path, if it merges, the last item's first,
// each place once and at most ten. For other values it returns nil: they have origins of their own, see
// [Origins.Of].
func (o *Origins) OfItems(path ...string) []Origin {
	if o == nil {
		return nil
	}
	v, _, _ := o.at(path)
	list, ok := v.([]any)
	if !ok {
		return nil
	}
	var out []Origin
	for _, item := range slices.Backward(list) {
		if len(out) >= maxItemOrigins {
			break
		}
		out = appendWinners(out, item)
	}
	return out
}

// appendWinners appends to out the places that set the values of v, up to maxItemOrigins.
func appendWinners(out []Origin, v any) []Origin {
	if len(out) >= maxItemOrigins {
		return out
	}
	switch v := v.(type) {
	case *traced:
		if len(v.origins) == 0 {
			break
		}
		first := v.origins[0]
		first.Path = "" // of the item
		if !slices.Contains(out, first) {
			out = append(out, first)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			out = appendWinners(out, v[key])
		}
	case []any:
		for _, item := range v {
			out = appendWinners(out, item)
		}
	}
	return out
}

// itemIndex finds the items of a list that merges.
type itemIndex struct {
	steps []string
	byID  map[string]int // the first item
}

// of returns the index of the item with that identity, or otherwise.
func (x *itemIndex) of(id string, otherwise int) int {
	if i, ok := x.byID[id]; ok {
		return i
	}
	return otherwise
}

// find returns the index of the item with that step or index, or -1.
func (x *itemIndex) find(step string) int {
	if i := x.of(step, -1); i >= 0 {
		return i
	}
	if i, err := strconv.Atoi(strings.Trim(step, "[]")); err == nil && i >= 0 && i < len(x.steps) {
		return i
	}
	return -1
}

// index returns the index of a list of o, which is made once.
func (o *Origins) index(list []any, r *listRule) *itemIndex {
	if len(list) == 0 {
		return &itemIndex{}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if x := o.indexes[&list[0]]; x != nil {
		return x
	}
	x := &itemIndex{r.steps(list), make(map[string]int, len(list))}
	for i, item := range list {
		id := r.id(item)
		x.byID[id] = x.of(id, i)
	}
	if o.indexes == nil {
		o.indexes = map[*any]*itemIndex{}
	}
	o.indexes[&list[0]] = x
	return x
}

// steps returns the steps of the paths of the items.
func (r *listRule) steps(list []any) []string {
	out := make([]string, len(list))
	for i, v := range list {
		var ok bool
		if out[i], ok = r.step(v); !ok {
			out[i] = fmt.Sprintf("[%d]", i)
		}
	}
	return out
}

// at returns the value at path and its lists, or nil. named is the path with the steps of items for
// their indexes.
func (o *Origins) at(path []string) (v any, below *Lists, named []string) {
	v, below, named = o.root, o.lists, slices.Clone(path)
	for i, key := range path {
		switch in := v.(type) {
		case map[string]any:
			v, below = in[key], below.field(key)
		case []any:
			r := below.list()
			if r == nil {
				return nil, nil, nil
			}
			index := o.index(in, r)
			n := index.find(key)
			if n < 0 {
				return nil, nil, nil
			}
			named[i] = index.steps[n]
			v, below = in[n], r.itemLists()
		default:
			return nil, nil, nil
		}
	}
	return v, below, named
}

// listOf returns v if it is a list. Of a traced list, the items have the origins of the list.
func listOf(v any) ([]any, bool) {
	t, ok := v.(*traced)
	if !ok {
		list, ok := v.([]any)
		return list, ok
	}
	list, ok := t.value.([]any)
	if !ok {
		return nil, false
	}
	out := make([]any, len(list))
	for i, e := range list {
		out[i] = traceAll(e, t.origins)
	}
	return out, true
}

// traceAll returns a copy of v whose leaves have the given origins.
func traceAll(v any, origins []Origin) any {
	switch v := v.(type) {
	case nil:
		return nil
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = traceAll(e, origins)
		}
		return out
	}
	return &traced{value: v, origins: origins}
}

// list returns a list that merges with traced leaves. n is its node, or nil.
func (s source) list(list []any, n *yaml.Node, line int, path string, r *listRule) []any {
	n = yaml.Target(n)
	out := make([]any, len(list))
	for i, v := range list {
		var node *yaml.Node
		at := line
		if n != nil && n.Kind == yaml.SequenceNode && i < len(n.Content) {
			node = n.Content[i]
			at = node.Line
		}
		step, ok := r.step(v)
		if !ok {
			step = fmt.Sprintf("[%d]", i)
		}
		switch v := v.(type) {
		case nil:
		case map[string]any:
			out[i] = s.table(v, node, at, path+step, r.items)
		default:
			out[i] = &traced{value: v, origins: []Origin{{File: s.name, Line: at, Path: path + step}}}
		}
	}
	return out
}

// untraceItems returns a copy of a list that merges whose items an expression can set.
func untraceItems(list []any, l *Lists) []any {
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = v
		if table, ok := v.(map[string]any); ok {
			copied := make(map[string]any, len(table))
			for k, e := range table {
				copied[k] = e
			}
			untraceLists(copied, l)
			out[i] = copied
		}
	}
	return out
}

// traceItems traces the leaves of a list that merges which are not traced: what a flag has set.
func traceItems(list, before []any, flag, path string, r *listRule) {
	old := map[string]any{}
	for _, v := range before {
		old[r.id(v)] = v
	}
	for i, step := range r.steps(list) {
		was := old[r.id(list[i])]
		switch v := list[i].(type) {
		case nil, *traced:
		case map[string]any:
			table, _ := was.(map[string]any)
			traceChanges(v, table, flag, path+step, r.items)
		default:
			t := &traced{value: v, origins: []Origin{{Flag: flag, Path: path + step}}}
			list[i] = t.over(was)
		}
	}
}

// updateItems returns the items of a list that merges with the origins of those in old that are equal.
func updateItems(old, list []any, path []string, from func([]string) Origin, r *listRule) []any {
	was := map[string]any{}
	for _, v := range old {
		was[r.id(v)] = v
	}
	out := make([]any, len(list))
	for i, step := range r.steps(list) {
		below := append(path[:len(path):len(path)], step)
		before := was[r.id(list[i])]
		switch v := list[i].(type) {
		case nil:
		case map[string]any:
			table, _ := before.(map[string]any)
			out[i] = update(table, v, below, from, r.items)
		default:
			leaf, ok := before.(*traced)
			if !ok || !reflect.DeepEqual(withoutOrigins(leaf), withoutOrigins(v)) {
				leaf = &traced{value: v, origins: []Origin{from(below)}}
			}
			out[i] = leaf
		}
	}
	return out
}
