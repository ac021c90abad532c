// SPDX-License-Identifier: Apache-2.0

package index

import (
	"strings"
	"unicode/utf8"
)

// quick reads a piece of YAML in block style onto a tape: the plain subset that
// indexes are written in nearly always. What it takes, the full parser would
// read the same; what it does not take may be valid or not.
//
// It stands at the first character of a line's content, whose column is indent.
type quick struct {
	*tape
	text   string
	at     int
	indent int
	end    bool
	bad    bool
	depth  int
}

// maxDepth bounds how deep collections stand in each other.
const maxDepth = 60

// quickly appends the document text to t. Where ok is false t is as it was.
func quickly(t *tape, text string) (ok bool) {
	before := len(*t)
	q := quick{tape: t, text: text}
	if !simpleText(text) {
		return false
	}
	q.next()
	if !q.end {
		q.block(q.indent)
	}
	if q.bad || !q.end || len(*t) == before {
		*t = (*t)[:before]
		return false
	}
	return true
}

// simpleText tells that text holds only characters that YAML takes as they are.
func simpleText(text string) bool {
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c >= ' ' && c <= '~' || c == '\n' || c == '\t':
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

func (q *quick) fail() { q.bad, q.end, q.indent = true, true, -1 }

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
			q.at = min(q.lineEnd(q.at)+1, len(q.text))
		case '\t':
			q.fail()
			return
		default:
			q.indent = q.at - start
			if q.indent == 0 && marks([]byte(q.text[q.at:min(q.at+3, len(q.text))])) {
				q.fail()
			}
			return
		}
	}
}

func (q *quick) lineEnd(at int) int {
	if n := strings.IndexByte(q.text[at:], '\n'); n >= 0 {
		return at + n
	}
	return len(q.text)
}

// endLine takes the rest of a line, which may be a comment, and goes on to the
// next one.
func (q *quick) endLine() {
	from := q.at
	for q.at < len(q.text) && q.text[q.at] == ' ' {
		q.at++
	}
	if q.at < len(q.text) && q.text[q.at] == '#' && q.at > from {
		q.at = q.lineEnd(q.at)
	}
	if q.at < len(q.text) {
		if q.text[q.at] != '\n' {
			q.fail()
			return
		}
		q.at++
	}
	q.next()
}

func (q *quick) atItem() bool {
	return q.text[q.at] == '-' && (q.at+1 == len(q.text) || q.text[q.at+1] == ' ' || q.text[q.at+1] == '\n')
}

// block reads the table or list that begins here.
func (q *quick) block(indent int) {
	if q.depth++; q.depth > maxDepth {
		q.fail()
		return
	}
	if q.atItem() {
		q.list(indent)
	} else {
		q.table(indent)
	}
	q.depth--
}

func (q *quick) table(indent int) {
	i := q.open(table, 0)
	for q.indent == indent && !q.end {
		key, ok := q.key()
		if !ok {
			q.fail()
			return
		}
		q.tape.scalar(key, false, 0)
		q.value(indent, true)
	}
	q.tape.close(i)
	if q.bad || q.indent > indent || q.duplicate(i) >= 0 {
		q.fail()
	}
}

func (q *quick) list(indent int) {
	i := q.open(list, 0)
	for q.indent == indent && !q.end && q.atItem() {
		q.at++
		start := q.at
		for q.at < len(q.text) && q.text[q.at] == ' ' {
			q.at++
		}
		if q.at < len(q.text) && q.text[q.at] != '\n' && (q.atItem() || q.keyAhead()) {
			q.indent = indent + 1 + q.at - start
			q.block(q.indent)
		} else {
			q.value(indent, false)
		}
	}
	q.tape.close(i)
	if q.indent > indent {
		q.fail()
	}
}

// value reads what follows a key's colon or an item's dash; indent is that of
// the collection. A list may stand right below its key.
func (q *quick) value(indent int, ofKey bool) {
	for q.at < len(q.text) && q.text[q.at] == ' ' {
		q.at++
	}
	if q.at < len(q.text) && q.text[q.at] != '\n' && (q.text[q.at] != '#' || q.text[q.at-1] != ' ') {
		q.scalar(indent)
		return
	}
	q.endLine()
	switch {
	case q.bad:
	case q.indent > indent && !q.atItem() && !q.keyAhead():
		q.scalar(indent)
	case q.indent > indent, ofKey && q.indent == indent && !q.end && q.atItem():
		q.block(q.indent)
	default:
		q.tape.scalar("", true, 0)
	}
}

// scalar reads a scalar or a collection in brackets that begins here; indent is
// that of the collection around it.
func (q *quick) scalar(indent int) {
	switch c := q.text[q.at]; c {
	case '|', '>':
		q.blockScalar(indent, c == '>')
		return
	case '"', '\'':
		s, ok := q.quoted()
		if !ok {
			q.fail()
			return
		}
		q.tape.scalar(s, false, 0)
	case '[', '{':
		q.flow()
	default:
		q.plainLines(indent)
		return
	}
	if !q.bad {
		q.endLine()
	}
	if q.indent > indent { // the scalar goes on in the next line, or so it seems
		q.fail()
	}
}

// plainLines reads a scalar without quotes, which may go on in further lines.
func (q *quick) plainLines(indent int) {
	if !plainBegins(q.text[q.at:q.lineEnd(q.at)]) {
		q.fail()
		return
	}
	s, ok := q.plainRest()
	if !ok {
		q.fail()
		return
	}
	from := q.at
	q.endLine()
	if q.indent <= indent {
		if !q.bad {
			q.tape.scalar(s, true, 0)
		}
		return
	}
	var b strings.Builder
	b.WriteString(s)
	for q.indent > indent {
		gap := q.text[from:q.at]
		if strings.IndexByte(gap, '#') >= 0 || strings.IndexByte("-?:&*!|>%@`", q.text[q.at]) >= 0 {
			q.fail()
			return
		}
		line, ok := q.plainRest()
		if !ok {
			q.fail()
			return
		}
		if blank := strings.Count(gap, "\n") - 1; blank == 0 {
			b.WriteByte(' ')
		} else {
			b.WriteString(strings.Repeat("\n", blank))
		}
		b.WriteString(line)
		from = q.at
		q.endLine()
	}
	if !q.bad {
		q.tape.scalar(b.String(), true, 0)
	}
}

// plainRest reads on to the end of the line or a comment.
func (q *quick) plainRest() (string, bool) {
	end := q.lineEnd(q.at)
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
	return strings.IndexByte("/.$(+~=^;\\", c) >= 0 || (c == '<' || c == '>') && len(s) > 1 && isWordByte(s[1])
}
