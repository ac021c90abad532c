// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"text/template/parse"
)

// This file and eval.go run parsed templates with the semantics of Go's text/template, with
// which the tests compare them. Unlike text/template they pass plain Go values instead of
// reflect.Values, because nearly all values are maps and strings, and keep the stack of calls
// for error messages.

const (
	// maxSame limits how often a template may include itself, as in Helm.
	maxSame = 1000
	// maxDepth limits nested calls of include, template and tpl.
	maxDepth = 20_000
	// maxTpl limits nested calls of tpl.
	maxTpl = 1000
	// maxOutput limits the output of a template, including that of included templates.
	maxOutput = 64 << 20
	// maxText limits the size of arguments and results of functions.
	maxText = 32 << 20
)

// executor runs templates one after the other. It is not safe for concurrent use.
type executor struct {
	*engine
	ctx      context.Context
	same     map[*definition]int
	tplDepth int
	steps    int64
	made     int64
	nest     int
	// countedSteps and countedMade are the parts of steps and made that were added to
	// engine.spent.
	countedSteps, countedMade int64
	warnings                  []string
	// tracer is nil unless Input.Trace is set.
	tracer *tracer
	// cover records what runs, if Input.Coverage is set.
	cover *coverRun
}

// frame is a running template.
type frame struct {
	*executor
	def    *definition
	set    *templateSet
	caller *frame
	depth  int
	// node is the node that is being evaluated, for errors.
	node parse.Node
	// dot is the value of ".", for errors.
	dot  any
	vars []variable
	out  *buffer
	// trace is nil unless Input.Trace is set.
	trace *frameTrace
}

type variable struct {
	name  string
	value any
}

// nilElement is a nil element of a list or map in a range. As in text/template, looking up a
// field in it is an error, unlike in any other nil.
type nilElement struct{}

// boxed is a value whose address matters: it is printed with the methods of its pointer.
type boxed struct{ reflect.Value }

type control int

const (
	goOn control = iota
	breakLoop
	continueLoop
)

// execute runs def with dot and returns the output.
func (x *executor) execute(def *definition, set *templateSet, caller *frame, dot any) string {
	out := newBuffer()
	f := &frame{executor: x, def: def, set: set, caller: caller, out: out, node: def.root}
	if caller != nil {
		f.depth = caller.depth + 1
		if f.depth > maxDepth {
			caller.failf("templates call each other more than %d deep", maxDepth)
		}
	}
	if x.tracer != nil {
		f.startTrace(caller)
	}
	f.vars = append(f.vars, variable{"$", dot})
	f.list(dot, def.root)
	f.checkOutput()
	text := string(out.data)
	if f.trace != nil {
		f.traceResult(text)
	}
	out.free()
	return text
}

// step counts one iteration. Every loop calls it, so that no loop runs on after the context is
// done.
func (f *frame) step() {
	f.work(1)
	f.checkOutput()
}

func (f *frame) checkOutput() {
	if len(f.out.data) > maxOutput {
		f.failf("the template writes more than %d MiB", maxOutput>>20)
	}
}

type cancelled struct{ err error }

func (f *frame) list(dot any, l *parse.ListNode) control {
	if l == nil {
		return goOn
	}
	outer := f.dot
	f.dot = dot
	f.enter()
	c := goOn
	for _, n := range l.Nodes {
		if c = f.walk(dot, n); c != goOn {
			break
		}
	}
	f.leave()
	f.dot = outer
	return c
}

func (f *frame) walk(dot any, n parse.Node) control {
	if f.cover != nil {
		f.cover.ran(f.def.src, n)
	}
	switch n := n.(type) {
	case *parse.TextNode:
		f.allocate(len(n.Text))
		f.out.data = append(f.out.data, n.Text...)
		if f.trace != nil {
			f.traceText(n)
		}
	case *parse.ActionNode:
		f.node = n
		v := f.pipeline(dot, n.Pipe)
		if len(n.Pipe.Decl) == 0 {
			f.node = n
			from := len(f.out.data)
			f.write(v)
			if f.trace != nil {
				f.tracePrinted(n, v, from)
			}
		}
	case *parse.IfNode:
		return f.branch(dot, n, &n.BranchNode, false)
	case *parse.WithNode:
		return f.branch(dot, n, &n.BranchNode, true)
	case *parse.RangeNode:
		return f.rangeOver(dot, n)
	case *parse.TemplateNode:
		f.template(dot, n)
	case *parse.ListNode:
		return f.list(dot, n)
	case *parse.BreakNode:
		return breakLoop
	case *parse.ContinueNode:
		return continueLoop
	case *parse.CommentNode:
	default:
		f.failf("unknown node: %s", n)
	}
	return goOn
}

