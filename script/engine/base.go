// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"

	rt "github.com/arnodel/golua/runtime"
)

// hardenBase replaces the base functions that must know about views, or that golua does
// otherwise than scripts need.
func (e *engine) hardenBase(l *library) {
	for name, f := range map[string]struct {
		args int
		more bool
		do   goFunc
	}{
		"pcall": {1, true, e.pcall}, "xpcall": {2, true, e.xpcall},
		"type": {1, false, typeOf}, "tonumber": {2, false, toNumber(l.base["tonumber"])},
		"rawget": {2, false, e.rawGet}, "rawset": {3, false, e.rawSet}, "rawlen": {1, false, e.rawLen},
		"setmetatable": {2, false, e.setMetatable}, "getmetatable": {1, false, e.getMetatable},
		"tostring": {1, false, e.toText}, "next": {2, false, e.next}, "pairs": {1, false, e.pairs},
		"ipairs": {1, false, ipairs(e.value("ipairsiterator", 2, false, nextItem))},
	} {
		l.base[name] = e.value(name, f.args, f.more, f.do)
	}
}

// pcall is Lua's, but it does not catch an exceeded limit.
func (e *engine) pcall(t *rt.Thread, c *rt.GoCont) (rt.Cont, error) {
	if err := c.Check1Arg(); err != nil {
		return nil, err
	}
	return e.protected(t, c, nil)
}

func (e *engine) xpcall(t *rt.Thread, c *rt.GoCont) (rt.Cont, error) {
	if err := c.CheckNArgs(2); err != nil {
		return nil, err
	}
	if c.Arg(1).IsNil() {
		return e.protected(t, c, nil)
	}
	handler, err := c.CallableArg(1)
	if err != nil {
		return nil, err
	}
	return e.protected(t, c, handler)
}

func (e *engine) protected(t *rt.Thread, c *rt.GoCont, handler rt.Callable) (rt.Cont, error) {
	next, res := c.Next(), rt.NewTerminationWith(c, 0, true)
	_, err := t.CallContext(rt.RuntimeContextDef{MessageHandler: handler}, func() error {
		return rt.Call(t, c.Arg(0), c.Etc(), res)
	})
	var ended rt.ContextTerminationError
	if errors.As(err, &ended) {
		if e.exceededLimit == "" {
			e.exceededLimit = e.killed(ended).limit
		}
		panic(ended)
	}
	if err != nil {
		t.Push(next, rt.BoolValue(false), rt.ErrorValue(err))
		return next, nil
	}
	t.Push1(next, rt.BoolValue(true))
	t.Push(next, res.Etc()...)
	return next, nil
}

func typeOf(t *rt.Thread, c *rt.GoCont) (rt.Cont, error) {
	if err := c.Check1Arg(); err != nil {
		return nil, errors.New("bad argument #1 to 'type' (value expected)")
	}
	return c.PushingNext1(t.Runtime, rt.StringValue(c.Arg(0).TypeName())), nil
}

func toNumber(golua rt.Value) goFunc {
	f, _ := golua.TryCallable()
	return func(t *rt.Thread, c *rt.GoCont) (rt.Cont, error) {
		if err := c.Check1Arg(); err != nil {
			return nil, errors.New("bad argument #1 to 'tonumber' (value expected)")
		}
		if s, ok := c.Arg(0).TryString(); ok && len(s) > longNumber {
			return c.PushingNext1(t.Runtime, rt.NilValue), nil
		}
		next := f.Continuation(t, c.Next())
		t.Push(next, c.Args()...)
		return next, nil
	}
}

// ipairs is Lua's, but for tables alone: strings have no items, so that a list that is a
// string by mistake would look like an empty one.
func ipairs(step rt.Value) goFunc {
	return func(t *rt.Thread, c *rt.GoCont) (rt.Cont, error) {
		got := "no value"
		if c.NArgs() > 0 {
			if c.Arg(0).Type() == rt.TableType {
				return c.PushingNext(t.Runtime, step, c.Arg(0), rt.IntValue(0)), nil
			}
			got = c.Arg(0).CustomTypeName()
		}
		return nil, fmt.Errorf("bad argument #1 to 'ipairs' (table expected, got %s)", got)
	}
}

