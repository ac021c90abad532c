// SPDX-License-Identifier: Apache-2.0

package engine

import (
	rt "github.com/arnodel/golua/runtime"
)

// hardenTables has functions that write into a table refuse those that are read-only, and
// concat name what it cannot join in Lua's words. golua's functions go through metamethods.
func (e *engine) hardenTables(l *library) {
	for _, name := range []string{"concat", "insert", "remove", "sort"} {
		f, _ := l.tables["table"][name].TryCallable()
		l.tables["table"][name] = e.value(name, 0, true, func(t *rt.Thread, c *rt.GoCont) (rt.Cont, error) {
			if name == "concat" {
				return concat(t, c, f, c.Etc())
			}
			if len(c.Etc()) > 0 {
				if err := e.checkWritable(c.Etc()[0]); err != nil {
					return nil, err
				}
			}
			if name == "insert" {
				if err := e.inserted(c, c.Etc()); err != nil {
					return nil, err
				}
			}
			if name == "remove" {
				empty, err := e.isEmptyList(c.Etc())
				if err != nil || empty {
					return c.PushingNext1(t.Runtime, rt.NilValue), err
				}
			}
			return callInstead(t, c, f, c.Etc()), nil
		})
	}
}

// isEmptyList reports whether the last item of an empty list is to be removed: Lua looks at item 0, which
// is an error for scripts.
func (e *engine) isEmptyList(args []rt.Value) (bool, error) {
	if len(args) != 1 {
		return false, nil
	}
	t, ok := args[0].TryTable()
	if !ok {
		return false, nil
	}
	if _, err := e.load(t); err != nil {
		return false, err
	}
	list, _ := e.bridge.IsList(t)
	return list && t.Len() == 0, nil
}
