// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

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

// syntaxError is what is wrong with a script's text.
type syntaxError struct {
	line int
	text string
}

func (s *syntaxError) Error() string { return s.text }

// syntaxFault is the fault of a script that cannot be compiled.
func syntaxFault(at place, source string, err error) *fault {
	f := &fault{text: err.Error(), chart: at.chart, file: at.file}
	var ours *syntaxError
	var golua parsing.Error
	switch {
	case errors.As(err, &ours):
		f.line = ours.line
	case errors.As(err, &golua):
		f.line = golua.Got.Line
		text := golua.Error() // line:column: ...
		if _, rest, ok := strings.Cut(text, ": "); ok {
			text = rest
		}
		f.text = text + missingEnd(source, golua.Got)
		if golua.Got.Type == token.INVALID && strings.HasPrefix(string(golua.Got.Lit), "!") {
			f.text += " (Lua writes ~= and not)"
		}
	default:
		// The compiler's: "line:column: ..."
		place, text, _ := strings.Cut(f.text, ": ")
		number, column, _ := strings.Cut(place, ":")
		line, err1 := strconv.Atoi(number)
		if _, err2 := strconv.Atoi(column); err1 == nil && err2 == nil {
			f.line, f.text = line, text
		}
	}
	f.text = clip(f.text, maxMessage)
	return f
}

// survey returns the loops of a script. An error is returned for a script whose text would
// be too much for golua's parser.
func survey(text string) (*loops, error) {
	if len(text) > maxSource {
		return nil, &syntaxError{text: fmt.Sprintf("the script is larger than %d KiB", maxSource>>10)}
	}
	n, l := nesting{}, &loops{}
	return l, tokens(text, func(t *token.Token) error {
		l.add(t)
		return n.add(t)
	})
}

// tokens calls f for the tokens of a text up to the end or the first that is
// none; what is wrong there the parser says.
func tokens(text string, f func(*token.Token) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &syntaxError{text: "the script cannot be read"}
		}
	}()
	s := scanner.New("script", []byte(text))
	for {
		t := s.Scan()
		if t == nil || t.Type == token.EOF || t.Type == token.INVALID || t.Type == token.UNFINISHED {
			return nil
		}
		if err := f(t); err != nil {
			return err
		}
	}
}

// nesting counts how deep a script nests.
type nesting struct {
	open  int // brackets and blocks
	chain int // operators that nest to one side, since the last thing that ends an expression
	loops int // while and for whose do is still to come
	// operand reports that the last token ended an operand: a name then begins
	// another statement.
	operand bool
}

func (n *nesting) add(t *token.Token) error {
	operand := false
	switch t.Type {
	case token.SgOpenBkt, token.SgOpenBrace, token.SgOpenSquareBkt:
		n.open++
		n.chain++
	case token.SgCloseBkt, token.SgCloseBrace, token.SgCloseSquareBkt:
		n.open = max(n.open-1, 0)
		operand = true
	case token.KwWhile, token.KwFor:
		n.open++
		n.loops++
		n.chain = 0
	case token.KwDo:
		if n.loops > 0 {
			n.loops--
		} else {
			n.open++
		}
		n.chain = 0
	case token.KwIf, token.KwRepeat, token.KwFunction:
		n.open++
		n.chain = 0
	case token.KwElseIf:
		n.chain++
	case token.KwEnd, token.KwUntil:
		n.open = max(n.open-1, 0)
		n.chain, operand = 0, true
	case token.SgMinus, token.KwNot, token.SgHash, token.SgTilde, token.SgHat, token.SgConcat, token.SgDot, token.SgColon:
		n.chain++
	case token.SgComma, token.SgSemicolon, token.SgAssign, token.KwLocal, token.KwReturn, token.KwThen, token.KwElse:
		n.chain = 0
	case token.STRING, token.LONGSTRING:
		if n.operand {
			n.chain++ // f"x""y"
		}
		operand = true
	case token.IDENT:
		if n.operand {
			n.chain = 0
		}
		operand = true
	case token.NUMDEC, token.NUMHEX, token.KwNil, token.KwTrue, token.KwFalse, token.SgEtc:
		operand = true
	}
	n.operand = operand
	if n.open > maxNesting || n.chain > 4*maxNesting {
		return &syntaxError{line: t.Line,
			text: fmt.Sprintf("the script nests too deep here (more than %d levels)", maxNesting)}
	}
	return nil
}
