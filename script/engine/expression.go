// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"strings"

	"github.com/arnodel/golua/token"
)

// longestLine is how much of a line is read.
const longestLine = 1000

// sourceLine returns a line of a text, "" where there is none that could be read.
func sourceLine(text string, line int) string {
	for ; line > 1; line-- {
		_, rest, more := strings.Cut(text, "\n")
		if !more {
			return ""
		}
		text = rest
	}
	text, _, _ = strings.Cut(text, "\n")
	if len(text) > longestLine {
		return ""
	}
	return text
}

// sourceOperands are what a line of a script computes with, to name one of them in an
// error. They are paths of names as in list[i].name; what is written in other ways has no
// name, and is "".
type sourceOperands struct {
	line     string
	tokens   []*token.Token
	fields   []sourceField
	called   []string // "f", "a.b"; of a method of what has no name, ":b"
	measured []string // behind #
	joined   []string // beside .., but for literals
	iterated string   // behind the in of a for
	argument map[string][]string
}

// sourceField is a field that a line asks for.
type sourceField struct{ holder, key string }

func readOperands(line string) *sourceOperands {
	s := &sourceOperands{line: line, argument: map[string][]string{}}
	_ = tokens(line, func(t *token.Token) error { s.tokens = append(s.tokens, t); return nil })
	for i := 0; i < len(s.tokens); {
		switch s.kind(i) {
		case token.IDENT, token.SgCloseBkt, token.SgCloseSquareBkt, token.SgCloseBrace:
			i = s.operand(i)
		default:
			if s.kind(i) == token.SgConcat {
				s.join(i+1, i-1)
			}
			i++
		}
	}
	return s
}

func (s *sourceOperands) kind(i int) token.Type {
	if i < 0 || i >= len(s.tokens) {
		return token.EOF
	}
	return s.tokens[i].Type
}

func (s *sourceOperands) literal(i int) string { return string(s.tokens[i].Lit) }

// operand reads the operand that begins with a name, or goes on behind a bracket, and
// returns the token behind it.
func (s *sourceOperands) operand(first int) int {
	named := s.kind(first) == token.IDENT
	end, method := first+1, ""
	text := func() string {
		if !named {
			return ""
		}
		last := s.tokens[end-1]
		return s.line[s.tokens[first].Offset : last.Offset+len(last.Lit)]
	}
	for {
		switch s.kind(end) {
		case token.SgDot, token.SgColon:
			if s.kind(end+1) != token.IDENT {
				return end + 1
			}
			s.fields = append(s.fields, sourceField{text(), s.literal(end + 1)})
			if method = ""; s.kind(end) == token.SgColon {
				method = ":" + s.literal(end+1)
			}
			end += 2
			continue
		case token.SgOpenSquareBkt:
			switch s.kind(end + 1) {
			case token.STRING, token.NUMDEC, token.IDENT:
				if s.kind(end+2) == token.SgCloseSquareBkt {
					s.fields = append(s.fields, sourceField{text(), strings.Trim(s.literal(end+1), `"'`)})
					end, method = end+3, ""
					continue
				}
			}
			named = false
		case token.SgOpenBkt, token.SgOpenBrace, token.STRING, token.LONGSTRING:
			s.call(first, end, text(), method)
			named = false
		}
		s.use(first, end, text())
		return end
	}
}

// call notes the call of the operand from first to end.
func (s *sourceOperands) call(first, end int, name, method string) {
	if name == "" {
		name = method
	}
	behind := s.kind(first) != token.IDENT && s.kind(end) != token.SgOpenBkt && method == ""
	if behind || s.kind(first-1) == token.KwFunction {
		return // of no function: what stands behind a bracket, or a definition
	}
	s.called = append(s.called, name)
	if s.kind(end) == token.SgOpenBkt && name != "" {
		s.argument[name] = append(s.argument[name], s.only(end+1, token.SgCloseBkt))
	}
}

// only returns the path that stands between a token and one of a type.
func (s *sourceOperands) only(at int, until token.Type) string {
	in := &sourceOperands{line: s.line, tokens: s.tokens, argument: map[string][]string{}}
	if s.kind(at) != token.IDENT {
		return ""
	}
	end := in.operand(at)
	if s.kind(end) != until || len(in.called) > 0 {
		return ""
	}
	last := s.tokens[end-1]
	return s.line[s.tokens[at].Offset : last.Offset+len(last.Lit)]
}

// use notes what becomes of the operand from first to end.
func (s *sourceOperands) use(first, end int, name string) {
	switch s.kind(first - 1) {
	case token.SgHash:
		s.measured = append(s.measured, name)
	case token.KwIn:
		if s.kind(0) == token.KwFor && s.kind(end) == token.KwDo {
			s.iterated = name
		}
	}
	if s.kind(first-1) == token.SgConcat || s.kind(end) == token.SgConcat {
		s.joined = append(s.joined, name)
	}
}

// join notes the neighbours of a .. that are neither operands nor literals.
func (s *sourceOperands) join(at ...int) {
	for _, i := range at {
		switch s.kind(i) {
		case token.STRING, token.LONGSTRING, token.NUMDEC, token.NUMHEX, token.IDENT,
			token.SgCloseBkt, token.SgCloseSquareBkt, token.SgCloseBrace:
		default:
			s.joined = append(s.joined, "")
		}
	}
}