func (f *frame) branch(dot any, n parse.Node, b *parse.BranchNode, with bool) control {
	mark := len(f.vars)
	v := f.pipeline(dot, b.Pipe)
	inner := dot
	if with {
		inner = v
	}
	c, yes := goOn, truth(v)
	if f.cover != nil {
		f.cover.took(f.def.src, b.Pipe, yes)
	}
	var leave func()
	if f.trace != nil {
		leave = f.traceBranch(n, yes)
	}
	if yes {
		c = f.list(inner, b.List)
	} else if b.ElseList != nil {
		c = f.list(dot, b.ElseList)
	}
	if leave != nil {
		leave()
	}
	f.vars = f.vars[:mark]
	return c
}

func (f *frame) template(dot any, n *parse.TemplateNode) {
	f.node = n
	def := f.set.find(n.Name)
	if def == nil {
		f.unknownTemplate(n.Name)
	}
	data := f.pipeline(dot, n.Pipe)
	f.node = n
	f.work(10)
	g := &frame{executor: f.executor, def: def, set: f.set, caller: f, depth: f.depth + 1, out: f.out, node: def.root}
	if g.depth > maxDepth {
		f.failf("templates call each other more than %d deep", maxDepth)
	}
	g.vars = append(g.vars, variable{"$", data})
	if f.trace != nil {
		f.traceTemplate(g, n)
	}
	g.list(data, def.root)
}

// include runs the named template and returns its output.
func (f *frame) include(name string, data any) string {
	def := f.set.find(name)
	if def == nil {
		f.unknownTemplate(name)
	}
	if f.same[def] > maxSame {
		f.failf("%q includes itself more than %d times (rendering template has a nested reference name: %[1]s)", name,
			maxSame)
	}
	f.same[def]++
	text := f.execute(def, f.set, f, data)
	f.same[def]--
	return text
}

// tpl runs text as a template. The templates that it defines are visible only to itself and to
// the templates that it calls.
func (f *frame) tpl(text string, data any) string {
	if !strings.Contains(text, "{{") {
		return withoutNoValue(text)
	}
	f.tplDepth++
	if f.tplDepth > maxTpl {
		f.failf("tpl calls itself more than %d times", maxTpl)
	}
	src := &source{text: text, chart: f.def.src.chart}
	p := f.parseTpl(src)
	if p.err != nil {
		f.failParse(src, p.err)
	}
	if p.writes && !f.ownsValues {
		panic(needsCopy{})
	}
	set := f.set
	if len(p.trees) > 1 {
		set = &templateSet{under: f.set, defs: make(map[string]*definition, len(p.trees))}
		for _, name := range slices.Sorted(maps.Keys(p.trees)) {
			d := &definition{name: name, root: p.trees[name], src: src}
			if under := f.set.find(name); name != mainName && !(under != nil && d.empty() && !under.empty()) {
				set.add(d)
			}
		}
	}
	main := &definition{name: "tpl", root: p.trees[mainName], src: src}
	out := f.execute(main, set, f, data)
	f.tplDepth--
	return withoutNoValue(out)
}

// noValue is the output of Go's templates for a missing value, which Helm removes.
const noValue = "<no value>"

func withoutNoValue(text string) string { return strings.ReplaceAll(text, noValue, "") }

// rangeOver runs the body for each element. As in text/template, a continue in the else branch
// applies to the enclosing range, and a break there has no effect.
func (f *frame) rangeOver(dot any, n *parse.RangeNode) control {
	mark := len(f.vars)
	f.node = n
	v := unboxed(f.pipeline(dot, n.Pipe))
	inner := len(f.vars)
	ran := false
	var leave func()
	if f.trace != nil {
		leave = f.traceBranch(n, true)
	}
	// one runs the body once and reports whether to continue.
	one := func(index, elem any) bool {
		ran = true
		f.step()
		if elem == nil {
			elem = nilElement{}
		}
		f.rangeVars(n.Pipe, index, elem)
		if f.trace != nil {
			f.traceElement(v, index, elem, n.Pipe)
		}
		c := f.list(elem, n.List)
		f.vars = f.vars[:inner]
		return c != breakLoop
	}
	f.iterate(v, n, one)
	if f.cover != nil {
		f.cover.took(f.def.src, n.Pipe, ran)
	}
	c := goOn
	if !ran {
		if f.trace != nil {
			f.trace.when.Else = true
		}
		c = f.list(dot, n.ElseList)
	}
	if leave != nil {
		leave()
	}
	f.vars = f.vars[:mark]
	if c == breakLoop {
		return goOn
	}
	return c
}

