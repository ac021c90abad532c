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

// DefaultPriority is the priority of a handler that does not set one.
const DefaultPriority = 0.5

// A CoreHandler names a step of the core that handles an event, after scripts and other
// handlers. Package action defines the order of the steps.
type CoreHandler string

// The core's handlers.
const (
	// Scripts loads the chart's scripts.
	Scripts CoreHandler = "scripts"
	// TemplateFunctions registers the scripts' template functions.
	TemplateFunctions CoreHandler = "template functions"
	// KubeVersion checks the chart's kubeVersion against the cluster's.
	KubeVersion CoreHandler = "Kubernetes version"
	// SchemaValidation checks the values against the charts' schemas.
	SchemaValidation CoreHandler = "schema validation"
	// Rendering renders the templates.
	Rendering CoreHandler = "template rendering"
	// Parsing parses the rendered text into objects.
	Parsing CoreHandler = "object parsing"
	// Patches changes the objects by patches of the charts and the user.
	Patches CoreHandler = "patch"
	// PostRenderer pipes the objects through an external program.
	PostRenderer CoreHandler = "post-renderer"
	// ObjectValidation separates hooks from objects, and rejects objects that are
	// managed by another release.
	ObjectValidation CoreHandler = "object validation"
	// Permissions rejects hooks that the user is not allowed to run.
	Permissions CoreHandler = "permissions"
	// Namespace creates the release's namespace.
	Namespace CoreHandler = "namespace"
	// CRDs installs missing custom resource definitions.
	CRDs CoreHandler = "custom resource definitions"
	// Record writes the release's record.
	Record CoreHandler = "release record"
	// AnnotationHooks runs the hooks that are defined by annotations of objects.
	AnnotationHooks CoreHandler = "annotation hooks"
	// ObjectChanges creates, updates and deletes the objects.
	ObjectChanges CoreHandler = "object changes"
	// Readiness waits until the objects are ready.
	Readiness CoreHandler = "readiness"
)

// Handler handles events on behalf of a [Source].
type Handler struct {
	// Owner is the handler's owner in error messages: `chart "mysql"`.
	Owner string
	// Where is the position in the owner's source, "ext/lua/chart.lua:12".
	Where string
	// Chart is the path of the chart whose script the handler is in, or "" if it is in none.
	Chart string
	// Priority runs from 0 to 1; lower runs first.
	Priority float64
	Handle   func(context.Context, Event) error
}

// Source provides handlers that may change during an operation, such as those of
// scripts.
type Source interface {
	// Load prepares for the chart of e. It is called before the first handler of an
	// operation, and again for each further chart.
	Load(ctx context.Context, e *ChartResolved) error
	// Functions adds the source's template functions to e.
	Functions(ctx context.Context, e *PreRender)
	// Handlers returns the current handlers of an event. Handlers of equal priority run
	// in the returned order.
	Handlers(event string) []Handler
}

type handler struct {
	Handler
	// owns is set if the handler gets its own copy of the values.
	owns bool
}

// Bus calls event handlers in order of priority. At equal priority, handlers of sources
// (the charts' scripts) run before those registered with [On], each in order. The zero
// value is ready to use; a nil *Bus has no handlers. Registering and emitting may happen
// concurrently.
type Bus struct {
	parent *Bus

	mu       sync.RWMutex
	handlers map[string][]handler
	sources  []Source
	observer observer
}

// observer are the functions that are called after each handler. They may be nil.
type observer struct {
	trace func(Step)
	watch func(Step, Event)
}

// On registers fn as a handler of events of type E. Go programs use it; scripts are a
// [Source]. Errors name owner as the handler's owner. priority is between 0 and 1; a lower
// priority runs first, and at equal priority the charts' scripts run before fn. If fn panics,
// the operation stops with a [*PanicError]. On panics if b is nil.
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

// Trace sets the function that is called after each handler. It replaces an earlier one.
func (b *Bus) Trace(fn func(Step)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.observer.trace = fn
}

// Watch sets the function that is called after each handler with its event, whose data it must
// not change. The [Step] has no Changes. It replaces an earlier one.
func (b *Bus) Watch(fn func(Step, Event)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.observer.watch = fn
}

// Observed reports whether a function is called after each handler.
func (b *Bus) Observed() bool {
	var o observer
	for bus := b; bus != nil; bus = bus.parent {
		bus.mu.RLock()
		o = bus.observe(o)
		bus.mu.RUnlock()
	}
	return o.trace != nil || o.watch != nil
}

// observe adds the functions of b that o lacks.
func (b *Bus) observe(o observer) observer {
	if o.trace == nil {
		o.trace = b.observer.trace
	}
	if o.watch == nil {
		o.watch = b.observer.watch
	}
	return o
}

