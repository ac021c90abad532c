// SPDX-License-Identifier: Apache-2.0

// Package script lets the scripts of charts answer events.
//
// In come events; out comes what scripts made of what the events show. The
// package asks for the permissions that charts want, has a process started for
// the scripts of an operation, tells it what happens, answers its questions,
// and applies what it changed, never in place. It knows no Lua and trusts the
// process with nothing: what it says is checked as what a stranger says.
//
// It neither starts the process itself (see [Starter]) nor decides about
// permissions (see [Policy]).
package script

import (
	"context"
	"net/http"
	"sync"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/script/wire"
)

// Process runs scripts.
type Process = wire.Process

// Starter starts a process for the scripts of one operation. The process ends
// with the context. worker.Start is one.
type Starter func(ctx context.Context, limits wire.Limits) (Process, error)

// Host answers events with the scripts of the chart that they are about: it is a
// source of handlers for a bus. A process is started when a chart is loaded whose tree
// has scripts, and lives until the next chart is loaded or the host is closed. A Host
// serves one operation at a time. The zero value can
// only tell that it is to run scripts and does not know how.
type Host struct {
	// Start starts the process.
	Start Starter
	// Approve is asked about permissions before any script runs; an error
	// refuses. nil refuses everything.
	Approve func(ctx context.Context, asks []Ask) error
	// Limits are what an operation's scripts may use; those that are zero are
	// the default.
	Limits wire.Limits
	// Print shows what a script prints, a line at a time and safe to be shown.
	// nil shows nothing; see [Printer].
	Print func(chart, line string)
	// Transport carries the requests of charts that may use the network. nil is
	// the system's own way, with the user's proxies.
	Transport http.RoundTripper
	// Environ is the environment that charts with the permission os see; nil is
	// that of this program.
	Environ []string
	// Seed makes random numbers the same on every run; 0 has them random.
	Seed int64
	// Debug adds tracebacks to errors.
	Debug bool

	mu      sync.Mutex
	session *session
}

// Functions gives the templates of e's charts the functions that scripts offer.
func (h *Host) Functions(ctx context.Context, e *event.PreRender) {
	if s := h.current(); s != nil {
		s.offerFunctions(ctx, e)
	}
}

// Handlers implements [event.Source].
func (h *Host) Handlers(name string) []event.Handler {
	s := h.current()
	if s == nil {
		return nil
	}
	return s.eventHandlers(name)
}

// Close ends the process, if there is one.
func (h *Host) Close() error {
	h.mu.Lock()
	s := h.session
	h.session = nil
	h.mu.Unlock()
	if s != nil {
		s.close()
	}
	return nil
}

func (h *Host) current() *session {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.session
}

// Confirm asks for the permissions that the scripts of c and of the charts below it
// want, as Load would, and starts none. c may be nil.
func (h *Host) Confirm(ctx context.Context, c *chart.Chart) error {
	if c == nil || !c.HasScripts() {
		return nil
	}
	tree, err := plant(c)
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

// Load asks for permissions, starts the process and loads the scripts of e's chart,
// where the tree has any. Those of a chart that was loaded before end.
func (h *Host) Load(ctx context.Context, e *event.ChartResolved) error {
	_ = h.Close()
	if e.Chart == nil || !e.Chart.HasScripts() {
		return nil
	}
	tree, err := plant(e.Chart)
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
	if err := s.start(ctx); err != nil {
		s.close()
		return err
	}
	h.mu.Lock()
	h.session = s
	h.mu.Unlock()
	return nil
}

// limits are h.Limits with the defaults in.
func (h *Host) limits() wire.Limits {
	l, d := h.Limits, wire.DefaultLimits()
	if l.CPU <= 0 {
		l.CPU = d.CPU
	}
	if l.Memory <= 0 {
		l.Memory = d.Memory
	}
	if l.Output <= 0 {
		l.Output = d.Output
	}
	return l
}

// filePermissions is where a chart says what its scripts want to be allowed.
const filePermissions = chart.DirExt + "/permissions.yaml"
