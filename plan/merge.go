// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// merger merges one object. It works on the maps themselves and changes none:
// what stays as it is, is shared between what comes in and what goes out.
//
// The rules are those of Kubernetes' strategic merge patch, and where the kind
// is not known those of JSON merge patch, with two differences. What others put
// things into, which are labels, annotations and other maps of plain values,
// and lists that merge by key, is never removed whole. And what means the same to the API counts as
// equal: an empty list or text and none, 1000m and 1, a default that is spelled out.
type merger struct {
	table   *table
	builtIn bool // the rules of known types apply
	olds    int  // how many old manifests there are
	// whole is set where a strategic merge patch cannot say what is to change:
	// it knows items of a list by one key, and brings those that share it together.
	whole bool
	// past is set where an old manifest is compared with what has become of it:
	// what it leaves empty, by a null or an empty value, the server may have
	// filled.
	past bool
}

// problem is what is wrong with a value, and where.
type problem struct{ path, text string }

func (p *problem) Error() string { return p.path + ": " + p.text }

// at puts key in front of a problem's path.
func at(key string, err error) error {
	if p, ok := err.(*problem); ok {
		sep := "."
		if p.path == "" || strings.HasPrefix(p.path, "[") {
			sep = ""
		}
		return &problem{key + sep + p.path, p.text}
	}
	return err
}

// fields merges maps: live becomes after by patch. after is live itself where
// nothing changes, and patch is nil then. name is the key that the map stands
// under.
//
// Any other null in want takes away what is there, whichever client put it there; in
// custom resources only when it is new. So Kubernetes has it.
func (m *merger) fields(name string, f field, olds []map[string]any, live, want map[string]any) (patch,
	after map[string]any, err error) {
	c := change{live: live}
	for key, w := range want {
		if f.skips(key) {
			continue
		}
		if w == nil && !m.notes(name, key) && !f.below(key).merge {
			if live[key] != nil && !m.past && (m.builtIn || nulls(olds, key) < m.olds) {
				c.remove(key)
			}
			continue
		}
		if err := m.value(&c, name, key, f.below(key), olds, live[key], w); err != nil {
			return nil, nil, at(key, err)
		}
	}
	for _, old := range olds {
		for key, o := range old {
			if m.keptNull(key, o, live, want) {
				c.remove(key)
				continue
			}
			if want[key] != nil || live[key] == nil || o == nil || f.skips(key) {
				continue
			}
			if err := m.dropped(&c, name, key, f.below(key), olds, live[key], o); err != nil {
				return nil, nil, at(key, err)
			}
		}
	}
	if f.node != nil {
		for _, u := range f.node.unions {
			c.choose(u, want)
		}
	}
	if f.retain && c.patch != nil {
		c.retain(want)
	}
	return c.patch, c.result(), nil
}

// keptNull reports whether a custom resource holds the null of an old manifest, where the
// new one does not have the key: the server keeps nulls where the definition allows them.
func (m *merger) keptNull(key string, old any, live, want map[string]any) bool {
	_, wanted := want[key]
	have, kept := live[key]
	return !m.builtIn && old == nil && !wanted && kept && have == nil
}

// dropped takes away what the old manifests set under a key that the new one
// does not have: all of it, or of what others may have added to, as to labels
// or containers, only what the manifests had.
func (m *merger) dropped(c *change, name, key string, f field, olds []map[string]any, live, old any) error {
	if _, done := c.patch[key]; done {
		return nil // a null took it away, or another old manifest
	}
	switch have := live.(type) {
	case map[string]any:
		if len(have) == 0 && m.builtIn && filledIn(c.live, key) {
			return nil
		}
		if _, ok := old.(map[string]any); ok && (m.notes(name, key) || m.builtIn && m.table.maps[key]) {
			if err := m.value(c, name, key, f, olds, live, map[string]any{}); err != nil {
				return err
			}
			if left, ok := c.after[key].(map[string]any); ok && len(left) == 0 {
				c.remove(key)
			}
			return nil
		}
	case []any:
		if _, ok := old.([]any); ok && f.merge {
			return m.value(c, name, key, f, olds, live, []any{})
		}
	}
	c.remove(key)
	return nil
}

// filledIn reports whether the server itself puts an empty map under key into a
// map: the security context of a pod, and the resources of containers and claims.
func filledIn(m map[string]any, key string) bool {
	_, pod := m["containers"]
	return pod && key == "securityContext" || !pod && key == "resources"
}

// plainMap reports whether a field of that name is labels or annotations.
func plainMap(key string) bool { return key == "labels" || key == "annotations" }

// notes reports whether the field of a map, which is under name, is labels
// or annotations: others write there too. A custom resource may have fields of
// its own that are called so.
func (m *merger) notes(name, key string) bool {
	return plainMap(key) && (m.builtIn || name == "metadata")
}

