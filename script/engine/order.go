// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"errors"
	"slices"

	rt "github.com/arnodel/golua/runtime"
)

// order caches the sorted keys of the table that next was last called with.
type order struct {
	table *rt.Table
	keys  []rt.Value
	at    int // of the key that was returned last
}

// sortedKeys returns a table's keys: numbers first, then strings, each in order, then the
// others in golua's order.
func sortedKeys(t *rt.Thread, tab *rt.Table) []rt.Value {
	var keys []rt.Value
	for k, _, _ := tab.Next(rt.NilValue); !k.IsNil(); k, _, _ = tab.Next(k) {
		if len(keys)%256 == 0 {
			t.RequireCPU(256 * 4)
			t.RequireMem(256 * 24)
		}
		keys = append(keys, k)
	}
	slices.SortStableFunc(keys, compareKeys)
	return keys
}

func compareKeys(a, b rt.Value) int {
	rank := func(v rt.Value) int {
		switch v.Type() {
		case rt.IntType, rt.FloatType:
			return 0
		case rt.StringType:
			return 1
		case rt.BoolType:
			return 2
		}
		return 3
	}
	ra, rb := rank(a), rank(b)
	if ra != rb {
		return ra - rb
	}
	switch ra {
	case 0:
		if a.Type() == rt.IntType && b.Type() == rt.IntType {
			return cmp.Compare(a.AsInt(), b.AsInt())
		}
		x, _ := rt.ToFloat(a)
		y, _ := rt.ToFloat(b)
		return cmp.Compare(x, y)
	case 1:
		return cmp.Compare(a.AsString(), b.AsString())
	case 2:
		if a.AsBool() != b.AsBool() {
			if b.AsBool() {
				return -1
			}
			return 1
		}
	}
	return 0
}

// pairs iterates over a table in the order of the keys that it has at the start, without
// those that are removed meanwhile.
func (e *engine) pairs(t *rt.Thread, c *rt.GoCont) (rt.Cont, error) {
	if err := c.Check1Arg(); err != nil {
		return nil, errors.New("bad argument #1 to 'pairs' (table expected, got no value)")
	}
	v := c.Arg(0)
	var keys []rt.Value
	var get func(k rt.Value) (rt.Value, error)
	if view, ok := e.viewOf(v); ok {
		var err error
		if keys, err = view.keys(); err != nil {
			return nil, err
		}
		get = view.get
	} else {
		res := rt.NewTerminationWith(c, 3, false)
		if err, ok := rt.Metacall(t, v, "__pairs", []rt.Value{v}, res); ok {
			if err != nil {
				return nil, err
			}
			return c.PushingNext(t.Runtime, res.Get(0), res.Get(1), res.Get(2)), nil
		}
		tab, err := e.tableArg(c, 0, "pairs")
		if err != nil {
			return nil, err
		}
		keys = sortedKeys(t, tab)
		get = func(k rt.Value) (rt.Value, error) { return tab.Get(k), nil } //nolint:unparam // view.get can fail
	}
	t.RequireMem(160)
	at := 0
	step := e.value("next", 2, false, func(t *rt.Thread, c *rt.GoCont) (rt.Cont, error) {
		for at < len(keys) {
			t.RequireCPU(1)
			k := keys[at]
			at++
			v, err := get(k)
			if err != nil {
				return nil, err
			}
			if !v.IsNil() {
				return c.PushingNext(t.Runtime, k, v), nil
			}
		}
		return c.PushingNext1(t.Runtime, rt.NilValue), nil
	})
	return c.PushingNext(t.Runtime, step, v, rt.NilValue), nil
}

// next is Lua's, in sorted order.
func (e *engine) next(t *rt.Thread, c *rt.GoCont) (rt.Cont, error) {
	if c.NArgs() == 0 {
		return nil, errors.New("bad argument #1 to 'next' (table expected, got no value)")
	}
	after := rt.NilValue
	if c.NArgs() > 1 {
		after = c.Arg(1)
	}
	if view, ok := e.viewOf(c.Arg(0)); ok {
		keys, err := view.keys()
		if err != nil {
			return nil, err
		}
		return e.pushNext(t, c, keys, after, view.get)
	}
	tab, err := e.tableArg(c, 0, "next")
	if err != nil {
		return nil, err
	}
	if after.IsNil() {
		if k, _, _ := tab.Next(rt.NilValue); k.IsNil() {
			return c.PushingNext1(t.Runtime, rt.NilValue), nil
		}
	}
	o := &e.order
	if after.IsNil() || o.table != tab || o.at >= len(o.keys) || !o.keys[o.at].Equals(after) {
		*o = order{table: tab, keys: sortedKeys(t, tab)}
	}
	return e.pushNext(t, c, o.keys, after, func(k rt.Value) (rt.Value, error) { return tab.Get(k), nil })
}

func (e *engine) pushNext(t *rt.Thread, c *rt.GoCont, keys []rt.Value, after rt.Value,
	get func(rt.Value) (rt.Value, error)) (rt.Cont, error) {
	at := 0
	if !after.IsNil() {
		if o := &e.order; o.at < len(keys) && len(keys) == len(o.keys) && keys[o.at].Equals(after) {
			at = o.at + 1
		} else {
			t.RequireCPU(uint64(len(keys)))
			at = slices.IndexFunc(keys, func(k rt.Value) bool { same, _ := rt.RawEqual(k, after); return same }) + 1
			if at == 0 {
				return nil, errors.New("invalid key to 'next'")
			}
		}
	}
	for ; at < len(keys); at++ {
		t.RequireCPU(1)
		v, err := get(keys[at])
		if err != nil {
			return nil, err
		}
		if !v.IsNil() {
			e.order.at = at
			return c.PushingNext(t.Runtime, keys[at], v), nil
		}
	}
	return c.PushingNext1(t.Runtime, rt.NilValue), nil
}
