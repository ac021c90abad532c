// SPDX-License-Identifier: Apache-2.0

package markdown

import (
	"html"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxLabel is the maximum size of the label of a reference.
const maxLabel = 999

// maxParentheses is the maximum depth of parentheses in an address.
const maxParentheses = 32

// linkLabel returns the label in brackets at the start of s, and the length with the brackets, or 0.
func linkLabel(s string) (label string, n int) {
	if !strings.HasPrefix(s, "[") {
		return "", 0
	}
	for i := 1; i < len(s) && i <= maxLabel+1; i++ {
		switch s[i] {
		case '\\':
			i++
		case '[':
			return "", 0
		case ']':
			return s[1:i], i + 1
		}
	}
	return "", 0
}

// validLabel reports whether a label has text and no brackets.
func validLabel(s string) bool {
	_, n := linkLabel("[" + s + "]")
	return n == len(s)+2 && strings.TrimLeft(s, whitespace+"\n") != ""
}

// normalLabel returns a label so that those that are the same to a reader are equal.
func normalLabel(s string) string {
	return strings.ToLower(strings.ToUpper(strings.Join(strings.Fields(s), " ")))
}

// definition returns the link reference definition at the start of s, and its length with the end
// of its line, or 0.
func definition(s string) (label, address string, n int) {
	label, n = linkLabel(s)
	if n == 0 || !validLabel(label) || !strings.HasPrefix(s[n:], ":") {
		return "", "", 0
	}
	n++
	n += spaces(s[n:])
	address, length := destination(s[n:])
	if length == 0 {
		return "", "", 0
	}
	n += length
	end := n + lineEnd(s[n:])
	if title := spaces(s[n:]); title > 0 {
		if length := titleLength(s[n+title:]); length > 0 {
			after := n + title + length
			if e := lineEnd(s[after:]); e >= 0 {
				return normalLabel(label), address, after + e
			}
		}
	}
	if end < n {
		return "", "", 0
	}
	return normalLabel(label), address, end
}

// lineEnd returns the length of the rest of a line of which only white space is left, or -1.
func lineEnd(s string) int {
	rest := strings.TrimLeft(s, whitespace)
	switch {
	case rest == "":
		return len(s)
	case rest[0] == '\n':
		return len(s) - len(rest) + 1
	}
	return -1
}

// inlineTarget returns the address in the parentheses at the start of s, and their length, or 0.
func inlineTarget(s string) (address string, n int) {
	n = 1 + spaces(s[1:])
	address, length := destination(s[n:])
	n += length
	if title := spaces(s[n:]); title > 0 && length > 0 {
		if length := titleLength(s[n+title:]); length > 0 {
			n += title + length
		}
	}
	n += spaces(s[n:])
	if !strings.HasPrefix(s[n:], ")") {
		return "", 0
	}
	return address, n + 1
}

// destination returns the address at the start of s, and its length, or 0.
func destination(s string) (address string, n int) {
	if strings.HasPrefix(s, "<") {
		return angled(s)
	}
	depth := 0
	for n < len(s) && s[n] > ' ' && s[n] != 0x7f {
		switch s[n] {
		case '\\':
			if n+1 < len(s) && isASCIIPunctuation(s[n+1]) {
				n++
			}
		case '(':
			if depth++; depth > maxParentheses {
				return "", 0
			}
		case ')':
			depth--
		}
		if depth < 0 {
			break
		}
		n++
	}
	if depth > 0 {
		return "", 0
	}
	return unescape(s[:n]), n
}

// angled returns the address in angle brackets at the start of s, and the length with the brackets, or 0.
func angled(s string) (address string, n int) {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '<', '\n':
			return "", 0
		case '>':
			return unescape(s[1:i]), i + 1
		}
	}
	return "", 0
}

// titleLength returns the length of the title of a link at the start of s, or 0.
func titleLength(s string) int {
	if s == "" {
		return 0
	}
	end := s[0]
	switch end {
	case '"', '\'':
	case '(':
		end = ')'
	default:
		return 0
	}
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case end:
			return i + 1
		case '(':
			if end == ')' {
				return 0
			}
		}
	}
	return 0
}

// autolinkLength returns the length of the address in angle brackets at the start of s, or 0.
func autolinkLength(s string) int {
	n := strings.IndexAny(s[1:], "<> \n\t") + 1
	if n < 1 || s[n] != '>' {
		return 0
	}
	address := s[1:n]
	scheme, _, ok := strings.Cut(address, ":")
	if ok && 2 <= len(scheme) && len(scheme) <= 32 && isLetter(scheme[0]) && only(scheme, "+.-") ||
		isMail(address) {
		return n + 1
	}
	return 0
}

// only reports whether s is of letters, digits, and the characters in others.
func only(s, others string) bool {
	for _, b := range []byte(s) {
		if !isLetter(b) && !isDigit(b) && strings.IndexByte(others, b) < 0 {
			return false
		}
	}
	return true
}

func isMail(s string) bool {
	name, host, ok := strings.Cut(s, "@")
	if !ok || name == "" || !only(name, ".!#$%&'*+/=?^_`{|}~-") {
		return false
	}
	for part := range strings.SplitSeq(host, ".") {
		if part == "" || len(part) > 63 || part[0] == '-' || part[len(part)-1] == '-' || !only(part, "-") {
			return false
		}
	}
	return true
}

func isASCIIPunctuation(b byte) bool {
	return '!' <= b && b <= '/' || ':' <= b && b <= '@' || '[' <= b && b <= '`' || '{' <= b && b <= '~'
}

// unescape resolves backslashes before punctuation, and references to characters.
func unescape(s string) string { return resolve(s, true) }

func resolve(s string, backslashes bool) string {
	if !strings.ContainsAny(s, `\&`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case backslashes && s[i] == '\\' && i+1 < len(s) && isASCIIPunctuation(s[i+1]):
			i++
			b.WriteByte(s[i])
		case s[i] == '&':
			text, n := reference(s[i:])
			b.WriteString(text)
			i += n - 1
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

// maxReference is more than the size of the longest reference to a character.
const maxReference = 40

// reference returns the characters that the reference at the start of s stands for, and its length,
// or "&" and 1.
func reference(s string) (text string, n int) {
	end := strings.IndexByte(s[:min(len(s), maxReference)], ';')
	if end < 0 {
		return "&", 1
	}
	name := s[1:end]
	if strings.HasPrefix(name, "#") {
		digits, base, size := name[1:], 10, 7
		if len(digits) > 0 && digits[0]|0x20 == 'x' {
			digits, base, size = digits[1:], 16, 6
		}
		code, err := strconv.ParseUint(digits, base, 32)
		if err != nil || len(digits) > size {
			return "&", 1
		}
		if code == 0 || !utf8.ValidRune(rune(code)) {
			code = utf8.RuneError
		}
		return string(rune(code)), end + 1
	}
	if name == "" || !only(name, "") {
		return "&", 1
	}
	// What is left at the end is of a name that is only known as a part of this one.
	text = html.UnescapeString(s[:end+1])
	if strings.HasSuffix(text, ";") && text != ";" {
		return "&", 1
	}
	return text, end + 1
}
