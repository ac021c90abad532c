// SPDX-License-Identifier: Apache-2.0

// Package truncate shortens text for messages.
//
//	truncate.Runes("a long text", 6, "…") // a long…
//
// It counts bytes or characters. What has to fit into columns of a terminal is shortened by internal/term,
// which knows how wide characters are.
package truncate

import (
	"strings"
	"unicode/utf8"
)

// Bytes returns text if it has at most most bytes, or else its first characters, most bytes of them or a
// few less, and mark. Text that is not UTF-8 may be cut anywhere.
func Bytes(text string, most int, mark string) string {
	most = max(most, 0)
	if len(text) <= most {
		return text
	}
	end := most
	for end > 0 && most-end < utf8.UTFMax && !utf8.RuneStart(text[end]) {
		end--
	}
	if !utf8.RuneStart(text[end]) {
		end = most
	}
	return text[:end] + mark
}

// Runes returns text if it has at most most characters, or else its first most characters and mark. An
// invalid byte counts as a character. The time depends on most only.
func Runes(text string, most int, mark string) string {
	n := 0
	for i := range text {
		if n >= most {
			return text[:i] + mark
		}
		n++
	}
	return text
}

// Line returns the first line of text without the spaces around text, truncated as by Runes.
func Line(text string, most int, mark string) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	return Runes(text, most, mark)
}
