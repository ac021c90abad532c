// SPDX-License-Identifier: Apache-2.0

package yaml

import (
	"strings"
	"unicode/utf8"
)

// MaxDepth is the maximum nesting of collections.
const MaxDepth = 60

// longestKey is the maximum length of a key in bytes. Some parsers do not support longer keys.
const longestKey = 200

// lineReader scans the usual subset of YAML: block style, scalars on one or several lines, and
// flow collections on one line. It builds no values; [Walk] passes the tokens to a [Sink].
// Fuzz tests compare it with the complete parser.
//
// At is the offset in Text, which at the beginning of a line is that of the first character of
// its content; Indent is that character's column, or -1 at the end. Bad is set if the text is
// not in the subset, valid or not; the results are then meaningless. Call [lineReader.Next]
// first.
type lineReader struct {
	Text   string
	At     int
	Indent int
	End    bool
	Bad    bool
}

// Simple reports whether text has only characters that need no escape in YAML.
func Simple(text string) bool {
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

// lineEnd returns the end of at's line: the offset of its line feed, or the end of text.
func lineEnd(text string, pos int) int {
	if n := strings.IndexByte(text[pos:], '\n'); n >= 0 {
		return pos + n
	}
	return len(text)
}

// IsWordByte reports whether c is a letter, a digit or an underscore.
func IsWordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_'
}

// Fail stops the reader at text that is not in the subset.
func (r *lineReader) Fail() { r.Bad, r.End, r.Indent = true, true, -1 }

// Next goes to the next line with content, from the end of a line.
func (r *lineReader) Next() {
	for {
		start := r.At
		r.Spaces()
		if r.At == len(r.Text) {
			r.End, r.Indent = true, -1
			return
		}
		switch r.Text[r.At] {
		case '\n':
			r.At++
		case '#':
			r.At = min(lineEnd(r.Text, r.At)+1, len(r.Text))
		case '\t':
			r.Fail()
			return
		default:
			r.Indent = r.At - start
			if r.Indent == 0 && r.marker() {
				r.Fail()
			}
			return
		}
	}
}

// marker reports whether the line is a document marker or a directive.
func (r *lineReader) marker() bool {
	rest := r.Text[r.At:]
	return rest[0] == '%' || strings.HasPrefix(rest, "---") || strings.HasPrefix(rest, "...")
}

// EndLine skips the rest of a line, which must be empty or a comment, and goes to the next
// line.
func (r *lineReader) EndLine() {
	from := r.At
	r.Spaces()
	if r.At < len(r.Text) && r.Text[r.At] == '#' && r.At > from {
		r.At = lineEnd(r.Text, r.At)
	}
	if r.At < len(r.Text) {
		if r.Text[r.At] != '\n' {
			r.Fail()
			return
		}
		r.At++
	}
	r.Next()
}

// Spaces skips spaces.
func (r *lineReader) Spaces() {
	for r.At < len(r.Text) && r.Text[r.At] == ' ' {
		r.At++
	}
}

// Is reports whether the next character is c.
func (r *lineReader) Is(c byte) bool { return r.At < len(r.Text) && r.Text[r.At] == c }

// AtItem reports whether the next token is the dash of a list item.
func (r *lineReader) AtItem() bool {
	return r.Text[r.At] == '-' && (r.At+1 == len(r.Text) || r.Text[r.At+1] == ' ' || r.Text[r.At+1] == '\n')
}

// AtValue reports whether the value of a key or item is on this line. It is called after the
// colon or dash and the spaces that follow.
func (r *lineReader) AtValue() bool {
	return r.At < len(r.Text) && r.Text[r.At] != '\n' && (r.Text[r.At] != '#' || r.Text[r.At-1] != ' ')
}

// KeyAhead reports whether the rest of the line begins with a key.
func (r *lineReader) KeyAhead() bool {
	try := lineReader{Text: r.Text, At: r.At}
	_, _, ok := try.Key()
	return ok
}

// Key scans a key and its colon. plain is set if the key has no quotes, so that it may be a
// number or another value.
func (r *lineReader) Key() (key string, plain, ok bool) {
	c := r.Text[r.At]
	if c == '"' || c == '\'' {
		from := r.At
		s, ok := r.Quoted()
		if !ok || r.At-from > longestKey || !r.colon(r.At) {
			return "", false, false
		}
		r.At++
		return s, false, true
	}
	if !IsWordByte(c) && c != '/' && c != '.' && c != '$' {
		return "", false, false
	}
	for i := r.At; i < len(r.Text) && i-r.At < longestKey; i++ {
		switch c := r.Text[i]; {
		case IsWordByte(c):
		case c == ':':
			if !r.colon(i) {
				continue
			}
			s := strings.TrimRight(r.Text[r.At:i], " ")
			r.At = i + 1
			return s, true, true
		case strings.IndexByte("-./$()+@~ ", c) >= 0:
		default:
			return "", false, false
		}
	}
	return "", false, false
}

func (r *lineReader) colon(pos int) bool {
	return pos < len(r.Text) && r.Text[pos] == ':' &&
		(pos+1 == len(r.Text) || r.Text[pos+1] == ' ' || r.Text[pos+1] == '\n')
}

// FlowKey scans a key of a flow map and its colon. plain is as in [lineReader.Key].
func (r *lineReader) FlowKey() (key string, plain, ok bool) {
	if r.At == len(r.Text) {
		return "", false, false
	}
	from := r.At
	if c := r.Text[r.At]; c == '"' || c == '\'' {
		key, ok = r.Quoted()
	} else {
		key, plain = r.FlowWord(), true
		ok = key != ""
	}
	// After quotes the value may follow without a space, as in JSON.
	if !ok || r.At-from > longestKey || !r.Is(':') || plain && !strings.HasPrefix(r.Text[r.At+1:], " ") {
		return "", false, false
	}
	r.At++
	return key, plain, true
}

// FlowWord scans letters, digits and the characters that are never indicators. It returns ""
// if there are none.
func (r *lineReader) FlowWord() string {
	from := r.At
	for r.At < len(r.Text) {
		c := r.Text[r.At]
		if !IsWordByte(c) && strings.IndexByte("./-", c) < 0 || r.At == from && c == '-' && !r.digitAt(r.At+1) {
			break
		}
		r.At++
	}
	return r.Text[from:r.At]
}

func (r *lineReader) digitAt(pos int) bool {
	return pos < len(r.Text) && r.Text[pos] >= '0' && r.Text[pos] <= '9'
}
