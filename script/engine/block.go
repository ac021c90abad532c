// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"

	"github.com/arnodel/golua/token"
)

// block is a block or bracket that is open.
type block struct {
	word string // that it begins with
	line int
	end  string // that closes it

	head      bool     // it is a loop whose do is still to come
	in        bool     // it is a loop over what a function returns
	names     []string // the loop's variables
	body      int      // the offset behind the loop's do
	functions bool     // there are functions in its body
}

// blocks are the blocks of a script, as far as its tokens were added.
type blocks struct {
	open  []*block
	loops []*block // all loops over what a function returns
	// chain counts the operators since the last token that ends an expression: they nest to
	// one side.
	chain int
	// operand is set where the last token ended an operand: a name then begins another
	// statement.
	operand bool
}

// readBlocks returns the blocks of a script. An error is returned for a script whose text
// would be too much for golua's parser.
func readBlocks(text string) (*blocks, error) {
	if len(text) > maxSource {
		return nil, &syntaxError{text: fmt.Sprintf("the script is larger than %d KiB", maxSource>>10)}
	}
	b := &blocks{}
	return b, tokens(text, func(t *token.Token) error {
		b.add(t)
		if len(b.open) > maxNesting || b.chain > 4*maxNesting {
			return &syntaxError{line: t.Line,
				text: fmt.Sprintf("the script nests too deep here (more than %d levels)", maxNesting)}
		}
		return nil
	})
}

func (b *blocks) push(t *token.Token, end string) *block {
	opened := &block{word: string(t.Lit), line: t.Line, end: end}
	b.open = append(b.open, opened)
	return opened
}

func (b *blocks) add(t *token.Token) {
	b.hostConn(t)
	top := &block{}
	if n := len(b.open); n > 0 {
		top = b.open[n-1]
	}
	switch t.Type {
	case token.KwFor, token.KwWhile:
		b.push(t, "end").head = true
	case token.IDENT:
		if top.head && !top.in {
			top.names = append(top.names, string(t.Lit))
		}
	case token.KwIn:
		top.in = top.head
	case token.KwDo:
		if !top.head {
			b.push(t, "end")
			break
		}
		top.head, top.body = false, t.Offset+len(t.Lit)
		if top.in {
			b.loops = append(b.loops, top)
		}
	case token.KwFunction:
		for _, open := range b.open {
			open.functions = open.functions || !open.head
		}
		b.push(t, "end")
	case token.KwIf:
		b.push(t, "end")
	case token.KwRepeat:
		b.push(t, "until")
	case token.SgOpenBkt:
		b.push(t, ")")
	case token.SgOpenBrace:
		b.push(t, "}")
	case token.SgOpenSquareBkt:
		b.push(t, "]")
	case token.KwEnd, token.KwUntil, token.SgCloseBkt, token.SgCloseBrace, token.SgCloseSquareBkt:
		b.open = b.open[:max(len(b.open)-1, 0)]
	}
}

// link counts operators that nest to one side.
func (b *blocks) hostConn(t *token.Token) {
	operand := false
	switch t.Type {
	case token.SgOpenBkt, token.SgOpenBrace, token.SgOpenSquareBkt, token.KwElseIf, token.SgMinus, token.KwNot,
		token.SgHash, token.SgTilde, token.SgHat, token.SgConcat, token.SgDot, token.SgColon:
		b.chain++
	case token.KwWhile, token.KwFor, token.KwDo, token.KwIf, token.KwRepeat, token.KwFunction, token.SgComma,
		token.SgSemicolon, token.SgAssign, token.KwLocal, token.KwReturn, token.KwThen, token.KwElse:
		b.chain = 0
	case token.KwEnd, token.KwUntil:
		b.chain, operand = 0, true
	case token.STRING, token.LONGSTRING:
		if b.operand {
			b.chain++ // f"x""y"
		}
		operand = true
	case token.IDENT:
		if b.operand {
			b.chain = 0
		}
		operand = true
	case token.SgCloseBkt, token.SgCloseBrace, token.SgCloseSquareBkt, token.NUMDEC, token.NUMHEX, token.KwNil,
		token.KwTrue, token.KwFalse, token.SgEtc:
		operand = true
	}
	b.operand = operand
}

// missingEnd says which block is still open where the parser could not go on, as
// " (the if of line 2, or a block in it, has no end)"; "" where another reason is likelier.
func missingEnd(text string, at *token.Token) string {
	switch at.Type {
	case token.EOF, token.KwEnd, token.KwUntil, token.SgCloseBkt, token.SgCloseBrace, token.SgCloseSquareBkt:
	case token.KwIf: // golua's parser names the if that has no end
		return fmt.Sprintf(" (the if of line %d, or a block in it, has no end)", at.Line)
	default:
		return ""
	}
	b, stopped := &blocks{}, false
	_ = tokens(text, func(t *token.Token) error {
		if stopped = stopped || t.Offset >= at.Offset && at.Type != token.EOF; !stopped {
			b.add(t)
		}
		return nil
	})
	if len(b.open) == 0 {
		return ""
	}
	switch last := b.open[len(b.open)-1]; last.end {
	case string(at.Lit):
		return ""
	case "end":
		return fmt.Sprintf(" (the %s of line %d, or a block in it, has no end)", last.word, last.line)
	default:
		return fmt.Sprintf(" (the %q of line %d has no %q)", last.word, last.line, last.end)
	}
}
