// SPDX-License-Identifier: Apache-2.0

package yaml

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// plainSafe reports whether s without quotes is a string in both YAML 1.1 and 1.2. flow is set
// if it is in a flow collection.
func plainSafe(s string, flow bool) bool {
	if s == "" || s[len(s)-1] == ' ' || s[len(s)-1] == ':' || !printable(s, false) ||
		strings.Contains(s, ": ") || strings.Contains(s, " #") ||
		strings.HasPrefix(s, "---") || strings.HasPrefix(s, "...") {
		return false
	}
	if flow && strings.ContainsAny(s, ",[]{}:?") {
		return false
	}
	if _, known := Word(s); known {
		return false
	}
	switch c := s[0]; {
	case strings.IndexByte(" -?:,[]{}#&*!|>'\"%@`=<~+", c) >= 0:
		return c == '-' && len(s) > 1 && (isLetter(s[1]) || s[1] == '-') && !special(s)
	case c >= '0' && c <= '9', c == '.':
		return !special(s)
	}
	return true
}

// special reports whether some parsers of YAML may read s, which begins like a number, as a
// number, a date or a time.
func special(s string) bool {
	if strings.Trim(s, "0123456789+-.:_ tTzZ") == "" {
		return strings.Count(s, ".") < 2 || strings.Trim(s, "0123456789.") != ""
	}
	if s[0] == '.' || strings.Trim(s, "0123456789abcdefABCDEFxXoO_.+-") == "" {
		_, text := resolved(s).(string)
		return !text || s[0] == '.' && len(s) == 4 || s[0] == '0' && strings.ContainsAny(s[:min(3, len(s))], "xXoO")
	}
	return false
}

// printable reports whether s needs no escapes in YAML. If lines is set, line feeds and tabs
// need none.
func printable(s string, lines bool) bool {
	for i, r := range s {
		switch {
		case r == '\n' || r == '\t':
			if !lines {
				return false
			}
		case r < ' ' || r > '~' && r < 0xa0 || r == 0xfeff || r == 0x2028 || r == 0x2029 || r == 0xfffe || r == 0xffff:
			return false
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\ufffd"):
			return false
		}
	}
	return true
}

// quoteDouble returns s in double quotes.
func quoteDouble(s string) string {
	return string(AppendQuoted(make([]byte, 0, len(s)+2), s, unicode.IsPrint))
}

// AppendQuoted appends s in double quotes to dst. It escapes ASCII control characters and
// other characters for which bare returns false.
func AppendQuoted(dst []byte, s string, bare func(r rune) bool) []byte {
	dst = append(dst, '"')
	for _, r := range s { // invalid UTF-8 becomes U+FFFD
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r == '\n':
			dst = append(dst, `\n`...)
		case r == '\t':
			dst = append(dst, `\t`...)
		case r == '\r':
			dst = append(dst, `\r`...)
		case r < ' ' || r == 0x7f:
			dst = fmt.Appendf(dst, `\x%02x`, r)
		case bare(r):
			dst = utf8.AppendRune(dst, r)
		case r <= 0xffff:
			dst = fmt.Appendf(dst, `\u%04x`, r)
		default:
			dst = fmt.Appendf(dst, `\U%08x`, r)
		}
	}
	return append(dst, '"')
}

// quoteSingle returns s, which must be printable and on one line, in single quotes.
func quoteSingle(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// lineText returns s on one line, quoted if needed.
func lineText(s string, flow bool) string {
	if plainSafe(s, flow) {
		return s
	}
	return quoteDouble(s)
}

// likeText returns s on one line with the given quotes, if possible: none, single or double.
func likeText(s string, quote byte, flow bool) string {
	switch {
	case quote == '"':
		return quoteDouble(s)
	case quote == '\'' && printable(s, false):
		return quoteSingle(s)
	}
	return lineText(s, flow)
}

// blockHeader returns the header of s as a literal block that is indented by step, or "" if s
// is better written on one line.
func blockHeader(s string, step int) string {
	body := strings.TrimSuffix(s, "\n")
	if !strings.Contains(s, "\n") || strings.HasSuffix(body, "\n") || body == "" || !printable(s, true) {
		return ""
	}
	header := "|"
	for line := range strings.Lines(body) {
		rest := strings.TrimLeft(line, " \t")
		if len(rest) < len(line) {
			header += strconv.Itoa(step)
			break
		}
		if rest != "\n" {
			break
		}
	}
	last := body[strings.LastIndexByte(body, '\n')+1:]
	if strings.Trim(last, " \t") == "" {
		return "" // editors remove trailing white space
	}
	if body == s {
		header += "-"
	}
	return header
}

// floatText returns n in a form that is parsed as a float. If bare is set, an integer value
// has no decimal point.
func floatText(n float64, bare bool) string {
	switch {
	case math.IsNaN(n):
		return ".nan"
	case math.IsInf(n, 1):
		return ".inf"
	case math.IsInf(n, -1):
		return "-.inf"
	}
	if a := math.Abs(n); a != 0 && (a < 1e-6 || a >= 1e18) {
		s := strconv.FormatFloat(n, 'e', -1, 64)
		if !strings.Contains(s, ".") {
			s = strings.Replace(s, "e", ".0e", 1)
		}
		return s
	}
	if bare && n == math.Trunc(n) {
		return strconv.FormatFloat(n, 'f', 0, 64) // it is parsed as an integer, so write all digits
	}
	s := strconv.FormatFloat(n, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// Visible returns s for an error message: it escapes control characters and shortens long
// strings.
func Visible(s string) string {
	const most = 160
	var b strings.Builder
	for i, r := range s {
		if i >= most {
			b.WriteString("…")
			break
		}
		switch {
		case r == '\t':
			b.WriteString("→")
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, "\\x%02x", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
