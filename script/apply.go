// SPDX-License-Identifier: Apache-2.0

package script

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"

	"github.com/moonhelm/moonhelm/chart/values"
	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/script/wire"
)

// applied is what became of a node.
type applied struct {
	set  map[string]any
	drop map[string]bool
	list []any
	// listed reports that list is the node's new content.
	listed bool
	// replaced is what stands in the node's place altogether, where whole is set.
	replaced any
	whole    bool

	dirty  bool // it, or something below it, has changed
	busy   bool // its new value is being made
	done   bool
	out    any
	placed bool // a place in its parent's new value was found for it
}

// changes makes new values out of what the process says has changed. What it
// says is not to be trusted: numbers may be invented, and values refer to each
// other in circles or so often that they would fill the memory.
type changes struct {
	handles *handles
	may     event.Fields
	// left is how much may be copied, in bytes.
	left int
}

// maxCopies bounds what a change may copy from one place to others.
const maxCopies = 64 << 20

var errCircle = errors.New("values refer to themselves")

// take reads a list of changes and notes them at their nodes.
func (c *changes) take(body map[string]any) error {
	all, err := mapsOf(body, "changes")
	if err != nil {
		return err
	}
	for _, b := range all {
		id, ok := b["id"].(int64)
		n := c.handles.byID[uint64(id)]
		if !ok || n == nil {
			return fmt.Errorf("it changed number %d, which was not offered", id)
		}
		if err := c.note(n, b); err != nil {
			return err
		}
	}
	return nil
}

// note takes in the change of one node.
func (c *changes) note(n *node, b map[string]any) error {
	if n.fields == nil && (n.part == 0 || !c.may.Has(n.part)) {
		return &readOnlyError{n.name()}
	}
	a := &n.apply
	l, listed := b["list"].([]any)
	if listed != n.list || listed && a.listed {
		return fmt.Errorf("it changed %s as what it is not", n.name())
	}
	if listed {
		a.list, a.listed = l, true
		n.soil()
		return nil
	}
	set, ok1 := b["set"].(map[string]any)
	drop, ok2 := b["drop"].([]any)
	if !ok1 && b["set"] != nil || !ok2 && b["drop"] != nil {
		return fmt.Errorf("it changed %s in no way that is known", n.name())
	}
	for k, v := range set {
		if a.set == nil {
			a.set = map[string]any{}
		}
		a.set[k] = v
		delete(a.drop, k)
	}
	for _, k := range drop {
		key, ok := k.(string)
		if !ok {
			return fmt.Errorf("it changed %s in no way that is known", n.name())
		}
		if a.drop == nil {
			a.drop = map[string]bool{}
		}
		a.drop[key] = true
		delete(a.set, key)
	}
	if n.fields != nil {
		if err := c.allowed(n); err != nil {
			return err
		}
	}
	n.soil()
	return nil
}

// allowed tells which field of a context must not be replaced.
func (c *changes) allowed(n *node) error {
	keys := slices.Collect(maps.Keys(n.apply.set))
	keys = slices.AppendSeq(keys, maps.Keys(n.apply.drop))
	slices.Sort(keys)
	for _, k := range keys {
		if part := n.fields[k]; part == 0 || !c.may.Has(part) {
			return &readOnlyError{clip(n.name()+"."+k, maxSource)}
		}
		if n.apply.drop[k] {
			return fmt.Errorf("%s.%s cannot be taken away", n.name(), k)
		}
	}
	return nil
}

// soil marks the node and what holds it as changed.
func (n *node) soil() {
	for ; n != nil && !n.apply.dirty; n = n.parent {
		n.apply.dirty = true
	}
}

// A readOnlyError is returned when something was changed that may not change now.
type readOnlyError struct{ name string }

func (e *readOnlyError) Error() string { return e.name + " is read-only at this moment" }

// resolve is what the node has become: its own value where nothing changed.
func (c *changes) resolve(n *node, depth int) (any, error) {
	a := &n.apply
	switch {
	case a.done:
		return a.out, nil
	case a.busy:
		return nil, errCircle
	case n.special:
		return c.unroll(n, depth)
	}
	base, err := n.content()
	if err != nil || !a.dirty {
		return base, err
	}
	if depth > wire.MaxDepth {
		return nil, wire.ErrDepth
	}
	a.busy = true
	out, err := c.rebuild(n, base, depth)
	if err != nil {
		return nil, err
	}
	a.busy, a.done, a.out = false, true, out
	return out, nil
}

