// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"strconv"
	"strings"
	"text/template/parse"
)

// pipeline reads up to the end of the action or a closing parenthesis.
func (p *quickParser) pipeline(context string) *parse.PipeNode {
	pipe := p.arena.pipe(parse.PipeNode{NodeType: parse.NodePipe, Pos: parse.Pos(p.pos)})
	p.declarations(pipe, context)
	for !p.bad {
		p.spaces()
		cmd := p.command()
		if cmd == nil {
			return pipe
		}
		if len(pipe.Cmds) > 0 {
			switch cmd.Args[0].Type() {
			case parse.NodeBool, parse.NodeDot, parse.NodeNil, parse.NodeNumber, parse.NodeString:
				p.fail() // a pipeline into a constant is an error
			}
		}
		pipe.Cmds = p.arena.addCommand(pipe.Cmds, cmd)
		if p.is('|') {
			p.pos++
			continue
		}
		if p.is(')') || p.atClose() {
			return pipe
		}
		p.fail()
	}
	return pipe
}

func (p *quickParser) is(c byte) bool { return p.pos < len(p.text) && p.text[p.pos] == c }

// declarations reads "$x :=", "$x =" and, in a range, "$i, $x :=".
func (p *quickParser) declarations(pipe *parse.PipeNode, context string) {
	for p.is('$') {
		start := p.pos
		p.pos++
		p.word()
		name := p.text[start:p.pos]
		p.spaces()
		switch {
		case strings.HasPrefix(p.text[p.pos:], ":="):
			p.pos += 2
			p.declare(pipe, name, start)
			return
		case p.is('=') && isSpace(p.text[p.pos-1]):
			p.pos++
			pipe.IsAssign = true
			p.declare(pipe, name, start)
			return
		case p.is(',') && context == "range" && len(pipe.Decl) == 0:
			p.pos++
			p.declare(pipe, name, start)
			p.spaces()
			if !p.is('$') {
				p.fail()
				return
			}
		case len(pipe.Decl) > 0:
			p.fail()
			return
		default:
			p.pos = start
			return
		}
	}
}

func (p *quickParser) declare(pipe *parse.PipeNode, name string, pos int) {
	pipe.Decl = append(pipe.Decl, p.variableNode(pos, []string{name}))
	p.vars = append(p.vars, name)
}

func (p *quickParser) variableNode(pos int, ident []string) *parse.VariableNode {
	return &parse.VariableNode{NodeType: parse.NodeVariable, Pos: parse.Pos(pos), Ident: ident}
}

// command reads operands up to a "|" or the end of the pipeline. It returns nil if there are
// none.
func (p *quickParser) command() *parse.CommandNode {
	start := p.pos
	var few [8]parse.Node
	args := few[:0]
	for {
		if p.bad || p.pos >= len(p.text) {
			p.fail()
			return nil
		}
		if p.is('|') || p.is(')') || p.atClose() {
			break
		}
		args = append(args, p.operand())
		if p.bad || p.pos >= len(p.text) {
			p.fail()
			return nil
		}
		if c := p.text[p.pos]; !isSpace(c) && c != '|' && c != ')' && c != '}' {
			p.fail()
			return nil
		}
		p.spaces()
	}
	if len(args) == 0 {
		p.fail()
		return nil
	}
	return p.arena.command(parse.CommandNode{NodeType: parse.NodeCommand, Pos: parse.Pos(start),
		Args: p.arena.copyNodes(args)})
}

func (p *quickParser) operand() parse.Node {
	pos := parse.Pos(p.pos)
	switch c := p.text[p.pos]; {
	case c == '.':
		if p.letterAt(p.pos + 1) {
			ident, second := p.fields(nil)
			if len(ident) > 1 {
				pos = parse.Pos(second)
			}
			return p.arena.field(parse.FieldNode{NodeType: parse.NodeField, Pos: pos, Ident: ident})
		}
		p.pos++
		if p.pos < len(p.text) && (isWord(p.text[p.pos]) || p.text[p.pos] == '.' || p.text[p.pos] >= 0x80) {
			p.fail()
		}
		return &parse.DotNode{NodeType: parse.NodeDot, Pos: pos}
	case c == '$':
		return p.variableOperand()
	case c == '"' || c == '`':
		if s, ok := p.quoted(); ok {
			return p.arena.str(s)
		}
	case c == '(':
		return p.parenthesis()
	case c >= '0' && c <= '9', c == '-' && p.digitAt(p.pos+1):
		return p.number()
	case isWord(c):
		return p.identifier()
	}
	p.fail()
	return nil
}

func (p *quickParser) letterAt(i int) bool {
	return i < len(p.text) && isWord(p.text[i]) && !p.digitAt(i)
}

func (p *quickParser) digitAt(i int) bool {
	return i < len(p.text) && p.text[i] >= '0' && p.text[i] <= '9'
}

