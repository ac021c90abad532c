// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	rt "github.com/arnodel/golua/runtime"

	"github.com/moonhelm/moonhelm/internal/truncate"
	"github.com/moonhelm/moonhelm/script/engine/bridge"
	"github.com/moonhelm/moonhelm/script/wire"
)

// changes compares what a handler leaves with what it was given, from the contexts' fields
// down through what was loaded: the rest is as it was.
type changes struct {
	request *request
	out     []any
	state   map[*node]int
	trail   []step // the tables around the one that is compared
}

const (
	visiting = iota + 1
	visited
)

// changes returns the changes of a request, as [wire.Call] describes them.
func (q *request) changes() ([]any, error) {
	c := &changes{request: q, out: []any{}, state: map[*node]int{}}
	for _, ctx := range q.order {
		for _, field := range changeable() {
			v, seen := ctx.values[field]
			if !seen || !q.may[field] || v.Type() != rt.TableType {
				continue
			}
			ref, _ := ctx.fields[field].(wire.Ref)
			n, err := q.node(ref)
			if err != nil {
				return nil, err
			}
			path := ctx.path + "." + field
			c.trail = []step{{ctx.self.AsTable(), []any{field}}}
			if t := v.AsTable(); t != n.table {
				if _, err = q.content(ref); err == nil {
					err = c.compare(n, t, path)
				}
			} else {
				err = c.visit(n, path)
			}
			if err != nil {
				return nil, err
			}
		}
	}
	return c.out, nil
}

// visit compares a node's own table, if a script has looked at it.
func (c *changes) visit(n *node, path string) error {
	switch {
	case c.state[n] == visiting:
		return c.blamed(fmt.Errorf("%s is a table that holds itself", path), nil)
	case c.state[n] == visited || !n.loaded:
		return nil
	}
	return c.compare(n, n.table, path)
}

// compare notes how t, which stands for n, differs from what was sent, and goes on with the
// nodes in it.
func (c *changes) compare(n *node, t *rt.Table, path string) error {
	c.state[n] = visiting
	defer func() { c.state[n] = visited }()
	now, err := c.content(t, path)
	if err != nil {
		return err
	}
	now = c.sameKind(n.Content, now, t)
	change, err := n.Diff(now)
	if err != nil {
		return c.blamed(fmt.Errorf("%s %w", path, err), t)
	}
	if change != nil {
		c.out = append(c.out, change)
	}
	c.trail = append(c.trail, step{table: t})
	defer func() { c.trail = c.trail[:len(c.trail)-1] }()
	return c.below(now, path)
}

// content returns a table's own content, with Refs for the nodes in it.
func (c *changes) content(t *rt.Table, path string) (any, error) {
	q := c.request
	if _, err := q.e.load(t); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	q.whole = t
	defer func() { q.whole = nil }()
	sent, err := q.e.bridge.ToWire(rt.TableValue(t))
	var wrong *bridge.Error
	if errors.As(err, &wrong) {
		return nil, c.blamed(fmt.Errorf("%s%s %s", path, wrong.Path, wrong.Problem), t, c.request.culprit(t, wrong)...)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return sent, nil
}

// below visits the nodes that a value refers to.
func (c *changes) below(v any, path string) error {
	c.request.e.r.RequireCPU(1)
	last := &c.trail[len(c.trail)-1]
	down := func(key, v any, path string) error {
		last.keys = append(last.keys, key)
		err := c.below(v, path)
		last = &c.trail[len(c.trail)-1]
		last.keys = last.keys[:len(last.keys)-1]
		return err
	}
	switch v := v.(type) {
	case wire.Ref:
		n, err := c.request.node(v)
		if err != nil {
			return err
		}
		return c.visit(n, path)
	case []any:
		for i, x := range v {
			if isScalar(x) {
				continue
			}
			if err := down(int64(i+1), x, path+"["+strconv.Itoa(i+1)+"]"); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, k := range sortedFields(v) {
			if err := down(k, v[k], path+"."+truncate.Bytes(k, 100, "…")); err != nil {
				return err
			}
		}
	}
	return nil
}

// sameKind returns what a table has become, with empty tables in the place of lists as lists:
// {} says neither, and what stood there does. Tables that helm.list or helm.map has marked
// are what they are.
func (c *changes) sameKind(sent, now any, t *rt.Table) any {
	c.request.e.r.RequireCPU(1)
	inner := func(key rt.Value, sent, now any) any {
		if isScalar(sent) {
			return now
		}
		if in, ok := t.Get(key).TryTable(); ok {
			return c.sameKind(sent, now, in)
		}
		return now
	}
	ref, isRef := sent.(wire.Ref)
	_, isList := sent.([]any)
	switch now := now.(type) {
	case map[string]any:
		if _, marked := c.request.e.bridge.IsList(t); len(now) == 0 && !marked && (isList || isRef && ref.List) {
			return []any{}
		}
		was, _ := sent.(map[string]any)
		for k, v := range now {
			if !isScalar(v) {
				now[k] = inner(rt.StringValue(k), was[k], v)
			}
		}
	case []any:
		was, _ := sent.([]any)
		for i := range min(len(now), len(was)) {
			if !isScalar(now[i]) {
				now[i] = inner(rt.IntValue(int64(i+1)), was[i], now[i])
			}
		}
	}
	return now
}

func isScalar(v any) bool {
	switch v.(type) {
	case []any, map[string]any, wire.Ref:
		return false
	}
	return true
}

// sortedFields returns the keys of the maps, lists and Refs in a map, in their order.
func sortedFields(m map[string]any) []string {
	var keys []string
	for k, v := range m {
		if !isScalar(v) {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return keys
}
