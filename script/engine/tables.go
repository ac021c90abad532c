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
				if v, ok := e.viewOf(c.Etc()[0]); ok {
					if _, isNode := v.(*node); !isNode {
						return nil, v.set(rt.NilValue, rt.NilValue)
					}
				}
			}
			if name == "insert" {
				if err := e.inserted(c, c.Etc()); err != nil {
					return nil, err
				}
			}
			next := f.Continuation(t, c.Next())
			t.Push(next, c.Etc()...)
			return next, nil
		})
	}
}
