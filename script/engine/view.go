// SPDX-License-Identifier: Apache-2.0

package engine

import (
	rt "github.com/arnodel/golua/runtime"
)

// view is behind what scripts see as a table and cannot change, or not in every
// way. It is a userdata, not a table: rawset does not get around it.
type view interface {
	get(k rt.Value) (rt.Value, error)
	// set assigns, or says why not; a nil key asks why not in general.
	set(k, v rt.Value) error
	keys() ([]rt.Value, error)
	length() (int64, error)
}

func viewOf(v rt.Value) (view, bool) {
	u, ok := v.TryUserData()
	if !ok {
		return nil, false
	}
	view, ok := u.Value().(view)
	return view, ok
}

// wrap makes a value of a view.
func (e *engine) wrap(v view) rt.Value {
	e.r.RequireMem(96)
	return rt.UserDataValue(rt.NewUserData(v, e.views))
}

// makeViews makes the views' metatable.
func (e *engine) makeViews() {
	m := rt.NewTable()
	on := func(name string, args int, f func(t *rt.Thread, c *rt.GoCont, v view) (rt.Value, error)) {
		e.r.SetEnv(m, "__"+name, e.value(name, args, false, func(t *rt.Thread, c *rt.GoCont) (rt.Cont, error) {
			if err := c.CheckNArgs(args); err != nil {
				return nil, err
			}
			v, ok := viewOf(c.Arg(0))
			if !ok {
				return nil, rt.NewError(rt.StringValue("not a table"))
			}
			res, err := f(t, c, v)
			if err != nil {
				return nil, err
			}
			return c.PushingNext1(t.Runtime, res), nil
		}))
	}
	on("index", 2, func(_ *rt.Thread, c *rt.GoCont, v view) (rt.Value, error) { return v.get(c.Arg(1)) })
	on("newindex", 3, func(_ *rt.Thread, c *rt.GoCont, v view) (rt.Value, error) {
		return rt.NilValue, v.set(c.Arg(1), c.Arg(2))
	})
	on("len", 1, func(_ *rt.Thread, c *rt.GoCont, v view) (rt.Value, error) {
		n, err := v.length()
		return rt.IntValue(n), err
	})
	on("call", 1, func(_ *rt.Thread, c *rt.GoCont, v view) (rt.Value, error) { return c.Arg(0), nil })
	e.r.SetEnv(m, "__name", rt.StringValue("table"))
	e.r.SetEnv(m, "__metatable", rt.BoolValue(false))
	e.views = m
}
