// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"strings"
	"unicode/utf8"
)

// Quick decodes the plain subset of YAML that charts write nearly always:
// block maps and lists, scalars on one line, literal blocks, flow collections
// on one line. ok is false where text holds anything else, valid or not: then
// the real parser must be asked. Where ok is true, the real parser would give
// the same.
//
// number says what becomes of a number: of a whole one, written without point
// and exponent, or else of a float, which is finite. nil makes them int64 and
// float64.
func Quick(text string, number func(isWhole bool, whole int64, float float64) any) (v any, ok bool) {
	return quickDocument(text, number, nil)
}

// quickDecode is Quick for one document. With headOnly only what [Object]
// needs is built, but everything is checked.
func quickDecode(raw string, headOnly bool) (v any, ok bool) {
	if headOnly {
		return quickDocument(raw, nil, isHead)
	}
	return quickDocument(raw, nil, nil)
}

func isHead(key string) bool { return key == "apiVersion" || key == "kind" || key == "metadata" }

func quickDocument(text string, number func(bool, int64, float64) any, wanted func(key string) bool) (any, bool) {
	if !quickText(text) {
		return nil, false
	}
	q := quick{text: text, number: number}
	q.next()
	if q.end {
		return nil, !q.bad
	}
	var v any
	if wanted != nil && !q.atItem() {
		v = q.mapping(q.indent, true, wanted)
	} else {
		v = q.block(q.indent, true)
	}
	if q.bad || !q.end {
		return nil, false
	}
	return v, true
}

// quickText tells that text holds only characters that YAML takes as they are.
func quickText(text string) bool {
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\n' || c == '\t' || c >= ' ' && c <= '~':
		case c < utf8.RuneSelf:
			return false
		default:
			r, n := utf8.DecodeRuneInString(text[i:])
			if r == utf8.RuneError || r < 0xa0 || r == 0xfeff || r == 0x2028 || r == 0x2029 || r == 0xfffe || r == 0xffff {
				return false
			}
			i += n - 1
		}
	}
	return true
}

// maxQuickDepth bounds the recursion; deeper documents go the long way.
const maxQuickDepth = 60

// quick reads text line by line. It stands at the first character of a line's
// content, whose column is indent; bad tells that it met what it does not know.
type quick struct {
	text   string
	at     int
	indent int
	end    bool
	bad    bool
	number func(isWhole bool, whole int64, float float64) any
	depth  int
	odd    bool // the last key is a number or boolean made text
}

func (q *quick) fail() any {
	q.bad = true
	return nil
}

// next goes to the next line with content, from the end of a line.
func (q *quick) next() {
	for {
		start := q.at
		for q.at < len(q.text) && q.text[q.at] == ' ' {
			q.at++
		}
		if q.at == len(q.text) {
			q.end, q.indent = true, -1
			return
		}
		switch q.text[q.at] {
		case '\n':
			q.at++
		case '#':
			q.at = lineEnd(q.text, q.at)
			if q.at < len(q.text) {
				q.at++
			}
		case '\t':
			q.bad, q.end, q.indent = true, true, -1
			return
		default:
			q.indent = q.at - start
			if q.indent == 0 && q.marker() {
				q.bad, q.end, q.indent = true, true, -1
			}
			return
		}
	}
}

// marker tells whether a document marker or a directive stands here.
func (q *quick) marker() bool {
	rest := q.text[q.at:]
	return strings.HasPrefix(rest, "---") || strings.HasPrefix(rest, "...") || rest[0] == '%'
}

func lineEnd(text string, at int) int {
	if nl := strings.IndexByte(text[at:], '\n'); nl >= 0 {
		return at + nl
	}
	return len(text)
}

// endLine takes the rest of a line, which may be a comment, and goes on to the
// next line.
func (q *quick) endLine() {
	from := q.at
	for q.at < len(q.text) && q.text[q.at] == ' ' {
		q.at++
	}
	if q.at < len(q.text) && q.text[q.at] == '#' && q.at > from {
		q.at = lineEnd(q.text, q.at)
	}
	if q.at < len(q.text) {
		if q.text[q.at] != '\n' {
			q.bad = true
			return
		}
		q.at++
	}
	q.next()
}

// atItem tells whether a list's item begins here.
func (q *quick) atItem() bool {
	return q.text[q.at] == '-' && (q.at+1 == len(q.text) || q.text[q.at+1] == ' ' || q.text[q.at+1] == '\n')
}

// block reads the map or list that begins here.
func (q *quick) block(indent int, build bool) any {
	if q.depth++; q.depth > maxQuickDepth {
		return q.fail()
	}
	defer func() { q.depth-- }()
	if q.atItem() {
		return q.list(indent, build)
	}
	return q.mapping(indent, build, nil)
}