// Fork returns a bus with all handlers of b, including those registered with b later.
// Handlers of the fork are not added to b, so that an operation can have its own scripts.
// b may be nil.
func (b *Bus) Fork() *Bus { return &Bus{parent: b} }

// Load calls Load of all sources of b. b may be nil.
func (b *Bus) Load(ctx context.Context, e *ChartResolved) error {
	for _, s := range b.all() {
		if err := b.HandleCore(ctx, e, Scripts, func(ctx context.Context) error { return s.Load(ctx, e) }); err != nil {
			return err
		}
	}
	return nil
}

// Functions calls Functions of all sources of b. b may be nil.
func (b *Bus) Functions(ctx context.Context, e *PreRender) error {
	for _, s := range b.all() {
		give := func(ctx context.Context) error { s.Functions(ctx, e); return nil }
		if err := b.HandleCore(ctx, e, TemplateFunctions, give); err != nil {
			return err
		}
	}
	return nil
}

// all returns the sources of b and of the buses that it was forked from.
func (b *Bus) all() []Source {
	var out []Source
	for bus := b; bus != nil; bus = bus.parent {
		bus.mu.RLock()
		out = append(slices.Clone(bus.sources), out...)
		bus.mu.RUnlock()
	}
	return out
}

// ready returns the handlers of an event in the order in which they run.
func (b *Bus) ready(event string) (hs []handler, o observer) {
	var fixed []handler
	for bus := b; bus != nil; bus = bus.parent {
		bus.mu.RLock()
		fixed = append(slices.Clone(bus.handlers[event]), fixed...)
		sources := bus.sources
		o = bus.observe(o)
		bus.mu.RUnlock()
		for _, s := range sources {
			for _, h := range s.Handlers(event) {
				hs = append(hs, handler{Handler: h})
			}
		}
	}
	hs = append(hs, fixed...)
	slices.SortStableFunc(hs, func(a, b handler) int { return cmp.Compare(a.Priority, b.Priority) })
	return hs, o
}

// Emit calls the handlers of e in order and stops at the first error, which it returns as
// a [*HandlerError].
func (b *Bus) Emit(ctx context.Context, e Event) error {
	if b == nil {
		return nil
	}
	hs, o := b.ready(e.Name())
	owned := false
	for _, h := range hs {
		if err := ctx.Err(); err != nil {
			return err
		}
		if h.owns && !owned && e.Mutable().Has(Values) {
			// The operation's values share maps with the loaded chart.
			e.Data().Values = values.Copy(e.Data().Values)
			owned = true
		}
		if err := run(ctx, h, e, o, false); err != nil {
			return err
		}
	}
	return nil
}

// HandleCore runs fn as the core handler who of e, traced like other handlers. It returns an
// error of fn as a [*HandlerError]. b may be nil.
func (b *Bus) HandleCore(ctx context.Context, e Event, who CoreHandler, fn func(context.Context) error) error {
	return b.HandleCoreAt(ctx, e, who, "", fn)
}

// HandleCoreAt is HandleCore for what the core does on behalf of a file: where is the position in it, the
// Where of the [Step].
func (b *Bus) HandleCoreAt(ctx context.Context, e Event, who CoreHandler, where string,
	fn func(context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var o observer
	for bus := b; bus != nil; bus = bus.parent {
		bus.mu.RLock()
		o = bus.observe(o)
		bus.mu.RUnlock()
	}
	h := handler{Handler: Handler{Owner: string(who), Where: where,
		Handle: func(ctx context.Context, _ Event) error { return fn(ctx) }}}
	return run(ctx, h, e, o, true)
}

// call calls a handler. It returns a panic of a handler registered with [On] as an error, so
// that a bug in the program does not leave an operation unfinished.
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

func run(ctx context.Context, h handler, e Event, o observer, core bool) error {
	step := Step{Event: e.Name(), Owner: h.Owner, Where: h.Where, Chart: h.Chart, Priority: h.Priority, Core: core}
	var before payload
	if o.trace != nil {
		before = snapshot(e)
	}
	start := time.Now()
	err := h.call(ctx, e)
	step.Took, step.Err = time.Since(start), err
	if o.watch != nil {
		o.watch(step, e)
	}
	if o.trace != nil {
		step.Changes = before.changes(e)
		o.trace(step)
	}
	if err != nil {
		return &HandlerError{Event: e.Name(), Owner: h.Owner, Core: core, Err: err}
	}
	return nil
}

// A HandlerError is returned if a handler fails, which stops the operation.
type HandlerError struct {
	Event string
	Owner string
	// Core is set for a step of the core: Owner is then a [CoreHandler], and the message is
	// the message of Err.
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

// A PanicError is returned, in a [*HandlerError], if a handler registered with [On] panics.
type PanicError struct {
	Value any    // the argument of panic
	Stack []byte // as [debug.Stack] returns it
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// Unwrap returns Value if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}
