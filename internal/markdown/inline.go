// SPDX-License-Identifier: Apache-2.0

package markdown

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"

	"github.com/moonhelm/moonhelm/internal/term"
)

// span is a piece of text in one style. A text of "\n" is a line break.
type span struct {
	text  string
	codes []string // of the escape sequence that selects the style
}

// inline returns the text in n.
func (r *renderer) inline(n *node) []span { return r.spans(nil, n, nil, 0) }

// spans appends the text in n in the style codes.
func (r *renderer) spans(out []span, n *node, codes []string, depth int) []span {
	if depth > maxDepth {
		return out
	}
	for c := n.first; c != nil; c = c.next {
		out = r.span(out, c, codes, depth)
	}
	return out
}

func (r *renderer) span(out []span, n *node, codes []string, depth int) []span {
	add := func(text string, more ...string) {
		if text != "" {
			out = append(out, span{text, slices.Concat(codes, more)})
		}
	}
	switch n.kind {
	case plainText:
		add(term.SafeLine(n.text))
	case softBreak:
		add(" ")
	case hardBreak:
		out = append(out, span{text: "\n"})
	case codeSpan:
		text := n.text
		if r.inCell {
			text = strings.ReplaceAll(text, `\|`, "|")
		}
		add(term.SafeLine(text), "36")
	case emphasis:
		return r.spans(out, n, slices.Concat(codes, []string{"3"}), depth+1)
	case strong:
		return r.spans(out, n, slices.Concat(codes, []string{"1"}), depth+1)
	case autolink:
		add(term.SafeLine(n.text), "4")
	case link:
		return r.link(out, n, codes, depth)
	case image:
		return r.spans(out, n, slices.Concat(codes, []string{"2"}), depth+1)
	case rawHTML:
		if strings.HasPrefix(strings.ToLower(n.text), "<br") {
			out = append(out, span{text: "\n"})
		}
	}
	return out
}

// link appends the text of a link, and its address unless it is in the page or the text itself.
func (r *renderer) link(out []span, n *node, codes []string, depth int) []span {
	first := len(out)
	out = r.spans(out, n, slices.Concat(codes, []string{"4"}), depth+1)
	address := term.SafeLine(n.text)
	var text strings.Builder
	for _, s := range out[first:] {
		text.WriteString(s.text)
	}
	if address == "" || strings.HasPrefix(address, "#") || text.String() == address {
		return out
	}
	return append(out, span{" (" + address + ")", slices.Concat(codes, []string{"2"})})
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
	for i := 0; i < len(w.pending); {
		// The parts in one style are one.
		var text strings.Builder
		codes := w.pending[i].codes
		for ; i < len(w.pending) && slices.Equal(w.pending[i].codes, codes); i++ {
			text.WriteString(w.pending[i].text)
		}
		w.put(span{text.String(), codes})
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
