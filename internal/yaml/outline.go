// SPDX-License-Identifier: Apache-2.0

package yaml

import (
	"errors"
	"strings"
	"unicode/utf8"
)

// part is a value in a text with its position.
type part struct {
	shape shape
	// quote is the first character of a scalar with an indicator: a quote, '|', '>', or
	// '*' for an alias. It is 0 for a plain scalar.
	quote byte
	// start and end are the offsets of its text. They are equal for a null without text.
	// A block ends with its last line that has content.
	start, end int
	// column is the column of a block collection's keys or dashes.
	column  int
	entries []entry
	// marked is set if it has an anchor or a tag or merges another map. It can then only
	// be replaced as a whole.
	marked bool
}

type shape uint8

const (
	scalarShape shape = iota
	blockMap
	blockList
	flowMap
	flowList
)

// entry is a key or a dash with its value.
type entry struct {
	key string
	// quote is the key's quote, or 0.
	quote byte
	start int // of the key or dash
	after int // after the colon or dash
	value *part
}

// errNotEditable is returned for YAML that cannot be edited.
var errNotEditable = errors.New("this YAML can only be rewritten")

// outline returns the positions of all values in a text with a single document, and the indentation
// of its maps and lists. It returns nil if the text has only comments.
func outline(text string) (top *part, step, dashes int, err error) {
	if top, step, dashes, ok := quickOutline(text); ok {
		return top, step, dashes, nil
	}
	return parsedOutline(text)
}

// parsedOutline is outline with the complete parser. The parser reports where a value begins, and
// parsedOutline finds its end.
func parsedOutline(text string) (top *part, step, dashes int, err error) {
	step = 2
	if strings.ContainsAny(text, "\u0085\u2028\u2029\ufeff") ||
		strings.Contains(strings.ReplaceAll(text, "\r\n", ""), "\r") {
		return nil, step, 0, errNotEditable
	}
	var doc Node
	if err := UnmarshalV3([]byte(text), &doc); err != nil {
		return nil, step, 0, err
	}
	if len(doc.Content) == 0 {
		return nil, step, 0, nil
	}
	o := &outliner{text: text, lines: []int{0}}
	for i := range len(text) {
		if text[i] == '\n' {
			o.lines = append(o.lines, i+1)
		}
	}
	defer o.ifLost(func() { top, err = nil, errNotEditable })
	top = o.part(doc.Content[0], -1, false)
	if o.step > 0 {
		step = o.step
	}
	return top, step, o.dashes, nil
}

type outliner struct {
	text  string
	lines []int // the offset of each line
	depth int
	// step and dashes are as in writer, taken from the first map and list.
	step, dashes int
	seenDashes   bool
}

// lost is the panic value of an outliner that does not find the expected text.
type lost struct{}

func (o *outliner) need(ok bool) {
	if !ok {
		panic(lost{})
	}
}

// ifLost calls otherwise if the outliner did not find the expected text. It is deferred.
func (o *outliner) ifLost(otherwise func()) {
	switch r := recover().(type) {
	case nil:
	case lost:
		otherwise()
	default:
		panic(r)
	}
}

func (o *outliner) is(pos int, c byte) bool { return pos < len(o.text) && o.text[pos] == c }

// offset returns the offset of a node.
func (o *outliner) offset(n *Node) int {
	o.need(n.Line >= 1 && n.Line <= len(o.lines))
	pos := o.lines[n.Line-1]
	for range n.Column - 1 {
		o.need(pos < len(o.text))
		_, size := utf8.DecodeRuneInString(o.text[pos:])
		pos += size
	}
	o.need(pos <= len(o.text))
	return pos
}

// blank skips white space, line feeds and comments.
func (o *outliner) blank(pos int) int {
	for pos < len(o.text) {
		switch c := o.text[pos]; {
		case c == ' ', c == '\n', c == '\r':
			pos++
		case c == '#' && (pos == 0 || strings.IndexByte(" \n", o.text[pos-1]) >= 0):
			pos = lineEnd(o.text, pos)
		default:
			return pos
		}
	}
	return pos
}

