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
		do   oneFunc
	}{
		"rawget": {2, e.rawGet}, "rawset": {3, e.rawSet}, "rawlen": {1, e.rawLen}, "tostring": {1, e.toText},
		"setmetatable": {2, e.setMetatable},
		"getmetatable": {1, func(t *rt.Thread, c *rt.GoCont) (rt.Value, error) { return t.Metatable(c.Arg(0)), nil }},
		"type": {1, func(_ *rt.Thread, c *rt.GoCont) (rt.Value, error) {
			return rt.StringValue(c.Arg(0).TypeName()), nil
		}},
	} {
		l.base[name] = e.one(name, f.args, f.args, f.do)
	}
	l.base["pcall"] = e.value("pcall", 1, true, e.pcall)
	l.base["xpcall"] = e.value("xpcall", 2, true, e.xpcall)
	l.base["tonumber"] = e.value("tonumber", 2, false, toNumber(l.base["tonumber"]))
	l.base["next"] = e.value("next", 2, false, e.next)
	l.base["pairs"] = e.value("pairs", 1, false, e.pairs)
	l.base["ipairs"] = e.value("ipairs", 1, false, ipairs(e.value("ipairsiterator", 2, false, nextItem)))
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

func toNumber(golua rt.Value) goFunc {
	f, _ := golua.TryCallable()
	return func(t *rt.Thread, c *rt.GoCont) (rt.Cont, error) {
		if err := c.Check1Arg(); err != nil {
			return nil, errors.New("bad argument #1 to 'tonumber' (value expected)")
		}
		if tooLong(c.Arg(0)) {
			return c.PushingNext1(t.Runtime, rt.NilValue), nil
		}
		return callInstead(t, c, f, c.Args()), nil
	}
}

// ipairs is Lua's, but for tables alone: strings have no items, so that a list that is a
// string by mistake would look like an empty one.
func ipairs(step rt.Value) goFunc {
	return func(t *rt.Thread, c *rt.GoCont) (rt.Cont, error) {
		if arg(c, 0).Type() != rt.TableType {
			return nil, errNoTable(c, 0, "ipairs")
		}
		return c.PushingNext(t.Runtime, step, c.Arg(0), rt.IntValue(0)), nil
	}
}

// tableArg returns an argument that is a table, filled. An error is returned for a view that
// cannot be filled.
func (e *engine) tableArg(c *rt.GoCont, n int, function string) (*rt.Table, error) {
	t, ok := arg(c, n).TryTable()
	if !ok {
		return nil, errNoTable(c, n, function)
	}
	if err := e.checkWritable(c.Arg(n)); err != nil {
		return nil, err
	}
	_, err := e.load(t)
	return t, err
}

// errNoTable returns the error of an argument that is not a table.
func errNoTable(c *rt.GoCont, n int, function string) error {
	got := "no value"
	if n < c.NArgs() {
		got = c.Arg(n).CustomTypeName()
	}
	return fmt.Errorf("bad argument #%d to '%s' (table expected, got %s)", n+1, function, got)
}

func (e *engine) rawGet(_ *rt.Thread, c *rt.GoCont) (rt.Value, error) {
	if v, ok := e.viewOf(c.Arg(0)); ok {
		got, err := v.get(c.Arg(1))
		if _, unknown := errors.AsType[*unknownError](err); unknown {
			err = nil
		}
		return got, err
	}
	if tab, ok := c.Arg(0).TryTable(); ok {
		return tab.Get(c.Arg(1)), nil
	}
	return rt.NilValue, errNoTable(c, 0, "rawget")
}

func (e *engine) rawSet(t *rt.Thread, c *rt.GoCont) (rt.Value, error) {
	var err error
	if v, ok := e.viewOf(c.Arg(0)); ok {
		err = v.set(c.Arg(1), c.Arg(2))
	} else if tab, ok := c.Arg(0).TryTable(); ok {
		err = t.SetTableCheck(tab, c.Arg(1), c.Arg(2))
	} else {
		err = errNoTable(c, 0, "rawset")
	}
	if err != nil {
		return rt.NilValue, err
	}
	if tab, ok := e.kept(c.Arg(0)); ok {
		e.wrote(c, tab, c.Arg(1), c.Arg(2))
	}
	return c.Arg(0), nil
}

func (e *engine) rawLen(_ *rt.Thread, c *rt.GoCont) (rt.Value, error) {
	if s, ok := c.Arg(0).TryString(); ok {
		return rt.IntValue(int64(len(s))), nil
	}
	if v, ok := e.viewOf(c.Arg(0)); ok {
		n, err := v.length()
		return rt.IntValue(n), err
	}
	if tab, ok := c.Arg(0).TryTable(); ok {
		return rt.IntValue(tab.Len()), nil
	}
	return rt.NilValue, errNoTable(c, 0, "rawlen")
}

// setMetatable is Lua's without __gc: finalizers would run at any time, and differently in
// every run.
func (e *engine) setMetatable(t *rt.Thread, c *rt.GoCont) (rt.Value, error) {
	tab, err := e.tableArg(c, 0, "setmetatable")
	if err != nil {
		return rt.NilValue, err
	}
	if !rt.RawGet(tab.Metatable(), rt.StringValue("__metatable")).IsNil() {
		return rt.NilValue, errors.New("cannot change a protected metatable")
	}
	if c.Arg(1).IsNil() {
		tab.SetMetatable(nil)
		return c.Arg(0), nil
	}
	meta, err := e.tableArg(c, 1, "setmetatable")
	if err != nil {
		return rt.NilValue, err
	}
	tab.SetMetatable(meta)
	return c.Arg(0), nil
}
