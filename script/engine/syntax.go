// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"strings"

	"github.com/arnodel/golua/ast"
	"github.com/arnodel/golua/parsing"
	"github.com/arnodel/golua/scanner"
	"github.com/arnodel/golua/token"
)

const (
	// maxSource is how long a script may be.
	maxSource = 256 << 10
	// maxNesting is how deep brackets, blocks and chains of operators may nest:
	// the parser and the compiler call themselves for each.
	maxNesting = 200
)

// syntaxError is returned for a script that cannot be compiled.
type syntaxError struct {
	line int
	text string
	// unfinished is set if the text ends in a block or bracket that is open.
	unfinished bool
}

func (s *syntaxError) Error() string { return s.text }

// parse returns the syntax tree of a script. An error is a [*syntaxError].
func parse(text string) (ast.BlockStat, error) {
	if len(text) > maxSource {
		return ast.BlockStat{}, &syntaxError{text: fmt.Sprintf("the script is larger than %d KiB", maxSource>>10)}
	}
	r := &reader{Scanner: scanner.New("script", []byte(text)), last: &token.Token{Pos: token.Pos{Line: 1}}}
	chunk, err := parsing.ParseChunk(r)
	if err != nil {
		return ast.BlockStat{}, r.explain(err)
	}
	return chunk, nil
}

// reader gives golua's parser the tokens of a script, up to one that nests too deep for it.
type reader struct {
	*scanner.Scanner
	blocks blocks // of the tokens before last
	last   *token.Token
}

// Scan implements [parsing.Scanner].
func (r *reader) Scan() *token.Token {
	r.blocks.add(r.last)
	if t := r.Scanner.Scan(); t != nil { // nil after the end
		if t.Type == token.LONGSTRING && isEmptyLong(t.Lit) { // golua's parser panics
			t = &token.Token{Type: token.STRING, Lit: []byte(`""`), Pos: t.Pos}
		}
		r.last = t
	}
	if r.blocks.tooDeep() {
		return &token.Token{Type: token.INVALID, Pos: r.last.Pos}
	}
	return r.last
}

// isEmptyLong reports whether a long string, such as [[]] or [=[]=], is empty.
func isEmptyLong(text []byte) bool {
	bracket := bytes.IndexByte(text[1:], '[') + 2
	return len(text) == 2*bracket
}

// explain returns the error of a script at which golua's parser has stopped.
func (r *reader) explain(err error) *syntaxError {
	var (
		wrong parsing.Error
		bug   runtime.Error // of golua
	)
	switch {
	case r.blocks.tooDeep():
		return &syntaxError{line: r.last.Line,
			text: fmt.Sprintf("the script nests too deep here (more than %d levels)", maxNesting)}
	case errors.As(err, &bug):
		return &syntaxError{line: r.last.Line, text: "the script cannot be read"}
	case !errors.As(err, &wrong): // it is about an escape sequence of the last token
		return &syntaxError{line: r.last.Line, text: err.Error()}
	}
	got := wrong.Got
	_, text, _ := strings.Cut(wrong.Error(), ": ") // line:column: ...
	text += r.blocks.missingEnd(got)
	switch {
	case got.Type == token.SgPlus || got.Type == token.SgMinus:
		text += " (Lua writes x = x + 1)"
	case got.Type == token.INVALID && strings.HasPrefix(string(got.Lit), "!"):
		text += " (Lua writes ~= and not)"
	}
	ends := r.last.Type == token.EOF || r.last.Type == token.UNFINISHED
	return &syntaxError{line: got.Line, text: text, unfinished: ends && len(r.blocks.open) > 0}
}

// block is a block or bracket that is open.
type block struct {
	word string // that it begins with
	line int
	end  string // that closes it
	head bool   // it is a loop whose do is still to come
}

// blocks are the blocks of a script, as far as its tokens were added.
type blocks struct {
	open []block
	// chain counts the operators since the last token that ends an expression: they nest to
	// one side.
	chain int
	// operand is set where the last token ended an operand: a name then begins another
	// statement.
	operand bool
}

// tooDeep reports whether the parser, which calls itself, must not go on.
func (b *blocks) tooDeep() bool { return len(b.open) > maxNesting || b.chain > 4*maxNesting }

func (b *blocks) add(t *token.Token) {
	b.count(t)
	push := func(end string) { b.open = append(b.open, block{word: string(t.Lit), line: t.Line, end: end}) }
	switch t.Type {
	case token.KwFor, token.KwWhile:
		push("end")
		b.open[len(b.open)-1].head = true
	case token.KwDo:
		if n := len(b.open); n > 0 && b.open[n-1].head {
			b.open[n-1].head = false
			break
		}
		push("end")
	case token.KwFunction, token.KwIf:
		push("end")
	case token.KwRepeat:
		push("until")
	case token.SgOpenBkt:
		push(")")
	case token.SgOpenBrace:
		push("}")
	case token.SgOpenSquareBkt:
		push("]")
	case token.KwEnd, token.KwUntil, token.SgCloseBkt, token.SgCloseBrace, token.SgCloseSquareBkt:
		b.open = b.open[:max(len(b.open)-1, 0)]
	}
}

// count counts the operators that nest to one side.
func (b *blocks) count(t *token.Token) {
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
func (b *blocks) missingEnd(at *token.Token) string {
	switch at.Type {
	case token.EOF, token.KwEnd, token.KwUntil, token.SgCloseBkt, token.SgCloseBrace, token.SgCloseSquareBkt:
	case token.KwIf: // golua's parser names the if that has no end
		return fmt.Sprintf(" (the if of line %d, or a block in it, has no end)", at.Line)
	default:
		return ""
	}
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
