// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"reflect"
	"slices"
	"sort"
	"strings"
	"text/template/parse"

	"github.com/moonhelm/moonhelm/internal/truncate"
)

// tracer records what renders each part of the output of the templates of a rendering. Frames
// call it where they have a trace; otherwise it costs them a comparison with nil.
type tracer struct {
	// objects are the maps and lists of the templates' data, by their addresses.
	objects map[address]object
	values  map[string]*Value // by their names
	texts   map[textAddress]tracedText
	made    map[textAddress]madeText
	lines   map[*source][]int // the offsets of lines
	when    *Condition
	// open has the values that each pipeline that is being evaluated has read, last those of the
	// pipeline that ended last.
	open  []reads
	last  reads
	count int // of pieces
	// parsed is the size of the YAML of which the values of lines were found.
	parsed int
	// result has the pieces of the template that ended last.
	result []Piece
}

// address identifies a map, or the elements of a list.
type address struct {
	at     uintptr
	length int // of a list
}

// object is a map or list of the templates' data with its name. It holds what has the address, so
// that the address stays its own.
type object struct {
	name  Value // Object is "" for a template's data as a whole
	value any
}

// frameTrace is what a tracer knows of a frame.
type frameTrace struct {
	*tracer
	pieces *pieces
	caller *Site
	sites  map[parse.Node]*Site
	dot    reads   // the values that dot was computed from
	vars   []reads // the same of variables, in their order
	// text has the values that the text of the frame was computed from if it was passed to tpl.
	text reads
}

func newTracer(jobs []*job) *tracer {
	t := &tracer{objects: map[address]object{}, values: map[string]*Value{}, texts: map[textAddress]tracedText{},
		made: map[textAddress]madeText{}, lines: map[*source][]int{}}
	var roots []*scope
	for _, j := range jobs {
		top := j.scope
		for top.parent != nil {
			top = top.parent
		}
		if len(roots) == 0 {
			roots = append(roots, top)
		}
	}
	for _, s := range roots {
		t.addScope(s, nil)
	}
	return t
}

// addScope adds the data of a chart, whose values are at path, and of the charts below it.
func (t *tracer) addScope(s *scope, path []string) {
	chart := s.chart.FullPath()
	t.addObject(s.dot, Value{})
	t.addObject(s.dot["Subcharts"], Value{})
	t.addObject(s.dot["Release"], Value{Object: "Release"})
	t.addObject(s.dot["Chart"], Value{Object: "Chart", Chart: chart})
	t.addObject(s.dot["Values"], Value{Object: "Values", Path: path})
	for _, sub := range s.subs {
		t.addScope(sub, appendKey(path, sub.chart.Name()))
	}
}

func appendKey(path []string, key ...string) []string {
	return append(path[:len(path):len(path)], key...)
}

// addObject adds v and all maps and lists in it, those with short paths first, because charts share
// tables.
func (t *tracer) addObject(v any, name Value) {
	level := []object{{name, v}}
	for len(level) > 0 {
		var below []object
		for _, o := range level {
			at, ok := addressOf(o.value)
			if _, known := t.objects[at]; !ok || known {
				continue
			}
			t.objects[at] = o
			if o.name.Object != "" {
				below = append(below, elements(o)...)
			}
		}
		level = below
	}
}

func elements(o object) []object {
	var out []object
	add := func(key string, v any) {
		name := o.name
		name.Path = appendKey(name.Path, key)
		out = append(out, object{name, v})
	}
	if m, ok := asMap(o.value); ok {
		for k, v := range m {
			if _, ok := addressOf(v); ok {
				add(k, v)
			}
		}
	}
	if list, ok := o.value.([]any); ok {
		for i, v := range list {
			if _, ok := addressOf(v); ok {
				add(fmt.Sprintf("[%d]", i), v)
			}
		}
	}
	return out
}

