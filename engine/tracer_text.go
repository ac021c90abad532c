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

func (t *tracer) keep(s string, list []Piece) {
	if len(s) >= minTraced && len(list) > 0 && t.made < maxPieces {
		t.made += len(list)
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
	s, ok := v.(string)
	if !ok || len(s) < minTraced {
		return
	}
	t := f.trace
	if _, known := t.texts[addressOfText(s)]; known {
		return
	}
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

// moved returns the pieces of text, which a function has made of from, if it has as many lines, or
// begins with one more: what it has put around a line belongs to the line. It returns nil otherwise.
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
		case len(list) == 0 && len(out) > 0: // behind the last newline
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

// traceYAML keeps which value each line of a text is for, which is the YAML of a table of the
// templates' data.
func (f *frame) traceYAML(text string, n parse.Node, v any) {
	o, ok := f.trace.find(v)
	if !ok || o.name.Object == "" || f.trace.parsed+len(text) > maxTracedYAML {
		return
	}
	f.trace.parsed += len(text)
	lines := strings.Count(text, "\n") + 1
	paths := make([][]string, lines+1)
	linePaths(yaml.Root([]byte(text)), o.name.Path, paths, 0)
	var out []Piece
	site, path, at := f.traceSite(n), o.name.Path, 0
	for i, line := range strings.SplitAfter(text, "\n") {
		if p := paths[i+1]; p != nil {
			path = p
		}
		name := o.name
		name.Path = path
		out = append(out, Piece{Start: at, End: at + len(line), Site: site, Values: reads{f.trace.value(name, nil)}})
		at += len(line)
	}
	f.trace.keep(text, out)
}

// maxTracedYAML limits the texts of which the values of lines are found, of all templates, in bytes.
const maxTracedYAML = 4 << 20

// linePaths sets the paths of the values that begin on each line, the innermost ones.
func linePaths(n *yaml.Node, path []string, lines [][]string, depth int) {
	if n == nil || depth > 100 {
		return
	}
	set := func(line int, p []string) {
		if line > 0 && line < len(lines) {
			lines[line] = p
		}
	}
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			below := appendKey(path, n.Content[i].Value)
			set(n.Content[i].Line, below)
			linePaths(n.Content[i+1], below, lines, depth+1)
		}
	case yaml.SequenceNode:
		for i, e := range n.Content {
			below := appendKey(path, fmt.Sprintf("[%d]", i))
			set(e.Line, below)
			linePaths(e, below, lines, depth+1)
		}
	}
}
