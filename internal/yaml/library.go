// SPDX-License-Identifier: Apache-2.0

package yaml

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// AppendMarshal appends the YAML that [Marshal] writes for v to dst. It is much faster than
// Marshal, which uses JSON, a YAML parser and a YAML emitter. ok is false if AppendMarshal
// cannot write the same bytes or a limit is exceeded; text is then incomplete.
func AppendMarshal(dst []byte, v any, limits Limits) (text []byte, ok bool) {
	w := &writer{text: dst, manner: &library{}, step: 2, limits: &limits, lineStart: len(dst)}
	if _, n := size(v); n < 0 && limits.Convert != nil {
		v = limits.Convert(v)
	}
	w.node(v, 0, 0, 2)
	w.newline()
	return w.text, !w.failed
}

// library is the style of the YAML library's emitter.
type library struct {
	// odd caches the YAML of scalars that are not obviously plain.
	odd map[string]string
}

// width is the column after which the emitter breaks lines at spaces.
const width = 80

// column returns the column in characters, like the emitter.
func (w *writer) column() int { return utf8.RuneCount(w.text[w.lineStart:]) }

func (*library) order(keys []string, _ int) { slices.SortFunc(keys, compareNatural) }

func (l *library) key(w *writer, k string, _ int) {
	switch {
	case len(k) > 100:
		w.failed = true
	case plainText(k):
		w.put(k)
	case quotedText(k):
		w.quote(k)
	default:
		l.oddText(w, k, true)
	}
}

func (l *library) scalar(w *writer, v any, column, _ int) {
	switch v := v.(type) {
	case nil:
		w.put("null")
	case bool:
		w.text = strconv.AppendBool(w.text, v)
	case int:
		w.text = strconv.AppendInt(w.text, int64(v), 10)
	case int64:
		w.text = strconv.AppendInt(w.text, v, 10)
	case float64:
		w.float(v)
	case string:
		l.str(w, v, column)
	default:
		w.failed = true
	}
}

// float writes a float. An integer value has no decimal point, as in JSON.
func (w *writer) float(f float64) {
	switch {
	case math.IsNaN(f) || math.IsInf(f, 0):
		w.failed = true
	case f == 0:
		w.put("0") // the parser reads JSON's -0 as an integer
	case f == math.Trunc(f) && f > -(1<<63) && f < 1<<64:
		w.text = strconv.AppendFloat(w.text, f, 'f', -1, 64)
	default:
		w.text = strconv.AppendFloat(w.text, f, 'g', -1, 64)
	}
}

// str writes a string. Lines after the first begin at column.
func (l *library) str(w *writer, s string, column int) {
	switch {
	case plainText(s):
		w.folded(s, column)
		return
	case strings.IndexByte(s, '\n') >= 0 && isLiteral(s) && column > 0:
		body := strings.TrimRight(s, "\n")
		breaks := len(s) - len(body)
		w.block([...]string{"|-", "|", "|+"}[min(breaks, 2)], body, column)
		for range breaks - 1 {
			w.newline()
		}
		return
	case len(s) > width:
		w.failed = true
		return
	case quotedText(s):
		w.quote(s)
	default:
		l.oddText(w, s, false)
	}
	if w.column() > width && strings.IndexByte(s, ' ') >= 0 {
		w.failed = true // the emitter would break the line
	}
}

// folded writes a plain string, broken at the first space after the width.
func (w *writer) folded(s string, column int) {
	if w.column()+len(s) <= width {
		w.put(s)
		return
	}
	spaces := false
	for i := range len(s) {
		c := s[i]
		if c == ' ' && !spaces && w.column() > width && i+1 < len(s) && s[i+1] != ' ' {
			w.newline()
			w.indent(max(column, 2))
		} else {
			w.text = append(w.text, c)
		}
		spaces = c == ' '
	}
}