// fields reads ".a.b.c" after ident and appends the names to it. second is the position of the
// second name.
func (p *quickParser) fields(ident []string) (path []string, second int) {
	var few [8]string
	ident = append(few[:0], ident...)
	for p.is('.') {
		if !p.letterAt(p.pos + 1) {
			p.fail()
			return nil, 0
		}
		if len(ident) == 1 {
			second = p.pos
		}
		p.pos++
		ident = append(ident, p.word())
	}
	if p.pos < len(p.text) && p.text[p.pos] >= 0x80 {
		p.fail()
	}
	return p.arena.copyStrings(ident), second
}

func (p *quickParser) variableOperand() parse.Node {
	start := p.pos
	p.pos++
	p.word()
	name := p.text[start:p.pos]
	known := false
	for _, v := range p.vars {
		known = known || v == name
	}
	if !known {
		p.fail()
		return nil
	}
	ident, second := p.fields([]string{name})
	if len(ident) > 1 {
		start = second
	}
	return p.variableNode(start, ident)
}

func (p *quickParser) parenthesis() parse.Node {
	p.pos++
	if p.depth++; p.depth > maxParseDepth {
		p.fail()
		return nil
	}
	p.spaces()
	pipe := p.pipeline("parenthesized pipeline")
	p.depth--
	if p.bad || !p.is(')') {
		p.fail()
		return nil
	}
	p.pos++
	if !p.is('.') {
		return pipe
	}
	start := p.pos
	fields, _ := p.fields(nil)
	return &parse.ChainNode{NodeType: parse.NodeChain, Pos: parse.Pos(start), Node: pipe, Field: fields}
}

func (p *quickParser) identifier() parse.Node {
	pos := parse.Pos(p.pos)
	word := p.word()
	if p.pos < len(p.text) && p.text[p.pos] >= 0x80 {
		p.fail()
	}
	switch word {
	case "true", "false":
		return &parse.BoolNode{NodeType: parse.NodeBool, Pos: pos, True: word == "true"}
	case "nil":
		return &parse.NilNode{NodeType: parse.NodeNil, Pos: pos}
	case "if", "else", "end", "range", "with", "define", "template", "block", "break", "continue":
		p.fail()
		return nil
	}
	if p.known[word] == nil {
		p.fail()
		return nil
	}
	return p.arena.identifier(parse.IdentifierNode{NodeType: parse.NodeIdentifier, Pos: pos, Ident: word})
}

// number reads a decimal number of up to 15 digits.
func (p *quickParser) number() parse.Node {
	start := p.pos
	if p.is('-') {
		p.pos++
	}
	digits := p.pos
	for p.pos < len(p.text) && (isWord(p.text[p.pos]) || p.text[p.pos] == '.') {
		p.pos++
	}
	text := p.text[start:p.pos]
	whole, fraction, dotted := strings.Cut(p.text[digits:p.pos], ".")
	if len(whole) == 0 || len(whole) > 15 || whole[0] == '0' && len(whole) > 1 ||
		strings.Trim(whole+fraction, "0123456789") != "" ||
		dotted && (fraction == "" || len(fraction) > 15) || text[0] == '-' && whole == "0" {
		p.fail()
		return nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		p.fail()
		return nil
	}
	n := &parse.NumberNode{NodeType: parse.NodeNumber, Pos: parse.Pos(start), IsFloat: true, Float64: f, Text: text}
	if i := int64(f); float64(i) == f {
		n.IsInt, n.Int64 = true, i
		if i >= 0 {
			n.IsUint, n.Uint64 = true, uint64(i)
		}
	}
	return n
}

// quoted reads a string constant.
func (p *quickParser) quoted() (parse.StringNode, bool) {
	start := p.pos
	if start >= len(p.text) {
		return parse.StringNode{}, false
	}
	quote := p.text[start]
	if quote != '"' && quote != '`' {
		return parse.StringNode{}, false
	}
	i, escaped := start+1, false
	for ; i < len(p.text) && p.text[i] != quote; i++ {
		if quote == '"' {
			if p.text[i] == '\n' {
				return parse.StringNode{}, false
			}
			if p.text[i] == '\\' {
				escaped = true
				i++
			}
		} else if p.text[i] == '\r' {
			return parse.StringNode{}, false
		}
	}
	if i >= len(p.text) {
		return parse.StringNode{}, false
	}
	p.pos = i + 1
	s := parse.StringNode{NodeType: parse.NodeString, Pos: parse.Pos(start), Quoted: p.text[start:p.pos],
		Text: p.text[start+1 : i]}
	if escaped {
		var err error
		if s.Text, err = strconv.Unquote(s.Quoted); err != nil {
			return s, false
		}
	}
	return s, true
}
