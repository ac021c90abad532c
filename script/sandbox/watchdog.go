// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"os"
	"runtime"
	"runtime/metrics"
	"time"

	"github.com/moonhelm/moonhelm/script/wire"
)

// How often the watchdog checks a process that works, and one that waits.
const (
	busyInterval = 20 * time.Millisecond
	idleInterval = 100 * time.Millisecond
)

// processors is how many processors a process uses that still runs when the watchdog looks: one for the
// script, one for the collector and the watchdog. It starts with one, for a script that ends before:
// messages then pass between goroutines without another thread, which has to be woken up.
const processors = 2

// watchdog ends the process it runs in when that exceeds a limit or its parent has exited.
// It works on every system and reports which limit it was. It does not suffice alone: the
// system's limits and the watchdog in helm's process cover what happens within an interval
// or stops Go's scheduler.
//
// It checks all the time, because the process reads ahead and the watchdog cannot detect
// whether a script is running.
type watchdog struct {
	memory  uint64 // bytes; 0 means no limit
	samples []metrics.Sample
	cpu     time.Duration
	parent  int
}

func newWatchdog() *watchdog { return &watchdog{parent: parent()} }

// start starts the watchdog with the limits l.
func (w *watchdog) start(l wire.Limits) {
	w.samples = memorySamples()
	if used := mapped(w.samples); l.Memory > 0 {
		w.memory = used + uint64(l.Memory) + ownMemory
	}
	w.cpu = cpuLimit(l)
	go func() {
		before := cpuUsed()
		time.Sleep(busyInterval)
		runtime.GOMAXPROCS(processors)
		for {
			now := cpuUsed()
			w.check(now)
			wait := busyInterval
			if now-before < busyInterval/20 {
				wait = idleInterval
			}
			before = now
			time.Sleep(wait)
		}
	}()
}

// cpuLimit returns the CPU time that the process may use, or 0 for no limit. It exceeds the
// scripts' own limit because it includes the garbage collector's thread, and because the
// engine, which checks the scripts' limit, can name the line.
func cpuLimit(l wire.Limits) time.Duration {
	if l.CPU <= 0 {
		return 0
	}
	return l.CPU + l.CPU/2 + 200*time.Millisecond
}

// check ends the process if it exceeds a limit; cpu is the CPU time it has used. check does
// not allocate, since memory may be exhausted.
func (w *watchdog) check(cpu time.Duration) {
	switch {
	case parent() != w.parent:
		killGroup()
		os.Exit(exitParentDied)
	case w.memory > 0 && mapped(w.samples) > w.memory:
		_, _ = os.Stderr.WriteString("out of memory: the scripts' limit was reached\n")
		os.Exit(exitMemory)
	case w.cpu > 0 && cpu > w.cpu:
		_, _ = os.Stderr.WriteString("out of CPU time: the scripts' limit was reached\n")
		os.Exit(exitCPU)
	}
}

// memorySamples returns the metrics that [mapped] reads.
func memorySamples() []metrics.Sample {
	return []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
}

// mapped returns the memory that Go has mapped, in bytes.
func mapped(samples []metrics.Sample) uint64 {
	metrics.Read(samples)
	return samples[0].Value.Uint64() - samples[1].Value.Uint64()
}
