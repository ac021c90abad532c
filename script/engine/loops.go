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

func newTurns(source, text string, found *loops) *turns {
	s := &turns{Scanner: scanner.New(source, []byte(text)), names: map[int][]string{}}
	for _, f := range found.found {
		if f.functions && len(f.names) > 0 {
			s.names[f.body] = f.names
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

// loops finds the loops of a script, by the order of their bodies.
type loops struct {
	open  []*block
	found []*block
}

// block is a block that is open: a loop whose do is still to come, or anything
// that ends with end or until.
type block struct {
	names     []string // a loop's variables
	head      bool     // its do is still to come
	in        bool     // it is a loop over what a function gives
	body      int      // where its body begins
	functions bool     // its body makes functions
}

func (l *loops) add(t *token.Token) {
	var top *block
	if n := len(l.open); n > 0 {
		top = l.open[n-1]
	}
	head := top != nil && top.head
	switch t.Type {
	case token.KwFor, token.KwWhile:
		l.open = append(l.open, &block{head: true})
	case token.IDENT:
		if head && !top.in {
			top.names = append(top.names, string(t.Lit))
		}
	case token.KwIn:
		if head {
			top.in = true
		}
	case token.KwDo:
		if !head {
			l.open = append(l.open, &block{})
			return
		}
		top.head, top.body = false, t.Offset+len("do")
		if top.in {
			l.found = append(l.found, top)
		}
	case token.KwFunction:
		for _, b := range l.open {
			b.functions = b.functions || !b.head
		}
		l.open = append(l.open, &block{})
	case token.KwIf, token.KwRepeat:
		l.open = append(l.open, &block{})
	case token.KwEnd, token.KwUntil:
		if top != nil {
			l.open = l.open[:len(l.open)-1]
		}
	}
}