// addressOf returns the address of a map or a list that is not empty.
func addressOf(v any) (address, bool) {
	switch v := v.(type) {
	case map[string]any:
		return address{at: reflect.ValueOf(v).Pointer()}, v != nil
	case Values:
		return address{at: reflect.ValueOf(v).Pointer()}, v != nil
	case []any:
		return address{reflect.ValueOf(v).Pointer(), len(v)}, len(v) > 0
	}
	return address{}, false
}

// find returns the object that v is.
func (t *tracer) find(v any) (object, bool) {
	at, ok := addressOf(v)
	if !ok {
		return object{}, false
	}
	o, ok := t.objects[at]
	return o, ok
}

// begin starts a pipeline, and end ends it: what it has read is read by that around it too.
func (t *tracer) begin() { t.open = append(t.open, nil) }

func (t *tracer) end() reads {
	n := len(t.open) - 1
	t.last = t.open[n]
	t.open = t.open[:n]
	t.read(t.last...)
	return t.last
}

// read adds values to those of the pipeline that is being evaluated.
func (t *tracer) read(vs ...*Value) {
	if n := len(t.open); n > 0 {
		t.open[n-1].add(vs...)
	}
}

// reading returns what the pipeline that is being evaluated has read so far.
func (t *tracer) reading() reads {
	if n := len(t.open); n > 0 {
		return t.open[n-1][:len(t.open[n-1]):len(t.open[n-1])]
	}
	return nil
}

// value returns the one Value of a name.
func (t *tracer) value(name Value, v any) *Value {
	key := name.Object + "\x00" + name.Chart + "\x00" + strings.Join(name.Path, "\x00")
	found := t.values[key]
	if found == nil {
		found = &name
		t.values[key] = found
	}
	if found.scalar = nil; !isTable(v) {
		found.scalar = v
	}
	if s, ok := v.(string); ok {
		t.keepValues(s, reads{found})
	}
	return found
}

func isTable(v any) bool {
	_, isMap := asMap(v)
	_, isList := v.([]any)
	return isMap || isList
}

// startTrace traces a frame that has an output of its own.
func (f *frame) startTrace(caller *frame) {
	t := f.tracer
	f.trace = &frameTrace{tracer: t, pieces: &pieces{}, sites: map[parse.Node]*Site{}}
	if caller == nil {
		t.open, t.when, t.count = t.open[:0], nil, 0
		clear(t.texts)
		clear(t.made)
		return
	}
	caller.traceCall(f, t.reading())
}

// traceTemplate traces a frame that the action n calls.
func (f *frame) traceTemplate(g *frame, n *parse.TemplateNode) {
	g.trace = &frameTrace{tracer: f.tracer, pieces: f.trace.pieces, sites: map[parse.Node]*Site{}}
	var dot reads
	if n.Pipe != nil {
		dot = f.trace.last
	}
	f.traceCall(g, dot)
}

func (f *frame) traceCall(g *frame, dot reads) {
	g.trace.caller, g.trace.dot = f.traceSite(f.node), dot
	g.trace.vars = []reads{dot}
	if g.def.src.file == "" {
		g.trace.text = slices.Clone(f.trace.text)
		g.trace.text.add(dot...)
	}
}

// traceSite returns the place of a node.
func (f *frame) traceSite(n parse.Node) *Site {
	t := f.trace
	if s := t.sites[n]; s != nil {
		return s
	}
	src := f.def.src
	s := &Site{File: src.file, Line: t.lineAt(src, int(n.Position())), Template: f.def.name, Caller: t.caller}
	if text, ok := n.(*parse.TextNode); ok {
		if at := int(n.Position()); !strings.HasPrefix(src.text[min(at, len(src.text)):], string(text.Text)) {
			s.Line = 0 // the parser has it from elsewhere
		}
	} else {
		s.Expr = exprOf(n)
	}
	t.sites[n] = s
	return s
}

// maxExpr limits the expressions of places, in bytes.
const maxExpr = 400

