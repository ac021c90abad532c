// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"errors"
	"slices"

	rt "github.com/arnodel/golua/runtime"
)

// order is the traversal of the table that next was last called with.
type order struct {
	table *rt.Table
	keys  []rt.Value
	get   func(k rt.Value) (rt.Value, error)
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
	rank := keyRank(a)
	switch {
	case rank != keyRank(b):
		return cmp.Compare(rank, keyRank(b))
	case rank == 0 && a.Type() == rt.IntType && b.Type() == rt.IntType:
		return cmp.Compare(a.AsInt(), b.AsInt())
	case rank == 0:
		x, _ := rt.ToFloat(a)
		y, _ := rt.ToFloat(b)
		return cmp.Compare(x, y)
	case rank == 1:
		return cmp.Compare(a.AsString(), b.AsString())
	}
	return 0
}

// keyRank orders the kinds of keys: numbers, strings, false, true, others.
func keyRank(v rt.Value) int {
	switch v.Type() {
	case rt.IntType, rt.FloatType:
		return 0
	case rt.StringType:
		return 1
	case rt.BoolType:
		if v.AsBool() {
			return 3
		}
		return 2
	}
	return 4
}

// sorted returns the keys of a table that is an argument of a function, in order, and how to
// get their values.
func (e *engine) sorted(t *rt.Thread, c *rt.GoCont, function string) (order, error) {
	if view, ok := e.viewOf(arg(c, 0)); ok {
		keys, err := view.keys()
		return order{table: c.Arg(0).AsTable(), keys: keys, get: view.get, at: -1}, err
	}
	tab, err := e.tableArg(c, 0, function)
	if err != nil {
		return order{}, err
	}
	get := func(k rt.Value) (rt.Value, error) { return tab.Get(k), nil }
	return order{table: tab, keys: sortedKeys(t, tab), get: get, at: -1}, nil
}

// advance returns the next key that is still there, and its value.
func (o *order) advance(t *rt.Thread, c *rt.GoCont) (rt.Cont, error) {
	for o.at++; o.at < len(o.keys); o.at++ {
		t.RequireCPU(1)
		v, err := o.get(o.keys[o.at])
		if err != nil {
			return nil, err
		}
		if !v.IsNil() {
			return c.PushingNext(t.Runtime, o.keys[o.at], v), nil
		}
	}
	return c.PushingNext1(t.Runtime, rt.NilValue), nil
}

// pairs iterates over a table in the order of the keys that it has at the start, without
// those that are removed meanwhile.
func (e *engine) pairs(t *rt.Thread, c *rt.GoCont) (rt.Cont, error) {
	res := rt.NewTerminationWith(c, 3, false)
	if err, ok := rt.Metacall(t, arg(c, 0), "__pairs", []rt.Value{arg(c, 0)}, res); ok {
		if err != nil {
			return nil, err
		}
		return c.PushingNext(t.Runtime, res.Get(0), res.Get(1), res.Get(2)), nil
	}
	o, err := e.sorted(t, c, "pairs")
	if err != nil {
		return nil, err
	}
	t.RequireMem(160)
	step := e.value("next", 2, false, o.advance)
	return c.PushingNext(t.Runtime, step, c.Arg(0), rt.NilValue), nil
}

// next is Lua's, in sorted order.
func (e *engine) next(t *rt.Thread, c *rt.GoCont) (rt.Cont, error) {
	o, after := &e.order, arg(c, 1)
	tab, _ := arg(c, 0).TryTable()
	cached := tab != nil && o.table == tab && o.at >= 0 && o.at < len(o.keys) && o.keys[o.at].Equals(after)
	if after.IsNil() || !cached {
		var err error
		if *o, err = e.sorted(t, c, "next"); err != nil {
			return nil, err
		}
		if !after.IsNil() {
			t.RequireCPU(uint64(len(o.keys)))
			o.at = slices.IndexFunc(o.keys, func(k rt.Value) bool { same, _ := rt.RawEqual(k, after); return same })
			if o.at < 0 {
				return nil, errors.New("invalid key to 'next'")
			}
		}
	}
	return o.advance(t, c)
}
