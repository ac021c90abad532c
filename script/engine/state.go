// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	rt "github.com/arnodel/golua/runtime"

	"github.com/moonhelm/moonhelm/internal/truncate"
	"github.com/moonhelm/moonhelm/script/engine/bridge"
	"github.com/moonhelm/moonhelm/script/wire"
)

// engine runs the scripts of one operation.
type engine struct {
	host    *hostConn
	program *program // in place of host, where the script is not a chart's
	confine func(wire.Message) error
	exit    func(int)

	limits wire.Limits
	clock  clock
	base   usage
	output int64 // bytes printed

	stopped       atomic.Bool  // by the watchdog
	running       atomic.Int64 // index of the chart whose script runs, -1 where it is not known
	failed        chan error
	exceededLimit string       // that a script was stopped for
	dead          *scriptError // the error of all further requests

	r        *rt.Runtime
	bridge   *bridge.Bridge
	lib      *library
	charts   []*chart
	sources  map[string]place // where chunks are, by their names
	texts    map[place]string // of the scripts that were compiled
	events   []string
	aliases  map[string]any // other names of events
	environ  []string
	handlers []*handler
	nextID   int64
	changed  bool             // handlers or functions, since they were last reported
	cleanup  []func(end bool) // of modules
	tests    []test
	testing  bool      // one of them runs
	outcome  *rt.Table // the metatable of results of run, made by outcomes
	covered  *covered  // nil if lines are not counted

	request   *request
	hook      rt.Value             // what scripts call after an assignment
	views     *rt.Table            // the metatable of tables that show a view
	behind    rt.Value             // the key of the view in them
	classes   map[string]*rt.Table // the metatables of elements of contexts' lists, by their class
	order     order
	lastTrace trace
	// identities are what tables and functions are called in text.
	identities identities
}

// place is the place of a script.
type place struct {
	chart int
	file  string // "ext/lua/chart.lua"
}

// chart is a chart with its scripts.
type chart struct {
	index      int
	parent     *chart // nil for the top chart, and for libraries
	name, path string
	library    bool
	directory  string                           // of its scripts
	files      map[string]string                // below directory
	open       func(file string) (string, bool) // finds further files, if there can be any
	requires   map[string]*chart
	grants     []string
	asks       []string // permissions that it would be granted, for a check
	children   []*chart

	env        *rt.Table
	builtin    map[string]rt.Value // what the engine put into env
	encodeYAML rt.Value            // yaml.encode
	names      *rewriter           // of the files that were compiled, see unknown.go
	read       map[string]bool     // the files that names has
	events     rt.Value            // its table of that name
	loaded     map[string]*module
	initiated  bool
	// functions are those for templates; libraries are the libraries that were required, whose
	// functions the chart's templates have too.
	functions map[string]rt.Value
	libraries []*chart
	order     []string // names of functions, in the order of their registration
}

func newChart(index int, name, directory string) *chart {
	return &chart{index: index, name: name, path: name, directory: directory, files: map[string]string{},
		requires: map[string]*chart{}, loaded: map[string]*module{}, functions: map[string]rt.Value{},
		names: &rewriter{assigned: map[string]position{}}, read: map[string]bool{}}
}

// guarded runs work within all limits and returns the answer to the host.
func (e *engine) guarded(work func() (map[string]any, error)) (wire.Message, error) {
	if e.dead != nil {
		return e.dead.message(), nil
	}
	if e.clock.left() <= 0 {
		e.dead = exceededError(-1, limitCPU)
		return e.dead.message(), nil
	}
	e.clock.start()
	done := make(chan struct{})
	start := e.base
	if e.exit == nil {
		start = measure()
	}
	watch := time.AfterFunc(watchEvery, func() { e.watch(done, start) })
	body, err := e.recoverPanic(work)
	watch.Stop()
	close(done)
	e.clock.stop()
	if err == nil {
		return wire.Message{Kind: wire.Done, Body: body}, nil
	}
	var lost *lostError
	if errors.As(err, &lost) {
		return wire.Message{}, lost.err
	}
	var f *scriptError
	if !errors.As(err, &f) {
		f = errorOf(-1, err.Error())
	}
	return f.message(), nil
}

