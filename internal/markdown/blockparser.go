// SPDX-License-Identifier: Apache-2.0

package markdown

import "strings"

// maxOpen is the maximum number of blocks of which each is in the one before it. The text of deeper
// blocks is part of the last one; they are deeper than what is shown.
const maxOpen = 3 * maxDepth

// codeIndent is the number of columns by which code is indented.
const codeIndent = 4

// parse returns the document in source. The time is linear in the size of source.
func parse(source string) *node {
	p := &blockParser{references: map[string]string{}, blankIn: -1}
	doc := &node{kind: document}
	p.open = []*openBlock{{node: doc}}
	for line := range strings.Lines(source) {
		p.line(strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r"))
	}
	p.closeTo(1)
	p.inlines(doc)
	return doc
}

// inlines parses the text of the blocks in n, when all link reference definitions are known.
func (p *blockParser) inlines(n *node) {
	for c := n.first; c != nil; c = c.next {
		switch c.kind {
		case heading, paragraph, cell:
			parseInlines(c, p.references)
		default:
			p.inlines(c)
		}
	}
}

// blockParser reads a document line by line.
type blockParser struct {
	open       []*openBlock // each within the one before it; the first is the document
	references map[string]string
	blankIn    int // index of the innermost quotation or document that the blank line before is in, or -1
}

// openBlock is a block that the next line may belong to.
type openBlock struct {
	*node
	marker byte     // of a list or a fence
	indent int      // columns before an item's content, or a fence
	length int      // of a fence
	ends   string   // what ends a block of HTML; a blank line if empty
	lines  []string // of a block without children
	table  bool     // a paragraph has a table
}

func (b *openBlock) isContainer() bool {
	switch b.kind {
	case document, quotation, list, item:
		return true
	}
	return false
}

func (p *blockParser) top() *openBlock { return p.open[len(p.open)-1] }

// inParagraph reports whether the innermost block is a paragraph.
func (p *blockParser) inParagraph() bool { return p.top().kind == paragraph }

// push opens a block within the innermost one.
func (p *blockParser) push(b *openBlock) {
	if p.top().kind == list && b.kind != item {
		p.closeTo(len(p.open) - 1)
	}
	depth := len(p.open) - 1
	if parent := p.open[depth]; p.blankIn >= 0 && depth >= p.blankIn && parent.first != nil {
		switch parent.kind {
		case list:
			parent.tight = false
		case item:
			p.open[depth-1].tight = false
		}
	}
	p.top().add(b.node)
	p.open = append(p.open, b)
}

// closeTo closes all blocks but the first n.
func (p *blockParser) closeTo(n int) {
	for len(p.open) > n {
		b := p.top()
		p.open = p.open[:len(p.open)-1]
		p.closed(b)
	}
}

// closed completes a block.
func (p *blockParser) closed(b *openBlock) {
	switch b.kind {
	case paragraph:
		p.closedParagraph(b)
	case codeBlock:
		if b.length == 0 {
			for len(b.lines) > 0 && isBlank(b.lines[len(b.lines)-1]) {
				b.lines = b.lines[:len(b.lines)-1]
			}
		}
		b.text = joined(b.lines)
	case htmlBlock:
		b.text = joined(b.lines)
	case list:
		for c := b.first; c != nil; c = c.next {
			c.tight = b.tight
		}
	}
}

// joined returns lines, each with its end.
func joined(lines []string) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l + "\n")
	}
	return b.String()
}

// closedParagraph takes definitions and a table out of a paragraph.
func (p *blockParser) closedParagraph(b *openBlock) {
	p.define(b)
	lines, t := findTable(b.lines)
	parent := p.top()
	if len(lines) == 0 {
		parent.removeLast()
	}
	if t != nil {
		parent.add(t)
	}
	b.text = strings.TrimRight(strings.Join(lines, "\n"), whitespace)
}

