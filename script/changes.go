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

// changes makes new values of what the process says that it changed, which is not trusted:
// IDs may be invented, and values may contain themselves, or each other so often that they
// would fill the memory.
type changes struct {
	nodes
	left  int      // how much may still be copied, in bytes
	steps []func() // that make the payload what it is to be, once all is known to be valid
}

func (c *changes) then(step func()) { c.steps = append(c.steps, step) }

// maxCopies bounds what the changes of a handler may copy from one place to others.
const maxCopies = 64 << 20

var (
	errCircle = errors.New("values refer to themselves")
	errCopies = fmt.Errorf("more than %d MiB of values are copied to other places, or they nest too deep", maxCopies>>20)
)

// A readOnlyError is returned when something was changed that may not change now.
type readOnlyError struct{ name string }

func (e *readOnlyError) Error() string { return e.name + " is read-only at this moment" }

// take records the changes of a message at their nodes.
func (c *changes) take(done fields, may event.Fields) error {
	all, err := done.list("changes")
	if err != nil {
		return err
	}
	for _, change := range all {
		id, ok := change["id"].(int64)
		n := c.nodes[uint64(id)]
		switch {
		case !ok || n == nil:
			return fmt.Errorf("it changed unknown node %d", id)
		case n.field == 0 || !may.Has(n.field):
			return &readOnlyError{n.name()}
		case n.now != nil:
			return fmt.Errorf("it changed %s twice", n.name())
		}
		if _, err := c.content(n); err != nil {
			return err
		}
		if n.now, err = n.Apply(change); err != nil {
			return fmt.Errorf("%s %w", n.name(), err)
		}
		n.markDirty()
	}
	return nil
}

// resolve returns what the node has become: its own value where nothing changed.
func (c *changes) resolve(n *node, depth int) (any, error) {
	switch {
	case n.done:
		return n.out, nil
	case n.busy:
		return nil, errCircle
	case n.context:
		return nil, fmt.Errorf("%s cannot be stored", n.name())
	case depth > wire.MaxDepth:
		return nil, wire.ErrDepth
	}
	old, err := n.get()
	if err != nil || !n.dirty && !n.items {
		return old, err
	}
	n.busy = true
	switch {
	case n.now == nil && !n.items:
		n.out, err = c.changedBelow(n, old, depth)
	case n.List:
		n.out, err = c.changedList(n, old.([]any), depth)
	default:
		n.out, err = c.changedMap(n, old.(map[string]any), depth)
	}
	n.busy, n.done = false, err == nil
	return n.out, err
}

// changedBelow is resolve for a node in which only other nodes have changed.
func (c *changes) changedBelow(n *node, old any, depth int) (any, error) {
	table, _ := old.(map[string]any)
	list, _ := old.([]any)
	table, list = maps.Clone(table), slices.Clone(list)
	same := true
	for _, k := range n.dirtyBelow {
		v, err := c.resolve(k, depth+1)
		if err != nil {
			return nil, err
		}
		var was any
		if n.List {
			was, list[k.index] = list[k.index], v
		} else {
			was, table[k.key] = table[k.key], v
		}
		same = same && identical(was, v)
	}
	switch {
	case same:
		return old, nil
	case n.List:
		return list, nil
	}
	return table, nil
}

// changedList is resolve for a list that has changed, or that shows items.
func (c *changes) changedList(n *node, old []any, depth int) (any, error) {
	sent, err := c.content(n)
	if err != nil {
		return nil, err
	}
	now := n.now
	if now == nil {
		now = sent
	}
	if n.items {
		old = nil // of Refs
	}
	return c.list(n, old, sent.([]any), now.([]any), depth)
}

// changedMap is resolve for a map that has changed.
func (c *changes) changedMap(n *node, old map[string]any, depth int) (any, error) {
	sent, now := n.Content.(map[string]any), n.now.(map[string]any)
	if len(n.added) > 0 {
		sent = maps.Clone(sent)
	}
	for _, k := range n.added {
		_, set := now[k.key]
		switch {
		case !set && !k.shown && k.dirty:
			sent[k.key], now[k.key] = c.ref(k), c.ref(k)
		case set && k.shown && !k.dirty && now[k.key] == any(k.Ref):
			delete(now, k.key)
		}
	}
	return c.placeMap(n, old, sent, now, depth)
}

