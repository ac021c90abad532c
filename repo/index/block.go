// SPDX-License-Identifier: Apache-2.0

package index

import (
	"errors"
	"fmt"
	"strings"

	"github.com/moonhelm/moonhelm/internal/yaml"
)

// item is an entry that is not decoded.
type item struct {
	version string // "" if there is none
	text    string
	at      int64
}

// block is an index in Helm's format, YAML in block style. [canonical] converts other indexes to
// it. It is safe for concurrent use.
type block struct {
	*source
	*outline
}

// names returns the charts' names. The indexes are those that items takes.
func (b *block) names() []string {
	names := make([]string, len(b.charts))
	for i, c := range b.charts {
		names[i] = c.name
	}
	return names
}

// items returns the positions and versions of a chart's entries. The error is an
// [*EntryError] if the chart has no list of entries. With any other error, the index is
// invalid.
func (b *block) items(chart int) ([]item, error) {
	c := b.charts[chart]
	if c.wrong != list {
		return nil, &EntryError{Chart: c.name, Problem: "is " + c.wrong.String() + ", must be a list of entries"}
	}
	text, err := b.piece(c.span)
	if err != nil {
		return nil, err
	}
	whole := unchanging(text)
	var out []item
	l := newLines(text)
	l.more() // the chart's name
	column := none
	for l.more() {
		switch {
		case l.indent < c.items || l.indent == c.items && !l.dash:
			return nil, b.refuse(c.span)
		case l.indent == c.items:
			if n := len(out); n > 0 {
				out[n-1].text = whole[out[n-1].at:l.start]
			}
			if err := counted(c.name, len(out)+1); err != nil {
				return nil, err
			}
			out, column = append(out, item{at: int64(l.start)}), l.col
			if l.nested {
				column = none
			}
		}
		if l.col != column || string(text[l.key:l.keyEnd]) != "version" {
			continue
		}
		last := &out[len(out)-1]
		if last.version != "" {
			return nil, b.refuse(c.span)
		}
		last.version = l.simpleValue()
	}
	if l.odd || l.quote != 0 {
		return nil, b.refuse(c.span)
	}
	if n := len(out); n > 0 {
		out[n-1].text = whole[out[n-1].at:]
	}
	return out, b.complete(c, out)
}

// complete parses the versions that are not in the simple form, and makes the positions of
// the entries relative to the index.
func (b *block) complete(c part, items []item) error {
	var t tape
	for i := range items {
		entry := &items[i]
		entry.at += c.at
		if entry.version != "" {
			continue
		}
		t = t[:0]
		if err := b.read(&t, *entry); err != nil {
			return err
		}
		entry.version = t.version()
	}
	return nil
}

// simpleValue returns the value of this line's key, or "" if it needs a parser.
func (l *lines) simpleValue() string {
	s := strings.TrimRight(string(l.text[l.value:l.end]), " ")
	if n := len(s); n > 2 && (s[0] == '"' || s[0] == '\'') && s[n-1] == s[0] {
		s = s[1 : n-1]
	}
	for i := range len(s) {
		if !yaml.IsWordByte(s[i]) && strings.IndexByte(".-+", s[i]) < 0 {
			return ""
		}
	}
	// The value may continue in the next line.
	next := l.next
	for next < len(l.text) && l.text[next] == ' ' {
		next++
	}
	if next-l.next > l.col || next < len(l.text) && l.text[next] == '\n' || s == "" || s[0] < '0' || s[0] > '9' &&
		s[0] != 'v' {
		return ""
	}
	return s
}

// version returns the version of the entry on a tape.
func (t tape) version() string {
	if t[0].kind != table {
		return ""
	}
	for k := 1; k < t[0].end; k = t[k+1].end {
		if v := k + 1; t[k].text == "version" && t[v].kind == scalar && !t.null(v) {
			return t[v].text
		}
	}
	return ""
}

func (b *block) read(t *tape, it item) error {
	if err := bounded(int64(len(it.text)), "an entry", func() int { return b.line(it.at) }); err != nil {
		return err
	}
	from := len(*t)
	if !quickly(t, it.text) {
		if err := slowly(t, it.text); err != nil {
			return b.locate(err, it.at)
		}
	}
	if (*t)[from].kind != list || len(*t) < from+2 || (*t)[from+1].end != len(*t) {
		return b.refuse(span{it.at, it.at + int64(len(it.text))})
	}
	// The list exists only because the text includes the entry's dash.
	*t = append((*t)[:from], (*t)[from+1:]...)
	for i := range (*t)[from:] {
		(*t)[from+i].end--
	}
	return nil
}

func (b *block) field(t *tape, key string) error {
	for _, p := range b.top {
		if p.name == key {
			return b.readPart(t, p)
		}
	}
	return nil
}

// readPart appends the value of a key of the index to t.
func (b *block) readPart(t *tape, p part) error {
	if err := bounded(p.end-p.at, fmt.Sprintf("the value of %q", p.name), func() int { return b.line(p.at) }); err != nil {
		return err
	}
	text, err := b.piece(p.span)
	if err != nil {
		return err
	}
	var doc tape
	if !quickly(&doc, unchanging(text)) {
		if err := slowly(&doc, string(text)); err != nil {
			return b.locate(err, p.at)
		}
	}
	if doc[0].kind != table || len(doc) < 3 || doc[2].end != len(doc) {
		return b.refuse(p.span)
	}
	moved := len(*t) - 2
	for _, tok := range doc[2:] {
		tok.end += moved
		*t = append(*t, tok)
	}
	return nil
}

func (b *block) check() error {
	for _, p := range b.top {
		var t tape
		if err := b.readPart(&t, p); err != nil {
			return err
		}
	}
	gaps := b.gaps
	for _, c := range b.charts {
		text, err := b.piece(c.span)
		if err != nil {
			return err
		}
		l := newLines(text)
		first := c.end // the start of the entries
		l.more()       // the chart's name
		if l.more() {
			first = c.at + int64(l.start)
		}
		gaps = append(gaps, span{c.at, first})
	}
	for _, g := range gaps {
		if text, err := b.piece(g); err != nil {
			return err
		} else if !yaml.Simple(unchanging(text)) {
			return b.refuse(g)
		}
	}
	return nil
}

// refuse returns the error of the full parser for a piece.
func (b *block) refuse(p span) error {
	text, err := b.piece(p)
	if err != nil {
		return err
	}
	var t tape
	if len(text) <= mostBytes { // a larger piece would take too much memory
		if err := slowly(&t, string(text)); err != nil {
			return b.locate(err, p.at)
		}
	}
	return &FormatError{Line: b.line(p.at), Problem: "an entry must be a map"}
}

// locate converts the line in an error about a piece to a line of the index.
func (b *block) locate(err error, pos int64) error {
	if f, ok := errors.AsType[*FormatError](err); ok && f.Line > 0 {
		return &FormatError{Line: f.Line + b.line(pos) - 1, Problem: f.Problem}
	}
	if d, ok := errors.AsType[*DuplicateError](err); ok && d.Line > 0 {
		return &DuplicateError{Line: d.Line + b.line(pos) - 1, Key: d.Key}
	}
	return err
}