// isLiteral reports whether a string with several lines is written as a literal block.
func isLiteral(s string) bool {
	if s[0] == ' ' || s[0] == '\n' {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if c != '\n' && (c < ' ' || c > '~') || c == ' ' && (i+1 == len(s) || s[i+1] == '\n') {
			return false
		}
	}
	return true
}

// oddText writes a string that may need quotes with the emitter.
func (l *library) oddText(w *writer, s string, key bool) {
	id := s
	if key {
		id = "\x00" + s
	}
	text, ok := l.odd[id]
	if !ok {
		if text, ok = emitOne(s, key); !ok {
			w.failed = true
			return
		}
		if l.odd == nil {
			l.odd = map[string]string{}
		}
		l.odd[id] = text
	}
	w.put(text)
}

func emitOne(s string, key bool) (string, bool) {
	var v any = s
	if key {
		v = map[string]bool{s: true}
	}
	data, err := Marshal(v)
	if err != nil {
		return "", false
	}
	text := strings.TrimSuffix(string(data), "\n")
	if key {
		text, _ = strings.CutSuffix(text, ": true")
	}
	if strings.ContainsAny(text, "\n") || strings.HasPrefix(text, "? ") {
		return "", false
	}
	return text, true
}

// plainText reports whether s is certainly written without quotes. It may return false for
// other strings.
func plainText(s string) bool {
	if s == "" || !plainStart(s) || s[len(s)-1] == ' ' || s[len(s)-1] == ':' {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ' || c > '~':
			return false
		case c == ':' && s[i+1] == ' ', c == '#' && s[i-1] == ' ':
			return false
		}
	}
	return true
}

// plainStart reports whether s begins neither with an indicator of YAML nor like a number, a
// date or a boolean.
func plainStart(s string) bool {
	switch c := s[0]; {
	case isLetter(c):
		_, known := Word(s)
		return !known
	case c == '/' || c == '_' || c == '$' || c == '(':
		return true
	case c == '-':
		flag := strings.TrimPrefix(s[1:], "-")
		return flag != "" && isLetter(flag[0])
	}
	return textNumber(s)
}

// quotedText reports whether s is certainly written in double quotes without escapes.
func quotedText(s string) bool {
	_, known := Word(s)
	return known || len(s) < 18 && strings.Trim(s, "0123456789") == ""
}

func (w *writer) quote(s string) {
	w.put(`"`)
	w.put(s)
	w.put(`"`)
}

// compareNatural compares keys in the emitter's order: letters after other characters, and
// numbers by value.
func compareNatural(a, b string) int {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	if i == len(a) || i == len(b) {
		return len(a) - len(b)
	}
	for i > 0 && !utf8.RuneStart(a[i]) {
		i--
	}
	ra, _ := utf8.DecodeRuneInString(a[i:])
	rb, _ := utf8.DecodeRuneInString(b[i:])
	la, lb := unicode.IsLetter(ra), unicode.IsLetter(rb)
	switch {
	case la && lb:
		return int(ra) - int(rb)
	case la:
		return 1
	case lb:
		return -1
	}
	if c := compareNumbers(a, b, i, ra == '0' || rb == '0'); c != 0 {
		return c
	}
	return int(ra) - int(rb)
}

// compareNumbers compares the numbers that begin at i in both keys. If one of them is a zero
// in a longer number, it includes the digits before it.
func compareNumbers(a, b string, i int, zero bool) int {
	var start int64
	if zero {
		for j := i - 1; j >= 0 && a[j] >= '0' && a[j] <= '9'; j-- {
			if a[j] != '0' {
				start = 1
				break
			}
		}
	}
	na, la := digits(a[i:], start)
	nb, lb := digits(b[i:], start)
	if na != nb {
		return cmp.Compare(na, nb)
	}
	return la - lb
}

func digits(s string, n int64) (value int64, length int) {
	for length < len(s) && s[length] >= '0' && s[length] <= '9' {
		n = n*10 + int64(s[length]-'0')
		length++
	}
	return n, length
}
