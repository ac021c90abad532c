// SPDX-License-Identifier: Apache-2.0

package modules

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxSimpleKey is the maximum length of a key on one line with its colon. YAML allows 1024
// characters.
const maxSimpleKey = 500

func (w *yamlWriter) key(k string, indent int) error {
	if err := w.checkText(k); err != nil {
		return err
	}
	if len(k) > maxSimpleKey {
		w.put("? ")
		w.quote(k)
		w.put("\n")
		w.pad(indent)
	} else if isPlain(k) {
		w.put(k)
	} else {
		w.quote(k)
	}
	w.put(":")
	return nil
}

// scalar writes what fits after a key or a dash; further lines of a text are
// indented.
func (w *yamlWriter) scalar(v any, indent int) error {
	s, isText := v.(string)
	if !isText {
		w.literal(v)
		return nil
	}
	if err := w.checkText(s); err != nil {
		return err
	}
	switch {
	case isPlain(s):
		w.put(s)
	case isBlock(s):
		w.block(s, max(indent, 2))
	default:
		w.quote(s)
	}
	return nil
}

// isPlain reports whether s can be written without quotes: it is read as text, as the
// same text, by readers of YAML 1.1 and 1.2.
func isPlain(s string) bool {
	if s == "" || s[len(s)-1] == ' ' || s[len(s)-1] == ':' || isWord(s) {
		return false
	}
	first, _ := utf8.DecodeRuneInString(s)
	switch {
	case first == '_', first == '/', first >= utf8.RuneSelf, first|0x20 >= 'a' && first|0x20 <= 'z':
	case first >= '0' && first <= '9':
		// A letter that no number, date or time has: 100m, 1.25-alpine.
		if !strings.ContainsAny(s, "ghijklmpqrsuvwyGHIJKLMPQRSUVWY") {
			return false
		}
	default:
		return false
	}
	before := 'x'
	for _, r := range s {
		if before == ':' && r == ' ' || before == ' ' && r == '#' || !unicode.IsPrint(r) {
			return false
		}
		before = r
	}
	return true
}

// isWord reports whether s is a word that readers take for something else.
func isWord(s string) bool {
	if len(s) > 5 {
		return false
	}
	switch strings.ToLower(s) {
	case "y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf":
		return true
	}
	return false
}

// isBlock reports whether s can be a literal block: several lines of which the
// first shows the indentation.
func isBlock(s string) bool {
	if !strings.Contains(s, "\n") || s[0] == ' ' || s[0] == '\n' || s[0] == '\t' {
		return false
	}
	for _, r := range s {
		if r != '\n' && r != '\t' && !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}

func (w *yamlWriter) block(s string, indent int) {
	body := strings.TrimRight(s, "\n")
	switch len(s) - len(body) {
	case 0:
		w.put("|-")
	case 1:
		w.put("|")
	default:
		w.put("|+")
	}
	for line := range strings.SplitSeq(body, "\n") {
		w.put("\n")
		if line != "" {
			w.pad(indent)
			w.put(line)
		}
	}
	// The caller ends the last line.
	for range len(s) - len(body) - 1 {
		w.put("\n")
	}
}

// quote writes s between double quotes.
func (w *yamlWriter) quote(s string) {
	w.quoted(s, func(r rune) string {
		switch {
		case unicode.IsPrint(r):
			return ""
		case r < 0x100:
			return fmt.Sprintf(`\x%02x`, r)
		case r < 0x10000:
			return fmt.Sprintf(`\u%04x`, r)
		}
		return fmt.Sprintf(`\U%08x`, r)
	})
}