// recoverPanic runs work and turns a panic into an error. The engine is dead then, since its
// state is not known.
func (e *engine) recoverPanic(work func() (map[string]any, error)) (body map[string]any, err error) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		if lost, ok := p.(*lostError); ok {
			err = lost
			return
		}
		e.dead = errorOf(int(e.running.Load()), "the script engine failed: "+truncate.Bytes(fmt.Sprint(p), 500, "…"))
		if t, ok := p.(rt.ContextTerminationError); ok {
			e.dead = e.killed(t)
		}
		body, err = nil, e.dead
	}()
	return work()
}

// lostError is a panic value: the connection to the host is lost.
type lostError struct{ err error }

func (l *lostError) Error() string { return l.err.Error() }

// newRuntime makes the Lua runtime of all charts.
func (e *engine) newRuntime(seed int64) {
	e.r = rt.New(io.Discard)
	e.r.SetWarner(nil)
	e.bridge = bridge.New(e.r)
	e.bridge.Load = e.load
	e.bridge.FromRef = e.fromRef
	e.bridge.ToRef = e.toRef
	e.identities = identities{}
	e.sources, e.texts = map[string]place{}, map[place]string{}
	e.hook = e.newHook()
	e.makeViews()
	e.makeClasses()
	e.lib = e.newLibrary(seed)
}

// inLua runs work, which runs Lua, within golua's limits for one request. An error is a
// [*scriptError].
func (e *engine) inLua(chart int, work func(t *rt.Thread) error) error {
	e.running.Store(int64(chart))
	e.lastTrace = trace{}
	t := e.r.MainThread()
	_, err := t.CallContext(rt.RuntimeContextDef{
		HardLimits:     e.contextLimits(),
		RequiredFlags:  rt.ComplyCpuSafe | rt.ComplyMemSafe | rt.ComplyIoSafe | rt.ComplyTimeSafe,
		MessageHandler: e.lib.traceback,
	}, func() error {
		if err := work(t); err != nil {
			return e.explain(t, err, chart)
		}
		return nil
	})
	var ended rt.ContextTerminationError
	if errors.As(err, &ended) {
		e.dead = e.killed(ended)
		return e.dead
	}
	return err
}

// killed returns the error of a script that golua or [engine.stop] ended.
func (e *engine) killed(t rt.ContextTerminationError) *scriptError {
	limit := e.exceededLimit
	switch message := t.Error(); {
	case limit != "":
	case len(message) > 6 && message[:6] == "memory":
		limit = limitMemory
	default:
		limit = limitCPU
	}
	return exceededError(int(e.running.Load()), limit)
}

// ask asks the host. The time until it answers is not charged to the script.
func (e *engine) ask(kind wire.Kind, body map[string]any) (map[string]any, error) {
	if e.stopped.Load() {
		e.stop(limitCPU)
	}
	if e.program != nil {
		return e.program.ask(kind, body)
	}
	e.clock.stop()
	answer, err := e.host.ask(wire.Message{Kind: kind, Body: body})
	e.clock.start()
	var no refusal
	switch {
	case err == nil:
		return answer, nil
	case errors.As(err, &no), errors.Is(err, wire.ErrTooLarge), errors.Is(err, wire.ErrDepth):
		return nil, err
	}
	panic(&lostError{err})
}

// notify sends a message that needs no answer.
func (e *engine) notify(kind wire.Kind, body map[string]any) {
	e.clock.stop()
	err := e.host.send(wire.Message{Kind: kind, Body: body})
	e.clock.start()
	if err != nil {
		panic(&lostError{err})
	}
}

// chargeOutput charges n bytes to what scripts may print.
func (e *engine) chargeOutput(n int) {
	if e.output += int64(n); e.output > e.limits.Output {
		e.stop(limitOutput)
	}
}
