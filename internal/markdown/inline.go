// SPDX-License-Identifier: Apache-2.0

package markdown

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/util"

	"github.com/moonhelm/moonhelm/internal/term"
)

// span is a piece of text in one style. A text of "\n" is a line break.
type span struct {
	text  string
	codes []string // of the escape sequence that selects the style
}

// inline returns the text in n.
func (r *renderer) inline(n ast.Node) []span { return r.spans(nil, n, nil, 0) }

// spans appends the text in n in the style codes.
func (r *renderer) spans(out []span, n ast.Node, codes []string, depth int) []span {
	if depth > maxDepth {
		return out
	}
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		out = r.span(out, c, codes, depth)
	}
	return out
}

func (r *renderer) span(out []span, n ast.Node, codes []string, depth int) []span {
	add := func(text string, more ...string) {
		if text != "" {
			out = append(out, span{text, slices.Concat(codes, more)})
		}
	}
	switch n := n.(type) {
	case *ast.Text:
		add(plain(n.Segment.Value(r.source), n.IsRaw()))
		switch {
		case n.HardLineBreak():
			out = append(out, span{text: "\n"})
		case n.SoftLineBreak():
			add(" ")
		}
		return out
	case *ast.String:
		add(plain(n.Value, n.IsRaw()))
		return out
	case *ast.CodeSpan:
		text := codeText(n, r.source)
		if r.inCell {
			text = strings.ReplaceAll(text, `\|`, "|")
		}
		add(text, "36")
		return out
	case *ast.Emphasis:
		return r.spans(out, n, slices.Concat(codes, []string{[]string{"3", "1"}[min(max(n.Level, 1), 2)-1]}), depth+1)
	case *ast.AutoLink:
		add(term.SafeLine(string(n.URL(r.source))), "4")
		return out
	case *ast.Link:
		return r.link(out, n, codes, depth)
	case *ast.Image:
		alt := r.spans(nil, n, slices.Concat(codes, []string{"2"}), depth+1)
		return append(out, alt...)
	case *ast.RawHTML:
		var b strings.Builder
		for i := range n.Segments.Len() {
			segment := n.Segments.At(i)
			b.Write(segment.Value(r.source))
		}
		if strings.HasPrefix(strings.ToLower(b.String()), "<br") {
			out = append(out, span{text: "\n"})
		}
		return out
	}
	return r.spans(out, n, codes, depth+1)
}

// link appends the text of a link, and its address unless it is in the page or the text itself.
func (r *renderer) link(out []span, n *ast.Link, codes []string, depth int) []span {
	first := len(out)
	out = r.spans(out, n, slices.Concat(codes, []string{"4"}), depth+1)
	address := plain(n.Destination, false)
	var text strings.Builder
	for _, s := range out[first:] {
		text.WriteString(s.text)
	}
	if address == "" || strings.HasPrefix(address, "#") || text.String() == address {
		return out
	}
	return append(out, span{" (" + address + ")", slices.Concat(codes, []string{"2"})})
}

// plain returns the text of a segment: its references to characters are resolved, unless it is raw,
// and then what would control the terminal is escaped.
func plain(segment []byte, raw bool) string {
	if !raw {
		segment = util.ResolveEntityNames(util.ResolveNumericReferences(util.UnescapePunctuations(segment)))
	}
	return term.SafeLine(string(segment))
}

// codeText returns the text of a code span, whose line ends are spaces.
func codeText(n *ast.CodeSpan, source []byte) string {
	var b bytes.Buffer
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			b.Write(t.Segment.Value(source))
		}
	}
	return term.SafeLine(b.String())
}

// wrap breaks spans into lines of at most columns columns, at spaces if possible.
func (r *renderer) wrap(spans []span, columns int) []string {
	w := &wrapper{renderer: r, columns: max(columns, 1)}
	for _, s := range spans {
		if s.text == "\n" {
			w.end()
			continue
		}
		w.add(s)
	}
	w.word()
	w.end()
	for len(w.lines) > 0 && w.lines[len(w.lines)-1] == "" {
		w.lines = w.lines[:len(w.lines)-1]
	}
	return w.lines
}

// wrapper collects lines. A word may be of several spans.
type wrapper struct {
	*renderer
	columns int
	lines   []string
	line    strings.Builder
	width   int    // of line
	pending []span // the word
	wide    int    // width of pending
}

func (w *wrapper) add(s span) {
	for s.text != "" {
		i := strings.IndexByte(s.text, ' ')
		if i != 0 {
			if i < 0 {
				i = len(s.text)
			}
			part := s.text[:i]
			w.pending, w.wide = append(w.pending, span{part, s.codes}), w.wide+displaywidth.String(part)
			s.text = s.text[i:]
			continue
		}
		w.word()
		s.text = strings.TrimLeft(s.text, " ")
	}
}

// word moves the pending word to the line, or to the next one.
func (w *wrapper) word() {
	if len(w.pending) == 0 {
		return
	}
	if w.width > 0 && w.width+1+w.wide > w.columns {
		w.endLine()
	}
	if w.width > 0 {
		w.line.WriteByte(' ')
		w.width++
	}
	for _, s := range w.pending {
		w.put(s)
	}
	w.pending, w.wide = w.pending[:0], 0
}

// start returns the first whole characters of text that take at most n bytes.
func start(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// longest is more than the bytes of the longest character that is usual.
const longest = 32

// put writes a part of a word, broken if it is wider than a line.
func (w *wrapper) put(s span) {
	rest := displaywidth.String(s.text)
	for w.width+rest > w.columns {
		// A long word is not searched as a whole for each line.
		head := displaywidth.TruncateString(start(s.text, longest*w.columns), w.columns-w.width, "")
		rest -= displaywidth.String(head)
		if head == "" && w.width == 0 { // a character that is wider than the line
			break
		}
		if head != "" {
			w.line.WriteString(w.style.Codes(head, s.codes...))
		}
		s.text = s.text[len(head):]
		w.endLine()
	}
	if s.text != "" {
		w.line.WriteString(w.style.Codes(s.text, s.codes...))
		w.width += rest
	}
}

// end ends a line, and the word before it.
func (w *wrapper) end() {
	w.word()
	w.endLine()
}

func (w *wrapper) endLine() {
	w.lines = append(w.lines, w.line.String())
	w.line.Reset()
	w.width = 0
}
