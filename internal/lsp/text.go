// SPDX-License-Identifier: Apache-2.0

package lsp

import (
	"strings"
	"unicode/utf8"
)

// text is the content of a document with the offsets of its lines.
type text struct {
	data  string
	lines []int // the offset of each line
}

func newText(data string) *text {
	t := &text{data: data, lines: []int{0}}
	for i := 0; i < len(data); i++ {
		if data[i] == '\n' {
			t.lines = append(t.lines, i+1)
		}
	}
	return t
}

// line returns a line without its end, or "" if there is none.
func (t *text) line(n int) string {
	if n < 0 || n >= len(t.lines) {
		return ""
	}
	end := len(t.data)
	if n+1 < len(t.lines) {
		end = t.lines[n+1] - 1
	}
	return strings.TrimSuffix(t.data[t.lines[n]:end], "\r")
}

// offset returns the offset of a position. A position outside of the text is moved into it.
func (t *text) offset(p Position) int {
	if p.Line < 0 {
		return 0
	}
	if p.Line >= len(t.lines) {
		return len(t.data)
	}
	start, units := t.lines[p.Line], 0
	for i, r := range t.line(p.Line) {
		if units >= p.Character {
			return start + i
		}
		units += width(r)
	}
	return start + len(t.line(p.Line))
}

// position returns the position of an offset.
func (t *text) position(offset int) Position {
	offset = max(0, min(offset, len(t.data)))
	low, high := 0, len(t.lines)
	for high-low > 1 {
		if mid := (low + high) / 2; t.lines[mid] <= offset {
			low = mid
		} else {
			high = mid
		}
	}
	units := 0
	for _, r := range t.data[t.lines[low]:offset] {
		units += width(r)
	}
	return Position{low, units}
}

func (t *text) rangeOf(start, end int) Range { return Range{t.position(start), t.position(end)} }

// lineRange returns the range of a line without its indentation.
func (t *text) lineRange(n int) Range {
	n = max(0, min(n, len(t.lines)-1))
	line := t.line(n)
	start := t.lines[n] + len(line) - len(strings.TrimLeft(line, " \t"))
	return t.rangeOf(start, t.lines[n]+len(line))
}

// width returns the number of UTF-16 code units of a character. An invalid byte counts as one.
func width(r rune) int {
	if r > 0xffff && r != utf8.RuneError {
		return 2
	}
	return 1
}

// edit applies changes in order.
func (t *text) edit(changes []change) *text {
	for _, c := range changes {
		if c.Range == nil {
			t = newText(c.Text)
			continue
		}
		start, end := t.offset(c.Range.Start), t.offset(c.Range.End)
		end = max(start, end)
		t = newText(t.data[:start] + c.Text + t.data[end:])
	}
	return t
}
