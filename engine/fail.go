// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"text/template/parse"

	"github.com/moonhelm/moonhelm/internal/truncate"
)

// The functions of this file end the run of a template: they panic with an *Error, which
// executor.run recovers.

// failf fails at the node that is being evaluated.
func (f *frame) failf(format string, args ...any) {
	e := f.newError()
	e.Cause = fmt.Sprintf(format, args...)
	if e.Expr != "" {
		e.Cause = e.Expr + ": " + e.Cause
	}
	panic(e)
}

// failCall fails because a function returned err.
func (f *frame) failCall(name string, err error) {
	e := f.newError()
	e.err = err
	var message *raised
	if errors.As(err, &message) {
		e.Message = truncate.Bytes(message.message, maxMessage, "…")
	} else {
		e.Cause = fmt.Sprintf("%s: error calling %s: %s", e.Expr, name, truncate.Bytes(err.Error(), maxMessage, "…"))
		f.explain(e, err)
	}
	panic(e)
}

// explain adds the probable cause of a function's error: an argument that is not set, or two
// that cannot be compared.
func (f *frame) explain(e *Error, err error) {
	cmd, ok := f.node.(*parse.CommandNode)
	if !ok {
		return
	}
	if strings.Contains(err.Error(), "incompatible types for comparison") {
		e.Hint = "convert one of them: with toString, int or float64"
	}
	for _, a := range cmd.Args[1:] {
		if m := f.missingPath(a); m != nil {
			e.Missing = m
			e.Cause += fmt.Sprintf("; %s is not set", m.Path)
			return
		}
	}
}

// failNil fails because a value of type t is required and nil was given.
func (f *frame) failNil(t reflect.Type) {
	e := f.newError()
	e.Cause = fmt.Sprintf("%s: invalid value; expected %s, this is null", e.Expr, t)
	if m := f.missingPath(f.node); m != nil {
		e.Missing = m
		e.Cause = fmt.Sprintf("%s: invalid value; expected %s, %s is not set", e.Expr, t, m.Path)
	}
	panic(e)
}

// missingPath returns the missing part of a path, or nil if the path exists.
func (f *frame) missingPath(n parse.Node) *Missing {
	var v any
	var idents []string
	switch n := n.(type) {
	case *parse.FieldNode:
		v, idents = f.dot, n.Ident
	case *parse.VariableNode:
		for _, x := range f.vars {
			if x.name == n.Ident[0] {
				v = x.value
			}
		}
		idents = n.Ident[1:]
	}
	for i, name := range idents {
		m, ok := asMap(v)
		if !ok {
			return nil
		}
		if v, ok = m[name]; !ok {
			missing := mistaken(m, name)
			missing.Path, missing.In = pathText(n, idents, i), pathText(n, idents, i-1)
			if missing.In == "" {
				missing.In = "."
			}
			return missing
		}
	}
	return nil
}

// newError returns an error at the node that is being evaluated.
func (f *frame) newError() *Error {
	e := &Error{Chart: f.def.src.chart}
	known := map[parse.Node]Call{} // a circle comes by the same nodes again and again
	for g := f; g != nil; g = g.caller {
		c, ok := known[g.node]
		if !ok {
			pos := g.def.src.place(g.def.src.start(g.node))
			c = Call{Template: g.def.name, File: g.def.src.file, Line: pos.line, Column: pos.column, Expr: nodeText(g.node)}
			known[g.node] = c
		}
		e.Calls = append(e.Calls, c)
	}
	last := e.Calls[0]
	e.Expr = last.Expr
	e.Excerpt = f.def.src.excerpt(f.def.src.start(f.node), e.Expr)
	for i, j := 0, len(e.Calls)-1; i < j; i, j = i+1, j-1 {
		e.Calls[i], e.Calls[j] = e.Calls[j], e.Calls[i]
	}
	for i := len(e.Calls) - 1; i >= 0; i-- {
		if c := e.Calls[i]; c.File != "" {
			e.File, e.Line, e.Column = c.File, c.Line, c.Column
			break
		}
	}
	return e
}

// nodeText returns the source of a node on one line, shortened if needed.
func nodeText(n parse.Node) string {
	if _, ok := n.(*parse.ListNode); ok || n == nil {
		return ""
	}
	text := strings.Join(strings.Fields(n.String()), " ")
	switch n := n.(type) {
	case *parse.RangeNode:
		text = "{{range " + n.Pipe.String() + "}}"
	case *parse.ActionNode:
		text = n.Pipe.String()
	}
	return truncate.Runes(text, 100, "…")
}

