// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	rt "github.com/arnodel/golua/runtime"

	"github.com/moonhelm/moonhelm/script/engine/bridge"
	"github.com/moonhelm/moonhelm/script/wire"
)

// changes compares what a handler leaves with what it was given, from the contexts' fields
// down through what was loaded: the rest is as it was.
type changes struct {
	request *request
	out     []any
	state   map[*node]int
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
		return fmt.Errorf("%s is a table that holds itself", path)
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
	change, err := n.Diff(now)
	if err != nil {
		return fmt.Errorf("%s %w", path, err)
	}
	if change != nil {
		c.out = append(c.out, change)
	}
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
		return nil, fmt.Errorf("%s%s %s", path, wrong.Path, wrong.Problem)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return sent, nil
}

// below visits the nodes that a value refers to.
func (c *changes) below(v any, path string) error {
	c.request.e.r.RequireCPU(1)
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
			if err := c.below(x, path+"["+strconv.Itoa(i+1)+"]"); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, k := range sortedFields(v) {
			if err := c.below(v[k], path+"."+clip(k, 100)); err != nil {
				return err
			}
		}
	}
	return nil
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