func (q *quick) mapping(indent int, build bool, wanted func(string) bool) any {
	var m map[string]any
	if build {
		m = make(map[string]any, 4)
	}
	odd := false
	for !q.bad && q.indent == indent && !q.end {
		q.odd = false
		key, ok := q.key()
		odd = odd || q.odd
		if !ok || odd && has(m, key) {
			return q.fail()
		}
		keep := build && (wanted == nil || wanted(key))
		v := q.value(indent, keep, true)
		if keep {
			m[key] = v
		}
	}
	if q.indent > indent {
		return q.fail()
	}
	return m
}

func (q *quick) list(indent int, build bool) any {
	list := []any{}
	for !q.bad && q.indent == indent && !q.end && q.atItem() {
		q.at++
		start := q.at
		for q.at < len(q.text) && q.text[q.at] == ' ' {
			q.at++
		}
		inner := indent + 1 + q.at - start
		var v any
		switch {
		case q.at < len(q.text) && q.text[q.at] != '\n' && (q.atItem() || q.keyAhead()):
			q.indent = inner
			v = q.block(inner, build)
		default:
			v = q.value(indent, build, false)
		}
		if build {
			list = append(list, v)
		}
	}
	if q.indent > indent {
		return q.fail()
	}
	return list
}

// value reads what follows a key's colon or an item's dash; indent is that of
// the collection. A list may stand right below its key.
func (q *quick) value(indent int, build, ofKey bool) any {
	for q.at < len(q.text) && q.text[q.at] == ' ' {
		q.at++
	}
	if q.at == len(q.text) || q.text[q.at] == '\n' || q.text[q.at] == '#' && q.text[q.at-1] == ' ' {
		q.endLine()
		switch {
		case q.bad || q.end:
			return nil
		case q.indent > indent && !q.atItem() && !q.keyAhead():
			return q.scalar(indent, build)
		case q.indent > indent, ofKey && q.indent == indent && q.atItem():
			return q.block(q.indent, build)
		}
		return nil
	}
	return q.scalar(indent, build)
}

// scalar reads a scalar or a collection in brackets that begins here; indent is
// that of the collection around it.
func (q *quick) scalar(indent int, build bool) any {
	var v any
	switch c := q.text[q.at]; c {
	case '|', '>':
		return q.blockScalar(indent, c == '>', build)
	case '"', '\'':
		s, ok := q.quoted()
		if !ok {
			return q.fail()
		}
		v = s
	case '[', '{':
		v = q.flow(build)
	default:
		return q.plainLines(indent, build)
	}
	q.endLine()
	if q.indent > indent { // the scalar goes on in the next line, or so it seems
		return q.fail()
	}
	return v
}

// plainLines reads a scalar without quotes, which may go on in further lines.
func (q *quick) plainLines(indent int, build bool) any {
	s, ok := q.plain()
	if !ok {
		return q.fail()
	}
	commented := q.at < len(q.text) && q.text[q.at] != '\n'
	from := q.at
	q.endLine()
	if q.indent <= indent {
		if build && !q.bad {
			return q.resolve(s)
		}
		return nil
	}
	lines := []string{s}
	for !q.bad && q.indent > indent {
		blank := strings.Count(q.text[from:q.at], "\n") - 1
		if commented || strings.IndexByte(q.text[from:q.at], '#') >= 0 || strings.IndexByte("-?:&*!|>%@`", q.text[q.at]) >= 0 {
			return q.fail()
		}
		line, ok := q.plainRest()
		if !ok {
			return q.fail()
		}
		commented = q.at < len(q.text) && q.text[q.at] != '\n'
		from = q.at
		if build {
			if blank == 0 {
				lines = append(lines, " ", line)
			} else {
				lines = append(lines, strings.Repeat("\n", blank), line)
			}
		}
		q.endLine()
	}
	if !build || q.bad {
		return nil
	}
	return q.resolve(strings.Join(lines, ""))
}

// plain reads a scalar without quotes up to the end of the line or a comment.
func (q *quick) plain() (string, bool) {
	if !plainBegins(q.text[q.at:lineEnd(q.text, q.at)]) {
		return "", false
	}
	return q.plainRest()
}

// plainRest reads on to the end of the line or a comment.
func (q *quick) plainRest() (string, bool) {
	end := lineEnd(q.text, q.at)
	line := q.text[q.at:end]
	for i := range len(line) {
		switch line[i] {
		case ':':
			if i+1 == len(line) || line[i+1] == ' ' {
				return "", false
			}
		case '\t':
			return "", false
		case '#':
			if i > 0 && line[i-1] == ' ' {
				q.at += i - 1
				return strings.TrimRight(line[:i], " "), true
			}
		}
	}
	q.at = end
	return strings.TrimRight(line, " "), true
}

func plainBegins(s string) bool {
	c := s[0]
	switch {
	case isWordByte(c), c >= utf8.RuneSelf:
		return true
	case c == '-':
		return len(s) > 1 && (isWordByte(s[1]) || s[1] == '-')
	}
	return strings.IndexByte("/.$(+~=<^;\\", c) >= 0
}

func isWordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_'
}
