// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"os"
	"runtime/metrics"
	"time"

	"github.com/moonhelm/moonhelm/script/wire"
)

// How often the watchdog looks: while the process works, and while it waits.
const (
	beat = 20 * time.Millisecond
	idle = 100 * time.Millisecond
)

// watchdog ends the process, from within, that uses more than it may or whose
// parent is gone. It works on every system, says which limit it was, and is not
// to be relied on alone: what is quicker than its beat, and what stops all of
// Go, is for the system's limits and for helm's own watchdog.
//
// It never rests: whether a script runs cannot be told from here, as the
// process reads ahead while one does.
type watchdog struct {
	memory  uint64 // bytes; 0 is not a limit
	samples []metrics.Sample
	cpu     time.Duration
	parent  int
}

func newWatchdog() *watchdog { return &watchdog{parent: parent()} }

// start makes the watchdog keep to l.
func (w *watchdog) start(l wire.Limits) {
	w.samples = memorySamples()
	if used := mapped(w.samples); l.Memory > 0 {
		w.memory = used + uint64(l.Memory) + ownMemory
	}
	w.cpu = cpuLimit(l)
	go func() {
		for before, wait := cpuUsed(), beat; ; {
			time.Sleep(wait)
			now := cpuUsed()
			w.look(now)
			if wait = beat; now-before < beat/20 {
				wait = idle
			}
			before = now
		}
	}()
}

// cpuLimit is the CPU time the process may use. It is more than the scripts'
// own limit, because the garbage collector's second thread counts here, and
// because the engine, which gets there first, can name the place.
func cpuLimit(l wire.Limits) time.Duration {
	if l.CPU <= 0 {
		return 0
	}
	return l.CPU + l.CPU/2 + 200*time.Millisecond
}

// look ends the process where cpu, the time that it has used, or something else
// is too much. It allocates nothing: there may be nothing left.
func (w *watchdog) look(cpu time.Duration) {
	switch {
	case parent() != w.parent:
		endFamily()
		os.Exit(exitOrphan)
	case w.memory > 0 && mapped(w.samples) > w.memory:
		_, _ = os.Stderr.WriteString("out of memory: the scripts' limit was reached\n")
		os.Exit(exitMemory)
	case w.cpu > 0 && cpu > w.cpu:
		_, _ = os.Stderr.WriteString("out of CPU time: the scripts' limit was reached\n")
		os.Exit(exitCPU)
	}
}

// memorySamples are what [mapped] reads.
func memorySamples() []metrics.Sample {
	return []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
}

// mapped is the memory that Go holds, in bytes.
func mapped(samples []metrics.Sample) uint64 {
	metrics.Read(samples)
	return samples[0].Value.Uint64() - samples[1].Value.Uint64()
}