// maxMessage is the maximum length of messages from templates and functions.
const maxMessage = 32 << 10

// maxExcerpt is the maximum length of an excerpt in characters.
const maxExcerpt = 400

// excerpt returns the line of pos and a line that marks expr.
func (s *source) excerpt(pos int, expr string) string {
	p := s.place(pos)
	line := s.line(p.line)
	before := []rune(line)
	before = before[:min(p.column-1, len(before))]
	if len(line) > maxExcerpt { // a minified file: show the text around the position
		line = string([]rune(line)[max(len(before)-maxExcerpt/4, 0):])
		before = before[max(len(before)-maxExcerpt/4, 0):]
		line = string([]rune(line)[:min(maxExcerpt, len([]rune(line)))])
	}
	for i, r := range before {
		if r != '\t' {
			before[i] = ' '
		}
	}
	length := 1
	if rest := s.text[min(pos, len(s.text)):]; expr != "" && strings.HasPrefix(rest, expr) {
		length = min(len([]rune(expr)), max(len([]rune(line))-len(before), 1))
	}
	num := strconv.Itoa(p.line)
	return fmt.Sprintf("  %s | %s\n  %*s | %s%s", num, line, len(num), "", string(before), strings.Repeat("^", length))
}

func (s *source) line(n int) string {
	lines := strings.SplitN(s.text, "\n", n+1)
	if n > len(lines) {
		return ""
	}
	return strings.TrimSuffix(lines[n-1], "\r")
}

// pathText returns the first i+1 parts of the path of n.
func pathText(n parse.Node, idents []string, i int) string {
	base := ""
	switch n := n.(type) {
	case *parse.VariableNode:
		base = n.Ident[0]
	case *parse.ChainNode:
		base = nodeText(n.Node)
		if n.Node.Type() == parse.NodePipe {
			base = "(" + base + ")"
		}
	}
	if i < 0 && base == "" {
		return "."
	}
	for _, name := range idents[:i+1] {
		base += "." + name
	}
	return base
}

// missing fails because idents[i] of table is null or missing and the path continues.
func (f *frame) missing(table map[string]any, n parse.Node, idents []string, i int, present bool) {
	f.node = n
	e := f.newError()
	path := pathText(n, idents, i)
	e.Missing = mistaken(table, idents[i])
	e.Missing.Path, e.Missing.In, e.Missing.Null = path, pathText(n, idents, i-1), present
	if e.Missing.In == "" {
		e.Missing.In = "."
	}
	what := "is not set"
	if present {
		what, e.Missing.Suggestion = "is null", ""
	}
	e.Cause = fmt.Sprintf("%s %s, so it has no %q (nil pointer evaluating interface {}.%[3]s)", path, what, idents[i+1])
	if i == 0 {
		e.Hint = f.rootHint(n, idents)
	}
	panic(e)
}

// missingKey fails because v has no key with the given name, if that is an error.
func (f *frame) missingKey(v any, n parse.Node, before []string, name string) {
	f.node = n
	e := f.newError()
	m, _ := asMap(v)
	idents := append(append([]string{}, before...), name)
	e.Missing = mistaken(m, name)
	e.Missing.Path, e.Missing.In = pathText(n, idents, len(before)), pathText(n, idents, len(before)-1)
	if e.Missing.In == "" {
		e.Missing.In = "."
	}
	e.Cause = fmt.Sprintf("%s: map has no entry for key %q", e.Missing.Path, name)
	panic(e)
}

func (f *frame) noSuchField(v any, n parse.Node, idents []string, i int) {
	f.node = n
	e := f.newError()
	base := pathText(n, idents, i-1)
	e.Cause = fmt.Sprintf("%s is %s, it has no field %q (can't evaluate field %[3]s in type interface {})", base,
		describe(v), idents[i])
	if i == 0 {
		e.Hint = f.rootHint(n, idents)
	}
	panic(e)
}

