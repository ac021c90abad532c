// SPDX-License-Identifier: Apache-2.0

// Package event is the lifecycle of an operation as values: one type per
// event, handlers, and the bus that carries them.
//
// Events are synchronous and ordered. A handler may change what its event's
// type offers, or stop the operation by returning an error. Who emits does not
// know who answers.
package event

import (
	"context"
	"fmt"
	"sort"
	"sync"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/release"
)

// Event is one moment of an operation's life. Name is the word that scripts,
// annotations and the command line use for it ("pre-install").
type Event interface{ Name() string }

// PreRender is emitted before templates are rendered. Handlers may replace
// Values and Chart.
type PreRender struct {
	Chart  *chart.Chart
	Values map[string]any
}

// PostRender is emitted once objects exist. Handlers may change Objects.
type PostRender struct {
	Chart   *chart.Chart
	Objects []*manifest.Object
}

// PreInstall is emitted before anything is written to the cluster.
type PreInstall struct {
	Release *release.Release
}

// PostInstall is emitted when everything has been applied (and is ready, where
// that was asked for).
type PostInstall struct {
	Release *release.Release
}

// PreDelete is emitted before an uninstall deletes anything.
type PreDelete struct {
	Release *release.Release
}

// PostDelete is emitted after an uninstall has deleted a release's objects.
type PostDelete struct {
	Release *release.Release
}

// Name implements [Event].
func (*PreRender) Name() string   { return "pre-render" }
func (*PostRender) Name() string  { return "post-render" }
func (*PreInstall) Name() string  { return "pre-install" }
func (*PostInstall) Name() string { return "post-install" }
func (*PreDelete) Name() string   { return "pre-delete" }
func (*PostDelete) Name() string  { return "post-delete" }

// DefaultPriority is where a handler stands that asks for no place of its own.
const DefaultPriority = 0.5

type handler struct {
	owner    string
	priority float64
	fn       func(context.Context, Event) error
}

// Bus carries events to handlers: lower priority first, and among equals in
// order of registration. The zero value is ready; a nil *Bus has no handlers.
// Registering and emitting may happen concurrently.
type Bus struct {
	mu       sync.RWMutex
	handlers map[string][]handler
}

// On registers fn for events of type E. owner is how errors name the handler
// ("annotation hooks"); priority runs from 0 to 1.
func On[E Event](b *Bus, owner string, priority float64, fn func(context.Context, E) error) {
	var zero E
	name := zero.Name()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.handlers == nil {
		b.handlers = map[string][]handler{}
	}
	hs := append(b.handlers[name], handler{owner: owner, priority: priority, fn: func(ctx context.Context, e Event) error {
		return fn(ctx, e.(E))
	}})
	sort.SliceStable(hs, func(i, j int) bool { return hs[i].priority < hs[j].priority })
	b.handlers[name] = hs
}

// Emit calls the handlers of e in order and stops at the first error, which
// comes back as a [*HandlerError].
func (b *Bus) Emit(ctx context.Context, e Event) error {
	if b == nil {
		return nil
	}
	b.mu.RLock()
	hs := append([]handler(nil), b.handlers[e.Name()]...)
	b.mu.RUnlock()
	for _, h := range hs {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := h.fn(ctx, e); err != nil {
			return &HandlerError{Event: e.Name(), Owner: h.owner, Err: err}
		}
	}
	return nil
}

// HandlerError tells which handler stopped an operation.
type HandlerError struct {
	Event string
	Owner string
	Err   error
}

func (e *HandlerError) Error() string {
	return fmt.Sprintf("%s handler of %s: %s", e.Event, e.Owner, e.Err)
}

func (e *HandlerError) Unwrap() error { return e.Err }
