// SPDX-License-Identifier: Apache-2.0

package index

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/internal/yaml"
)

// span is a range of the text.
type span struct{ at, end int64 }

// outline is the positions of keys in an index in YAML block style.
type outline struct {
	top    []part // the keys of the index, without entries
	charts []part // the keys in entries
	gaps   []span // all other lines
}

// has reports whether the index has a key.
func (o *outline) has(key string) bool {
	return slices.ContainsFunc(o.top, func(p part) bool { return p.name == key })
}

// part is a key with the range of its lines.
type part struct {
	name string
	span
	items int  // the column of the list's dashes, or none if the list is empty
	wrong kind // the kind of a value that is not a list
}

// chunk is the size of the read buffer.
const chunk = 256 << 10

// outlined reads the outline from size bytes of r. ok is false if the text is not in the
// supported form, whether it is valid or not. The error is that of an exceeded limit or of r.
func outlined(r io.ReaderAt, size int64) (o *outline, ok bool, err error) {
	b := builder{outline: &outline{gaps: []span{{}}}, column: none}
	buf := make([]byte, min(chunk, size))
	l := newLines(nil)
	for base, have := int64(0), 0; base+int64(have) < size || have > 0; {
		n, err := r.ReadAt(buf[have:min(int64(len(buf)), size-base)], base+int64(have))
		if err != nil && (err != io.EOF || n == 0) {
			return nil, false, fmt.Errorf("read the index: %w", err)
		}
		have += n
		text := buf[:have]
		last := base+int64(have) == size
		if !last {
			text = buf[:bytes.LastIndexByte(text, '\n')+1]
			if len(text) == 0 { // a line longer than the buffer
				buf = append(buf, make([]byte, len(buf))...)
				continue
			}
		}
		l.text, l.next = text, 0
		if !b.read(&l, base) {
			return nil, false, b.err
		}
		base += int64(len(text))
		have = copy(buf, buf[len(text):have])
	}
	ok = b.end(size) && l.quote == 0
	return b.outline, ok, nil
}

// builder builds an outline from lines.
type builder struct {
	*outline
	begun   bool
	entries bool // the lines are in the key entries
	column  int  // of the charts' names
	err     error
}

func (b *builder) read(l *lines, base int64) bool {
	if breaks(l.text) {
		return false
	}
	if !b.begun && bytes.HasPrefix(l.text, []byte("---\n")) {
		l.next = 4
	}
	b.begun = true
	for l.more() {
		if !b.line(l, base+int64(l.start)) {
			return false
		}
	}
	return !l.odd
}

func (b *builder) line(l *lines, offset int64) bool {
	switch {
	case l.indent == 0:
		return b.topKey(l, offset)
	case !b.entries:
		return len(b.top) > 0 // part of another key's value
	case l.indent < b.column && b.column != none || l.indent > b.column || l.dash:
		return b.inChart(l)
	}
	b.column = l.indent
	name, ok := simpleKey(l.text[l.key:l.keyEnd])
	if !ok {
		return false
	}
	if len(b.charts) == mostCharts {
		b.err = errCharts
		return false
	}
	b.close(offset)
	p := part{name: name, span: span{at: offset}, items: none, wrong: list}
	if l.value < l.end {
		switch p.items = -1; string(bytes.TrimRight(l.text[l.value:l.end], " ")) {
		case "[]":
		case "{}":
			p.wrong = table
		case `""`:
			p.wrong = scalar
		default:
			return false
		}
	}
	b.charts = append(b.charts, p)
	return true
}

// inChart adds a line to the chart above.
func (b *builder) inChart(l *lines) bool {
	if len(b.charts) == 0 || l.indent < b.column {
		return false
	}
	c := &b.charts[len(b.charts)-1]
	switch {
	case c.items == none && l.dash:
		c.items = l.indent
	case c.items < 0, c.items == none, l.indent < c.items, l.indent == c.items && !l.dash:
		return false
	}
	return true
}

func (b *builder) topKey(l *lines, offset int64) bool {
	if l.dash {
		return !b.entries && len(b.top) > 0
	}
	name, ok := simpleKey(l.text[l.key:l.keyEnd])
	if !ok {
		return false
	}
	b.close(offset)
	if b.entries = name == "entries"; b.entries {
		b.gaps = append(b.gaps, span{at: offset})
		if l.value < l.end {
			b.column = -1 // no line may follow
			return string(bytes.TrimRight(l.text[l.value:l.end], " ")) == "{}" && len(b.gaps) == 2
		}
		return len(b.gaps) == 2
	}
	if len(b.top) == mostKeys {
		b.err = errKeys
		return false
	}
	b.top = append(b.top, part{name: name, span: span{at: offset}})
	return true
}

// close ends the key above position at.
func (b *builder) close(offset int64) {
	if n := len(b.charts); n > 0 && b.charts[n-1].end == 0 {
		b.charts[n-1].end = offset
	}
	if n := len(b.top); n > 0 && b.top[n-1].end == 0 {
		b.top[n-1].end = offset
	}
	if n := len(b.gaps); b.gaps[n-1].end == 0 {
		b.gaps[n-1].end = offset
	}
}

// end completes the outline. It returns false if there are duplicate keys.
func (b *builder) end(size int64) bool {
	b.close(size)
	return unique(b.top) && unique(b.charts)
}

func unique(parts []part) bool {
	names := make([]string, len(parts))
	for i, p := range parts {
		names[i] = p.name
	}
	slices.Sort(names)
	return len(slices.Compact(names)) == len(parts)
}

// simpleKey returns the text of a key. ok is false if it may need a parser.
func simpleKey(s []byte) (key string, ok bool) {
	if len(s) > 1 && (s[0] == '"' || s[0] == '\'') {
		inner := s[1 : len(s)-1]
		if !bytes.ContainsAny(inner, "\"'\\\t") && yaml.Simple(unchanging(inner)) {
			return string(inner), true
		}
		var t tape
		if slowly(&t, string(s)) != nil || t[0].kind != scalar {
			return "", false
		}
		return t[0].text, true
	}
	if len(s) == 0 || !yaml.IsWordByte(s[0]) {
		return "", false
	}
	for _, c := range s {
		if !yaml.IsWordByte(c) && strings.IndexByte("-./", c) < 0 {
			return "", false
		}
	}
	return string(s), true
}