// place returns what a value that the process has sent becomes in the payload. old is what
// stood at its place, and sent what that was sent as: what comes back unchanged is old.
func (c *changes) place(n *node, old, sent, v any, depth int) (any, error) {
	if depth > wire.MaxDepth {
		return nil, wire.ErrDepth
	}
	if ref, ok := v.(wire.Ref); ok {
		k := c.nodes[ref.ID]
		switch {
		case k == nil:
			return nil, fmt.Errorf("it stored unknown node %d", ref.ID)
		case sent == v:
			return c.resolve(k, depth)
		}
		return c.copyOf(n, k, depth)
	}
	if sent != nil && identical(sent, v) {
		return old, nil
	}
	switch v := v.(type) {
	case map[string]any:
		o, _ := old.(map[string]any)
		s, _ := sent.(map[string]any)
		return c.placeMap(n, o, s, v, depth)
	case []any:
		o, _ := old.([]any)
		s, _ := sent.([]any)
		return c.list(n, o, s, v, depth)
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

func (c *changes) placeMap(n *node, old, sent, v map[string]any, depth int) (any, error) {
	out := make(map[string]any, len(v))
	for k, e := range v {
		var err error
		if out[k], err = c.place(n, old[k], sent[k], e, depth+1); err != nil {
			return nil, err
		}
	}
	if old != nil && maps.EqualFunc(old, out, identical) {
		return old, nil
	}
	return out, nil
}

// list is place for a list, whose elements may have moved.
func (c *changes) list(n *node, old, sent, v []any, depth int) (any, error) {
	was := match(sent, v)
	out := make([]any, len(v))
	for i, e := range v {
		var o, s any
		if at := was[i]; at >= 0 {
			s = sent[at]
			if at < len(old) {
				o = old[at]
			}
		}
		var err error
		if out[i], err = c.place(n, o, s, e, depth+1); err != nil {
			return nil, err
		}
	}
	if old != nil && slices.EqualFunc(old, out, identical) {
		return old, nil
	}
	return out, nil
}

// match returns for each element of now the index of the one of sent that it was, -1 for
// none. Those that are no longer the same are taken to be where they were.
func match(sent, now []any) []int {
	was := make([]int, len(now))
	head := 0
	for head < len(sent) && head < len(now) && wire.Equal(sent[head], now[head]) {
		was[head] = head
		head++
	}
	tail := 0
	for tail < min(len(sent), len(now))-head && wire.Equal(sent[len(sent)-1-tail], now[len(now)-1-tail]) {
		tail++
		was[len(now)-tail] = len(sent) - tail
	}
	byText := map[string][]int{}
	for i := head; i < len(sent)-tail; i++ {
		if b, err := wire.Append(nil, sent[i]); err == nil {
			byText[string(b)] = append(byText[string(b)], i)
		}
	}
	taken := map[int]bool{}
	for i := head; i < len(now)-tail; i++ {
		was[i] = -1
		b, err := wire.Append(nil, now[i])
		if at := byText[string(b)]; err == nil && len(at) > 0 {
			was[i], byText[string(b)] = at[0], at[1:]
			taken[at[0]] = true
		}
	}
	for i := head; i < min(len(now), len(sent))-tail; i++ {
		if was[i] < 0 && !taken[i] {
			was[i] = i
		}
	}
	return was
}

// copyOf returns a copy of what k has become, for another place in n. Its numbers are what
// they would be had the script sent them.
func (c *changes) copyOf(n, k *node, depth int) (any, error) {
	v, err := c.resolve(k, depth)
	if err != nil {
		return nil, err
	}
	if c.left -= wire.Size(v, c.left, wire.MaxDepth); c.left < 0 {
		return nil, errCopies
	}
	p, err := plain(v, k.exact, depth)
	if err != nil {
		return nil, err
	}
	return c.place(n, nil, nil, p, depth)
}

// identical reports whether a and b are the same map, list or scalar.
func identical(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer()
	case []any:
		b, ok := b.([]any)
		return ok && len(a) == len(b) && (len(a) == 0 && (a == nil) == (b == nil) || len(a) > 0 && &a[0] == &b[0])
	case float64:
		b, ok := b.(float64)
		return ok && math.Float64bits(a) == math.Float64bits(b) // NaN too
	}
	return (a == nil || reflect.TypeOf(a).Comparable()) && a == b
}

// An itemError is an error about an element of a list of files, templates, dependencies or
// objects.
type itemError struct {
	list  *node
	index int
	item  uint64 // the ID of its node, 0 for none
	err   error
}

func (e *itemError) Error() string { return fmt.Sprintf("%s[%d]: %v", e.list.name(), e.index+1, e.err) }

// Unwrap returns the error without its place.
func (e *itemError) Unwrap() error { return e.err }

// readItems returns what a list of files, templates, dependencies or objects becomes. read
// returns an element: was is what it was, nil for a new one, and data its new fields, nil
// where it did not change.
func readItems[T any](c *changes, n *node, read func(was T, data map[string]any) (T, error)) ([]T, error) {
	now := n.now
	if now == nil {
		now = n.Content
	}
	own := map[any]bool{}
	for _, ref := range n.value.([]any) {
		own[ref] = true
	}
	out := make([]T, len(now.([]any)))
	for i, v := range now.([]any) {
		origin, data, err := c.item(n, own, v)
		if err == nil {
			was, _ := origin.(T)
			out[i], err = read(was, data)
		}
		if err != nil {
			return nil, &itemError{n, i, 0, err}
		}
	}
	return out, nil
}

// item returns what an element of a list was, and its new fields. own are the items that the
// list had: one that is there twice, or comes from elsewhere, is a copy.
func (c *changes) item(n *node, own map[any]bool, v any) (origin any, data map[string]any, err error) {
	var sent any
	if ref, isRef := v.(wire.Ref); isRef && own[ref] {
		own[ref] = false
		k := c.nodes[ref.ID]
		if !k.dirty {
			return k.origin, nil, nil
		}
		origin, sent = k.origin, v
	}
	now, err := c.place(n, nil, sent, v, 1)
	if err != nil {
		return nil, nil, err
	}
	data, isMap := now.(map[string]any)
	if !isMap {
		return nil, nil, errors.New("must be a map")
	}
	return origin, data, nil
}
