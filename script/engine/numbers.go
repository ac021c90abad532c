// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
	"math/rand/v2"

	rt "github.com/arnodel/golua/runtime"
)

// hardenMath replaces the random numbers of the math library by reproducible ones.
func (e *engine) hardenMath(l *library) {
	l.tables["math"]["random"] = e.one("random", 0, 2, e.rand)
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
func (e *engine) rand(_ *rt.Thread, c *rt.GoCont) (rt.Value, error) {
	var bounds [2]int64
	for i := range c.NArgs() {
		n, ok := number(c.Arg(i))
		if !ok {
			return rt.NilValue, fmt.Errorf("bad argument #%d to 'random' (number expected)", i+1)
		}
		if bounds[i], ok = rt.ToIntNoString(n); !ok {
			return rt.NilValue, fmt.Errorf("bad argument #%d to 'random' (number has no integer representation)", i+1)
		}
	}
	low, high := int64(1), bounds[0]
	switch {
	case c.NArgs() == 0:
		return rt.FloatValue(e.lib.random.Float64()), nil
	case c.NArgs() == 1 && high == 0:
		return rt.IntValue(int64(e.lib.random.Uint64())), nil
	case c.NArgs() == 2:
		low, high = bounds[0], bounds[1]
	}
	if low > high {
		return rt.NilValue, errors.New("bad argument to 'random' (interval is empty)")
	}
	n := e.lib.random.Uint64()
	if width := uint64(high) - uint64(low) + 1; width != 0 {
		n = e.lib.random.Uint64N(width)
	}
	return rt.IntValue(int64(uint64(low) + n)), nil
}