// define takes the link reference definitions at the start of a paragraph out of it.
func (p *blockParser) define(b *openBlock) {
	if len(b.lines) == 0 || b.lines[0][0] != '[' {
		return
	}
	text := strings.Join(b.lines, "\n")
	rest := text
	for strings.HasPrefix(rest, "[") {
		label, address, n := definition(rest)
		if n == 0 {
			break
		}
		if _, ok := p.references[label]; !ok {
			p.references[label] = address
		}
		rest = rest[n:]
	}
	if b.lines = nil; rest != "" {
		b.lines = strings.Split(rest, "\n")
	}
}

// line reads the next line.
func (p *blockParser) line(s string) {
	c := &cursor{line: s}
	matched := 1
	for matched < len(p.open) && p.open[matched].isContainer() && p.open[matched].continues(c) {
		matched++
	}
	if matched == len(p.open)-1 && p.verbatim(c) {
		return
	}
	isBlankLine := c.isBlank()
	for !c.isBlank() {
		leaf, ok := p.start(c, matched)
		if leaf {
			p.blankIn = -1
			return
		}
		if !ok {
			break
		}
		matched = len(p.open)
	}
	switch {
	case isBlankLine:
		p.closeTo(matched)
		p.blankIn = p.innermost()
	case c.isBlank(): // after a mark
		p.blankIn = -1
	default:
		p.text(c, matched)
	}
}

// text adds the rest of a line to the paragraph it belongs to.
func (p *blockParser) text(c *cursor, matched int) {
	if !p.inParagraph() {
		p.closeTo(matched)
		p.push(&openBlock{node: &node{kind: paragraph}})
	}
	top := p.top()
	top.lines = append(top.lines, strings.TrimLeft(c.rest(), whitespace))
	p.blankIn = -1
}

// continues reports whether a line belongs to a container, and moves the cursor to its content.
func (b *openBlock) continues(c *cursor) bool {
	switch b.kind {
	case quotation:
		d := *c
		if d.indent() >= codeIndent {
			return false
		}
		if d.skip(codeIndent); !strings.HasPrefix(d.rest(), ">") {
			return false
		}
		d.advance(1)
		d.skip(1)
		*c = d
	case item:
		if c.isBlank() && b.first == nil || !c.isBlank() && c.indent() < b.indent {
			return false
		}
		c.skip(b.indent)
	}
	return true
}

// verbatim adds a line to code or HTML, and reports whether it belongs to it.
func (p *blockParser) verbatim(c *cursor) bool {
	b := p.top()
	blank := c.isBlank()
	switch {
	case b.kind == htmlBlock:
		if b.ends == "" && blank {
			return false
		}
		p.addHTML(c.rest())
	case b.kind != codeBlock:
		return false
	case b.length > 0:
		if b.closesFence(*c) {
			p.closeTo(len(p.open) - 1)
			break
		}
		c.skip(b.indent)
		b.lines = append(b.lines, c.rest())
	case blank || c.indent() >= codeIndent:
		c.skip(codeIndent)
		b.lines = append(b.lines, c.rest())
		if blank {
			p.blankIn = p.innermost()
			return true
		}
	default:
		return false
	}
	p.blankIn = -1
	return true
}

// innermost returns the index of the innermost quotation, or of the document.
func (p *blockParser) innermost() int {
	i := len(p.open) - 1
	for i > 0 && p.open[i].kind != quotation {
		i--
	}
	return i
}

// addHTML adds a line to the block of HTML, and closes it if that line ends it.
func (p *blockParser) addHTML(line string) {
	b := p.top()
	b.lines = append(b.lines, line)
	if b.ends == "" {
		return
	}
	lower := strings.ToLower(line)
	for end := range strings.SplitSeq(b.ends, " ") {
		if strings.Contains(lower, end) {
			p.closeTo(len(p.open) - 1)
			return
		}
	}
}

func (b *openBlock) closesFence(c cursor) bool {
	if c.indent() >= codeIndent {
		return false
	}
	rest := strings.Trim(c.rest(), whitespace)
	return len(rest) >= b.length && strings.Trim(rest, string(b.marker)) == ""
}
