// SPDX-License-Identifier: Apache-2.0

package index

import (
	"bytes"
	"encoding/binary"
	"math"
)

// lines reads YAML in block style line by line, and skips the further lines of a scalar. It
// does not validate the text: if the text is valid, no returned line is part of a scalar that
// began in an earlier line. It sets odd for everything that it does not support.
type lines struct {
	text []byte
	next int  // the start of the next line
	odd  bool // the text needs the full parser
	line

	deep  int  // lines indented deeper than this belong to a scalar
	quote byte // the quote of an open scalar
	empty int  // column of the key or dash without a value so far, or none
}

// line is a line with structure. The fields are offsets in lines.text.
type line struct {
	start, indent int
	dash, nested  bool // it has a dash, or more than one
	col           int  // column after the dashes
	key, keyEnd   int  // equal if there is no key
	value, end    int  // of the key's value in this line
}

const none = math.MaxInt

func newLines(text []byte) lines { return lines{text: text, deep: none, empty: none} }

// more reads the next line with structure. It returns false at the end, and if the text is
// odd.
func (l *lines) more() bool {
	for l.next < len(l.text) && !l.odd {
		start, end := l.next, len(l.text)
		if n := bytes.IndexByte(l.text[start:], '\n'); n >= 0 {
			end = start + n
		}
		l.next = end + 1
		pos := start
		for pos < end && l.text[pos] == ' ' {
			pos++
		}
		if l.quote != 0 {
			l.quoted(start, pos, end)
			continue
		}
		if pos == end || pos-start > l.deep {
			continue
		}
		if l.text[pos] == '#' {
			continue
		}
		l.line = line{start: start, indent: pos - start, end: end}
		l.structure(pos)
		return !l.odd
	}
	return false
}

// structure parses a line from its first character.
func (l *lines) structure(pos int) {
	l.deep = none
	text, end, parent := l.text, l.end, l.empty
	l.empty = none
	if pos == l.start && marks(text[pos:end]) {
		l.odd = true
		return
	}
	for text[pos] == '-' && (pos+1 == end || text[pos+1] == ' ' || text[pos+1] == '\t') {
		l.nested, l.dash, parent = l.dash, true, pos-l.start
		for pos++; pos < end && text[pos] == ' '; pos++ {
		}
		if pos == end || text[pos] == '#' {
			l.col, l.key, l.keyEnd, l.value, l.empty = pos-l.start, end, end, end, parent
			return
		}
	}
	l.col, l.key, l.keyEnd, l.value = pos-l.start, end, end, pos
	keyEnd, colon := l.keyAt(pos)
	if l.odd || colon < 0 {
		l.scalar(pos, parent)
		return
	}
	l.key, l.keyEnd = pos, keyEnd
	for pos = colon + 1; pos < end && text[pos] == ' '; pos++ {
	}
	l.value = pos
	if pos == end || text[pos] == '#' {
		l.value, l.empty = end, l.col
		return
	}
	l.scalar(pos, l.col)
}

// marks reports whether a line without indentation is a document marker.
func marks(s []byte) bool {
	return s[0] == '%' || bytes.HasPrefix(s, []byte("---")) || bytes.HasPrefix(s, []byte("..."))
}

// longestKey is the maximum length of a key in YAML.
const longestKey = 1000

// keyAt returns the end of the key at position at and of its colon, or -1 if there is no
// key.
func (l *lines) keyAt(pos int) (keyEnd, colon int) {
	text, end := l.text, l.end
	switch c := text[pos]; c {
	case '"', '\'':
		stop := closing(text[pos+1:end], c)
		if stop < 0 {
			return 0, -1
		}
		colon = pos + 1 + stop + 1
		if colon == end || text[colon] != ':' {
			return 0, -1
		}
		l.odd = colon-pos > longestKey || colon+1 < end && text[colon+1] != ' '
		return colon, colon
	case '[', '{', '|', '>':
		return 0, -1
	case '&', '*', '!', '%', '@', '`', ',', ']', '}', '\t':
		l.odd = true
		return 0, -1
	case '?', ':', '-':
		l.odd = pos+1 == end || text[pos+1] == ' ' || text[pos+1] == '\t'
	}
	for from := pos; ; {
		n := bytes.IndexByte(text[from:end], ':')
		if n < 0 {
			return 0, -1
		}
		colon = from + n
		if colon+1 == end || text[colon+1] == ' ' || text[colon+1] == '\t' {
			break
		}
		from = colon + 1
	}
	for i, c := range text[pos:colon] {
		switch {
		case c == '\t':
			l.odd = true
		case c == '#' && i > 0 && text[pos+i-1] == ' ':
			return 0, -1 // the colon is in a comment
		}
	}
	l.odd = l.odd || colon-pos > longestKey || colon+1 < end && text[colon+1] == '\t'
	for keyEnd = colon; keyEnd > pos && text[keyEnd-1] == ' '; keyEnd-- {
	}
	return keyEnd, colon
}

