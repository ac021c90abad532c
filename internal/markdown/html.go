// SPDX-License-Identifier: Apache-2.0

package markdown

import "strings"

// htmlBlocks are the names of elements that start a block of HTML.
const htmlBlocks = " address article aside base basefont blockquote body caption center col colgroup dd details " +
	"dialog dir div dl dt fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 head header " +
	"hr html iframe legend li link main menu menuitem nav noframes ol optgroup option p param search section " +
	"summary table tbody td tfoot th thead title tr track ul "

// verbatimHTML are the names of elements whose content is not parsed.
const verbatimHTML = " pre script style textarea "

// htmlStart reports whether a line starts a block of HTML, and what ends the block: one of the words
// in ends, or a blank line if it is empty.
func htmlStart(s string, inParagraph bool) (ends string, ok bool) {
	switch {
	case strings.HasPrefix(s, "<!--"):
		return "-->", true
	case strings.HasPrefix(s, "<?"):
		return "?>", true
	case strings.HasPrefix(s, "<![CDATA["):
		return "]]>", true
	case len(s) > 2 && s[1] == '!' && isLetter(s[2]):
		return ">", true
	}
	closing := strings.HasPrefix(s, "</")
	name := strings.TrimPrefix(s[1:], "/")
	n := 0
	for n < len(name) && (isLetter(name[n]) || n > 0 && isDigit(name[n])) {
		n++
	}
	after := name[n:]
	name = " " + strings.ToLower(name[:min(n, 20)]) + " "
	ended := after == "" || strings.HasPrefix(after, ">") || strings.ContainsRune(whitespace, rune(after[0]))
	switch {
	case n == 0:
		return "", false
	case strings.Contains(verbatimHTML, name):
		if !closing && ended {
			return "</pre> </script> </style> </textarea>", true
		}
	case strings.Contains(htmlBlocks, name):
		if ended || strings.HasPrefix(after, "/>") {
			return "", true
		}
	}
	tag := tagLength(s)
	return "", tag > 0 && !inParagraph && isBlank(s[tag:])
}

func isLetter(b byte) bool { return 'a' <= b|0x20 && b|0x20 <= 'z' }
func isDigit(b byte) bool  { return '0' <= b && b <= '9' }
func isSpace(b byte) bool  { return strings.IndexByte(whitespace+"\n", b) >= 0 }

// tagLength returns the length of the HTML tag at the start of s, or 0.
func tagLength(s string) int {
	i := 1
	closing := strings.HasPrefix(s, "</")
	if closing {
		i++
	}
	if i >= len(s) || !isLetter(s[i]) {
		return 0
	}
	for i < len(s) && (isLetter(s[i]) || isDigit(s[i]) || s[i] == '-') {
		i++
	}
	for !closing {
		n := attributeLength(s[i:])
		if n < 0 {
			return 0
		}
		if n == 0 {
			break
		}
		i += n
	}
	i += spaces(s[i:])
	if !closing && strings.HasPrefix(s[i:], "/") {
		i++
	}
	if !strings.HasPrefix(s[i:], ">") {
		return 0
	}
	return i + 1
}

// spaces returns the length of the white space at the start of s.
func spaces(s string) int {
	i := 0
	for i < len(s) && isSpace(s[i]) {
		i++
	}
	return i
}

// attributeLength returns the length of the attribute at the start of s and of the white space
// before it, 0 if there is none, or -1 if it is invalid.
func attributeLength(s string) int {
	i := spaces(s)
	if i == 0 || i == len(s) || !isLetter(s[i]) && s[i] != '_' && s[i] != ':' {
		return 0
	}
	for i < len(s) && (isLetter(s[i]) || isDigit(s[i]) || strings.IndexByte("_.:-", s[i]) >= 0) {
		i++
	}
	value := i + spaces(s[i:])
	if !strings.HasPrefix(s[value:], "=") {
		return i
	}
	value++
	value += spaces(s[value:])
	if value == len(s) {
		return -1
	}
	if q := s[value]; q == '"' || q == '\'' {
		end := strings.IndexByte(s[value+1:], q)
		if end < 0 {
			return -1
		}
		return value + 1 + end + 1
	}
	end := value
	for end < len(s) && !isSpace(s[end]) && strings.IndexByte("\"'=<>`", s[end]) < 0 {
		end++
	}
	if end == value {
		return -1
	}
	return end
}
