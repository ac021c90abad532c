// SPDX-License-Identifier: Apache-2.0

package event

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/moonhelm/moonhelm/chart/values"
)

// DefaultPriority is where a handler stands that asks for no place of its own.
const DefaultPriority = 0.5

// A CoreHandler names a step of the core that handles an event, behind scripts and
// handlers. Package action decides their order.
type CoreHandler string

// The core's handlers.
const (
	// Scripts starts the chart's scripts.
	Scripts CoreHandler = "scripts"
	// TemplateFunctions offers scripts' functions to templates.
	TemplateFunctions CoreHandler = "template functions"
	// KubeVersion checks the chart's kubeVersion against the cluster's.
	KubeVersion CoreHandler = "Kubernetes version"
	// SchemaValidation checks the values against the charts' schemas.
	SchemaValidation CoreHandler = "schema validation"
	// Rendering renders the templates.
	Rendering CoreHandler = "template rendering"
	// Parsing makes objects of the rendered text.
	Parsing CoreHandler = "object parsing"
	// PostRenderer pipes the objects through another program.
	PostRenderer CoreHandler = "post-renderer"
	// ObjectValidation separates hooks from objects, and refuses objects that are
	// managed by another release.
	ObjectValidation CoreHandler = "object validation"
	// Permissions refuses hooks that the user may not run.
	Permissions CoreHandler = "permissions"
	// Namespace creates the release's namespace.
	Namespace CoreHandler = "namespace"
	// CRDs installs the custom resource definitions that the cluster lacks.
	CRDs CoreHandler = "custom resource definitions"
	// Record writes the release's record.
	Record CoreHandler = "release record"
	// AnnotationHooks runs the hooks that annotations make of objects.
	AnnotationHooks CoreHandler = "annotation hooks"
	// ObjectChanges creates, updates and deletes the objects.
	ObjectChanges CoreHandler = "object changes"
	// Readiness waits until the objects are ready.
	Readiness CoreHandler = "readiness"
)

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
// those of scripts.
type Source interface {
	// Load prepares for the chart of e. It is called before any handler of an
	// operation, and again for the next chart.
	Load(ctx context.Context, e *ChartResolved) error
	// Functions gives templates the functions that the source offers.
	Functions(ctx context.Context, e *PreRender)
	// Handlers are asked for when an event is emitted; those of equal priority run
	// in the order given.
	Handlers(event string) []Handler
}

type handler struct {
	Handler
	// owns reports that the handler is given values of its own.
	owns bool
}

// Bus carries events to handlers by priority, among equals those of sources (the
// chart's scripts) before those registered with [On], each in order. The zero value is
// ready; a nil *Bus has no handlers. Registering and emitting may happen concurrently.
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
// its subcharts'. On panics where b is nil. A fn that panics ends the operation with a
// [*PanicError].
func On[E Event](b *Bus, owner string, priority float64, fn func(context.Context, E) error) {
	var zero E
	name := zero.Name()
	h := handler{owns: true, Handler: Handler{
		Owner: owner, Priority: priority, Handle: func(ctx context.Context, e Event) error { return fn(ctx, e.(E)) },
	}}
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
// and gives none of its own to b: an operation's scripts are a source of its fork
// only. b may be nil.
func (b *Bus) Fork() *Bus { return &Bus{parent: b} }

// Load has all sources of b prepare for the chart of e. b may be nil.
func (b *Bus) Load(ctx context.Context, e *ChartResolved) error {
	for _, s := range b.all() {
		if err := b.HandleCore(ctx, e, Scripts, func(ctx context.Context) error { return s.Load(ctx, e) }); err != nil {
			return err
		}
	}
	return nil
}

// Functions has all sources of b give e's templates their functions. b may be nil.
func (b *Bus) Functions(ctx context.Context, e *PreRender) error {
	for _, s := range b.all() {
		give := func(ctx context.Context) error { s.Functions(ctx, e); return nil }
		if err := b.HandleCore(ctx, e, TemplateFunctions, give); err != nil {
			return err
		}
	}
	return nil
}

// all are the sources of b and of those that it is a fork of.
func (b *Bus) all() []Source {
	var out []Source
	for at := b; at != nil; at = at.parent {
		at.mu.RLock()
		out = append(slices.Clone(at.sources), out...)
		at.mu.RUnlock()
	}
	return out
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
				hs = append(hs, handler{Handler: h})
			}
		}
	}
	hs = append(hs, fixed...)
	slices.SortStableFunc(hs, func(a, b handler) int { return cmp.Compare(a.Priority, b.Priority) })
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
		if h.owns && !owned && e.Mutable().Has(Values) {
			// The operation's values share tables with the loaded chart.
			e.Data().Values = values.Copy(e.Data().Values)
			owned = true
		}
		if err := run(ctx, h, e, trace, false); err != nil {
			return err
		}
	}
	return nil
}

// HandleCore runs fn as the core's handler of e: now, and shown in traces as a handler is.
// Its error is returned as a [*HandlerError]. b may be nil.
func (b *Bus) HandleCore(ctx context.Context, e Event, who CoreHandler, fn func(context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var trace func(Step)
	for at := b; at != nil && trace == nil; at = at.parent {
		at.mu.RLock()
		trace = at.trace
		at.mu.RUnlock()
	}
	h := handler{Handler: Handler{Owner: string(who), Handle: func(ctx context.Context, _ Event) error { return fn(ctx) }}}
	return run(ctx, h, e, trace, true)
}

// call calls a handler. A panic of one that [On] has registered is its error: a program's
// mistake must not leave an operation without an end.
func (h handler) call(ctx context.Context, e Event) (err error) {
	if h.owns {
		defer func() {
			if value := recover(); value != nil {
				err = &PanicError{Value: value, Stack: debug.Stack()}
			}
		}()
	}
	return h.Handle(ctx, e)
}

func run(ctx context.Context, h handler, e Event, trace func(Step), core bool) error {
	fail := func(err error) error {
		if err == nil {
			return nil
		}
		return &HandlerError{Event: e.Name(), Owner: h.Owner, Core: core, Err: err}
	}
	if trace == nil {
		return fail(h.call(ctx, e))
	}
	before := snapshot(e)
	start := time.Now()
	err := h.call(ctx, e)
	trace(Step{
		Event: e.Name(), Owner: h.Owner, Where: h.Where, Priority: h.Priority, Core: core,
		Took: time.Since(start), Changes: before.changes(e), Err: err,
	})
	return fail(err)
}

// A HandlerError is returned when a handler stops an operation, and names it.
type HandlerError struct {
	Event string
	Owner string
	// Core is set for a step of the core: Owner is then a [CoreHandler], and the message is
	// that of Err alone.
	Core bool
	Err  error
}

func (e *HandlerError) Error() string {
	if e.Core {
		return e.Err.Error()
	}
	return fmt.Sprintf("%s handler of %s: %s", e.Event, e.Owner, e.Err)
}

func (e *HandlerError) Unwrap() error { return e.Err }

// A PanicError is the error, in a [*HandlerError], of a handler of the program's that has
// panicked.
type PanicError struct {
	Value any    // what it has panicked with
	Stack []byte // as [debug.Stack] returns it
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// Unwrap returns the value, where that is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}
