// SPDX-License-Identifier: Apache-2.0

package yamlpath

import (
	"slices"
	"strconv"
	"strings"
)

// Parse parses a path. The error is a [*SyntaxError].
func Parse(text string) (p *Path, err error) {
	defer func() {
		if r := recover(); r != nil {
			bad, ok := r.(*SyntaxError)
			if !ok {
				panic(r)
			}
			p, err = nil, bad
		}
	}()
	ps := &parser{text: text}
	if len(text) > maxLength {
		ps.pos = maxLength
		ps.fail("the path is longer than 4096 bytes")
	}
	if strings.HasPrefix(text, "$") {
		ps.pos++
	}
	steps := ps.steps(ps.pos == 0)
	if ps.pos < len(text) {
		ps.fail("invalid path syntax")
	}
	return &Path{steps: steps}, nil
}

type parser struct {
	text  string
	pos   int
	depth int
}

// fail ends the parsing; Parse recovers it.
func (p *parser) fail(problem string) {
	panic(&SyntaxError{Path: p.text, Pos: min(p.pos, len(p.text)), Problem: problem})
}

func (p *parser) next(token string) bool {
	if strings.HasPrefix(p.text[p.pos:], token) {
		p.pos += len(token)
		return true
	}
	return false
}

// endsName are the characters that end a name without quotes.
const endsName = ".[]()&|=!<>~ \t\n"

// steps parses steps up to the end of the path. In undotted paths the first name has no dot.
func (p *parser) steps(undotted bool) (out []step) {
	if undotted && p.pos < len(p.text) && !strings.ContainsRune(".[", rune(p.text[p.pos])) {
		out = p.child(out)
	}
	for p.pos < len(p.text) {
		switch {
		case p.next(".."):
			out = append(out, descend{})
			if p.next("[") {
				out = p.bracket(out)
				continue
			}
			if p.pos == len(p.text) {
				p.fail("child name or array access or filter missing after recursive descent")
			}
			out = p.child(out)
		case p.next("."):
			out = p.child(out)
		case p.next("["):
			out = p.bracket(out)
		default:
			return out
		}
	}
	return out
}

// child parses a name without quotes, which may be *.
func (p *parser) child(out []step) []step {
	from := p.pos
	for p.pos < len(p.text) && !strings.ContainsRune(endsName, rune(p.text[p.pos])) {
		p.pos++
	}
	name := p.text[from:p.pos]
	if name == "" {
		p.fail("child name missing")
	}
	if p.next("~") {
		return append(out, names{name})
	}
	if name == "*" {
		return append(out, every{})
	}
	return append(out, children{name})
}

// bracket parses what follows "[".
func (p *parser) bracket(out []step) []step {
	if p.next("?(") {
		test := p.or()
		if !p.next(")") || !p.next("]") {
			p.fail("invalid filter expression")
		}
		return append(out, filtered{test})
	}
	if p.pos < len(p.text) && (p.text[p.pos] == '\'' || p.text[p.pos] == '"') {
		return p.quotedNames(out)
	}
	end := strings.IndexByte(p.text[p.pos:], ']')
	if end < 0 {
		p.pos = len(p.text)
		p.fail("unmatched [")
	}
	inner := strings.TrimSpace(p.text[p.pos : p.pos+end])
	p.pos += end + 1
	if inner == "*" {
		return append(out, every{onlyLists: true})
	}
	if inner == "" {
		p.fail("subscript missing from []")
	}
	var list indexes
	for _, part := range strings.Split(inner, ",") {
		list = append(list, p.span(strings.TrimSpace(part), inner))
	}
	return append(out, list)
}

func (p *parser) quotedNames(out []step) []step {
	var list []string
	for {
		p.spaces()
		list = append(list, p.quoted())
		p.spaces()
		if p.next("]") {
			break
		}
		if !p.next(",") {
			p.fail("unmatched [")
		}
	}
	if p.next("~") {
		return append(out, names(list))
	}
	return append(out, children(list))
}

// quoted parses a string in single or double quotes, in which a backslash escapes the quote and
// itself.
func (p *parser) quoted() string {
	if p.pos >= len(p.text) || p.text[p.pos] != '\'' && p.text[p.pos] != '"' {
		p.fail("child name missing")
	}
	quote := p.text[p.pos]
	var b strings.Builder
	for p.pos++; p.pos < len(p.text); p.pos++ {
		switch c := p.text[p.pos]; {
		case c == quote:
			p.pos++
			return b.String()
		case c == '\\' && p.pos+1 < len(p.text) && (p.text[p.pos+1] == quote || p.text[p.pos+1] == '\\'):
			p.pos++
			b.WriteByte(p.text[p.pos])
		default:
			b.WriteByte(c)
		}
	}
	p.fail("unmatched quote")
	return ""
}

// span parses an index or a range.
func (p *parser) span(part, whole string) span {
	fields := strings.Split(part, ":")
	if len(fields) > 3 {
		p.fail("invalid array index [" + whole + "]: too many colons")
	}
	numbers := [3]int{0, 0, 1}
	given := [3]bool{}
	for i, f := range fields {
		f = strings.TrimSpace(f)
		if f == "" && len(fields) > 1 {
			continue
		}
		n, err := strconv.Atoi(f)
		if err != nil {
			p.fail("invalid array index [" + whole + "]: non-integer array index")
		}
		numbers[i], given[i] = n, true
	}
	if numbers[2] == 0 {
		p.fail("invalid array index [" + whole + "]: the step must not be 0")
	}
	// A step that is larger than any list is as good as any other such step.
	numbers[2] = max(-maxFound, min(numbers[2], maxFound))
	return span{from: numbers[0], to: numbers[1], by: numbers[2], isRange: len(fields) > 1,
		openFrom: !given[0], openTo: !given[1]}
}

func (p *parser) spaces() {
	for p.pos < len(p.text) && slices.Contains([]byte(" \t\n"), p.text[p.pos]) {
		p.pos++
	}
}