func (o *outliner) spaces(pos int) int {
	for o.is(pos, ' ') {
		pos++
	}
	return pos
}

// column returns the number of bytes before at on its line.
func (o *outliner) column(pos int) int { return pos - lineStart(o.text, pos) }

func lineStart(text string, pos int) int { return strings.LastIndexByte(text[:pos], '\n') + 1 }

func (o *outliner) part(n *Node, around int, flow bool) *part {
	o.depth++
	o.need(o.depth < maxDepth)
	defer func() { o.depth-- }()
	p := &part{start: o.offset(n)}
	pos := p.start
	for o.is(pos, '&') || o.is(pos, '!') {
		p.marked = true
		for pos < len(o.text) && strings.IndexByte(" \n\r,", o.text[pos]) < 0 {
			pos++
		}
		pos = o.blank(pos)
	}
	o.need(pos < len(o.text))
	switch n.Kind {
	case MappingNode, SequenceNode:
		switch c := o.text[pos]; {
		case c == '{' && n.Kind == MappingNode && n.Style&FlowStyle != 0:
			p.shape = flowMap
			o.flow(p, n, pos, '}')
		case c == '[' && n.Kind == SequenceNode && n.Style&FlowStyle != 0:
			p.shape = flowList
			o.flow(p, n, pos, ']')
		default:
			o.need(!flow && n.Style&FlowStyle == 0 && len(n.Content) > 0)
			o.block(p, n, pos)
		}
	case AliasNode:
		o.need(o.text[pos] == '*')
		p.quote = '*'
		for p.end = pos; p.end < len(o.text) && strings.IndexByte(" \n\r,[]{}", o.text[p.end]) < 0; {
			p.end++
		}
	case ScalarNode:
		o.scalar(p, n, pos, around)
	default:
		panic(lost{})
	}
	return p
}

func (o *outliner) block(p *part, n *Node, pos int) {
	if n.Kind == SequenceNode {
		p.shape, p.column = blockList, o.column(pos)
		for i, c := range n.Content {
			if i > 0 {
				pos = o.blank(p.end)
			}
			o.need(o.is(pos, '-') && o.column(pos) == p.column)
			e := entry{start: pos, after: pos + 1}
			e.value = o.value(c, e.after, p.column, false)
			p.entries = append(p.entries, e)
			p.end = e.value.end
		}
		return
	}
	p.shape, p.column = blockMap, o.column(pos)
	for i := 0; i+1 < len(n.Content); i += 2 {
		e := o.key(p, n.Content[i], false)
		o.need(o.column(e.start) == p.column && (i > 0 || e.start == pos))
		e.value = o.value(n.Content[i+1], e.after, p.column, false)
		o.learn(p.column, e)
		p.entries = append(p.entries, e)
		p.end = e.value.end
	}
}

// learn records the indentation of the text.
func (o *outliner) learn(column int, e entry) {
	switch v := e.value; {
	case v.shape == blockMap && o.step == 0:
		o.step = v.column - column
	case v.shape == blockList && !o.seenDashes:
		o.dashes, o.seenDashes = v.column-column, true
	}
}

// key returns the entry for a key, without its value.
func (o *outliner) key(p *part, n *Node, flow bool) entry {
	o.need(n.Kind == ScalarNode)
	k := o.part(n, -1, flow)
	pos := k.end
	if flow {
		pos = o.blank(pos)
	} else {
		pos = o.spaces(pos)
	}
	o.need(!k.marked && k.quote != '|' && k.quote != '>' && o.is(pos, ':'))
	name := n.Value
	if k.quote == 0 {
		if name == "<<" {
			p.marked = true
		}
		var ok bool
		name, ok = plainKeyText(name)
		o.need(ok)
	}
	return entry{key: name, quote: k.quote, start: k.start, after: pos + 1}
}

// plainKeyText returns the text of a key without quotes.
func plainKeyText(s string) (string, bool) {
	if plainSafe(s, false) {
		return s, true
	}
	var m map[any]any
	if UnmarshalV2([]byte("{? "+s+" : }"), &m) != nil || len(m) != 1 {
		return s, s == "<<"
	}
	for k := range m {
		if text, ok := keyText(k); ok {
			return text, true
		}
	}
	return "", false
}

