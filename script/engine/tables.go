// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"

	rt "github.com/arnodel/golua/runtime"
)

// hardenTables lets the table library read views; golua's functions load what
// is not loaded yet by themselves, as they go through metamethods.
func (e *engine) hardenTables(l *library) {
	for name, reads := range map[string][]int{
		"concat": {0}, "unpack": {0}, "move": {0}, "insert": nil, "remove": nil, "sort": nil,
	} {
		f, _ := l.tables["table"][name].TryCallable()
		l.tables["table"][name] = e.value(name, 0, true, func(t *rt.Thread, c *rt.GoCont) (rt.Cont, error) {
			args := c.Etc()
			for i := range args {
				view, ok := viewOf(args[i])
				if !ok || i > 0 && name != "move" {
					continue
				}
				if len(reads) == 0 || reads[0] != i {
					if err := view.set(rt.NilValue, rt.NilValue); err != nil {
						return nil, err
					}
				}
				list, err := e.listOf(t, view)
				if err != nil {
					return nil, err
				}
				args[i] = rt.TableValue(list)
				if name == "move" && len(args) < 5 {
					return nil, fmt.Errorf("bad argument #5 to 'move' (table expected: what is moved is read-only)")
				}
			}
			if name == "concat" {
				return concat(t, c, f, args)
			}
			next := f.Continuation(t, c.Next())
			t.Push(next, args...)
			return next, nil
		})
	}
}

// listOf copies the items of a view.
func (e *engine) listOf(t *rt.Thread, v view) (*rt.Table, error) {
	n, err := v.length()
	if err != nil {
		return nil, err
	}
	list := rt.NewTable()
	for i := int64(1); i <= n; i++ {
		item, err := v.get(rt.IntValue(i))
		if err != nil {
			return nil, err
		}
		t.SetTable(list, rt.IntValue(i), item)
	}
	return list, nil
}
