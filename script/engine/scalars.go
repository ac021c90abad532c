// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
	"slices"

	rt "github.com/arnodel/golua/runtime"
)

// stringMeta makes the metatable of strings. Methods are those of the string library, then
// those that the running chart added to its copy of it; + joins strings that are not both
// numbers.
func (e *engine) stringMeta(call rt.Value) *rt.Table {
	methods := e.tableOf(e.lib.tables["string"])
	own := map[string]rt.Value{"__index": e.one("index", 2, 2, e.ownMethod)}
	methods.AsTable().SetMetatable(e.tableOf(own).AsTable())
	m := e.metatable(map[string]rt.Value{
		"__index": methods, "__call": call, "__add": e.value("add", 2, false, add),
	})
	golua := e.r.RawMetatable(rt.StringValue(""))
	for _, name := range []string{"sub", "mul", "div", "pow", "idiv", "mod", "unm"} {
		f, _ := golua.Get(rt.StringValue("__" + name)).TryCallable()
		e.r.SetEnv(m, "__"+name, e.value(name, 2, false, arithmetic(name, f)))
	}
	return m
}

// ownMethod returns a method that the running chart added to its string table.
func (e *engine) ownMethod(_ *rt.Thread, c *rt.GoCont) (rt.Value, error) {
	v := rt.NilValue
	if at, ok := e.positionOf(c.Next()); ok {
		if own, ok := e.charts[at.chart].env.Get(rt.StringValue("string")).TryTable(); ok {
			v = own.Get(c.Arg(1))
		}
	}
	return v, nil
}

// longNumber is the longest string that is read as a number: golua does not charge the time
// for longer ones.
const longNumber = 400

// tooLong reports whether v is a string that is too long for a number.
func tooLong(v rt.Value) bool {
	s, _ := v.TryString()
	return len(s) > longNumber
}

// number returns a number, also that of a string that is not too long.
func number(v rt.Value) (rt.Value, bool) {
	if tooLong(v) {
		return v, false
	}
	n, kind := rt.ToNumberValue(v)
	return n, kind != rt.NaN
}

// arithmetic is golua's operator for strings that may be numbers, but for those that are too
// long.
func arithmetic(name string, golua rt.Callable) goFunc {
	return func(t *rt.Thread, c *rt.GoCont) (rt.Cont, error) {
		if !slices.ContainsFunc(c.Args(), tooLong) {
			return callInstead(t, c, golua, c.Args()), nil
		}
		if name == "unm" {
			return nil, rt.UnaryArithmeticError(name, c.Arg(0))
		}
		if next, err, ok := otherOperator(t, c, "__"+name); ok {
			return next, err
		}
		x, _ := number(c.Arg(0))
		y, _ := number(c.Arg(1))
		return nil, rt.BinaryArithmeticError(name, x, y)
	}
}

// otherOperator calls the operator of the second operand, if it is not a string and has one.
func otherOperator(t *rt.Thread, c *rt.GoCont, method string) (rt.Cont, error, bool) {
	x, y := c.Arg(0), c.Arg(1)
	if y.Type() == rt.StringType || y.Type() == rt.NilType {
		return nil, nil, false
	}
	err, ok := rt.Metacall(t, y, method, []rt.Value{x, y}, c.Next())
	return c.Next(), err, ok
}

// add is the operator + for strings.
func add(t *rt.Thread, c *rt.GoCont) (rt.Cont, error) {
	if c.NArgs() < 2 {
		return nil, errors.New("two values needed")
	}
	x, okX := number(c.Arg(0))
	y, okY := number(c.Arg(1))
	if okX && okY {
		v, _ := rt.Add(x, y)
		return c.PushingNext1(t.Runtime, v), nil
	}
	a, aText := c.Arg(0).TryString()
	b, bText := c.Arg(1).TryString()
	if aText && bText {
		makeText(t, len(a)+len(b))
		return c.PushingNext1(t.Runtime, rt.StringValue(a+b)), nil
	}
	if next, err, ok := otherOperator(t, c, "__add"); ok {
		return next, err
	}
	return nil, fmt.Errorf("attempt to add a %s value and a %s value (+ joins two strings; .. joins strings and numbers)",
		c.Arg(0).CustomTypeName(), c.Arg(1).CustomTypeName())
}