// value returns the value after a colon or dash.
func (o *outliner) value(n *Node, after, column int, flow bool) *part {
	const styled = DoubleQuotedStyle | SingleQuotedStyle | LiteralStyle | FoldedStyle
	if n.Kind == ScalarNode && n.Value == "" && n.Style&styled == 0 {
		o.need(n.Anchor == "" && n.Style&TaggedStyle == 0)
		return &part{start: after, end: after}
	}
	v := o.part(n, column, flow)
	o.need(v.start >= after)
	return v
}

// flow parses a flow collection.
func (o *outliner) flow(p *part, n *Node, pos int, closing byte) {
	pos++
	for i := 0; i < len(n.Content); i++ {
		var e entry
		if p.shape == flowMap {
			e = o.key(p, n.Content[i], true)
			o.need(e.start >= pos)
			i++
			e.value = o.value(n.Content[i], e.after, 0, true)
		} else {
			e.value = o.part(n.Content[i], 0, true)
			e.start, e.after = e.value.start, e.value.start
		}
		o.need(o.blank(pos) == e.start)
		p.entries = append(p.entries, e)
		if pos = o.blank(e.value.end); o.is(pos, ',') {
			pos++
		}
	}
	pos = o.blank(pos)
	o.need(o.is(pos, closing))
	p.end = pos + 1
}

func (o *outliner) scalar(p *part, n *Node, pos, around int) {
	switch {
	case n.Style&DoubleQuotedStyle != 0:
		o.need(o.is(pos, '"'))
		p.quote = '"'
		for p.end = pos + 1; !o.is(p.end, '"'); p.end++ {
			if o.is(p.end, '\\') {
				p.end++
			}
			o.need(p.end < len(o.text))
		}
		p.end++
	case n.Style&SingleQuotedStyle != 0:
		o.need(o.is(pos, '\''))
		p.quote = '\''
		for p.end = pos + 1; !o.is(p.end, '\'') || o.is(p.end+1, '\''); p.end++ {
			if o.is(p.end, '\'') {
				p.end++
			}
			o.need(p.end < len(o.text))
		}
		p.end++
	case n.Style&(LiteralStyle|FoldedStyle) != 0:
		o.need(o.is(pos, '|') || o.is(pos, '>'))
		p.quote = o.text[pos]
		o.blockScalar(p, pos, around)
	default:
		o.plain(p, pos, n.Value)
	}
}

// plain finds the end of a plain scalar, which may have several lines.
func (o *outliner) plain(p *part, pos int, value string) {
	p.end = pos
	for _, word := range strings.FieldsFunc(value, func(r rune) bool { return r == ' ' || r == '\n' }) {
		for p.end < len(o.text) && strings.IndexByte(" \n\r", o.text[p.end]) >= 0 {
			p.end++
		}
		o.need(strings.HasPrefix(o.text[p.end:], word))
		p.end += len(word)
	}
}

// blockScalar finds the end of a literal or folded block. around is the column of the
// collection that contains it.
func (o *outliner) blockScalar(p *part, pos, around int) {
	end := lineEnd(o.text, pos)
	header := o.text[pos+1 : end]
	if hash := strings.IndexByte(header, '#'); hash >= 0 {
		header = header[:hash]
	}
	keep := strings.Contains(header, "+")
	inner := 0
	if i := strings.IndexAny(header, "123456789"); i >= 0 {
		inner = max(around, 0) + int(header[i]-'0')
	}
	p.end = end
	for pos = end + 1; pos < len(o.text); pos = end + 1 {
		end = lineEnd(o.text, pos)
		first := o.spaces(pos)
		switch {
		case strings.Trim(o.text[pos:end], " \r") == "" && (inner == 0 || first-pos <= inner):
			if keep {
				p.end = end
			}
			continue
		case inner == 0:
			if inner = first - pos; inner <= around {
				return
			}
		case first-pos < inner:
			return
		}
		p.end = end
	}
}
