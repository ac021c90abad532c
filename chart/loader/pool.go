// SPDX-License-Identifier: Apache-2.0

package loader

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// pool runs functions in parallel on at most GOMAXPROCS goroutines. The functions may use
// the same pool without a deadlock: if no goroutine is available, each runs the calls
// itself.
type pool struct {
	free chan struct{}
}

func newPool() *pool {
	return &pool{free: make(chan struct{}, max(runtime.GOMAXPROCS(0)-1, 0))}
}

// each calls do for 0 to n-1, in any order, and returns after all calls have returned.
func (p *pool) each(n int, do func(i int)) {
	var next atomic.Int64
	loop := func() {
		for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
			do(int(i))
		}
	}
	var wg sync.WaitGroup
helpers:
	for range n - 1 {
		select {
		case p.free <- struct{}{}:
			wg.Go(func() {
				defer func() { <-p.free }()
				loop()
			})
		default:
			break helpers
		}
	}
	loop()
	wg.Wait()
}
