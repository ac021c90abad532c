// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	rt "github.com/arnodel/golua/runtime"

	"github.com/moonhelm/moonhelm/script/engine/bridge"
	"github.com/moonhelm/moonhelm/script/wire"
)

// changes compares what a handler leaves with what it was given. It goes from
// the contexts' fields down through what was loaded, and no further: what
// no one looked at is as it was.
type changes struct {
	request *request
	out     []any
	state   map[*node]int
}

const (
	visiting = iota + 1
	partly   // as far as it came
	visited
)

// changes are the request's, as [wire.Call] describes them.
func (q *request) changes() ([]any, error) {
	c := &changes{request: q, out: []any{}, state: map[*node]int{}}
	for i := 0; i < len(q.order); i++ { // comparing may load, and so add
		s := q.order[i]
		for _, field := range changeable {
			v, looked := s.values[field]
			if !looked || !q.may[field] || v.Type() != rt.TableType {
				continue
			}
			if err := c.field(s, field, v.AsTable()); err != nil {
				return nil, err
			}
		}
	}
	return c.out, nil
}

// field compares a field of a context.
func (c *changes) field(s *scope, field string, t *rt.Table) error {
	path := s.path + "." + field
	ref, ok := s.fields[field].(wire.Ref)
	if !ok {
		return c.inline(s, field, t, path)
	}
	n, err := c.request.node(ref)
	if err != nil {
		return err
	}
	if n.table == t {
		return c.visit(n, path, false)
	}
	if err := c.request.e.load(n.table); err != nil {
		return err
	}
	return c.compare(n, t, path)
}

// inline is a field that came as it is and not as a Ref: it can only be set as
// a whole.
func (c *changes) inline(s *scope, field string, t *rt.Table, path string) error {
	now, err := c.content(t, path)
	if err != nil {
		return err
	}
	if !equal(now, s.fields[field]) {
		c.out = append(c.out, map[string]any{"id": int64(s.ref.ID), "set": map[string]any{field: now}, "drop": []any{}})
	}
	return c.below(now, nil, path, true)
}

// visit compares a node's own table. moved reports that it stands where the host
// did not have it: it is then loaded all the way down, so that what holds itself
// is found here.
func (c *changes) visit(n *node, path string, moved bool) error {
	switch c.state[n] {
	case visiting:
		return fmt.Errorf("%s is a table that holds itself", path)
	case visited:
		return nil
	}
	if !n.loaded {
		if !moved && c.state[n] == partly {
			return nil
		}
		if !moved {
			return c.part(n, path)
		}
		if err := n.load(); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return c.compare(n, n.table, path)
}

// content is a table's own content; tables of the host's in it are Refs.
func (c *changes) content(t *rt.Table, path string) (any, error) {
	q := c.request
	if err := q.e.load(t); err != nil {
		return nil, err
	}
	outer := q.whole
	q.whole = t
	defer func() { q.whole = outer }()
	return c.sent(rt.TableValue(t), path)
}

// sent is what is sent for v, which stands at path.
func (c *changes) sent(v rt.Value, path string) (any, error) {
	sent, err := c.request.e.bridge.ToWire(v)
	var wrong *bridge.Error
	if errors.As(err, &wrong) {
		return nil, fmt.Errorf("%s%s %s", path, wrong.Path, wrong.Problem)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return sent, nil
}

// compare tells how t, which stands for n, differs from what came.
func (c *changes) compare(n *node, t *rt.Table, path string) error {
	c.state[n] = visiting
	defer func() { c.state[n] = visited }()
	now, err := c.content(t, path)
	if err != nil {
		return err
	}
	switch now := now.(type) {
	case map[string]any:
		came, ok := n.came.(map[string]any)
		if !ok {
			if came, ok := n.came.([]any); ok && len(now) == 0 {
				return c.list(n, []any{}, came, path) // {} stands for a list here
			}
			return fmt.Errorf("%s is a list, and cannot become a map", path)
		}
		return c.table(n, now, came, path)
	case []any:
		came, ok := n.came.([]any)
		if !ok {
			return fmt.Errorf("%s is a map, and cannot become a list", path)
		}
		return c.list(n, now, came, path)
	}
	return nil
}

// part compares the fields that came alone.
func (c *changes) part(n *node, path string) error {
	if len(n.part) == 0 {
		return nil
	}
	c.state[n] = visiting
	defer func() { c.state[n] = partly }()
	now, came := map[string]any{}, map[string]any{}
	for _, k := range slices.Sorted(maps.Keys(n.part)) {
		if f := n.part[k]; f.there {
			came[k] = f.value
		}
		v := n.table.Get(rt.StringValue(k))
		if v.IsNil() {
			continue
		}
		var err error
		if now[k], err = c.sent(v, path+bridge.Step(k)); err != nil {
			return err
		}
	}
	return c.table(n, now, came, path)
}

func (c *changes) table(n *node, now, came map[string]any, path string) error {
	set, drop := map[string]any{}, []any{}
	for k, v := range now {
		if old, was := came[k]; !was || !equal(v, old) {
			set[k] = v
		}
	}
	for k := range came {
		if _, is := now[k]; !is {
			drop = append(drop, k)
		}
	}
	slices.SortFunc(drop, func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
	if len(set)+len(drop) > 0 {
		c.out = append(c.out, map[string]any{"id": int64(n.ref.ID), "set": set, "drop": drop})
	}
	return c.below(now, refsIn(came, nil), path, false)
}

func (c *changes) list(n *node, now, came []any, path string) error {
	if !equal(now, came) {
		c.out = append(c.out, map[string]any{"id": int64(n.ref.ID), "list": now})
	}
	return c.below(now, refsIn(came, nil), path, false)
}

// below visits the nodes that a value refers to. Those that were not there
// before have moved.
func (c *changes) below(v any, before map[uint64]bool, path string, moved bool) error {
	c.request.e.r.RequireCPU(1)
	switch v := v.(type) {
	case wire.Ref:
		n, err := c.request.node(v)
		if err != nil {
			return err
		}
		return c.visit(n, path, moved || !before[v.ID])
	case []any:
		for i, x := range v {
			if isScalar(x) {
				continue
			}
			if err := c.below(x, before, path+"["+strconv.Itoa(i+1)+"]", moved); err != nil {
				return err
			}
		}
	case map[string]any:
		var rest []string
		for k, x := range v {
			if !isScalar(x) {
				rest = append(rest, k)
			}
		}
		slices.Sort(rest)
		for _, k := range rest {
			if err := c.below(v[k], before, path+"."+clip(k, 100), moved); err != nil {
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

// refsIn collects the Refs in a value.
func refsIn(v any, into map[uint64]bool) map[uint64]bool {
	if into == nil {
		into = map[uint64]bool{}
	}
	switch v := v.(type) {
	case wire.Ref:
		into[v.ID] = true
	case []any:
		for _, x := range v {
			refsIn(x, into)
		}
	case map[string]any:
		for _, x := range v {
			refsIn(x, into)
		}
	}
	return into
}

// equal reports whether two values are the same: a whole number and a float are
// not.
func equal(a, b any) bool {
	switch a := a.(type) {
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equal)
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, equal)
	}
	if !isScalar(b) {
		ref, ok := b.(wire.Ref)
		return ok && a == any(ref)
	}
	return a == b
}
