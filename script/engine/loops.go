// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"github.com/arnodel/golua/scanner"
	"github.com/arnodel/golua/token"
)

// loopScanner gives every iteration of a for-in loop variables of its own, as Lua does. With
// golua all iterations share them, and they are nil after the loop, so that functions that
// are made in the loop, such as handlers, would find nil. Where a body makes functions, the
// scanner inserts the tokens of "local k, v = k, v;" before its first statement, at the
// position of the do. The text stays as it is.
type loopScanner struct {
	*scanner.Scanner
	names map[int][]string // a loop's variables, by the offset of its body
	next  []*token.Token
}

func newLoopScanner(source, text string, b *blocks) *loopScanner {
	s := &loopScanner{Scanner: scanner.New(source, []byte(text)), names: map[int][]string{}}
	for _, loop := range b.loops {
		if loop.functions && len(loop.names) > 0 {
			s.names[loop.body] = loop.names
		}
	}
	return s
}

// Scan implements [parsing.Scanner].
func (s *loopScanner) Scan() *token.Token {
	if len(s.next) > 0 {
		t := s.next[0]
		s.next = s.next[1:]
		return t
	}
	t := s.Scanner.Scan()
	if t != nil && t.Type == token.KwDo {
		s.next = s.ownVariables(t)
	}
	return t
}

// ownVariables returns "local k, v = k, v;" for the do of a loop that needs it.
func (s *loopScanner) ownVariables(do *token.Token) []*token.Token {
	names := s.names[do.Offset+len(do.Lit)]
	if names == nil {
		return nil
	}
	var out []*token.Token
	add := func(kind token.Type, text string) {
		out = append(out, &token.Token{Type: kind, Lit: []byte(text), Pos: do.Pos})
	}
	list := func() {
		for i, name := range names {
			if i > 0 {
				add(token.SgComma, ",")
			}
			add(token.IDENT, name)
		}
	}
	add(token.KwLocal, "local")
	list()
	add(token.SgAssign, "=")
	list()
	add(token.SgSemicolon, ";")
	return out
}
