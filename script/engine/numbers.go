// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
	"math/rand/v2"

	rt "github.com/arnodel/golua/runtime"
)

// hardenMath keeps long strings from the math library, and replaces its random numbers by
// reproducible ones.
func (e *engine) hardenMath(l *library) {
	for name, v := range l.tables["math"] {
		if f, ok := v.TryCallable(); ok {
			l.tables["math"][name] = e.value(name, 0, true, func(t *rt.Thread, c *rt.GoCont) (rt.Cont, error) {
				for i, a := range c.Etc() {
					if s, ok := a.TryString(); ok && len(s) > longNumber && name != "type" {
						return nil, fmt.Errorf("bad argument #%d to '%s' (number expected, got string)", i+1, name)
					}
				}
				next := f.Continuation(t, c.Next())
				t.Push(next, c.Etc()...)
				return next, nil
			})
		}
	}
	l.tables["math"]["random"] = e.value("random", 2, false, e.rand)
	l.tables["math"]["randomseed"] = e.value("randomseed", 2, false, func(t *rt.Thread, c *rt.GoCont) (rt.Cont, error) {
		var seed [2]uint64
		for i := range c.NArgs() {
			n, ok := number(c.Arg(i))
			if !ok {
				return nil, fmt.Errorf("bad argument #%d to 'randomseed' (number expected)", i+1)
			}
			whole, _ := rt.ToIntNoString(n)
			seed[i] = uint64(whole)
		}
		e.lib.random = rand.New(rand.NewPCG(seed[0], seed[1]))
		return c.Next(), nil
	})
}

// rand is math.random.
func (e *engine) rand(t *rt.Thread, c *rt.GoCont) (rt.Cont, error) {
	var bounds [2]int64
	for i := range c.NArgs() {
		n, ok := number(c.Arg(i))
		if !ok {
			return nil, fmt.Errorf("bad argument #%d to 'random' (number expected)", i+1)
		}
		if bounds[i], ok = rt.ToIntNoString(n); !ok {
			return nil, fmt.Errorf("bad argument #%d to 'random' (number has no integer representation)", i+1)
		}
	}
	low, high := int64(1), bounds[0]
	switch {
	case c.NArgs() == 0:
		return c.PushingNext1(t.Runtime, rt.FloatValue(e.lib.random.Float64())), nil
	case c.NArgs() == 1 && high == 0:
		return c.PushingNext1(t.Runtime, rt.IntValue(int64(e.lib.random.Uint64()))), nil
	case c.NArgs() == 2:
		low, high = bounds[0], bounds[1]
	}
	if low > high {
		return nil, errors.New("bad argument to 'random' (interval is empty)")
	}
	n := e.lib.random.Uint64()
	if width := uint64(high) - uint64(low) + 1; width != 0 {
		n = e.lib.random.Uint64N(width)
	}
	return c.PushingNext1(t.Runtime, rt.IntValue(int64(uint64(low)+n))), nil
}
