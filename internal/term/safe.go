// SPDX-License-Identifier: Apache-2.0

package term

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Safe returns text with control characters except newline and tab, and invalid bytes, written as
// visible escapes ("\x1b"), so that untrusted text cannot control the terminal (CVE-2021-21303).
// Bidirectional overrides count as control characters; a carriage return before a newline does not.
func Safe(text string) string {
	clean := true
	for i, r := range text {
		if unsafeRune(r) && !endsLine(text[i:]) {
			clean = false
			break
		}
	}
	if clean && utf8.ValidString(text) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case endsLine(text[i:]):
			b.WriteByte('\r')
		case unsafeRune(r) && r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		case unsafeRune(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
		i += n
	}
	return b.String()
}

// Escape returns text with the characters that [Safe] escapes written as \uXXXX, which is an
// equivalent escape in strings of JSON and double-quoted YAML.
func Escape(text string) string {
	if Safe(text) == text {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if unsafeRune(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// SafeLine is [Safe] for a single line: newlines and tabs become spaces.
func SafeLine(text string) string {
	return Safe(strings.NewReplacer("\r\n", " ", "\n", " ", "\t", " ").Replace(text))
}

func endsLine(text string) bool { return strings.HasPrefix(text, "\r\n") }

func unsafeRune(r rune) bool {
	if r == '\n' || r == '\t' {
		return false
	}
	return unicode.IsControl(r) || (r >= 0x202a && r <= 0x202e) || (r >= 0x2066 && r <= 0x2069)
}

// SafeWriter returns a writer that applies [Safe] if w is a terminal. Otherwise it returns w,
// because files must not be altered.
func SafeWriter(w io.Writer) io.Writer {
	if IsTerminal(w) {
		return safeWriter{w}
	}
	return w
}

// CleanWriter returns a writer that always applies [Safe]: for a pipe to a shell, which displays
// the output.
func CleanWriter(w io.Writer) io.Writer { return safeWriter{w} }

type safeWriter struct{ w io.Writer }

func (s safeWriter) Write(p []byte) (int, error) {
	if _, err := io.WriteString(s.w, Safe(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}