// value merges what is under key, where the new manifest has w.
func (m *merger) value(c *change, name, key string, f field, olds []map[string]any, live, w any) error {
	if w == nil { // labels or a list without any
		if w = map[string]any{}; f.merge {
			w = []any{}
		}
	}
	if m.past && w != false && m.zero(name, key, w) {
		return nil
	}
	if list, ok := live.([]any); live == nil || m.builtIn && ok && len(list) == 0 {
		w = m.clean(w)
		if labels, isMap := w.(map[string]any); isMap && len(labels) == 0 && f.place == noted {
			return nil
		}
		if !m.nothing(key, w) && !m.zero(name, key, w) {
			c.set(key, w, w)
		}
		return nil
	}
	if m.builtIn {
		if have, wanted := shape(live), shape(w); have != wanted {
			return &problem{"", fmt.Sprintf("is %s, and must be %s", wanted, have)}
		}
	}
	switch w := w.(type) {
	case map[string]any:
		if have, ok := live.(map[string]any); ok && !f.replace {
			patch, after, err := m.fields(key, f, mapsAt(olds, key), have, w)
			if err == nil && patch != nil {
				c.set(key, patch, after)
			}
			return err
		}
	case []any:
		if have, ok := live.([]any); ok && f.merge {
			return m.list(c, key, f, listsAt(olds, key), have, w)
		}
	}
	if !m.same(name, key, w, live) {
		w := m.clean(w)
		c.set(key, w, w)
	}
	return nil
}

// shape says what a value is, in words. Text and numbers are alike: some fields
// take either.
func shape(v any) string {
	switch v.(type) {
	case map[string]any:
		return "a map"
	case []any:
		return "a list"
	}
	return "a plain value"
}

// clean is v without nulls in its maps: they mean that nothing is there.
func (m *merger) clean(v any) any {
	if c, changed := m.cleaned(v); changed {
		return c
	}
	return v
}

func (m *merger) cleaned(v any) (out any, changed bool) {
	switch v := v.(type) {
	case map[string]any:
		var copied map[string]any
		for key, e := range v {
			c, changed := m.cleaned(e)
			if e != nil && !changed {
				continue
			}
			if copied == nil {
				copied = maps.Clone(v)
			}
			if copied[key] = c; e == nil {
				delete(copied, key)
			}
		}
		return copied, copied != nil
	case []any:
		if !m.builtIn {
			return nil, false // a custom resource may mean its null
		}
		var copied []any
		for i, e := range v {
			if c, changed := m.cleaned(e); changed {
				if copied == nil {
					copied = slices.Clone(v)
				}
				copied[i] = c
			}
		}
		return copied, copied != nil
	}
	return nil, false
}

// nothing reports whether the API keeps w, under key, as if it were not there.
func (m *merger) nothing(key string, w any) bool {
	switch w := w.(type) {
	case map[string]any:
		return len(w) == 0 && m.builtIn && m.table.maps[key]
	case []any:
		return len(w) == 0 && m.builtIn
	}
	return w == nil
}

// zero reports whether w, which is under key in the map under parent, is a
// value that the API keeps as if it were not there: false, 0 or "".
func (m *merger) zero(parent, key string, w any) bool {
	switch w {
	case "", false, int64(0), float64(0), 0:
		return m.builtIn && m.table.zeros[key] && !m.table.open[parent]
	}
	return false
}

// nulls counts the old manifests that have a null under key.
func nulls(olds []map[string]any, key string) int {
	n := 0
	for _, o := range olds {
		if v, has := o[key]; has && v == nil {
			n++
		}
	}
	return n
}

func mapsAt(olds []map[string]any, key string) []map[string]any {
	var out []map[string]any
	for _, o := range olds {
		if m, ok := o[key].(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

func listsAt(olds []map[string]any, key string) [][]any {
	var out [][]any
	for _, o := range olds {
		if l, ok := o[key].([]any); ok {
			out = append(out, l)
		}
	}
	return out
}

// change collects what becomes of one map.
type change struct {
	live, patch, after map[string]any
}

func (c *change) begin() {
	if c.patch == nil {
		c.patch, c.after = map[string]any{}, maps.Clone(c.live)
	}
}

func (c *change) set(key string, patch, after any) {
	c.begin()
	c.patch[key], c.after[key] = patch, after
}

func (c *change) remove(key string) {
	c.begin()
	c.patch[key] = nil
	delete(c.after, key)
}

func (c *change) result() map[string]any {
	if c.patch == nil {
		return c.live
	}
	return c.after
}

// choose takes away the fields of a union that want does not name where it names
// another, no matter which client set them: the server would refuse both.
func (c *change) choose(u union, want map[string]any) {
	for _, name := range u.unwanted(c.live, want) {
		c.remove(name)
	}
}

// retain takes away what want does not name, whichever client put it there: of a
// volume or a strategy only one kind may be set.
func (c *change) retain(want map[string]any) {
	keep := []any{} // the server refuses null, and keys of the patch that are not named here
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if want[key] != nil {
			keep = append(keep, key)
		}
	}
	dropped := func(key string, _ any) bool { return want[key] == nil }
	maps.DeleteFunc(c.patch, dropped)
	maps.DeleteFunc(c.after, dropped)
	c.patch[retainDirective] = keep
}
