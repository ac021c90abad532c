// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"

	"github.com/arnodel/golua/lib/base"
	rt "github.com/arnodel/golua/runtime"

	"github.com/moonhelm/moonhelm/internal/lazy"
)

// identities number the tables, functions and other values that scripts convert to text, in
// that order. golua writes their addresses, which differ in every run. They are kept: weak pointers would
// let them go, but package weak is initialised after nearly all of helm's packages (see package
// internal/subprocess), and the process ends with the operation.
type identities map[any]uint64

// of returns the number of v; ok is false for a value that has a text of its own.
func (ids identities) of(t *rt.Thread, v rt.Value) (uint64, bool) {
	key := v.Interface()
	switch key.(type) {
	case *rt.Table, *rt.Closure, *rt.Thread, *rt.UserData:
	default:
		return 0, false
	}
	n, known := ids[key]
	if !known {
		t.RequireMem(64)
		n = uint64(len(ids) + 1)
		ids[key] = n
	}
	return n, true
}

// text is Lua's tostring.
func (e *engine) text(t *rt.Thread, v rt.Value) (string, error) {
	meta := t.RawMetatable(v)
	if meta != nil && !meta.Get(rt.StringValue("__tostring")).IsNil() {
		return base.ToString(t, v)
	}
	n, ok := e.identities.of(t, v)
	if !ok {
		return base.ToString(t, v)
	}
	name := v.TypeName()
	if meta != nil {
		if s, ok := meta.Get(rt.StringValue("__name")).TryString(); ok {
			name = s
		}
	}
	t.RequireBytes(len(name))
	return fmt.Sprintf("%s: 0x%08x", name, 0x10000+16*n), nil
}

func (e *engine) toText(t *rt.Thread, c *rt.GoCont) (rt.Value, error) {
	s, err := e.text(t, c.Arg(0))
	return rt.StringValue(s), err
}

// notJoined matches golua's error of table.concat, which contains the item.
var notJoined = lazy.Regexp(`(?s)invalid value \(.*\) at index (-?\d+) in table for 'concat'$`)

// concat is golua's table.concat with Lua's error for an item that it cannot join.
func concat(t *rt.Thread, c *rt.GoCont, golua rt.Callable, args []rt.Value) (rt.Cont, error) {
	res := rt.NewTerminationWith(c, 1, false)
	if err := rt.Call(t, rt.FunctionValue(golua), args, res); err != nil {
		if s, ok := rt.ErrorValue(err).TryString(); ok {
			if m := notJoined().FindStringSubmatch(s); m != nil {
				return nil, errors.New("invalid value (at index " + m[1] + ") in table for 'concat'")
			}
		}
		return nil, err
	}
	return c.PushingNext1(t.Runtime, res.Get(0)), nil
}
