// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"strings"
	"text/template/parse"
	"unicode/utf8"
	"unsafe"
)

// quickParse returns the same tree as Go's parser in a third of its time, for the syntax that
// nearly all templates use. ok is false if text has anything else, such as an error; the caller
// must then use Go's parser. The trees have no names; the text's body is under mainName.
func quickParse(text string, known map[string]any, a *arena) (trees map[string]*parse.ListNode, ok bool) {
	if !utf8.ValidString(text) {
		return nil, false
	}
	data := unsafe.Slice(unsafe.StringData(text), len(text))
	p := &quickParser{text: text, data: data, known: known, arena: a, trees: map[string]*parse.ListNode{}}
	p.vars = append(p.vars, "$")
	body, stop := p.list(true)
	if p.bad || stop != stopEOF {
		return nil, false
	}
	p.trees[mainName] = body
	return p.trees, true
}

type quickParser struct {
	text string
	// data is the memory of text, which the text nodes share: they are only read, and a
	// chart's templates are a large part of what a rendering holds.
	data   []byte
	pos    int
	known  map[string]any
	arena  *arena
	trees  map[string]*parse.ListNode
	vars   []string
	ranges int
	depth  int
	bad    bool
}

// maxParseDepth limits the recursion. Text that is nested deeper is left to Go's parser.
const maxParseDepth = 200

// stop is the reason why a list of nodes ended.
type stop int

const (
	stopEOF stop = iota
	stopEnd
	stopElse
)

func (p *quickParser) fail() { p.bad = true }

// list reads texts and actions up to an end or an else. Of an else it reads only the keyword,
// because if or with may follow.
func (p *quickParser) list(top bool) (*parse.ListNode, stop) {
	l := &parse.ListNode{NodeType: parse.NodeList, Pos: parse.Pos(p.pos)}
	if p.depth++; p.depth > maxParseDepth {
		p.fail()
	}
	defer func() { p.depth-- }()
	for !p.bad {
		open := strings.Index(p.text[p.pos:], "{{")
		if open < 0 {
			p.addText(l, p.pos, len(p.text))
			p.pos = len(p.text)
			return l, stopEOF
		}
		end := p.pos + open
		from := p.pos
		p.pos = end + 2
		if p.pos+1 < len(p.text) && p.text[p.pos] == '-' && isSpace(p.text[p.pos+1]) {
			for end > from && isSpace(p.text[end-1]) {
				end--
			}
			p.pos += 2
		}
		p.addText(l, from, end)
		if strings.HasPrefix(p.text[p.pos:], "/*") {
			p.comment()
			continue
		}
		p.spaces()
		if n, s := p.action(top); n != nil {
			l.Nodes = append(l.Nodes, n)
		} else if s != stopEOF {
			return l, s
		}
	}
	return l, stopEOF
}

func (p *quickParser) addText(l *parse.ListNode, from, end int) {
	if from < end {
		l.Nodes = append(l.Nodes,
			p.arena.text(parse.TextNode{NodeType: parse.NodeText, Pos: parse.Pos(from), Text: p.data[from:end:end]}))
	}
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

func (p *quickParser) spaces() {
	for p.pos < len(p.text) && isSpace(p.text[p.pos]) {
		p.pos++
	}
}

func (p *quickParser) comment() {
	p.pos += len("/*") // "/*/" is not closed
	end := strings.Index(p.text[p.pos:], "*/")
	if end < 0 {
		p.fail()
		return
	}
	p.pos += end + 2
	if strings.HasPrefix(p.text[p.pos:], "}}") {
		p.pos += 2
		return
	}
	// After a comment the marker needs one space, not several.
	if p.pos < len(p.text) && isSpace(p.text[p.pos]) && strings.HasPrefix(p.text[p.pos+1:], "-}}") {
		p.pos += 4
		p.spaces()
		return
	}
	p.fail()
}

// atClose reports whether an action ends here.
func (p *quickParser) atClose() bool {
	rest := p.text[p.pos:]
	return strings.HasPrefix(rest, "}}") || strings.HasPrefix(rest, "-}}") && isSpace(p.text[p.pos-1])
}

// closeAction skips the end of an action and the white space that it trims.
func (p *quickParser) closeAction() {
	p.spaces()
	switch {
	case p.bad:
	case !p.atClose():
		p.fail()
	case p.text[p.pos] == '-':
		p.pos += 3
		p.spaces()
	default:
		p.pos += 2
	}
}

// action reads one action. It returns a nil node for a definition, and where the list ends.
func (p *quickParser) action(top bool) (parse.Node, stop) {
	start := p.pos
	word := p.word()
	if word != "" && p.pos < len(p.text) && !isSpace(p.text[p.pos]) && strings.IndexByte(".,|:()}", p.text[p.pos]) < 0 {
		p.fail()
		return nil, stopEOF
	}
	switch word {
	case "end":
		p.closeAction()
		return nil, stopEnd
	case "else":
		return nil, stopElse
	case "if", "with", "range":
		return p.control(word), stopEOF
	case "template":
		p.spaces()
		pos := p.pos
		name := p.name()
		var pipe *parse.PipeNode
		if p.spaces(); !p.bad && !p.atClose() {
			pipe = p.pipeline(word)
		}
		p.closeAction()
		return &parse.TemplateNode{NodeType: parse.NodeTemplate, Pos: parse.Pos(pos), Name: name, Pipe: pipe}, stopEOF
	case "block":
		return p.block(), stopEOF
	case "define":
		if !top {
			p.fail()
		} else {
			name := p.name()
			p.closeAction()
			p.define(name)
		}
		return nil, stopEOF
	case "break", "continue":
		if p.ranges == 0 {
			p.fail()
		}
		p.closeAction()
		if word == "break" {
			return &parse.BreakNode{NodeType: parse.NodeBreak, Pos: parse.Pos(start)}, stopEOF
		}
		return &parse.ContinueNode{NodeType: parse.NodeContinue, Pos: parse.Pos(start)}, stopEOF
	}
	p.pos = start
	pipe := p.pipeline("command")
	p.closeAction()
	return p.arena.action(parse.ActionNode{NodeType: parse.NodeAction, Pos: parse.Pos(start), Pipe: pipe}), stopEOF
}

// word reads letters, digits and underscores.
func (p *quickParser) word() string {
	start := p.pos
	for p.pos < len(p.text) && isWord(p.text[p.pos]) {
		p.pos++
	}
	return p.text[start:p.pos]
}

func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= '0' && c <= '9'
}