// rootHint suggests "$" for a path to the chart's data if "." is something else.
func (f *frame) rootHint(n parse.Node, idents []string) string {
	if _, ok := n.(*parse.FieldNode); !ok {
		return ""
	}
	switch idents[0] {
	case "Values", "Release", "Chart", "Files", "Capabilities", "Template", "Subcharts":
	default:
		return ""
	}
	if m, ok := asMap(f.vars[0].value); ok && m[idents[0]] != nil {
		return fmt.Sprintf("inside range and with, \".\" is something else; write $.%s", strings.Join(idents, "."))
	}
	return fmt.Sprintf("what %q was called with has no %s; pass \"$\" or \".\" of the calling template along", f.def.name,
		idents[0])
}

func describe(v any) string {
	v = unboxed(v)
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		return fmt.Sprintf("the text %q", truncate.Runes(v, 40, "…"))
	case bool:
		return fmt.Sprintf("the bool %v", v)
	case int, int64, float64:
		return fmt.Sprintf("the number %v", v)
	case []any:
		return fmt.Sprintf("a list of %d", len(v))
	}
	if _, ok := asMap(v); ok {
		return "a map"
	}
	return "a " + typeName(reflect.TypeOf(v))
}

func (f *frame) unknownTemplate(name string) {
	e := f.newError()
	e.Cause = fmt.Sprintf("there is no template %q (no template %[1]q associated with template \"gotpl\")", name)
	if guess := guess(f.set.names(), name); guess != "" {
		e.Hint = fmt.Sprintf("did you mean %q?", guess)
	} else {
		e.Hint = "is the chart that defines it among the dependencies, and below charts/?"
	}
	panic(e)
}

// failParse fails because text passed to tpl is not a valid template.
func (f *frame) failParse(src *source, err error) {
	e := f.newError()
	inner := f.parseError(src, err)
	e.err = err
	e.Cause = fmt.Sprintf("%s: cannot parse the text: line %d: %s", e.Expr, inner.Line, inner.Cause)
	e.Excerpt += "\n  the text is:\n" + inner.Excerpt
	e.Hint = inner.Hint
	panic(e)
}

// parseError converts an error of the parser.
func (e *engine) parseError(src *source, err error) *Error {
	out := parseError(src, err, e.knownTo(src.chart))
	if _, name, ok := strings.Cut(out.Cause, "function \""); ok {
		name, _, _ = strings.Cut(name, "\"")
		if owner := e.ownerOf(name); owner != "" {
			out.Hint = fmt.Sprintf("chart %s offers %s, to its own templates only", owner, name)
			if strings.Contains(owner, "/library/") {
				out.Hint = fmt.Sprintf("library %s offers %s to charts whose scripts require a file of it", owner, name)
			}
		}
	}
	return out
}

// parseError converts an error of the parser, whose message is "template: NAME:LINE: PROBLEM".
func parseError(src *source, err error, known map[string]any) *Error {
	e := &Error{Chart: src.chart, File: src.file, Cause: err.Error(), Syntax: true, err: err}
	if _, rest, ok := strings.Cut(e.Cause, mainName+":"); ok {
		num, what, _ := strings.Cut(rest, ": ")
		num, _, _ = strings.Cut(num, ":")
		if n, convErr := strconv.Atoi(num); convErr == nil {
			e.Line, e.Cause = n, what
		}
	}
	switch {
	case strings.Contains(e.Cause, "bad character U+002D"):
		e.Hint = `a key with "-" is reached by index: {{ index .Values "my-key" }}`
	case strings.Contains(e.Cause, "unexpected EOF"):
		e.Hint = "an if, with, range, define or block has no {{ end }}"
	}
	if e.Line > 0 {
		e.Excerpt = fmt.Sprintf("  %d | %.*s", e.Line, maxExcerpt, src.line(e.Line))
	}
	if _, name, ok := strings.Cut(e.Cause, "function \""); ok {
		name, _, _ = strings.Cut(name, "\"")
		if g := guess(slices.Sorted(maps.Keys(known)), name); g != "" {
			e.Hint = fmt.Sprintf("did you mean %s?", g)
		}
		if i := strings.Index(src.line(e.Line), name); i >= 0 {
			e.Column = i + 1
			e.Excerpt = src.excerpt(src.offset(e.Line)+i, name)
		}
	}
	return e
}

// offset returns the offset of line n.
func (s *source) offset(n int) int {
	start := 0
	for ; n > 1; n-- {
		nl := strings.IndexByte(s.text[start:], '\n')
		if nl < 0 {
			return start
		}
		start += nl + 1
	}
	return start
}
