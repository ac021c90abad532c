// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"slices"
	"strings"
	"text/template/parse"
	"unsafe"

	"github.com/moonhelm/moonhelm/internal/yaml"
)

// textAddress identifies a text by where it is in memory. Texts that functions return as they are,
// and parts of texts, keep their address.
type textAddress struct {
	at     *byte
	length int
}

// tracedText is a text with the pieces that it was rendered from. It holds the text, so that the
// address stays its own.
type tracedText struct {
	text   string
	pieces []Piece
}

func addressOfText(s string) textAddress { return textAddress{unsafe.StringData(s), len(s)} }

// minTraced is the length of the shortest text that is traced: shorter ones share memory.
const minTraced = 2

// madeText is a text with the values that it was computed from.
type madeText struct {
	text   string
	values reads
}

func (t *tracer) keepValues(s string, values reads) {
	if len(s) >= minTraced && len(values) > 0 && len(t.made) < maxPieces {
		t.made[addressOfText(s)] = madeText{s, values}
	}
}

// madeOf returns the values that a text was computed from, or nil if that is not known.
func (t *tracer) madeOf(s string) reads {
	if known, ok := t.texts[addressOfText(s)]; ok {
		var out reads
		for _, p := range known.pieces {
			out.add(p.Values...)
		}
		return out
	}
	return t.made[addressOfText(s)].values
}

func (t *tracer) keep(s string, list []Piece) {
	if len(s) >= minTraced && len(list) > 0 && t.count < maxPieces {
		t.count += len(list)
		t.texts[addressOfText(s)] = tracedText{s, list}
	}
}

// traceResult keeps the pieces of what a template has rendered for its caller.
func (f *frame) traceResult(text string) {
	f.trace.result = split(f.trace.pieces.list, text)
	f.trace.keep(text, f.trace.result)
}

// traceFunc keeps the pieces of the text that a function returns for a text, and records what it
// reads of its arguments.
func (f *frame) traceFunc(fn *function, n parse.Node, args []any, v any) {
	f.traceLookup(fn, args)
	if (fn.name == "fromYaml" || fn.name == "fromYamlArray") && len(args) == 1 {
		f.trace.readYAML(args[0], v)
	}
	s, ok := v.(string)
	if !ok || len(s) < minTraced {
		return
	}
	t := f.trace
	if t.madeOf(s) != nil {
		return
	}
	t.keepValues(s, t.reading())
	for _, arg := range args {
		of, isText := arg.(string)
		from, known := t.texts[addressOfText(of)]
		if !isText || !known {
			continue
		}
		if at, ok := within(s, of); ok {
			t.keep(s, slice(from.pieces, at, at+len(s), 0))
		} else {
			t.keep(s, moved(from, s))
		}
		return
	}
	if (fn.name == "toYaml" || fn.name == "mustToYaml" || fn.name == "toYamlPretty") && len(args) == 1 {
		f.traceYAML(s, n, args[0])
	}
}

// within returns the offset of part in text if it is a part of the same memory.
func within(part, text string) (int, bool) {
	at := uintptr(unsafe.Pointer(unsafe.StringData(part))) - uintptr(unsafe.Pointer(unsafe.StringData(text)))
	return int(at), at <= uintptr(len(text)) && int(at)+len(part) <= len(text)
}

// moved returns the pieces of text, the result of a function of from, if it has as many lines, or
// begins with one more: what the function has put around a line belongs to the line. It returns nil otherwise.
func moved(from tracedText, text string) []Piece {
	lines, old := strings.SplitAfter(text, "\n"), strings.SplitAfter(from.text, "\n")
	at, start := 0, 0
	if len(lines) == len(old)+1 && lines[0] == "\n" {
		at, lines = 1, lines[1:]
	}
	if len(lines) != len(old) {
		return nil
	}
	var out []Piece
	rest := from.pieces
	for i, line := range lines {
		content := strings.TrimSuffix(old[i], "\n")
		var list []Piece
		list, rest = cut(rest, start, start+len(old[i]))
		start += len(old[i])
		shift := strings.Index(line, content)
		switch {
		case len(list) == 0 && len(out) > 0: // after the last newline
			list = append(list, out[len(out)-1])
			list[0].Start, list[0].End, list[0].Literal = 0, len(line), false
		case len(list) == 0:
		case shift < 0 && len(lines) == 1:
			return nil
		case shift < 0:
			list = list[:1]
			list[0].Start, list[0].End, list[0].Literal = 0, len(line), false
		default:
			for j := range list {
				list[j].Start, list[j].End = list[j].Start+shift, min(list[j].End+shift, len(line))
			}
			list[0].Start, list[len(list)-1].End = 0, len(line)
		}
		for _, p := range list {
			p.Start, p.End = p.Start+at, p.End+at
			out = append(out, p)
		}
		at += len(line)
	}
	if len(out) > 0 && out[0].Start > 0 {
		first := out[0]
		first.Start, first.End, first.Literal = 0, out[0].Start, false
		out = slices.Insert(out, 0, first)
	}
	return out
}

