// SPDX-License-Identifier: Apache-2.0

package script

import (
	"errors"
	"fmt"

	"github.com/moonhelm/moonhelm/script/wire"
)

// element is one element of a list of files, templates, dependencies or
// objects: one that was there, or a new one.
type element struct {
	node *node
	new  map[string]any
}

// data is the element as plain data.
func (e element) data(c *changes, depth int) (map[string]any, error) {
	if e.node == nil {
		return e.new, nil
	}
	v, err := c.resolve(e.node, depth)
	if err != nil {
		return nil, err
	}
	table, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s must be a map", e.node.name())
	}
	return table, nil
}

// changed reports whether a list node is no longer what it was, but for changes
// inside of its elements.
func (n *node) changed() bool { return n.apply.listed || n.apply.whole }

// elements are what a list of elements holds now.
func (c *changes) elements(n *node) ([]element, error) {
	v, err := n.content()
	if err != nil {
		return nil, err
	}
	switch {
	case n.apply.whole:
		return c.foreign(n, n.apply.replaced)
	case n.apply.listed:
		v = n.apply.list
	}
	return c.each(n, v.([]any))
}

// foreign are the elements of a value that was put in the list's place.
func (c *changes) foreign(n *node, v any) ([]element, error) {
	switch v := v.(type) {
	case []any:
		return c.each(n, v)
	case map[string]any:
		if len(v) == 0 {
			return nil, nil // an empty table may be either
		}
	case wire.Ref:
		other := c.handles.byID[v.ID]
		switch {
		case other == nil:
			return nil, fmt.Errorf("it put number %d somewhere, which was not offered", v.ID)
		case other.special && other.list && other != n && !other.apply.busy:
			other.apply.busy = true
			defer func() { other.apply.busy = false }()
			return c.elements(other)
		case !other.special:
			plain, err := c.resolve(other, 0)
			if err != nil {
				return nil, err
			}
			if l, ok := plain.([]any); ok {
				return c.each(n, l)
			}
		}
	}
	return nil, fmt.Errorf("%s must be a list", n.name())
}

// each reads the elements of a list: nodes, refs, or maps. One that stands there
// twice is a copy from then on.
func (c *changes) each(n *node, l []any) ([]element, error) {
	out := make([]element, len(l))
	used := make(map[*node]bool, len(l))
	for i, v := range l {
		fail := func(err error) error { return fmt.Errorf("%s[%d]: %w", n.name(), i+1, err) }
		k, _ := v.(*node)
		if ref, ok := v.(wire.Ref); ok {
			if k = c.handles.byID[ref.ID]; k == nil {
				return nil, fail(fmt.Errorf("number %d was not offered", ref.ID))
			}
		}
		if k != nil && k.kind != 0 && k.kind == n.holds && !used[k] {
			used[k] = true
			out[i].node = k
			continue
		}
		var data any
		var err error
		if k != nil {
			if data, err = c.resolve(k, 1); err == nil {
				data, err = c.clone(data, k.exact, 1)
			}
		} else {
			data, err = c.place(n, nil, nil, v, 1)
		}
		if err != nil {
			return nil, fail(err)
		}
		table, ok := data.(map[string]any)
		if !ok {
			return nil, fail(errors.New("must be a map"))
		}
		out[i].new = table
	}
	return out, nil
}

// merge is full with those of its elements that are in old replaced by now:
// what is in now keeps its order, what is missing there is gone, and what is
// new stands behind its neighbour. Elements that are not in old stay where they
// are; those of now that are in old and no longer in full are left out.
func merge[T comparable](full []T, old map[T]bool, now []T) []T {
	here := make(map[T]bool, len(full))
	for _, x := range full {
		here[x] = true
	}
	// runs are the elements of now, each that was there followed by the new ones
	// behind it; the first run has only new ones.
	runs := [][]T{nil}
	kept := make(map[T]bool, len(now))
	for _, x := range now {
		switch {
		case old[x] && (!here[x] || kept[x]):
			continue
		case old[x]:
			kept[x] = true
			runs = append(runs, nil)
		}
		runs[len(runs)-1] = append(runs[len(runs)-1], x)
	}
	var out []T
	next := 0
	for _, x := range full {
		if !old[x] {
			out = append(out, x)
			continue
		}
		if next == 0 {
			out = append(out, runs[0]...)
			next = 1
		}
		if kept[x] && next < len(runs) {
			out = append(out, runs[next]...)
			next++
		}
	}
	if next == 0 {
		out = append(out, runs[0]...)
	}
	return out
}
