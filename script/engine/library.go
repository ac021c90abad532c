// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"math/rand/v2"

	"github.com/arnodel/golua/lib/mathlib"
	"github.com/arnodel/golua/lib/packagelib"
	"github.com/arnodel/golua/lib/stringlib"
	"github.com/arnodel/golua/lib/tablelib"
	"github.com/arnodel/golua/lib/utf8lib"
	rt "github.com/arnodel/golua/runtime"

	"github.com/moonhelm/moonhelm/script/engine/bridge"
)

// goFunc is a Go function that scripts call.
type goFunc = func(*rt.Thread, *rt.GoCont) (rt.Cont, error)

// value makes a value that scripts can call, as [bridge.Function].
func (e *engine) value(name string, args int, more bool, f goFunc) rt.Value {
	return bridge.Function(name, args, more, f)
}

// oneFunc is a Go function that returns one value to scripts.
type oneFunc = func(t *rt.Thread, c *rt.GoCont) (rt.Value, error)

// one makes a value that scripts can call with need to most arguments.
func (e *engine) one(name string, need, most int, f oneFunc) rt.Value {
	return e.value(name, most, false, func(t *rt.Thread, c *rt.GoCont) (rt.Cont, error) {
		switch {
		case c.NArgs() >= need:
		case need == 1:
			return nil, fmt.Errorf("bad argument #1 to '%s' (value expected)", name)
		default:
			return nil, c.CheckNArgs(need)
		}
		v, err := f(t, c)
		if err != nil {
			return nil, err
		}
		return c.PushingNext1(t.Runtime, v), nil
	})
}

// arg returns argument number n, nil where it was not given.
func arg(c *rt.GoCont, n int) rt.Value {
	if n < c.NArgs() {
		return c.Arg(n)
	}
	return rt.NilValue
}

// callInstead calls f in the place of the function of c.
func callInstead(t *rt.Thread, c *rt.GoCont, f rt.Callable, args []rt.Value) rt.Cont {
	next := f.Continuation(t, c.Next())
	t.Push(next, args...)
	return next
}

// library is Lua's standard library, made safe. Its tables are copied for each chart.
type library struct {
	base      map[string]rt.Value
	tables    map[string]map[string]rt.Value // string, table, math, utf8
	traceback rt.Callable
	random    *rand.Rand
}

// banned are the base functions that scripts do not have: they load code, open files, or
// control the garbage collector.
var banned = map[string]bool{
	"load": true, "dofile": true, "loadfile": true, "collectgarbage": true, "print": true, "warn": true, "_G": true,
	"require": true,
}

func (e *engine) newLibrary(seed int64) *library {
	l := &library{
		base: map[string]rt.Value{}, tables: map[string]map[string]rt.Value{},
		traceback: e.newTraceback(), random: rand.New(rand.NewPCG(uint64(seed), 0x6d6f6f6e)),
	}
	e.lib = l
	e.loadBase(l)
	l.base["_VERSION"] = rt.StringValue("Lua 5.4")
	for _, loader := range []packagelib.Loader{stringlib.LibLoader, tablelib.LibLoader, mathlib.LibLoader,
		utf8lib.LibLoader} {
		functions := map[string]rt.Value{}
		v, _ := loader.Load(e.r)
		each(v.AsTable(), func(name string, v rt.Value) {
			if g, ok := v.TryCallable(); ok {
				v = e.metered(loader.Name, name, g)
			}
			functions[name] = v
		})
		l.tables[loader.Name] = functions
	}
	e.hardenBase(l)
	e.hardenStrings(l)
	e.hardenTables(l)
	e.hardenMath(l)
	e.lockScalars()
	return l
}

// each calls a function for the string keys of a table.
func each(t *rt.Table, f func(string, rt.Value)) {
	for k, v, _ := t.Next(rt.NilValue); !k.IsNil(); k, v, _ = t.Next(k) {
		if name, ok := k.TryString(); ok {
			f(name, v)
		}
	}
}

// metered wraps a function of golua and charges for the length of strings, which some of
// golua's functions do not. It keeps long strings from the math library.
func (e *engine) metered(library, name string, g rt.Callable) rt.Value {
	each := 0 // is charged for an argument
	if name == "char" || name == "pack" {
		each = 16
	}
	numbers := library == "math" && name != "type"
	return e.value(name, 0, true, func(t *rt.Thread, c *rt.GoCont) (rt.Cont, error) {
		if e.stopped.Load() {
			e.stop(limitCPU)
		}
		size := each * len(c.Etc())
		for i, v := range c.Etc() {
			if numbers && tooLong(v) {
				return nil, fmt.Errorf("bad argument #%d to '%s' (number expected, got string)", i+1, name)
			}
			s, _ := v.TryString()
			size += len(s)
		}
		t.RequireCPU(uint64(size / 16))
		return callInstead(t, c, g, c.Etc()), nil
	})
}

// lockScalars sets metatables of strings, numbers, booleans and nil that scripts cannot
// reach. Calling a scalar returns it, so that ctx.chart.name() works.
func (e *engine) lockScalars() {
	itself := e.one("call", 1, 1, func(_ *rt.Thread, c *rt.GoCont) (rt.Value, error) { return c.Arg(0), nil })
	e.r.SetStringMeta(e.stringMeta(itself))
	for kind, v := range map[string]rt.Value{"number": rt.IntValue(0), "boolean": rt.BoolValue(false),
		"nil": rt.NilValue} {
		m := e.metatable(nil)
		if !v.IsNil() {
			e.r.SetEnv(m, "__call", itself)
		}
		e.fieldless(m, kind)
		e.r.SetRawMetatable(v, m)
	}
	e.fieldless(e.bridge.Null.AsUserData().Metatable(), "null")
}
