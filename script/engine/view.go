// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"

	rt "github.com/arnodel/golua/runtime"

	"github.com/moonhelm/moonhelm/script/engine/bridge"
)

// view is behind a table that is not what it shows: scripts cannot change it, or not in
// every way, or it is filled when they look. The table itself stays empty, so that all that
// they do with it comes here.
type view interface {
	get(k rt.Value) (rt.Value, error)
	// set assigns, or returns an error that says why not.
	set(k, v rt.Value) error
	// keys and length are those of the table, which is filled where that is possible.
	keys() ([]rt.Value, error)
	length() (int64, error)
	// data returns the value as Go has it, nil for that of the table, which is filled.
	data() (any, error)
}

// show returns a table that shows v.
func (e *engine) show(v view) *rt.Table {
	e.r.RequireMem(200)
	t := rt.NewTable()
	t.Set(e.behind, rt.UserDataValue(rt.NewUserData(v, nil)))
	t.SetMetatable(e.views)
	return t
}

func (e *engine) wrap(v view) rt.Value { return rt.TableValue(e.show(v)) }

// unwrap makes a table that shows a view an ordinary one.
func (e *engine) unwrap(t *rt.Table) { t.Set(e.behind, rt.NilValue) }

// viewOf returns the view that a table shows.
func (e *engine) viewOf(v rt.Value) (view, bool) {
	t, ok := v.TryTable()
	if !ok || t.Metatable() != e.views {
		return nil, false
	}
	u, ok := t.Get(e.behind).TryUserData()
	if !ok {
		return nil, false
	}
	return u.Value().(view), true
}

// makeViews makes the views' metatable, and the key of what is behind them. Scripts cannot
// get hold of either: pairs, next and rawget ask the view.
func (e *engine) makeViews() {
	e.behind = rt.UserDataValue(rt.NewUserData(nil, nil))
	e.views = e.metatable(nil)
	on := func(name string, args int, f func(c *rt.GoCont, v view) (rt.Value, error)) {
		e.r.SetEnv(e.views, "__"+name, e.one(fieldName, args, args, func(_ *rt.Thread, c *rt.GoCont) (rt.Value, error) {
			v, ok := e.viewOf(c.Arg(0))
			if !ok {
				return rt.NilValue, errors.New("table expected")
			}
			return f(c, v)
		}))
	}
	on("index", 2, func(c *rt.GoCont, v view) (rt.Value, error) { return v.get(c.Arg(1)) })
	on("newindex", 3, func(c *rt.GoCont, v view) (rt.Value, error) { return rt.NilValue, v.set(c.Arg(1), c.Arg(2)) })
	on("len", 1, func(_ *rt.GoCont, v view) (rt.Value, error) {
		n, err := v.length()
		return rt.IntValue(n), err
	})
	on("call", 1, func(c *rt.GoCont, v view) (rt.Value, error) {
		if _, isNode := v.(*node); isNode {
			return rt.NilValue, errors.New("attempt to call a table value")
		}
		return c.Arg(0), nil
	})
}

// load fills a table that can be filled. Of one that cannot it returns the value.
func (e *engine) load(t *rt.Table) (any, error) {
	v, ok := e.viewOf(rt.TableValue(t))
	if !ok {
		return nil, nil
	}
	return v.data()
}

// checkWritable returns an error for a table that shows what scripts cannot change.
func (e *engine) checkWritable(table rt.Value) error {
	v, _ := e.viewOf(table)
	if _, isNode := v.(*node); v == nil || isNode {
		return nil
	}
	return v.set(rt.NilValue, rt.NilValue)
}

// errNotData is the error of a view that is not data.
func errNotData() error { return &bridge.Error{Problem: "is a table, which is not data"} }