// rebuild makes the new value of a node that has changed.
func (c *changes) rebuild(n *node, base any, depth int) (any, error) {
	a := &n.apply
	switch {
	case a.whole:
		return c.place(n, base, n.sent, a.replaced, depth)
	case a.listed:
		old, _ := base.([]any)
		sent, _ := n.sent.([]any)
		return c.placeList(n, old, sent, a.list, depth)
	}
	out := base
	if len(a.set)+len(a.drop) > 0 {
		old, _ := base.(map[string]any)
		sent, _ := n.sent.(map[string]any)
		table := make(map[string]any, len(old)+len(a.set))
		maps.Copy(table, old)
		for k := range a.drop {
			delete(table, k)
		}
		for k, v := range a.set {
			kid := c.keeps(n, k, v)
			p, err := any(nil), error(nil)
			if kid != nil {
				p, err = c.resolve(kid, depth+1)
			} else {
				p, err = c.place(n, old[k], sent[k], v, depth+1)
			}
			if err != nil {
				return nil, err
			}
			table[k] = p
		}
		out = table
	}
	return c.regrow(n, base, out, depth)
}

// regrow puts those of a node's kids that have changed at their places.
func (c *changes) regrow(n *node, base, out any, depth int) (any, error) {
	for _, kid := range n.kids {
		if !kid.apply.dirty || n.overwrites(kid) {
			continue
		}
		way := kid.path.slice()
		v, err := c.resolve(kid, depth+len(way))
		if err != nil {
			return nil, err
		}
		// The first copy is made of what is not ours to write into.
		out = put(out, way, v, !identical(out, base))
	}
	return out, nil
}

// overwrites reports whether a change of n itself puts something else at the
// place where kid was.
func (n *node) overwrites(kid *node) bool {
	a := &n.apply
	if a.listed || a.whole {
		return true
	}
	way := kid.path.slice()
	_, set := a.set[way[0].key]
	return set || a.drop[way[0].key]
}

// slice is the way from the top.
func (s *step) slice() []*step {
	var out []*step
	for ; s != nil; s = s.up {
		out = append(out, s)
	}
	slices.Reverse(out)
	return out
}

// put returns in with v at the end of the way, which copies of what is on the
// way lead to; in itself is written into only if it is owned.
func put(in any, way []*step, v any, owned bool) any {
	if len(way) == 0 {
		return v
	}
	s := way[0]
	if s.list {
		l, ok := in.([]any)
		if !ok || s.index >= len(l) {
			return in
		}
		if !owned {
			l = slices.Clone(l)
		}
		l[s.index] = put(l[s.index], way[1:], v, false)
		return l
	}
	table, _ := in.(map[string]any)
	if !owned || table == nil {
		clone := make(map[string]any, len(table)+1)
		maps.Copy(clone, table)
		table = clone
	}
	table[s.key] = put(table[s.key], way[1:], v, false)
	return table
}

// place turns a value that the process has sent into one of the payload's. old
// is what stood at that place, and sent how it was handed out: what comes back
// as it was stays what it was.
func (c *changes) place(n *node, old, sent, v any, depth int) (any, error) {
	if depth > wire.MaxDepth {
		return nil, wire.ErrDepth
	}
	switch v := v.(type) {
	case wire.Ref:
		return c.placeRef(n, v, depth)
	case map[string]any:
		return c.placeMap(n, old, sent, v, depth)
	case []any:
		o, _ := old.([]any)
		s, _ := sent.([]any)
		return c.placeList(n, o, s, v, depth)
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("%s: %v is not a number that can be written down", n.name(), v)
		}
	}
	if was, err := scalar(old, n.exact); err == nil && was == v {
		return old, nil
	}
	if f, ok := v.(float64); ok && !n.exact && f == math.Trunc(f) {
		return values.Real(f), nil // or the next script would see a whole number
	}
	return v, nil
}

func (c *changes) placeMap(n *node, old, sent any, v map[string]any, depth int) (any, error) {
	o, _ := old.(map[string]any)
	s, _ := sent.(map[string]any)
	same := o != nil && len(o) == len(v)
	out := make(map[string]any, len(v))
	for k, e := range v {
		was, had := o[k]
		p, err := c.place(n, was, s[k], e, depth+1)
		if err != nil {
			return nil, err
		}
		out[k] = p
		same = same && had && identical(p, was)
	}
	if same {
		return o, nil
	}
	return out, nil
}

// placeList finds for every element the one that it was: elements of lists move.
func (c *changes) placeList(n *node, old, sent, v []any, depth int) (any, error) {
	if depth > wire.MaxDepth {
		return nil, wire.ErrDepth
	}
	was := match(sent, v)
	same := old != nil && len(old) == len(v)
	out := make([]any, len(v))
	for i, e := range v {
		var o, s any
		if at := was[i]; at >= 0 && at < len(old) {
			o, s = old[at], sent[at]
		}
		p, err := c.place(n, o, s, e, depth+1)
		if err != nil {
			return nil, err
		}
		out[i] = p
		same = same && was[i] == i && identical(p, o)
	}
	if same {
		return old, nil
	}
	return out, nil
}

