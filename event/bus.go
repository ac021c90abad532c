// SPDX-License-Identifier: Apache-2.0

package event

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/moonhelm/moonhelm/chart/values"
)

// DefaultPriority is where a handler stands that asks for no place of its own.
const DefaultPriority = 0.5

// Place is where one of Moonhelm's own responders stands: a fixed one, before
// or after all handlers that have a priority.
type Place int

// The places, in order. Handlers with a priority stand between [Scripts] and
// [TemplateFunctions].
const (
	// Scripts starts the chart's scripts.
	Scripts Place = iota + 1
	handlers
	// TemplateFunctions offers scripts' functions to templates.
	TemplateFunctions
	// KubeVersion holds the chart's kubeVersion against the cluster's.
	KubeVersion
	// SchemaValidation holds the values against the charts' schemas.
	SchemaValidation
	// PostRenderer pipes the objects through another program.
	PostRenderer
	// ObjectValidation takes hooks and objects apart, and refuses objects that
	// are somebody else's.
	ObjectValidation
	// Rights refuses hooks that the user may not run.
	Rights
	// CRDs installs the custom resource definitions that the cluster lacks.
	CRDs
	// Record writes the release's record.
	Record
	// AnnotationHooks runs the hooks that annotations make of objects.
	AnnotationHooks
)

// String is the name of the responder that stands there.
func (p Place) String() string {
	switch p {
	case Scripts:
		return "scripts"
	case TemplateFunctions:
		return "template functions"
	case KubeVersion:
		return "Kubernetes version"
	case SchemaValidation:
		return "schema validation"
	case PostRenderer:
		return "post-renderer"
	case ObjectValidation:
		return "object validation"
	case Rights:
		return "rights"
	case CRDs:
		return "custom resource definitions"
	case Record:
		return "release record"
	case AnnotationHooks:
		return "annotation hooks"
	}
	return "handlers"
}

// Handler is one answer to an event, as a [Source] gives it.
type Handler struct {
	// Owner is how errors name it: `chart "mysql"`.
	Owner string
	// Where is the place in its owner's source, "ext/lua/chart.lua:12".
	Where string
	// Priority runs from 0 to 1; lower runs first.
	Priority float64
	Handle   func(context.Context, Event) error
}

// Source gives handlers that may come and go while an operation runs, such as
// those of scripts. Handlers are asked for when an event is emitted; those of
// equal priority run in the order given.
type Source interface {
	Handlers(event string) []Handler
}

type handler struct {
	Handler
	place Place
	// owns tells that the handler is given values of its own.
	owns bool
}

// Bus carries events to handlers: Moonhelm's own responders that come first,
// then handlers by priority, among equals those of sources (the chart's
// scripts) before those registered with [On], each in order; then the
// responders that come last. The zero value is ready; a nil *Bus has no
// handlers. Registering and emitting may happen concurrently.
type Bus struct {
	parent *Bus

	mu       sync.RWMutex
	handlers map[string][]handler
	sources  []Source
	trace    func(Step)
}

// On registers fn for events of type E: this is how a Go program answers.
// owner is how errors name the handler; priority runs from 0 to 1. At equal
// priority it runs after the charts' scripts, as the topmost chart's run after
// its subcharts'.
func On[E Event](b *Bus, owner string, priority float64, fn func(context.Context, E) error) {
	register(b, handler{place: handlers, owns: true, Handler: Handler{Owner: owner, Priority: priority}}, fn)
}

// Respond registers one of Moonhelm's own responders at its place.
func Respond[E Event](b *Bus, place Place, fn func(context.Context, E) error) {
	register(b, handler{place: place, Handler: Handler{Owner: place.String()}}, fn)
}

func register[E Event](b *Bus, h handler, fn func(context.Context, E) error) {
	var zero E
	name := zero.Name()
	h.Handle = func(ctx context.Context, e Event) error { return fn(ctx, e.(E)) }
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.handlers == nil {
		b.handlers = map[string][]handler{}
	}
	b.handlers[name] = append(b.handlers[name], h)
}

// Use adds a source of handlers.
func (b *Bus) Use(s Source) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sources = append(b.sources, s)
}

// Trace has fn told of every handler that has run. There is one fn.
func (b *Bus) Trace(fn func(Step)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.trace = fn
}

// Fork returns a bus that has all handlers of b, also those that b gets later,
// and gives none of its own to b. An operation registers its own responders on
// a fork. b may be nil.
func (b *Bus) Fork() *Bus { return &Bus{parent: b} }

// Responds reports whether one of Moonhelm's own responders answers the event of
// that name at that place.
func (b *Bus) Responds(event string, at Place) bool {
	if b == nil {
		return false
	}
	hs, _ := b.ready(event)
	return slices.ContainsFunc(hs, func(h handler) bool { return h.place == at })
}

// ready are the handlers for an event in the order in which they run.
func (b *Bus) ready(event string) (hs []handler, trace func(Step)) {
	var fixed []handler
	for at := b; at != nil; at = at.parent {
		at.mu.RLock()
		fixed = append(slices.Clone(at.handlers[event]), fixed...)
		sources := at.sources
		if at.trace != nil {
			trace = at.trace
		}
		at.mu.RUnlock()
		for _, s := range sources {
			for _, h := range s.Handlers(event) {
				hs = append(hs, handler{Handler: h, place: handlers})
			}
		}
	}
	hs = append(hs, fixed...)
	slices.SortStableFunc(hs, func(a, b handler) int {
		if c := cmp.Compare(a.place, b.place); c != 0 {
			return c
		}
		return cmp.Compare(a.Priority, b.Priority)
	})
	return hs, trace
}

// Emit calls the handlers of e in order and stops at the first error, which
// comes back as a [*HandlerError].
func (b *Bus) Emit(ctx context.Context, e Event) error {
	if b == nil {
		return nil
	}
	hs, trace := b.ready(e.Name())
	owned := false
	for _, h := range hs {
		if err := ctx.Err(); err != nil {
			return err
		}
		if h.owns && !owned && e.May().Has(Values) {
			// The operation's values share tables with the loaded chart.
			e.At().Values = values.Copy(e.At().Values)
			owned = true
		}
		if err := call(ctx, h, e, trace); err != nil {
			return err
		}
	}
	return nil
}

func call(ctx context.Context, h handler, e Event, trace func(Step)) error {
	fail := func(err error) error {
		if err == nil {
			return nil
		}
		return &HandlerError{Event: e.Name(), Owner: h.Owner, Responder: h.place != handlers, Err: err}
	}
	if trace == nil {
		return fail(h.Handle(ctx, e))
	}
	before := snapshot(e)
	start := time.Now()
	err := h.Handle(ctx, e)
	trace(Step{
		Event: e.Name(), Owner: h.Owner, Where: h.Where, Priority: h.Priority, Responder: h.place != handlers,
		Took: time.Since(start), Changes: before.changes(e), Err: err,
	})
	return fail(err)
}

// HandlerError tells which handler stopped an operation.
type HandlerError struct {
	Event string
	Owner string
	// Responder tells that it was one of Moonhelm's own, whose errors speak for
	// themselves.
	Responder bool
	Err       error
}

func (e *HandlerError) Error() string {
	if e.Responder {
		return e.Err.Error()
	}
	return fmt.Sprintf("%s handler of %s: %s", e.Event, e.Owner, e.Err)
}

func (e *HandlerError) Unwrap() error { return e.Err }
