// SPDX-License-Identifier: Apache-2.0

package markdown

import (
	"strconv"
	"strings"
)

// start opens the block that starts at the cursor, within the first matched open blocks. It reports
// whether the block takes the rest of the line, and whether there is one.
func (p *blockParser) start(c *cursor, matched int) (leaf, ok bool) {
	indent := c.indent()
	if indent >= codeIndent {
		return p.startIndented(c, matched)
	}
	d := *c
	d.skip(indent)
	rest := d.rest()
	switch rest[0] {
	case '>':
		return false, p.startQuotation(c, d, matched)
	case '#':
		leaf = p.startHeading(rest, matched)
	case '`', '~':
		leaf = p.startFence(rest, indent, matched)
	case '<':
		leaf = p.startHTML(c.rest(), rest, matched)
	case '=', '-', '*', '_':
		leaf = p.startUnderline(rest, matched) || p.startRule(rest, matched)
	}
	if leaf {
		return true, true
	}
	return false, p.startItem(c, d, indent, matched)
}

func (p *blockParser) startIndented(c *cursor, matched int) (leaf, ok bool) {
	if p.inParagraph() {
		return false, false
	}
	p.closeTo(matched)
	c.skip(codeIndent)
	p.push(&openBlock{node: &node{kind: codeBlock}, lines: []string{c.rest()}})
	return true, true
}

func (p *blockParser) startQuotation(c *cursor, d cursor, matched int) bool {
	if matched >= maxOpen {
		return false
	}
	p.closeTo(matched)
	p.push(&openBlock{node: &node{kind: quotation}})
	d.advance(1)
	d.skip(1)
	*c = d
	return true
}

func (p *blockParser) startHeading(rest string, matched int) bool {
	text := strings.TrimLeft(rest, "#")
	level := len(rest) - len(text)
	if level > 6 || text != "" && strings.TrimLeft(text, whitespace) == text {
		return false
	}
	text = strings.Trim(text, whitespace)
	if bare := strings.TrimRight(text, "#"); bare == "" || strings.TrimRight(bare, whitespace) != bare {
		text = strings.TrimRight(bare, whitespace)
	}
	p.closeTo(matched)
	p.push(&openBlock{node: &node{kind: heading, level: level, text: text}})
	p.closeTo(len(p.open) - 1)
	return true
}

func (p *blockParser) startFence(rest string, indent, matched int) bool {
	info := strings.TrimLeft(rest, rest[:1])
	length := len(rest) - len(info)
	if length < 3 || rest[0] == '`' && strings.Contains(info, "`") {
		return false
	}
	p.closeTo(matched)
	p.push(&openBlock{node: &node{kind: codeBlock}, marker: rest[0], indent: indent, length: length})
	return true
}

func (p *blockParser) startHTML(line, rest string, matched int) bool {
	ends, ok := htmlStart(rest, p.inParagraph())
	if !ok {
		return false
	}
	p.closeTo(matched)
	p.push(&openBlock{node: &node{kind: htmlBlock}, ends: ends})
	p.addHTML(line)
	return true
}

// startUnderline makes the paragraph before the line a heading.
func (p *blockParser) startUnderline(rest string, matched int) bool {
	if !p.inParagraph() || matched != len(p.open)-1 {
		return false
	}
	if strings.TrimLeft(strings.TrimRight(rest, whitespace), rest[:1]) != "" {
		return false
	}
	level := 1
	switch rest[0] {
	case '-':
		level = 2
	case '*', '_':
		return false
	}
	b := p.top()
	if p.define(b); len(b.lines) == 0 || b.table {
		return false
	}
	if _, t := findTable(b.lines); t != nil {
		b.table = true // what is a line of it, a list or a rule
		return false
	}
	b.kind, b.level = heading, level
	b.text = strings.TrimRight(strings.Join(b.lines, "\n"), whitespace)
	p.closeTo(matched)
	return true
}

func (p *blockParser) startRule(rest string, matched int) bool {
	marks := 0
	for _, b := range []byte(rest) {
		switch {
		case b == rest[0] && b != '=':
			marks++
		case !strings.ContainsRune(whitespace, rune(b)):
			return false
		}
	}
	if marks < 3 {
		return false
	}
	p.closeTo(matched)
	p.push(&openBlock{node: &node{kind: rule}})
	p.closeTo(len(p.open) - 1)
	return true
}

// startItem opens an item of a list, and a list unless one of its kind is open.
func (p *blockParser) startItem(c *cursor, d cursor, indent, matched int) bool {
	n, marker, first := itemMark(d.rest())
	if n == 0 || matched >= maxOpen {
		return false
	}
	d.advance(n)
	blank, space := d.isBlank(), d.indent()
	if !blank && space == 0 {
		return false
	}
	ordered := n > 1
	if p.inParagraph() && matched == len(p.open)-1 && (blank || ordered && first != 1) {
		return false
	}
	if blank || space > codeIndent {
		space = 1
	}
	d.skip(space)
	p.closeTo(matched)
	if top := p.top(); top.kind != list || top.marker != marker {
		if top.kind == list {
			p.closeTo(matched - 1)
		}
		l := &node{kind: list, ordered: ordered, level: first, tight: true}
		p.push(&openBlock{node: l, marker: marker})
	}
	p.push(&openBlock{node: &node{kind: item}, indent: indent + n + space})
	*c = d
	return true
}

// itemMark returns the length of the mark of an item, the character that distinguishes lists, and the
// item's number.
func itemMark(s string) (n int, marker byte, number int) {
	switch s[0] {
	case '-', '+', '*':
		return 1, s[0], 0
	}
	digits := 0
	for digits < len(s) && '0' <= s[digits] && s[digits] <= '9' {
		digits++
	}
	if digits == 0 || digits > 9 || digits == len(s) || s[digits] != '.' && s[digits] != ')' {
		return 0, 0, 0
	}
	number, _ = strconv.Atoi(s[:digits])
	return digits + 1, s[digits], number
}
