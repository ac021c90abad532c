// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"slices"
	"strconv"
	"strings"
)

// abstract is what is known of a value of a template: all that it may be. nil is a value of which
// nothing is known, and which has nothing of the chart's values.
type abstract struct {
	// nodes are the values of the chart that it may be.
	nodes  []*Usage
	tables []*abstractTable
	// items are the items if it is a list.
	items *abstract
	// texts are the texts that it may be.
	texts []string
}

// abstractTable is a table that is not one of the values: the data of a chart's templates, which
// has a name, or the result of dict.
type abstractTable struct {
	name string
	// born is the number of the call that made it.
	born    int
	entries map[string]*abstract
	// other has the entries whose keys are not known, merged the tables that were merged
	// into it.
	other, merged *abstract
}

// maxAlternatives limits what a value may be.
const maxAlternatives = 64

// union returns a value that may be a or b.
func union(a, b *abstract) *abstract {
	if a == nil || b == nil || a == b {
		if a == nil {
			return b
		}
		return a
	}
	return &abstract{nodes: joined(a.nodes, b.nodes), tables: joined(a.tables, b.tables),
		items: union(a.items, b.items), texts: joined(a.texts, b.texts)}
}

func joined[T comparable](a, b []T) []T {
	out := slices.Clone(a)
	for _, v := range b {
		if !slices.Contains(out, v) && len(out) < maxAlternatives {
			out = append(out, v)
		}
	}
	return out
}

// without returns a without the tables n and t.
func (a *abstract) without(n *Usage, t *abstractTable) *abstract {
	out := *a
	out.nodes = slices.DeleteFunc(slices.Clone(a.nodes), func(m *Usage) bool { return m == n })
	out.tables = slices.DeleteFunc(slices.Clone(a.tables), func(m *abstractTable) bool { return m == t })
	return &out
}

// maxSignature limits the depth of signature.
const maxSignature = 8

// signature returns a text that is the same for values that are the same for a template.
func (a *abstract) signature(depth int) string {
	if a == nil {
		return "-"
	}
	if depth > maxSignature {
		return "…"
	}
	var b strings.Builder
	for _, n := range a.nodes {
		b.WriteString("n" + strconv.Itoa(n.id) + " ")
	}
	for _, t := range a.tables {
		b.WriteString(t.signature(depth + 1))
	}
	for _, t := range a.texts {
		b.WriteString(strconv.Quote(t))
	}
	if a.items != nil {
		b.WriteString("[" + a.items.signature(depth+1) + "]")
	}
	return b.String()
}

func (t *abstractTable) signature(depth int) string {
	if t.name != "" {
		return strconv.Quote(t.name)
	}
	var b strings.Builder
	b.WriteString("{")
	for _, k := range t.keys() {
		b.WriteString(strconv.Quote(k) + ":" + t.entries[k].signature(depth))
	}
	b.WriteString("*" + t.other.signature(depth) + "+" + t.merged.signature(depth) + "}")
	return b.String()
}

// key returns what a has under a key.
func (u *usageFinder) key(a *abstract, key string) *abstract { return u.keyIn(a, key, 0) }

func (u *usageFinder) keyIn(a *abstract, key string, depth int) *abstract {
	if a == nil || depth > maxSignature {
		return nil
	}
	var out *abstract
	for _, n := range a.nodes {
		out = union(out, &abstract{nodes: []*Usage{u.child(n, key)}})
		out = union(out, union(n.stored[key], n.stored[""]))
		out = union(out, u.keyIn(n.merged, key, depth+1))
	}
	for _, t := range a.tables {
		out = union(out, union(t.entries[key], t.other))
		out = union(out, u.keyIn(t.merged, key, depth+1))
	}
	return out
}

// elements returns the items of a list, or the values of a table.
func (u *usageFinder) elements(a *abstract) *abstract { return u.elementsIn(a, 0) }

func (u *usageFinder) elementsIn(a *abstract, depth int) *abstract {
	if a == nil || depth > maxSignature {
		return nil
	}
	out := a.items
	for _, n := range a.nodes {
		out = union(out, &abstract{nodes: []*Usage{u.any(n)}})
		for _, k := range sortedKeys(n.stored) {
			out = union(out, n.stored[k])
		}
		out = union(out, u.elementsIn(n.merged, depth+1))
	}
	for _, t := range a.tables {
		for _, k := range t.keys() {
			out = union(out, t.entries[k])
		}
		out = union(union(out, t.other), u.elementsIn(t.merged, depth+1))
	}
	return out
}

// entry returns what a has under the key that k may be: one of its texts, or any.
func (u *usageFinder) entry(a, k *abstract) *abstract {
	if k == nil || len(k.texts) == 0 {
		u.use(k)
		return u.elements(a)
	}
	var out *abstract
	for _, text := range k.texts {
		out = union(out, u.key(a, text))
	}
	return out
}

// use marks a as used with everything in it.
func (u *usageFinder) use(a *abstract) { u.useIn(a, map[any]bool{}) }

func (u *usageFinder) useIn(a *abstract, seen map[any]bool) {
	if a == nil || !u.step() {
		return
	}
	for _, n := range a.nodes {
		n.Whole = true
		if seen[n] {
			continue
		}
		seen[n] = true
		for _, k := range sortedKeys(n.stored) {
			u.useIn(n.stored[k], seen)
		}
		u.useIn(n.merged, seen)
	}
	for _, t := range a.tables {
		if seen[t] {
			continue
		}
		seen[t] = true
		for _, k := range t.keys() {
			u.useIn(t.entries[k], seen)
		}
		u.useIn(t.other, seen)
		u.useIn(t.merged, seen)
	}
	u.useIn(a.items, seen)
}
