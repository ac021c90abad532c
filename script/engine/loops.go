// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"strings"

	"github.com/arnodel/golua/token"
)

// freshLoops is a script in which every turn of a loop over a list has variables
// of its own, as the language says. golua gives all turns the same ones and
// empties them at the end: a function made in the loop, such as an event's
// handler, would find nil. Where a body makes functions, its first statement
// becomes "local k, v = k, v". No line moves. A text that is not Lua comes back
// as it is, or nearly, for the parser to complain about.
func freshLoops(text string) string {
	l := &loops{}
	if err := tokens(text, func(t *token.Token) error { l.add(t); return nil }); err != nil || len(l.found) == 0 {
		return text
	}
	var b strings.Builder
	done := 0
	for _, f := range l.found {
		if !f.functions || f.body < done || f.body > len(text) || !strings.HasSuffix(text[:f.body], "do") {
			continue
		}
		names := strings.Join(f.names, ",")
		b.WriteString(text[done:f.body] + " local " + names + "=" + names + "; ")
		done = f.body
	}
	b.WriteString(text[done:])
	return b.String()
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
