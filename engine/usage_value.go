// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"maps"
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
// has a name, or the result of dict or list.
type abstractTable struct {
	name string
	// born is the number of the call that made it.
	born int
	// list is set for the result of list, whose keys are its positions.
	list    bool
	entries map[string]*abstract
	// other has the entries whose keys are not known, merged the tables that were merged
	// into it.
	other, merged *abstract
}

// maxAlternatives limits what a value may be. One that may be more counts as used.
const maxAlternatives = 24

// union returns a value that may be a or b.
func (u *usageFinder) union(a, b *abstract) *abstract {
	if a == nil || b == nil || a == b {
		if a == nil {
			return b
		}
		return a
	}
	out := &abstract{nodes: joined(a.nodes, b.nodes), tables: joined(a.tables, b.tables),
		items: u.union(a.items, b.items), texts: joined(a.texts, b.texts)}
	if max(len(out.nodes), len(out.tables)) > maxAlternatives {
		u.use(out)
		return nil
	}
	if len(out.texts) > maxAlternatives {
		out.texts = nil // any text
	}
	return out
}

func joined[T comparable](a, b []T) []T {
	out := a[:len(a):len(a)]
	for _, v := range b {
		if !slices.Contains(out, v) {
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

// maxListDepth limits the lists in lists that are told apart.
const maxListDepth = 16

// signature returns a text that is the same for values that are the same for a template. Of a table
// that occurs again it has the number.
func (a *abstract) signature() string {
	s := signer{seen: map[*abstractTable]int{}}
	s.value(a, 0)
	return s.String()
}

type signer struct {
	strings.Builder
	seen map[*abstractTable]int
}

func (s *signer) value(a *abstract, lists int) {
	if a == nil || lists > maxListDepth {
		s.WriteString("-")
		return
	}
	for _, n := range a.nodes {
		s.WriteString("n" + strconv.Itoa(n.id) + " ")
	}
	for _, t := range a.tables {
		s.table(t)
	}
	for _, t := range a.texts {
		s.WriteString(strconv.Quote(t))
	}
	if a.items != nil {
		s.WriteString("[")
		s.value(a.items, lists+1)
		s.WriteString("]")
	}
}

func (s *signer) table(t *abstractTable) {
	if t.name != "" {
		s.WriteString(strconv.Quote(t.name))
		return
	}
	if number, ok := s.seen[t]; ok {
		s.WriteString("t" + strconv.Itoa(number) + " ")
		return
	}
	s.seen[t] = len(s.seen)
	s.WriteString("{")
	for _, k := range t.keys() {
		s.WriteString(strconv.Quote(k) + ":")
		s.value(t.entries[k], 0)
	}
	s.WriteString("*")
	s.value(t.other, 0)
	s.WriteString("+")
	s.value(t.merged, 0)
	s.WriteString("}")
}

// parts returns the tables that a may be, with all that was merged into them, each once.
func (u *usageFinder) parts(a *abstract) (nodes []*Usage, tables []*abstractTable) {
	seenNodes, seenTables := map[*Usage]bool{}, map[*abstractTable]bool{}
	for queue := []*abstract{a}; len(queue) > 0 && u.step(); queue = queue[1:] {
		if queue[0] == nil {
			continue
		}
		for _, n := range queue[0].nodes {
			if !seenNodes[n] {
				seenNodes[n] = true
				nodes, queue = append(nodes, n), append(queue, n.merged)
			}
		}
		for _, t := range queue[0].tables {
			if !seenTables[t] {
				seenTables[t] = true
				tables, queue = append(tables, t), append(queue, t.merged)
			}
		}
	}
	return nodes, tables
}

// key returns what a has under a key.
func (u *usageFinder) key(a *abstract, key string) *abstract {
	if a == nil {
		return nil
	}
	var out *abstract
	nodes, tables := u.parts(a)
	for _, n := range nodes {
		out = u.union(out, &abstract{nodes: []*Usage{u.child(n, key)}})
		out = u.union(out, u.union(n.stored[key], n.stored[""]))
	}
	for _, t := range tables {
		out = u.union(out, u.union(t.entries[key], t.other))
	}
	return out
}

// elements returns the items of a list, or the values of a table.
func (u *usageFinder) elements(a *abstract) *abstract {
	if a == nil {
		return nil
	}
	out := a.items
	nodes, tables := u.parts(a)
	for _, n := range nodes {
		out = u.union(out, &abstract{nodes: []*Usage{u.any(n)}})
		for _, k := range slices.Sorted(maps.Keys(n.stored)) {
			out = u.union(out, n.stored[k])
		}
	}
	for _, t := range tables {
		for _, k := range t.keys() {
			out = u.union(out, t.entries[k])
		}
		out = u.union(out, t.other)
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
	if len(k.nodes)+len(k.tables) > 0 || k.items != nil { // or a text that is not known
		u.use(k)
		out = u.elements(a)
	}
	for _, text := range k.texts {
		out = u.union(out, u.key(a, text))
	}
	return out
}

// text returns the text that a is, and whether it is known.
func (a *abstract) text() (text string, known bool) {
	if a == nil || len(a.texts) != 1 || len(a.nodes)+len(a.tables) > 0 || a.items != nil {
		return "", false
	}
	return a.texts[0], true
}

// unlessText returns a without the texts that it may be: it may also be others.
func (a *abstract) unlessText() *abstract {
	if a == nil || len(a.texts) == 0 {
		return a
	}
	out := *a
	out.texts = nil
	return &out
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
		for _, k := range slices.Sorted(maps.Keys(n.stored)) {
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
