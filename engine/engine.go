// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/moonhelm/moonhelm/internal/lines"
)

// engine is the state that all templates of a rendering share: their parse trees and the
// functions that they may call.
type engine struct {
	in     *Input
	strict bool
	// known are the names that the parser accepts as functions.
	known map[string]any
	funcs map[string]*function
	// customs are the functions of single charts, by their paths.
	customs map[string]*custom
	set     *templateSet
	// methods returns further methods of values; nil if there are none.
	methods func(v any, name string) any
	// ownsValues is set if the values are a copy that templates may modify.
	ownsValues bool
	// writes is set if a template calls a function that modifies a map.
	writes bool

	spent spent
	// namesHistory is set if a template or a value names .Release.History, once it was searched for.
	searched, namesHistory bool
	// stepLimit is the maximum number of steps. If it is 0, it depends on the number of
	// files; see maxSteps.
	stepLimit int64
	// code is the number of bytes of code that were parsed.
	code atomic.Int64

	mu  sync.Mutex
	tpl map[textOf]*parsed
	// nodes has the nodes of text passed to tpl.
	nodes arena
}

func newEngine(in *Input) *engine {
	e := &engine{in: in, strict: in.Strict, tpl: map[textOf]*parsed{}}
	e.funcs, e.known = in.Cache.functions(in)
	return e
}

// parse parses all files, each text once, and adds their definitions to the set in the order
// of jobs. Later definitions replace earlier ones.
func (e *engine) parse(jobs []job) error {
	texts := map[textOf]*parsed{}
	var order []textOf
	for i := range jobs {
		j := &jobs[i]
		j.chart = j.scope.chart.FullPath()
		if key := e.textOf(j.chart, j.text); texts[key] == nil {
			texts[key] = &parsed{}
			order = append(order, key)
		}
	}
	inParallel(len(order), len(order)/8, func(next func() (int, bool)) {
		var nodes arena
		for i, ok := next(); ok; i, ok = next() {
			*texts[order[i]] = *e.parseText(order[i], &nodes)
		}
	})
	e.set = &templateSet{defs: make(map[string]*definition, 2*len(jobs))}
	for _, j := range jobs {
		if strings.ContainsFunc(j.name, lines.Ends) {
			return &Error{Chart: j.chart, File: strconv.Quote(j.name),
				Cause: "a template's name must not hold control characters"}
		}
		src := &source{file: j.name, chart: j.chart, text: j.text}
		p := texts[e.textOf(j.chart, j.text)]
		if p.err != nil {
			return e.parseError(src, p.err)
		}
		e.writes = e.writes || p.writes
		for _, name := range slices.Sorted(maps.Keys(p.trees)) {
			d := &definition{name: name, root: p.trees[name], src: src}
			if name == mainName {
				d.name = j.name
			}
			e.set.add(d)
		}
	}
	return nil
}

// inParallel runs work on up to most processors. next returns each of 0 to n-1 once.
func inParallel(n, most int, work func(next func() (int, bool))) {
	var taken atomic.Int64
	next := func() (int, bool) {
		i := int(taken.Add(1)) - 1
		return i, i < n
	}
	workers := min(runtime.GOMAXPROCS(0), most)
	if workers < 2 {
		work(next)
		return
	}
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() { work(next) })
	}
	wg.Wait()
}

// parseText parses a text, or returns an error if it exceeds a limit.
func (e *engine) parseText(t textOf, nodes *arena) *parsed {
	cache := e.in.Cache
	if t.chart != "" { // its functions are not those of other charts
		cache = nil
	}
	if p := cache.find(t.text); p != nil && addCode(p.code, &e.code) == nil {
		return p
	}
	n, err := admit(t.text, &e.code)
	if err != nil {
		return &parsed{err: err}
	}
	p := parseText(t.text, e.knownTo(t.chart), nodes)
	p.code = n
	cache.add(t.text, p)
	return p
}

func (e *engine) parseTpl(src *source) *parsed {
	e.mu.Lock()
	defer e.mu.Unlock()
	key := e.textOf(src.chart, src.text)
	p := e.tpl[key]
	if p == nil {
		p = e.parseText(key, &e.nodes)
		e.tpl[key] = p
	}
	return p
}

// needsCopy is the panic value of a template that is about to modify shared values. The
// rendering then starts again with a copy.
type needsCopy struct{}

func (e *engine) executor(ctx context.Context) *executor {
	return &executor{engine: e, ctx: ctx, same: map[*definition]int{}, cover: newCoverRun(e.in.Coverage)}
}

// run renders one file.
func (x *executor) run(j *job) (err error) {
	def := x.set.find(j.name)
	defer func() {
		if r := recover(); r != nil {
			err = failure(r, def)
		}
	}()
	x.nest, x.tplDepth = 0, 0
	clear(x.same)
	defer func() { j.warnings, x.warnings = x.warnings, nil }()
	defer x.in.Coverage.add(x.cover)
	text := x.execute(def, x.set, nil, j.scope.template(j.name))
	j.output = withoutNoValue(text)
	if x.tracer != nil {
		j.trace = &Trace{without(x.tracer.result, text, noValue)}
	}
	return nil
}

// failure returns the error of a template that ended with the panic r.
func failure(r any, def *definition) error {
	switch r := r.(type) {
	case *Error:
		return r
	case cancelled:
		return r.err
	case needsCopy:
		return errNeedsCopy
	}
	return &Error{Chart: def.src.chart, File: def.src.file, Cause: fmt.Sprintf("rendering broke down: %v", r)}
}
