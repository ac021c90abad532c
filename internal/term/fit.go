// SPDX-License-Identifier: Apache-2.0

package term

import (
	"strings"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
)

// Fit truncates text to columns columns, with an ellipsis.
func Fit(text string, columns int) string {
	if columns < 1 {
		return ""
	}
	return displaywidth.TruncateString(text, columns, "…")
}

// Pad truncates text to columns columns or pads it with spaces.
func Pad(text string, columns int) string {
	text = Fit(text, columns)
	return text + strings.Repeat(" ", max(columns-displaywidth.String(text), 0))
}

// FitMiddle truncates text to columns columns in the middle: the names of a release's objects often
// differ at the end.
func FitMiddle(text string, columns int) string {
	// The middle is not shown, and finding the tail takes quadratic time: remove most of the middle
	// first.
	if n := 8 * max(columns, 1); len(text) > 2*n {
		text = strings.ToValidUTF8(text[:n], "") + strings.ToValidUTF8(text[len(text)-n:], "")
	}
	tail := text
	for most := columns / 3; displaywidth.String(tail) > most && tail != ""; {
		_, n := utf8.DecodeRuneInString(tail)
		tail = tail[n:]
	}
	if displaywidth.String(text) <= columns || tail == "" {
		return Fit(text, columns)
	}
	return Fit(Fit(text, columns-displaywidth.String(tail))+tail, columns)
}

// Fold breaks text into at most the given number of lines of at most columns columns, and truncates
// the last one. It breaks at spaces, and a word only if it is longer than a line.
func Fold(text string, columns, lines int) []string {
	var out []string
	for ; lines > 1 && displaywidth.String(text) > columns; lines-- {
		head := displaywidth.TruncateString(text, max(columns, 1), "")
		if space := strings.LastIndexByte(head, ' '); space > 0 && text[len(head)] != ' ' {
			if word, _, _ := strings.Cut(text[space+1:], " "); displaywidth.String(word) <= columns {
				head = head[:space]
			}
		}
		out, text = append(out, head), strings.TrimPrefix(text[len(head):], " ")
	}
	return append(out, Fit(text, columns))
}
