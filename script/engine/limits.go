// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"

	rt "github.com/arnodel/golua/runtime"

	"github.com/moonhelm/moonhelm/script/wire"
)

// The names of limits, as [wire.Fail] says them.
const (
	limitCPU    = "cpu"
	limitMemory = "memory"
	limitOutput = "output"
	limitStack  = "stack"
)

// plenty is of golua's resources, for which it must have a limit to count them.
const plenty = 1 << 60

const (
	// ticksPerMilli is how many of golua's ticks a millisecond is at least. A
	// tick takes 9 to 40 ns; the watchdog holds the time, ticks are the second wall.
	ticksPerMilli = 100_000
	// hostTime is what the host's answers may take in all before golua's own
	// clock, which cannot be stopped, ends a request.
	hostTime = 30 * time.Minute
	// watchEvery is how often the watchdog looks.
	watchEvery = 5 * time.Millisecond
	// stackLimit is where the watchdog calls the Go stack too deep.
	stackLimit = 24 << 20
	// patience is how long the watchdog waits for the host to take its answer.
	patience = time.Second
	// messageSize is what a line costs beside its text.
	messageSize = 16
	// exitCode is the status of a process that the watchdog ends.
	exitCode = 3
)

// clock measures how long scripts have run, without the time that they wait
// for the host.
type clock struct {
	limit time.Duration

	mu      sync.Mutex
	spent   time.Duration
	since   time.Time
	running bool
}

func (c *clock) start() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.since, c.running = time.Now(), true
}

func (c *clock) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running {
		c.spent += time.Since(c.since)
		c.running = false
	}
}

// left is what remains.
func (c *clock) left() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	left := c.limit - c.spent
	if c.running {
		left -= time.Since(c.since)
	}
	return left
}

// usage is what the process holds.
type usage struct{ heap, stack int64 }

func measure() usage {
	s := [2]metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}}
	metrics.Read(s[:])
	return usage{heap: int64(s[0].Value.Uint64()), stack: int64(s[1].Value.Uint64())}
}

// ownMemory prepares a process of the engine's own: the collector works harder
// as the limit comes near.
func (e *engine) ownMemory() {
	e.base = measure()
	if e.exit != nil {
		debug.SetGCPercent(200) // most processes end before it matters
		debug.SetMemoryLimit(e.limits.Memory + e.base.heap + maxStack/2)
	}
}

// contextLimits are golua's limits for one request: what is left of the time,
// and of the memory what is not held already.
func (e *engine) contextLimits() rt.RuntimeResources {
	if e.program != nil {
		return rt.RuntimeResources{Cpu: plenty, Memory: plenty} // the watch looks after memory
	}
	left := e.clock.left()
	memory := e.limits.Memory
	if e.exit != nil {
		held := measure().heap - e.base.heap
		if held > memory/4 {
			runtime.GC()
			held = measure().heap - e.base.heap
		}
		memory = max(memory-max(held, 0), memory/16)
	}
	return rt.RuntimeResources{
		Cpu:    max(uint64(left.Milliseconds()), 1) * ticksPerMilli,
		Memory: uint64(memory),
		Millis: uint64((left + hostTime).Milliseconds()),
	}
}

// watch ends a request that exceeds a limit. start is what the process held before. It
// returns when done is closed.
func (e *engine) watch(done <-chan struct{}, start usage) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return
		case <-e.link.ended:
			e.abort("", ErrGone)
			return
		case <-tick.C:
		}
		if limit := e.exceeded(start); limit != "" {
			select {
			case <-done:
			default:
				e.abort(limit, limitError(limit))
			}
			return
		}
	}
}

// exceeded names the limit that the running request is over, "" for none.
func (e *engine) exceeded(start usage) string {
	if e.clock.left() <= 0 {
		return limitCPU
	}
	now := measure()
	if e.exit != nil && now.stack-start.stack > stackLimit {
		return limitStack
	}
	held, allowed := now.heap-start.heap, e.limits.Memory
	if e.exit == nil {
		allowed *= 2 // what else the process does counts too
	}
	if held <= allowed {
		return ""
	}
	if held < allowed+allowed/2 {
		runtime.GC() // much of it may be garbage
		if measure().heap-start.heap <= allowed {
			return ""
		}
	}
	return limitMemory
}

// abort ends a request that does not end by itself. In a process of the
// engine's own that ends the process; otherwise the script's goroutine is left
// to golua's limits.
func (e *engine) abort(limit string, why error) {
	aborted := e.link.abort(wire.Message{Kind: wire.Fail, Body: map[string]any{
		"message": why.Error(), "chart": e.running.Load(), "limit": limit,
	}}, patience)
	if !aborted {
		return // it has just ended by itself; the next one will notice
	}
	e.stopped.Store(true)
	if e.exit != nil {
		e.exit(exitCode)
	}
	select {
	case e.failed <- why:
	default:
	}
}

// limitError is a limit that was exceeded.
type limitError string

func (l limitError) Error() string {
	switch string(l) {
	case limitCPU:
		return "the scripts ran longer than they may"
	case limitMemory:
		return "the scripts used more memory than they may"
	case limitOutput:
		return "the scripts printed more than they may"
	case limitStack:
		return "the scripts called too deep"
	}
	return "the scripts were stopped"
}

// stop ends the script at once, past every pcall.
func (e *engine) stop(limit string) {
	e.over = limit
	panic(rt.ContextTerminationError{})
}
