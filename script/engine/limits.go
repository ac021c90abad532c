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

// The names of limits in [wire.Fail].
const (
	limitCPU    = "cpu"
	limitMemory = "memory"
	limitOutput = "output"
	limitStack  = "stack"
)

// unlimited is a limit that is not reached: golua counts only what has a limit.
const unlimited = 1 << 60

const (
	// ticksPerMilli is the number of golua's ticks in a millisecond at least: a tick takes 9
	// to 40 ns. The watchdog enforces the time; ticks are the second line.
	ticksPerMilli = 100_000
	// hostTime is the time for the host's answers in all. golua's own clock, which cannot be
	// stopped, ends a request after it.
	hostTime = 30 * time.Minute
	// watchEvery is the interval of the watchdog.
	watchEvery = 5 * time.Millisecond
	// stackLimit is the size of the Go stack at which the watchdog ends a request.
	stackLimit = 24 << 20
	// abortTimeout is how long the watchdog waits until the host has read its answer.
	abortTimeout = time.Second
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

// left returns the remaining time.
func (c *clock) left() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	left := c.limit - c.spent
	if c.running {
		left -= time.Since(c.since)
	}
	return left
}

// usage is the memory of the process.
type usage struct{ heap, stack int64 }

func measure() usage {
	s := [2]metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}}
	metrics.Read(s[:])
	return usage{heap: int64(s[0].Value.Uint64()), stack: int64(s[1].Value.Uint64())}
}

// prepareMemory measures the process before scripts run. In a process of the engine's own it
// sets the garbage collector: it works harder as the limit comes near.
func (e *engine) prepareMemory() {
	e.base = measure()
	if e.exit != nil {
		debug.SetGCPercent(300) // most scripts need little memory, and the limit holds
		debug.SetMemoryLimit(e.limits.Memory + e.base.heap + maxStack/2)
	}
}

// contextLimits returns golua's limits for one request: the remaining time, and the memory
// that is not held yet.
func (e *engine) contextLimits() rt.RuntimeResources {
	if e.program != nil {
		return rt.RuntimeResources{Cpu: unlimited, Memory: unlimited} // the watchdog enforces the memory
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

// watch ends a request that exceeds a limit. start is the usage before the request. It
// returns when done is closed.
func (e *engine) watch(done <-chan struct{}, start usage) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return
		case <-e.host.ended:
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

// exceeded returns the limit that the running request exceeds, "" for none.
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

// abort ends a request that exceeds a limit. In a process of the engine's own it ends the
// process; elsewhere the script's goroutine runs on until golua's limits end it.
func (e *engine) abort(limit string, why error) {
	aborted := e.host.abort(wire.Message{Kind: wire.Fail, Body: map[string]any{
		"message": why.Error(), "chart": e.running.Load(), "limit": limit,
	}}, abortTimeout)
	if !aborted {
		return // it has just ended by itself
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

// limitError is returned where a limit was exceeded.
type limitError string

func (l limitError) Error() string {
	return map[string]string{
		"": "the scripts were stopped", limitCPU: "the scripts ran longer than they may",
		limitMemory: "the scripts used more memory than they may", limitOutput: "the scripts printed more than they may",
		limitStack: "the scripts called too deep",
	}[string(l)]
}

// stop ends the script at once, past every pcall.
func (e *engine) stop(limit string) {
	e.exceededLimit = limit
	panic(rt.ContextTerminationError{})
}
