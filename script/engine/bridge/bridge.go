// SPDX-License-Identifier: Apache-2.0

// Package bridge converts values between Lua and Go.
//
// In Go a value is nil, bool, int64, float64, string, []any or map[string]any,
// as in package wire; in Lua null is the sentinel [Bridge.Null], and a table is
// a list or a map:
//
//   - A table that is marked is what the mark says.
//   - Without a mark it is a list if its keys are exactly 1 to n, n at least 1,
//     and a map if all its keys are text or there are none.
//   - Anything else (numbers and names mixed, holes) is an error that names the
//     place.
//
// Whole numbers stay whole numbers and floats floats: 2.0 is a float64 on the
// other side. What comes from Go is marked, so that {} stays {} and [] stays [].
//
// Everything is charged to the runtime's budget before it is made; golua ends a script that
// exhausts it.
package bridge

import (
	"errors"
	rt "github.com/arnodel/golua/runtime"

	"github.com/moonhelm/moonhelm/script/wire"
)

// Bridge converts values of one runtime. Set its hooks before the first conversion. It must
// be used by one goroutine at a time, like the runtime.
type Bridge struct {
	Runtime *rt.Runtime

	// Null is what scripts know as helm.null: a userdata that equals only itself
	// and reads "null".
	Null rt.Value

	// Load fills a table before it is read, or returns the value to take in its place. It is
	// called for every table that is read and may give it another mark. nil takes all tables
	// as they are.
	Load func(*rt.Table) (value any, err error)

	// FromRef returns the value for a Ref in Lua. If it is nil, a Ref is an error.
	FromRef func(wire.Ref) (rt.Value, error)

	// ToRef names the Ref that [Bridge.ToWire] sends in place of a table's
	// content. Nil: no table is sent so.
	ToRef func(*rt.Table) (wire.Ref, bool)

	list, table *rt.Table          // the metatables of tables that are marked
	maps        map[*rt.Table]bool // further ones, of maps
}

// New makes a bridge for r.
func New(r *rt.Runtime) *Bridge {
	b := &Bridge{Runtime: r, list: hiddenMetatable(), table: hiddenMetatable()}
	b.list.Set(rt.StringValue("__index"), Function("index", 2, false, noItem))
	null := hiddenMetatable()
	null.Set(rt.StringValue("__name"), rt.StringValue("null"))
	null.Set(rt.StringValue("__tostring"), Function("tostring", 1, false,
		func(t *rt.Thread, c *rt.GoCont) (rt.Cont, error) {
			return c.PushingNext1(t.Runtime, rt.StringValue("null")), nil
		}))
	b.Null = rt.UserDataValue(rt.NewUserData(new(nothing), null))
	return b
}

// Function makes a function that scripts can call. It looks at args arguments, and at any more
// if etc is set. do must charge the runtime's budget for what it does.
func Function(name string, args int, etc bool, do func(*rt.Thread, *rt.GoCont) (rt.Cont, error)) rt.Value {
	f := rt.NewGoFunction(do, name, args, etc)
	f.SolemnlyDeclareCompliance(rt.ComplyCpuSafe | rt.ComplyMemSafe | rt.ComplyIoSafe | rt.ComplyTimeSafe)
	return rt.FunctionValue(f)
}

// hiddenMetatable returns a metatable that scripts cannot get or replace.
func hiddenMetatable() *rt.Table {
	t := rt.NewTable()
	t.Set(rt.StringValue("__metatable"), rt.BoolValue(false))
	return t
}

// noItem is what a list has for a key that is not in it.
func noItem(t *rt.Thread, c *rt.GoCont) (rt.Cont, error) {
	if err := c.CheckNArgs(2); err != nil {
		return nil, err
	}
	if err := CheckIndex(c.Arg(1)); err != nil {
		return nil, err
	}
	return c.PushingNext1(t.Runtime, rt.NilValue), nil
}

// CheckIndex returns an error for the key 0, which no list has.
func CheckIndex(k rt.Value) error {
	n, ok := k.TryInt()
	if f, isFloat := k.TryFloat(); isFloat {
		ok, n = f == 0, 0
	}
	if ok && n == 0 {
		return errors.New("a list has no item 0: lists begin at 1")
	}
	return nil
}

// nothing is the value of null. It has a size, so that each has its own address.
type nothing struct{ _ byte }

// IsNull reports whether v is null (Lua's nil is not).
func (b *Bridge) IsNull(v rt.Value) bool { return v.Equals(b.Null) }

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

// MapsOf makes tables with this metatable maps, as if [Bridge.Map] had marked them.
func (b *Bridge) MapsOf(meta *rt.Table) {
	if b.maps == nil {
		b.maps = map[*rt.Table]bool{}
	}
	b.maps[meta] = true
}

// IsList reports whether t is marked as a list; known is false where it has no mark.
func (b *Bridge) IsList(t *rt.Table) (list, known bool) {
	m := t.Metatable()
	return m == b.list, m != nil && (m == b.list || m == b.table || b.maps[m])
}