// traceYAML records the value of each line of text, which is the YAML of v: the value of that path
// if v is part of the templates' data; otherwise those of the values that v was computed from that
// are equal to the value on the line, or all of them if none is.
func (f *frame) traceYAML(text string, n parse.Node, v any) {
	o, known := f.trace.find(v)
	made := f.trace.reading()
	if known && o.name.Object == "" || !known && len(made) == 0 || f.trace.parsed+len(text) > maxTracedYAML {
		return
	}
	f.trace.parsed += len(text)
	lines := make([]yamlLine, strings.Count(text, "\n")+2)
	linePaths(yaml.Root([]byte(text)), v, o.name.Path, lines)
	var out []Piece
	site, at, of := f.traceSite(n), 0, made
	if known {
		of = reads{f.trace.value(o.name, nil)}
	}
	for i, line := range strings.SplitAfter(text, "\n") {
		switch l := lines[i+1]; {
		case l.path == nil: // it continues the value of the line above
		case known:
			name := o.name
			name.Path = l.path
			of = reads{f.trace.value(name, nil)}
		default:
			of = f.trace.partOf(made, l.value)
		}
		out = append(out, Piece{Start: at, End: at + len(line), Site: site, Values: of})
		at += len(line)
	}
	f.trace.keep(text, out)
}

// readYAML keeps of what values the texts in v are made, which was read from YAML that was rendered.
func (t *tracer) readYAML(arg, v any) {
	s, _ := arg.(string)
	from, known := t.texts[addressOfText(s)]
	if !known || t.parsed+len(s) > maxTracedYAML {
		return
	}
	t.parsed += len(s)
	lines := make([]yamlLine, strings.Count(s, "\n")+2)
	linePaths(yaml.Root([]byte(s)), v, nil, lines)
	at, rest := 0, from.pieces
	for i, line := range strings.SplitAfter(s, "\n") {
		var part []Piece
		part, rest = cut(rest, at, at+len(line))
		at += len(line)
		if text, ok := lines[i+1].value.(string); ok {
			var values reads
			for _, p := range part {
				values.add(p.Values...)
			}
			t.keepValues(text, values)
		}
	}
}

// partOf returns the values that a part of a value was computed from; the whole was computed from
// the values from. They are those that are known for its text, or those that are equal to it, or
// all. A map or list has none of its own.
func (t *tracer) partOf(from reads, part any) reads {
	if isTable(part) {
		return nil
	}
	if s, ok := part.(string); ok && len(s) >= minTraced {
		if of := t.madeOf(s); of != nil {
			return of
		}
	}
	var out reads
	for _, v := range from {
		if part != nil && v.scalar != nil && fmt.Sprint(v.scalar) == fmt.Sprint(part) {
			out = append(out, v)
		}
	}
	if out == nil {
		return from
	}
	return out
}

// maxTracedYAML limits the texts of which the values of lines are found, of all templates, in bytes.
const maxTracedYAML = 4 << 20

// yamlLine is a line of a text in YAML: the innermost value that begins on it, and its path.
type yamlLine struct {
	path  []string
	value any
}

// linePaths sets the lines on which the values in n begin, which is the YAML of v.
func linePaths(n *yaml.Node, v any, path []string, lines []yamlLine) {
	if n == nil || len(path) > maxYAMLDepth {
		return
	}
	set := func(line int, l yamlLine) {
		if line > 0 && line < len(lines) {
			lines[line] = l
		}
	}
	switch n.Kind {
	case yaml.MappingNode:
		m, _ := asMap(v)
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			l := yamlLine{appendKey(path, key.Value), m[key.Value]}
			set(key.Line, l)
			linePaths(n.Content[i+1], l.value, l.path, lines)
		}
	case yaml.SequenceNode:
		list, _ := v.([]any)
		for i, e := range n.Content {
			l := yamlLine{path: appendKey(path, fmt.Sprintf("[%d]", i))}
			if i < len(list) {
				l.value = list[i]
			}
			set(e.Line, l)
			linePaths(e, l.value, l.path, lines)
		}
	}
}

// maxYAMLDepth limits the nesting of YAML in which the values of lines are found.
const maxYAMLDepth = 100