func (p *quickParser) name() string {
	p.spaces()
	s, ok := p.quoted()
	if !ok {
		p.fail()
		return ""
	}
	return s.Text
}

// define reads the body of a definition up to its end.
func (p *quickParser) define(name string) {
	if _, ok := p.trees[name]; ok || p.bad {
		p.fail()
		return
	}
	vars, ranges := p.vars, p.ranges
	p.vars, p.ranges = []string{"$"}, 0
	body, s := p.list(false)
	if s != stopEnd {
		p.fail()
	}
	p.vars, p.ranges = vars, ranges
	if _, ok := p.trees[name]; ok {
		p.fail()
	}
	p.trees[name] = body
}

func (p *quickParser) block() parse.Node {
	p.spaces()
	start := p.pos
	name := p.name()
	p.spaces()
	pipe := p.pipeline("block clause")
	p.closeAction()
	p.define(name)
	return &parse.TemplateNode{NodeType: parse.NodeTemplate, Pos: parse.Pos(start), Name: name, Pipe: pipe}
}

// control reads an if, with or range up to its end.
func (p *quickParser) control(kind string) parse.Node {
	mark := len(p.vars)
	p.spaces()
	b := parse.BranchNode{Pos: parse.Pos(p.pos), Pipe: p.pipeline(kind)}
	p.closeAction()
	if kind == "range" {
		p.ranges++
	}
	var s stop
	b.List, s = p.list(false)
	if kind == "range" {
		p.ranges--
	}
	if s == stopElse {
		b.ElseList, s = p.elseList(kind)
	}
	if s != stopEnd {
		p.fail()
	}
	p.vars = p.vars[:mark]
	switch kind {
	case "if":
		b.NodeType = parse.NodeIf
		return &parse.IfNode{BranchNode: b}
	case "with":
		b.NodeType = parse.NodeWith
		return &parse.WithNode{BranchNode: b}
	}
	b.NodeType = parse.NodeRange
	return &parse.RangeNode{BranchNode: b}
}

// elseList reads the list after an else. An "else if" shares the end of the whole if.
func (p *quickParser) elseList(kind string) (*parse.ListNode, stop) {
	if p.bad {
		return nil, stopEOF
	}
	before := p.pos
	p.spaces()
	if p.atClose() {
		p.closeAction()
		return p.list(false)
	}
	word := p.word()
	if p.pos < len(p.text) && !isSpace(p.text[p.pos]) && p.text[p.pos] != '(' {
		p.fail()
		return nil, stopEOF
	}
	if p.pos == before || word != kind || kind == "range" {
		p.fail()
		return nil, stopEOF
	}
	l := &parse.ListNode{NodeType: parse.NodeList, Pos: parse.Pos(p.pos)}
	if p.depth++; p.depth > maxParseDepth {
		p.fail()
		return nil, stopEOF
	}
	l.Nodes = append(l.Nodes, p.control(kind))
	p.depth--
	return l, stopEnd
}