func (f *frame) rangeVars(p *parse.PipeNode, index, elem any) {
	switch len(p.Decl) {
	case 1:
		if p.IsAssign {
			f.assign(p.Decl[0].Ident[0], elem)
		} else {
			f.vars[len(f.vars)-1].value = elem
		}
	case 2:
		if p.IsAssign {
			f.assign(p.Decl[0].Ident[0], index)
			f.assign(p.Decl[1].Ident[0], elem)
		} else {
			f.vars[len(f.vars)-1].value = elem
			f.vars[len(f.vars)-2].value = index
		}
	}
}

// iterate calls one for each index and element that v has at the start. Changes that the body
// makes to the map are not visible.
func (f *frame) iterate(v any, n *parse.RangeNode, one func(index, elem any) bool) {
	switch v := v.(type) {
	case nil:
		return
	case map[string]any:
		iterateTable(v, one)
		return
	case Values:
		iterateTable(v, one)
		return
	case []any:
		for i, e := range v {
			if !one(i, e) {
				return
			}
		}
		return
	case []string:
		for i, e := range v {
			if !one(i, e) {
				return
			}
		}
		return
	}
	f.iterateReflect(v, n, one)
}

func iterateTable(m map[string]any, one func(index, elem any) bool) {
	keys := slices.Sorted(maps.Keys(m))
	elems := make([]any, len(keys))
	for i, k := range keys {
		elems[i] = m[k]
	}
	for i, k := range keys {
		if !one(k, elems[i]) {
			return
		}
	}
}

func (f *frame) iterateReflect(v any, n *parse.RangeNode, one func(index, elem any) bool) {
	r := deref(reflect.ValueOf(v))
	switch r.Kind() {
	case reflect.Slice, reflect.Array:
		for i := range r.Len() {
			if !one(i, r.Index(i).Interface()) {
				return
			}
		}
		return
	case reflect.Map:
		keys := r.MapKeys()
		slices.SortFunc(keys, compareKeys)
		elems := make([]any, len(keys))
		for i, k := range keys {
			elems[i] = r.MapIndex(k).Interface()
		}
		for i, k := range keys {
			if !one(k.Interface(), elems[i]) {
				return
			}
		}
		return
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		if len(n.Pipe.Decl) > 1 {
			f.failf("can't use %v to iterate over more than one variable", v)
		}
		for e := range r.Seq() {
			if !one(nil, e.Interface()) {
				return
			}
		}
		return
	case reflect.Pointer: // a nil pointer; unlike a nil map, it is an error
	}
	f.node = n.Pipe.Cmds[len(n.Pipe.Cmds)-1].Args[0]
	f.failf("range can't iterate over %v", v)
}

// compareKeys compares map keys in the order in which fmt prints them: numbers and strings by
// value, false before true.
func compareKeys(a, b reflect.Value) int {
	a, b = deref(a), deref(b)
	if !a.IsValid() || !b.IsValid() {
		return boolRank(a.IsValid()) - boolRank(b.IsValid())
	}
	switch {
	case a.Kind() == reflect.String && b.Kind() == reflect.String:
		return strings.Compare(a.String(), b.String())
	case a.CanInt() && b.CanInt():
		return order(a.Int(), b.Int())
	case a.CanUint() && b.CanUint():
		return order(a.Uint(), b.Uint())
	case a.CanFloat() && b.CanFloat():
		return order(a.Float(), b.Float())
	case a.Kind() == reflect.Bool && b.Kind() == reflect.Bool:
		return boolRank(a.Bool()) - boolRank(b.Bool())
	}
	return strings.Compare(fmt.Sprint(a.Interface()), fmt.Sprint(b.Interface()))
}

func boolRank(b bool) int {
	if b {
		return 1
	}
	return 0
}

func order[T int64 | uint64 | float64](a, b T) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func (f *frame) push(name string, v any) { f.vars = append(f.vars, variable{name, v}) }

func (f *frame) assign(name string, v any) {
	for i := len(f.vars) - 1; i >= 0; i-- {
		if f.vars[i].name == name {
			f.vars[i].value = v
			return
		}
	}
	f.failf("undefined variable: %s", name)
}

func (f *frame) variable(name string) any {
	for i := len(f.vars) - 1; i >= 0; i-- {
		if f.vars[i].name == name {
			return f.vars[i].value
		}
	}
	f.failf("undefined variable: %s", name)
	return nil
}