// exprOf returns the text of a node in one line, without "{{" and "}}".
func exprOf(n parse.Node) string {
	text := ""
	switch n := n.(type) {
	case *parse.ActionNode:
		text = n.Pipe.String()
	case *parse.TemplateNode:
		text = strings.Trim(n.String(), "{}")
	case *parse.IfNode:
		text = "if " + n.Pipe.String()
	case *parse.WithNode:
		text = "with " + n.Pipe.String()
	case *parse.RangeNode:
		text = "range " + n.Pipe.String()
	default:
		text = n.String()
	}
	return strings.ReplaceAll(truncate.Bytes(text, maxExpr, "..."), "\n", " ")
}

// lineAt returns the line of an offset.
func (t *tracer) lineAt(src *source, pos int) int {
	starts, ok := t.lines[src]
	if !ok {
		for i := range len(src.text) {
			if src.text[i] == '\n' {
				starts = append(starts, i+1)
			}
		}
		t.lines[src] = starts
	}
	return sort.SearchInts(starts, pos+1) + 1
}

// traceText records literal text that was just written.
func (f *frame) traceText(n *parse.TextNode) {
	f.tracePiece(Piece{Start: len(f.out.data) - len(n.Text), End: len(f.out.data), Site: f.traceSite(n), Literal: true,
		Values: f.trace.text})
}

// tracePrinted records what an action has just written from the offset from on.
func (f *frame) tracePrinted(n parse.Node, v any, from int) {
	t := f.trace
	if s, ok := v.(string); ok {
		if known, ok := t.texts[addressOfText(s)]; ok {
			for _, p := range known.pieces {
				p.Start, p.End = p.Start+from, p.End+from
				f.tracePiece(p)
			}
			return
		}
	}
	values := t.last[:len(t.last):len(t.last)]
	if s, ok := v.(string); ok && t.madeOf(s) != nil {
		values = slices.Clone(t.madeOf(s))
	}
	values.add(t.text...)
	f.tracePiece(Piece{Start: from, End: len(f.out.data), Site: f.traceSite(n), Values: values, When: t.when})
}

// pieceSize is about what a piece takes, in bytes.
const pieceSize = 200

func (f *frame) tracePiece(p Piece) {
	t := f.trace
	if p.Start >= p.End || t.count >= maxPieces {
		return
	}
	t.count++
	if p.When == nil {
		p.When = t.when
	}
	f.allocate(pieceSize)
	t.pieces.list = append(t.pieces.list, p)
}

// traceBranch begins a branch of an if, with or range whose pipeline has just been evaluated. The
// caller must call leave after it.
func (f *frame) traceBranch(n parse.Node, taken bool) (leave func()) {
	t := f.trace
	outer, dot := t.when, t.dot
	t.when = &Condition{Site: f.traceSite(n), Else: !taken, Values: t.last, Outer: outer}
	if _, ok := n.(*parse.WithNode); ok && taken {
		t.dot = t.last
	}
	return func() { t.when, t.dot = outer, dot }
}

// traceElement records an element that a range over v has come to.
func (f *frame) traceElement(v, index, elem any, p *parse.PipeNode) {
	t := f.trace
	t.dot = t.when.Values
	if o, ok := t.find(v); ok && o.name.Object != "" {
		name := o.name
		key := fmt.Sprint(index)
		if _, isList := v.([]any); isList {
			key = "[" + key + "]"
		}
		name.Path = appendKey(name.Path, key)
		t.dot = reads{t.value(name, elem)}
	}
	for i := range min(len(p.Decl), len(f.vars)) {
		t.setVar(len(f.vars)-1-i, t.dot)
	}
}

func (t *frameTrace) setVar(i int, values reads) {
	for len(t.vars) <= i {
		t.vars = append(t.vars, nil)
	}
	t.vars[i] = values
}

// traceDecl ends a pipeline, whose variables have been set.
func (f *frame) traceDecl(p *parse.PipeNode) {
	values := f.trace.end()
	for n, d := range p.Decl {
		for i := len(f.vars) - 1; i >= 0; i-- {
			if !p.IsAssign && i == len(f.vars)-len(p.Decl)+n || p.IsAssign && f.vars[i].name == d.Ident[0] {
				f.trace.setVar(i, values)
				break
			}
		}
	}
}
