// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"strconv"
	"strings"

	"github.com/arnodel/golua/parsing"
	"github.com/arnodel/golua/scanner"
	"github.com/arnodel/golua/token"

	"github.com/moonhelm/moonhelm/internal/truncate"
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
}

func (s *syntaxError) Error() string { return s.text }

// newSyntaxError returns the error of a script that cannot be compiled.
func newSyntaxError(at place, source string, err error) *scriptError {
	f := &scriptError{text: err.Error(), chart: at.chart, file: at.file}
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
		if golua.Got.Type == token.SgPlus || golua.Got.Type == token.SgMinus {
			f.text += " (Lua writes x = x + 1)"
		}
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
	f.text = truncate.Bytes(f.text, maxMessage, "…")
	return f
}

// tokens calls f for the tokens of a text, up to the first that is not valid: the parser
// says what is wrong with it.
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
