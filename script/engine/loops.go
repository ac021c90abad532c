// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"github.com/arnodel/golua/scanner"
	"github.com/arnodel/golua/token"
)

// turns reads a script so that every turn of a loop over a list has variables of its
// own, as the language says. golua gives all turns the same ones and empties them at
// the end: a function made in the loop, such as an event's handler, would find nil.
// Where a body makes functions, the tokens of "local k, v = k, v;" stand before its
// first statement; they have the place of the do before them. The text stays as it is.
type turns struct {
	*scanner.Scanner
	names map[int][]string // a loop's variables, by the place of its body
	next  []*token.Token
}

func newTurns(source, text string, b *blocks) *turns {
	s := &turns{Scanner: scanner.New(source, []byte(text)), names: map[int][]string{}}
	for _, loop := range b.loops {
		if loop.functions && len(loop.names) > 0 {
			s.names[loop.body] = loop.names
		}
	}
	return s
}

// Scan implements [parsing.Scanner].
func (s *turns) Scan() *token.Token {
	if len(s.next) > 0 {
		t := s.next[0]
		s.next = s.next[1:]
		return t
	}
	t := s.Scanner.Scan()
	if t != nil && t.Type == token.KwDo {
		s.next = s.renewed(t)
	}
	return t
}

// renewed is "local k, v = k, v;" behind the do of a loop that needs it.
func (s *turns) renewed(do *token.Token) []*token.Token {
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
