// SPDX-License-Identifier: Apache-2.0

// Package bridge carries values between Lua and Go.
//
// In Go a value is nil, bool, int64, float64, string, []any or map[string]any,
// as in package wire; in Lua null is the sentinel [Bridge.Null], and a table is
// a list or a map:
//
//   - A table that carries a mark is what the mark says.
//   - Without a mark it is a list if its keys are exactly 1 to n, n at least 1,
//     and a map if all its keys are text or there are none.
//   - Anything else (numbers and names mixed, holes) is an error that names the
//     place.
//
// Whole numbers stay whole numbers and floats floats: 2.0 is a float64 on the
// other side. What comes from Go is marked, so that {} stays {} and [] stays [].
//
// Everything is charged to the runtime's budget before it is made, so a budget
// that runs out ends the script in the usual way of golua. The package knows no
// charts, no functions and no protocol.
package bridge

import (
	rt "github.com/arnodel/golua/runtime"

	"github.com/moonhelm/moonhelm/script/wire"
)

// Bridge carries values into and out of one runtime. Its hooks may be set until
// the first value crosses; like the runtime it serves one goroutine.
type Bridge struct {
	Runtime *rt.Runtime

	// Null is what scripts know as helm.null: a userdata that equals only itself
	// and reads "null".
	Null rt.Value

	// Load makes a table whole before it is read: it puts in what was not sent
	// yet. It is called for every table that is read, must be quick for one that
	// has nothing missing, and may give the table another mark. Nil: all tables
	// are whole.
	Load func(*rt.Table) error

	// FromRef makes what stands for a Ref in Lua. Nil: a Ref is an error.
	FromRef func(wire.Ref) (rt.Value, error)

	// ToRef names the Ref that [Bridge.ToWire] sends in place of a table's
	// content. Nil: no table is sent so.
	ToRef func(*rt.Table) (wire.Ref, bool)

	list, table *rt.Table
	marks       map[*rt.Table]bool // mark → is a list
}

// Plain is what a userdata's Go value implements to be read like a table.
type Plain interface {
	// Plain returns the value in Go's types, charged to the budget. The caller
	// does not change it.
	Plain() (any, error)
}

// New makes a bridge for r.
func New(r *rt.Runtime) *Bridge {
	b := &Bridge{Runtime: r, marks: map[*rt.Table]bool{}}
	b.list, b.table = b.NewMark(true), b.NewMark(false)
	null := rt.NewTable()
	toText := rt.NewGoFunction(func(t *rt.Thread, c *rt.GoCont) (rt.Cont, error) {
		return c.PushingNext1(t.Runtime, rt.StringValue("null")), nil
	}, "tostring", 1, false)
	rt.SolemnlyDeclareCompliance(rt.ComplyCpuSafe|rt.ComplyMemSafe|rt.ComplyIoSafe|rt.ComplyTimeSafe, toText)
	null.Set(rt.StringValue("__name"), rt.StringValue("null"))
	null.Set(rt.StringValue("__tostring"), rt.FunctionValue(toText))
	null.Set(rt.StringValue("__metatable"), rt.BoolValue(false))
	b.Null = rt.UserDataValue(rt.NewUserData(new(nothing), null))
	return b
}

// nothing is what is behind null. It has a size, so that each has its own address.
type nothing struct{ _ byte }

// IsNull reports whether v is null (Lua's nil is not).
func (b *Bridge) IsNull(v rt.Value) bool { return v.Equals(b.Null) }

// NewMark makes a metatable of its own that marks a list or a map, for tables
// that need further metamethods. Scripts can neither see nor replace it.
func (b *Bridge) NewMark(list bool) *rt.Table {
	m := rt.NewTable()
	m.Set(rt.StringValue("__metatable"), rt.BoolValue(false))
	b.marks[m] = list
	return m
}

// List marks t as a list, in place of any other mark or metatable, and returns it.
func (b *Bridge) List(t *rt.Table) *rt.Table {
	t.SetMetatable(b.list)
	return t
}

// Map marks t as a map, in place of any other mark or metatable, and returns it.
func (b *Bridge) Map(t *rt.Table) *rt.Table {
	t.SetMetatable(b.table)
	return t
}

// IsList tells what the mark of t says; known is false where t carries none.
func (b *Bridge) IsList(t *rt.Table) (list, known bool) {
	m := t.Metatable()
	if m == nil {
		return false, false
	}
	list, known = b.marks[m]
	return list, known
}
