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

// loadBase loads golua's base. Scripts get nothing that runtimes share: hardenBase replaces
// next and ipairs.
func (e *engine) loadBase(l *library) {
	loading.Lock()
	base.Load(e.r)
	loading.Unlock()
	each(e.r.GlobalEnv(), func(name string, v rt.Value) {
		if !banned[name] {
			l.base[name] = v
		}
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
