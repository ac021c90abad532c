// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"

	"github.com/arnodel/golua/token"
)

// opener is a word or a bracket whose end is still to come.
type opener struct {
	word string
	line int
	end  string
}

// missingEnd says which block is still open where the parser could not go on, as
// " (the if of line 2, or a block in it, has no end)"; "" where another reason is likelier.
func missingEnd(text string, at *token.Token) string {
	var open []opener
	loops := 0 // while and for whose do is still to come
	var stopped bool
	_ = tokens(text, func(t *token.Token) error {
		if stopped = stopped || t.Offset >= at.Offset && at.Type != token.EOF; stopped {
			return nil
		}
		push := func(word, end string) { open = append(open, opener{word, t.Line, end}) }
		switch t.Type {
		case token.KwFunction:
			push("function", "end")
		case token.KwIf:
			push("if", "end")
		case token.KwFor, token.KwWhile:
			loops++
			push(string(t.Lit), "end")
		case token.KwDo:
			if loops > 0 {
				loops--
			} else {
				push("do", "end")
			}
		case token.KwRepeat:
			push("repeat", "until")
		case token.SgOpenBkt, token.SgOpenBrace, token.SgOpenSquareBkt:
			push(string(t.Lit),
				map[token.Type]string{token.SgOpenBkt: ")", token.SgOpenBrace: "}", token.SgOpenSquareBkt: "]"}[t.Type])
		case token.KwEnd, token.KwUntil, token.SgCloseBkt, token.SgCloseBrace, token.SgCloseSquareBkt:
			if len(open) > 0 {
				open = open[:len(open)-1]
			}
		}
		return nil
	})
	if len(open) == 0 {
		return ""
	}
	last := open[len(open)-1]
	switch at.Type {
	case token.EOF, token.KwEnd, token.KwUntil, token.SgCloseBkt, token.SgCloseBrace, token.SgCloseSquareBkt:
	default:
		return ""
	}
	if last.end == string(at.Lit) {
		return ""
	}
	if last.end == "end" {
		return fmt.Sprintf(" (the %s of line %d, or a block in it, has no end)", last.word, last.line)
	}
	return fmt.Sprintf(" (the %q of line %d has no %q)", last.word, last.line, last.end)
}
