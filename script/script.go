// SPDX-License-Identifier: Apache-2.0

// Package script runs the Lua scripts of charts (ext/lua/chart.lua) as handlers of events.
//
//	config.Scripts = func() action.ScriptRunner { // one for each operation
//		return &script.Host{
//			Start:   worker.Start, // package script/worker; call worker.Main first thing in main
//			Approve: script.Policy{Accept: []string{script.Network}}.Approve,
//			Print:   script.Printer(os.Stderr),
//		}
//	}
//
// A [Host] is a source of handlers for an event.Bus. When a chart with scripts is loaded,
// it asks for the permissions in the charts' ext/permissions.yaml ([Host.Approve]) and
// starts a process ([Host.Start]) that lives until the operation ends. For each event it
// sends the process what the event shows, answers its questions (lookup, HTTP), checks what
// it changed, and gives that to the operation. Values and objects are never changed in
// place. The process is untrusted: all that it says is checked and bounded. For charts
// without scripts nothing is started.
//
// The error of a script is an [*Error], with file and line, inside an event.HandlerError;
// permissions that were not granted are a [*PermissionError], before any script runs. A Host
// serves one operation at a time. ExampleTemplate_scripts of package action, and the example
// of package script/worker, run scripts.
//
// The package has no Lua in it: package script/engine, which runs in the process, has.
package script

import (
	"cmp"
	"context"
	"net/http"
	"sync/atomic"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/script/wire"
)

// Process is a process that runs scripts.
type Process = wire.Process

// Starter starts a process for the scripts of one operation. The process ends
// with the context. worker.Start is one.
type Starter func(ctx context.Context, limits wire.Limits) (Process, error)

// Host answers events with the scripts of the chart that they are about. It is an
// [event.Source] and an action.ScriptRunner. A process is started when a chart is loaded
// whose tree has scripts, and lives until the next chart is loaded or the Host is closed. A
// Host serves one operation at a time, and must not be copied. With the zero value, a chart
// with scripts is an error.
type Host struct {
	// Start starts the process.
	Start Starter
	// Approve is asked, once for all charts of a tree, before any script runs; an error
	// ends the operation. It is not called where no chart asks for a permission. nil
	// refuses with a [*PermissionError].
	Approve func(ctx context.Context, asks []Ask) error
	// Limits bound what all scripts of an operation together may use; fields that are zero
	// are those of [wire.DefaultLimits].
	Limits wire.Limits
	// Print shows what a script prints, a line at a time and safe to be shown.
	// nil shows nothing; see [Printer].
	Print func(chart, line string)
	// Transport carries the HTTP requests of charts with the permission network. nil is
	// [http.DefaultTransport].
	Transport http.RoundTripper
	// Environ is the environment, NAME=value, that charts with the permission os see; nil
	// is that of this program.
	Environ []string
	// Seed makes the scripts' random numbers the same on every run; 0 is a random seed.
	Seed int64
	// Debug adds tracebacks to errors.
	Debug bool
	// Coverage, if not nil, is told how often lines of scripts were run: since it was last
	// told, or 0 for a line that can be run. chart is the chart's path in the tree.
	Coverage func(chart, file string, line int, hits int64)
	// Resolve looks up a host name for a chart with the permission network; nil asks the
	// system's resolver.
	Resolve func(ctx context.Context, name string) ([]string, error)
	// Always starts the process for a chart without scripts too, for [Host.Evaluate].
	Always bool

	// runTest runs a command for a test.
	runTest func(ctx context.Context, name string, options map[string]any) (map[string]any, error)

	session atomic.Pointer[session]
}

// Functions adds the functions that scripts offer to templates to those of e. It
// implements [event.Source], as do Handlers and Load: a bus calls them.
func (h *Host) Functions(ctx context.Context, e *event.PreRender) {
	if s := h.session.Load(); s != nil {
		s.offerFunctions(ctx, e)
	}
}

// Handlers implements [event.Source].
func (h *Host) Handlers(name string) []event.Handler {
	s := h.session.Load()
	if s == nil {
		return nil
	}
	return s.eventHandlers(name)
}

// Close ends the process, if there is one, and does not wait until it is gone: [Process]
// has a Wait for those who must. It returns nil, and may be called again.
func (h *Host) Close() error {
	if s := h.session.Swap(nil); s != nil {
		s.close()
	}
	return nil
}

// Confirm asks for the permissions that the scripts of c and of the charts below it want,
// as Load does, and starts no process. c may be nil. Errors are that of [Host.Approve], and
// of permissions.yaml.
func (h *Host) Confirm(ctx context.Context, c *chart.Chart) error {
	if c == nil || !c.HasScripts() {
		return nil
	}
	tree, err := newTree(c)
	if err != nil {
		return err
	}
	return h.approve(ctx, tree)
}

func (h *Host) approve(ctx context.Context, t *tree) error {
	asks := t.asks()
	switch {
	case len(asks) == 0:
		return nil
	case h.Approve == nil:
		return &PermissionError{Asks: asks, Problem: "no one can be asked about them here"}
	}
	return h.Approve(ctx, asks)
}

// Load asks for permissions, starts the process and loads the scripts of e's chart, where
// the tree has any. Scripts of a chart that was loaded before are ended first. Errors are
// those of [Host.Confirm] and [Host.Start], and an [*Error] of a script that does not load.
func (h *Host) Load(ctx context.Context, e *event.ChartResolved) error {
	_ = h.Close()
	if e.Chart == nil || !e.Chart.HasScripts() && !h.Always {
		return nil
	}
	tree, err := newTree(e.Chart)
	if err != nil {
		return err
	}
	if err := h.approve(ctx, tree); err != nil {
		return err
	}
	s, err := h.open(ctx, tree, e.Operation)
	if err != nil {
		return err
	}
	if _, err := s.start(ctx, nil); err != nil {
		s.close()
		return err
	}
	h.session.Store(s)
	return nil
}

// limits returns h.Limits with the defaults.
func (h *Host) limits() wire.Limits {
	l, d := h.Limits, wire.DefaultLimits()
	return wire.Limits{
		CPU:    cmp.Or(max(l.CPU, 0), d.CPU),
		Memory: cmp.Or(max(l.Memory, 0), d.Memory),
		Output: cmp.Or(max(l.Output, 0), d.Output),
	}
}