// scalar reads the scalar at position at. parent is the column of its key or dash.
func (l *lines) scalar(pos, parent int) {
	text, end := l.text, l.end
	if parent == none {
		l.odd = true
		return
	}
	switch c := text[pos]; c {
	case '"', '\'':
		stop := closing(text[pos+1:end], c)
		if stop < 0 {
			l.quote = c
			return
		}
		l.rest(pos + 1 + stop + 1)
	case '|', '>':
		header := bytes.TrimLeft(text[pos+1:end], "+-0123456789")
		l.odd = len(header) > 0 && (header[0] != ' ' || !trailing(header))
		l.deep = parent
	case '[', '{':
		stop := flowEnd(text[pos:end])
		if stop < 0 {
			l.odd = true
			return
		}
		l.rest(pos + stop)
	case '&', '*', '!', '%', '@', '`', ',', ']', '}', '\t', '#':
		l.odd = true
	case '?', ':', '-':
		l.odd = pos+1 == end || text[pos+1] == ' ' || text[pos+1] == '\t'
		l.deep = parent
	default:
		l.deep = parent
	}
}

// quoted reads a further line of a quoted scalar. The line begins at start, its first
// character is at position at.
func (l *lines) quoted(start, pos, end int) {
	if pos == start && pos < end && marks(l.text[pos:end]) {
		l.odd = true
		return
	}
	stop := closing(l.text[pos:end], l.quote)
	if stop < 0 {
		return
	}
	l.quote, l.end = 0, end
	l.rest(pos + stop + 1)
}

// rest reads the text after a closed scalar.
func (l *lines) rest(pos int) {
	l.odd = l.odd || !trailing(l.text[pos:l.end])
}

// trailing reports whether s is empty, blanks or a comment.
func trailing(s []byte) bool {
	t := bytes.TrimLeft(s, " ")
	return len(t) == 0 || t[0] == '#' && len(t) < len(s)
}

// closing returns the index of the closing quote in s, or -1 if there is none.
func closing[T string | []byte](s T, quote byte) int {
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && quote == '"':
			i++
		case s[i] != quote:
		case quote == '\'' && i+1 < len(s) && s[i+1] == '\'':
			i++
		default:
			return i
		}
	}
	return -1
}

// flowEnd returns the end of the flow collection at the start of s, or -1 if s does not
// contain it or it is not simple.
func flowEnd(s []byte) int {
	depth, begins := 0, true // begins: a value may begin here
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '[', '{':
			depth++
			begins = true
			continue
		case ']', '}':
			if depth--; depth == 0 {
				return i + 1
			}
		case ',', ':', ' ':
			if c != ':' {
				begins = true
			} else if i+1 < len(s) && s[i+1] == ' ' {
				begins = true
			}
			continue
		case '"', '\'':
			if begins {
				stop := closing(s[i+1:], c)
				if stop < 0 {
					return -1
				}
				i += 1 + stop
			}
		case '&', '*', '!', '#', '?', '|', '>', '%', '@', '`', '\t':
			if begins {
				return -1
			}
		}
		begins = false
	}
	return -1
}

// breaks reports whether text has characters that YAML treats as line breaks or forbids, other
// than line feeds.
func breaks(text []byte) bool {
	if bytes.IndexByte(text, '\r') >= 0 {
		return true
	}
	const step = 32
	for len(text) > 0 {
		plain := 0
		for plain+step <= len(text) && ascii(text[plain:plain+step]) {
			plain += step
		}
		text = text[plain:]
		for i := range min(step, len(text)) {
			if oddAt(text, i) {
				return true
			}
		}
		text = text[min(step, len(text)):]
	}
	return false
}

// ascii reports whether none of 32 bytes has its highest bit set.
func ascii(b []byte) bool {
	_ = b[31]
	w := binary.LittleEndian.Uint64(b) | binary.LittleEndian.Uint64(b[8:]) |
		binary.LittleEndian.Uint64(b[16:]) | binary.LittleEndian.Uint64(b[24:])
	return w&0x8080808080808080 == 0
}

func oddAt(text []byte, i int) bool {
	switch text[i] {
	case 0xc2: // U+0085
		return i+1 < len(text) && text[i+1] == 0x85
	case 0xe2: // U+2028, U+2029
		return i+2 < len(text) && text[i+1] == 0x80 && text[i+2]&^1 == 0xa8
	case 0xef: // U+FEFF
		return i+2 < len(text) && text[i+1] == 0xbb && text[i+2] == 0xbf
	}
	return false
}