// match tells of each element of now which of those that were sent it was, -1
// for none. Those that are no longer the same are taken to stand where they
// stood.
func match(sent, now []any) []int {
	was := make([]int, len(now))
	head := 0
	for head < len(sent) && head < len(now) && reflect.DeepEqual(sent[head], now[head]) {
		was[head] = head
		head++
	}
	tail := 0
	for tail < len(sent)-head && tail < len(now)-head && reflect.DeepEqual(sent[len(sent)-1-tail], now[len(now)-1-tail]) {
		tail++
		was[len(now)-tail] = len(sent) - tail
	}
	byText := map[string][]int{}
	for i := head; i < len(sent)-tail; i++ {
		if b, err := wire.Append(nil, sent[i]); err == nil {
			byText[string(b)] = append(byText[string(b)], i)
		}
	}
	for i := head; i < len(now)-tail; i++ {
		was[i] = -1
		if len(byText) > 0 {
			b, err := wire.Append(nil, now[i])
			if at := byText[string(b)]; err == nil && len(at) > 0 {
				was[i], byText[string(b)] = at[0], at[1:]
				continue
			}
		}
		if i < len(sent)-tail {
			was[i] = i
		}
	}
	return was
}

// keeps is the kid of n that v is where it stands at key as it did before, nil
// for all other values.
func (c *changes) keeps(n *node, key string, v any) *node {
	ref, ok := v.(wire.Ref)
	kid := c.handles.byID[ref.ID]
	if !ok || kid == nil || kid.parent != n || kid.special {
		return nil
	}
	if way := kid.path.slice(); len(way) != 1 || way[0].list || way[0].key != key {
		return nil
	}
	kid.apply.placed = true
	return kid
}

// placeRef is what a ref stands for. An element that is in its list again is the
// value itself, anything else a copy.
func (c *changes) placeRef(n *node, ref wire.Ref, depth int) (any, error) {
	k := c.handles.byID[ref.ID]
	if k == nil {
		return nil, fmt.Errorf("it put number %d somewhere, which was not offered", ref.ID)
	}
	home := n.list && k.parent == n && !k.apply.placed && !k.special && n.overwrites(k)
	if home {
		k.apply.placed = true
	}
	v, err := c.resolve(k, depth)
	if err != nil || home {
		return v, err
	}
	return c.clone(v, k.exact, depth)
}

// perElement is about what an element of a map or list takes.
const perElement = 64

// clone is a copy of v, as long as copies do not become too large. Its numbers
// are what they would be had the script sent them, as it does with what is small.
func (c *changes) clone(v any, exact bool, depth int) (any, error) {
	if depth > wire.MaxDepth {
		return nil, wire.ErrDepth
	}
	c.left -= perElement
	switch v := v.(type) {
	case string:
		c.left -= len(v)
	case map[string]any:
		if c.left < len(v)*perElement {
			return nil, errTooMuch
		}
		out := make(map[string]any, len(v))
		for k, e := range v {
			p, err := c.clone(e, exact, depth+1)
			if err != nil {
				return nil, err
			}
			out[k] = p
		}
		return out, nil
	case []any:
		if c.left < len(v)*perElement {
			return nil, errTooMuch
		}
		out := make([]any, len(v))
		for i, e := range v {
			p, err := c.clone(e, exact, depth+1)
			if err != nil {
				return nil, err
			}
			out[i] = p
		}
		return out, nil
	}
	if c.left < 0 {
		return nil, errTooMuch
	}
	if f, ok := v.(float64); ok {
		return scalar(f, exact)
	}
	if n, ok := v.(values.Long); ok {
		return int64(n), nil
	}
	return v, nil
}

var errTooMuch = fmt.Errorf("more than %d MiB of values are copied to other places", maxCopies>>20)

// unroll is what a list of files or objects is as plain data. A context is
// nothing that can be put anywhere.
func (c *changes) unroll(n *node, depth int) (any, error) {
	if !n.list {
		return nil, fmt.Errorf("%s cannot be stored", n.name())
	}
	if n.apply.busy {
		return nil, errCircle
	}
	n.apply.busy = true
	defer func() { n.apply.busy = false }()
	els, err := c.elements(n)
	if err != nil {
		return nil, err
	}
	out := make([]any, len(els))
	for i, el := range els {
		if out[i], err = el.data(c, depth+1); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// identical reports whether a and b are one and the same.
func identical(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer()
	case []any:
		b, ok := b.([]any)
		return ok && len(a) == len(b) && (len(a) == 0 && (a == nil) == (b == nil) || len(a) > 0 && &a[0] == &b[0])
	}
	return a == nil && b == nil || a != nil && reflect.TypeOf(a) == reflect.TypeOf(b) && reflect.TypeOf(a).Comparable() &&
		a == b
}
