// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"os"
	"runtime/metrics"
	"sync"
	"time"

	"github.com/moonhelm/moonhelm/script/wire"
)

// beat is how often the watchdog looks while scripts run.
const beat = 20 * time.Millisecond

// watchdog ends the process, from within, that uses more than it may or whose
// parent is gone. It works on every system, says which limit it was, and is not
// to be relied on alone: what is quicker than its beat, and what stops all of
// Go, is for the system's limits and for helm's own watchdog.
type watchdog struct {
	mu     sync.Mutex
	ticker *time.Ticker // nil until start

	memory  uint64 // bytes; 0 is no limit
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
	w.mu.Lock()
	w.ticker = time.NewTicker(beat)
	w.mu.Unlock()
	go func() {
		for range w.ticker.C {
			w.look()
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

func (w *watchdog) pause() {
	w.mu.Lock()
	if w.ticker != nil {
		w.ticker.Stop()
	}
	w.mu.Unlock()
}

func (w *watchdog) resume() {
	w.mu.Lock()
	if w.ticker != nil {
		w.ticker.Reset(beat)
	}
	w.mu.Unlock()
}

// look allocates nothing: there may be nothing left.
func (w *watchdog) look() {
	switch {
	case parent() != w.parent:
		endFamily()
		os.Exit(exitOrphan)
	case w.memory > 0 && mapped(w.samples) > w.memory:
		_, _ = os.Stderr.WriteString("out of memory: the scripts' limit was reached\n")
		os.Exit(exitMemory)
	case w.cpu > 0 && cpuUsed() > w.cpu:
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
