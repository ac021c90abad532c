// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"sync"

	"github.com/arnodel/golua/lib/base"
	rt "github.com/arnodel/golua/runtime"
)

// loading is held while golua's base is loaded, which writes to functions that all runtimes
// of this process share.
var loading sync.Mutex

// loadBase loads golua's base. Scripts get nothing that runtimes share: next is replaced by
// hardenBase, and ipairs has another iterator.
func (e *engine) loadBase(l *library) {
	loading.Lock()
	base.Load(e.r)
	loading.Unlock()
	each(e.r.GlobalEnv(), func(name string, v rt.Value) {
		if !banned[name] {
			l.base[name] = v
		}
	})
	step := e.value("ipairsiterator", 2, false, nextItem)
	l.base["ipairs"] = e.value("ipairs", 1, false, func(t *rt.Thread, c *rt.GoCont) (rt.Cont, error) {
		if err := c.Check1Arg(); err != nil {
			return nil, err
		}
		return c.PushingNext(t.Runtime, step, c.Arg(0), rt.IntValue(0)), nil
	})
}

// nextItem is the iterator of ipairs.
func nextItem(t *rt.Thread, c *rt.GoCont) (rt.Cont, error) {
	if err := c.CheckNArgs(2); err != nil {
		return nil, err
	}
	i, err := c.IntArg(1)
	if err != nil {
		return nil, err
	}
	k := rt.IntValue(i + 1)
	v, err := rt.Index(t, c.Arg(0), k)
	if err != nil || v.IsNil() {
		return c.Next(), err
	}
	return c.PushingNext(t.Runtime, k, v), nil
}
