// SPDX-License-Identifier: Apache-2.0

package yaml

import (
	"strings"
	"unicode/utf8"
)

// MaxDepth is how deep its users should let collections stand in each other.
const MaxDepth = 60

// longestKey bounds keys, in bytes; a longer one is not a key to some parsers.
const longestKey = 200

// lineReader reads the lines of YAML as people and programs usually write it: block style,
// scalars on one line or several, collections in brackets on one line. It makes no values:
// [Walk] tells a [Sink] of what it finds. The full parser is its reference in fuzz tests.
//
// It reads Text line by line. It stands at At, which is the first character
// of a line's content whenever a line begins; Indent is that one's column, -1
// behind the end. Bad reports that it met what it does not know, valid or not; then
// nothing that it says counts. It begins with [lineReader.Next].
type lineReader struct {
	Text   string
	At     int
	Indent int
	End    bool
	Bad    bool
}

// Simple reports that text holds only characters that YAML takes as they are.
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

// lineEnd is where the line ends that at is in: at its line feed, or at the end
// of the text.
func lineEnd(text string, at int) int {
	if n := strings.IndexByte(text[at:], '\n'); n >= 0 {
		return at + n
	}
	return len(text)
}

// IsWordByte reports whether c is a letter, a digit or an underscore.
func IsWordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_'
}

// Fail says that the rest is not known, and ends it.
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

// marker reports whether a document marker or a directive stands here.
func (r *lineReader) marker() bool {
	rest := r.Text[r.At:]
	return rest[0] == '%' || strings.HasPrefix(rest, "---") || strings.HasPrefix(rest, "...")
}

// EndLine takes the rest of a line, which may be a comment, and goes on to the
// next one.
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

// Is reports whether c stands here.
func (r *lineReader) Is(c byte) bool { return r.At < len(r.Text) && r.Text[r.At] == c }

// AtItem reports whether a list's item begins here.
func (r *lineReader) AtItem() bool {
	return r.Text[r.At] == '-' && (r.At+1 == len(r.Text) || r.Text[r.At+1] == ' ' || r.Text[r.At+1] == '\n')
}

// AtValue tells, behind spaces that follow a key's colon or an item's dash,
// whether its value stands in this line.
func (r *lineReader) AtValue() bool {
	return r.At < len(r.Text) && r.Text[r.At] != '\n' && (r.Text[r.At] != '#' || r.Text[r.At-1] != ' ')
}

// KeyAhead reports whether the line from here on is a map's key, perhaps with a
// value behind it.
func (r *lineReader) KeyAhead() bool {
	try := lineReader{Text: r.Text, At: r.At}
	_, _, ok := try.Key()
	return ok
}

// Key reads a key and its colon. plain reports that it stands without quotes, and
// may be a number or a word that means something.
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

func (r *lineReader) colon(at int) bool {
	return at < len(r.Text) && r.Text[at] == ':' &&
		(at+1 == len(r.Text) || r.Text[at+1] == ' ' || r.Text[at+1] == '\n')
}

// FlowKey reads a key of a map in braces, and its colon; plain as in [lineReader.Key].
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
	// Behind quotes the value may follow at once, as in JSON.
	if !ok || r.At-from > longestKey || !r.Is(':') || plain && !strings.HasPrefix(r.Text[r.At+1:], " ") {
		return "", false, false
	}
	r.At++
	return key, plain, true
}

// FlowWord reads letters, digits and the few marks that mean nothing anywhere;
// "" where there are none.
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

func (r *lineReader) digitAt(at int) bool {
	return at < len(r.Text) && r.Text[at] >= '0' && r.Text[at] <= '9'
}