// tableArg returns an argument that is a table, filled. An error is returned for a view that
// cannot be filled.
func (e *engine) tableArg(c *rt.GoCont, n int, function string) (*rt.Table, error) {
	if n < c.NArgs() {
		v, _ := e.viewOf(c.Arg(n))
		if n, isNode := v.(*node); isNode {
			if _, err := n.data(); err != nil {
				return nil, err
			}
		} else if v != nil {
			return nil, v.set(rt.NilValue, rt.NilValue)
		}
		if t, ok := c.Arg(n).TryTable(); ok {
			return t, nil
		}
	}
	got := "no value"
	if n < c.NArgs() {
		got = c.Arg(n).CustomTypeName()
	}
	return nil, fmt.Errorf("bad argument #%d to '%s' (table expected, got %s)", n+1, function, got)
}

func (e *engine) rawGet(t *rt.Thread, c *rt.GoCont) (rt.Cont, error) {
	if err := c.CheckNArgs(2); err != nil {
		return nil, err
	}
	if v, ok := e.viewOf(c.Arg(0)); ok {
		got, err := v.get(c.Arg(1))
		if _, unknown := errors.AsType[*unknownError](err); err != nil && !unknown {
			return nil, err
		}
		return c.PushingNext1(t.Runtime, got), nil
	}
	tab, err := e.tableArg(c, 0, "rawget")
	if err != nil {
		return nil, err
	}
	return c.PushingNext1(t.Runtime, tab.Get(c.Arg(1))), nil
}

func (e *engine) rawSet(t *rt.Thread, c *rt.GoCont) (rt.Cont, error) {
	if err := c.CheckNArgs(3); err != nil {
		return nil, err
	}
	if v, ok := e.viewOf(c.Arg(0)); ok {
		if err := v.set(c.Arg(1), c.Arg(2)); err != nil {
			return nil, err
		}
		e.rawWrote(c)
		return c.PushingNext1(t.Runtime, c.Arg(0)), nil
	}
	tab, err := e.tableArg(c, 0, "rawset")
	if err != nil {
		return nil, err
	}
	if err := t.SetTableCheck(tab, c.Arg(1), c.Arg(2)); err != nil {
		return nil, err
	}
	e.rawWrote(c)
	return c.PushingNext1(t.Runtime, c.Arg(0)), nil
}

func (e *engine) rawLen(t *rt.Thread, c *rt.GoCont) (rt.Cont, error) {
	if err := c.Check1Arg(); err != nil {
		return nil, err
	}
	if s, ok := c.Arg(0).TryString(); ok {
		return c.PushingNext1(t.Runtime, rt.IntValue(int64(len(s)))), nil
	}
	if v, ok := e.viewOf(c.Arg(0)); ok {
		n, err := v.length()
		if err != nil {
			return nil, err
		}
		return c.PushingNext1(t.Runtime, rt.IntValue(n)), nil
	}
	tab, err := e.tableArg(c, 0, "rawlen")
	if err != nil {
		return nil, err
	}
	return c.PushingNext1(t.Runtime, rt.IntValue(tab.Len())), nil
}

func (e *engine) getMetatable(t *rt.Thread, c *rt.GoCont) (rt.Cont, error) {
	if err := c.Check1Arg(); err != nil {
		return nil, err
	}
	return c.PushingNext1(t.Runtime, t.Metatable(c.Arg(0))), nil
}

// setMetatable is Lua's without __gc: finalizers would run at any time, and differently in
// every run.
func (e *engine) setMetatable(t *rt.Thread, c *rt.GoCont) (rt.Cont, error) {
	if err := c.CheckNArgs(2); err != nil {
		return nil, err
	}
	tab, err := e.tableArg(c, 0, "setmetatable")
	if err != nil {
		return nil, err
	}
	if !rt.RawGet(tab.Metatable(), rt.StringValue("__metatable")).IsNil() {
		return nil, errors.New("cannot change a protected metatable")
	}
	if c.Arg(1).IsNil() {
		tab.SetMetatable(nil)
		return c.PushingNext1(t.Runtime, c.Arg(0)), nil
	}
	meta, err := e.tableArg(c, 1, "setmetatable")
	if err != nil {
		return nil, err
	}
	tab.SetMetatable(meta)
	return c.PushingNext1(t.Runtime, c.Arg(0)), nil
}
