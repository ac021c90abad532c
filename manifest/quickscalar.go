// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"math"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v2"
)

// keyAhead tells whether the line from here on is a map's key, perhaps with a
// value behind it.
func (q *quick) keyAhead() bool {
	try := quick{text: q.text, at: q.at}
	_, ok := try.key()
	return ok
}

// key reads a key and its colon.
func (q *quick) key() (string, bool) {
	const most = 200 // a longer one is no simple key, some day
	c := q.text[q.at]
	if c == '"' || c == '\'' {
		s, ok := q.quoted()
		if !ok || len(s) > most || !q.colon(q.at) {
			return "", false
		}
		q.at++
		return s, true
	}
	if !isWordByte(c) && c != '/' && c != '.' && c != '$' {
		return "", false
	}
	for i := q.at; i < len(q.text) && i-q.at < most; i++ {
		switch c := q.text[i]; {
		case c == ':':
			if !q.colon(i) {
				continue
			}
			s, ok := q.plainKey(strings.TrimRight(q.text[q.at:i], " "))
			q.at = i + 1
			return s, ok
		case isWordByte(c), strings.IndexByte("-./$()+@~ ", c) >= 0:
		default:
			return "", false
		}
	}
	return "", false
}

func (q *quick) colon(at int) bool {
	return at < len(q.text) && q.text[at] == ':' &&
		(at+1 == len(q.text) || q.text[at+1] == ' ' || q.text[at+1] == '\n')
}

// plainKey gives the text that s, without quotes, is as a key: s itself, which
// a whole number is too, or "true" and "false" for the words that mean them. It
// marks the latter as odd, since another key of the map may be the same text.
func (q *quick) plainKey(s string) (string, bool) {
	if v, known := word(s); known {
		b, isBool := v.(bool)
		q.odd = true
		return strconv.FormatBool(b), isBool
	}
	if _, number := decimal(s); number {
		q.odd = true
		return s, true
	}
	c := s[0]
	return s, isLetter(c) || c == '_' || c == '/' || c == '$' || textNumber(s)
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// textNumber tells that s begins with a digit and is no number, nor a date,
// since it holds a letter that neither of them has, or two dots.
func textNumber(s string) bool {
	return s[0] >= '0' && s[0] <= '9' && (strings.ContainsAny(s, "ghijklmnpqrsuvwyGHIJKLMNPQRSUVWY") ||
		strings.Count(s, ".") > 1 && strings.Trim(s, "0123456789.") == "")
}

// quoted reads a scalar in quotes that ends in its line and uses no escapes
// but the usual ones.
func (q *quick) quoted() (string, bool) {
	end := lineEnd(q.text, q.at)
	line := q.text[q.at+1 : end]
	if q.text[q.at] == '\'' {
		return q.singleQuoted(line)
	}
	stop := strings.IndexAny(line, "\"\\\t")
	if stop < 0 || line[stop] == '\t' {
		return "", false
	}
	if line[stop] == '"' {
		q.at += stop + 2
		return line[:stop], true
	}
	var b strings.Builder
	for i := 0; i < len(line); i++ {
		switch c := line[i]; c {
		case '"':
			q.at += i + 2
			return b.String(), true
		case '\t':
			return "", false
		case '\\':
			i++
			if i == len(line) {
				return "", false
			}
			switch line[i] {
			case '"', '\\':
				b.WriteByte(line[i])
			case 'n':
				b.WriteByte('\n')
			case 't':
				b.WriteByte('\t')
			default:
				return "", false
			}
		default:
			b.WriteByte(c)
		}
	}
	return "", false
}

func (q *quick) singleQuoted(line string) (string, bool) {
	if strings.IndexByte(line, '\t') >= 0 {
		return "", false
	}
	for i := 0; i < len(line); i++ {
		if line[i] != '\'' {
			continue
		}
		if i+1 < len(line) && line[i+1] == '\'' {
			i++
			continue
		}
		q.at += i + 2
		return strings.ReplaceAll(line[:i], "''", "'"), true
	}
	return "", false
}

// word is the meaning of a word that stands for something else than itself.
func word(s string) (v any, known bool) {
	if len(s) > 5 {
		return nil, false
	}
	switch s {
	case "", "~", "null", "Null", "NULL":
		return nil, true
	case "y", "Y", "yes", "Yes", "YES", "on", "On", "ON", "true", "True", "TRUE":
		return true, true
	case "n", "N", "no", "No", "NO", "off", "Off", "OFF", "false", "False", "FALSE":
		return false, true
	}
	return nil, false
}

// resolve gives the value that a scalar without quotes stands for.
func (q *quick) resolve(s string) any {
	if v, known := word(s); known {
		return v
	}
	c := s[0]
	if isLetter(c) || c == '/' || c == '_' || c == '$' || c == '(' || textNumber(s) {
		return s
	}
	if n, ok := decimal(s); ok {
		return q.whole(n)
	}
	var item []any // an item of a list, since s alone could be a document's marker
	if err := yaml.Unmarshal([]byte("- "+s), &item); err != nil || len(item) != 1 {
		return q.fail()
	}
	switch n := item[0].(type) {
	case string, bool, nil:
		return n
	case int:
		return q.whole(int64(n))
	case float64:
		if math.IsInf(n, 0) || math.IsNaN(n) { // not everybody takes these
			return q.fail()
		}
		if q.number != nil {
			return q.number(false, 0, n)
		}
		return n
	}
	return q.fail()
}

func (q *quick) whole(n int64) any {
	if q.number != nil {
		return q.number(true, n, 0)
	}
	return n
}

// decimal is a whole number without sign tricks, leading zeros or underscores.
func decimal(s string) (int64, bool) {
	digits := strings.TrimPrefix(s, "-")
	if digits == "" || len(digits) > 18 || digits[0] == '0' && len(s) > 1 {
		return 0, false
	}
	for i := range len(digits) {
		if digits[i] < '0' || digits[i] > '9' {
			return 0, false
		}
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}

// blockScalar reads a block whose header is "|" or ">", perhaps with "-" or
// "+". In a folded block, a line feed between two lines that begin with text
// is a space.
func (q *quick) blockScalar(indent int, folded, build bool) any {
	q.at++
	chomp := byte(0)
	if q.at < len(q.text) && (q.text[q.at] == '-' || q.text[q.at] == '+') {
		chomp = q.text[q.at]
		q.at++
	}
	end := lineEnd(q.text, q.at)
	if !plainHeader(q.text[q.at:end]) {
		return q.fail()
	}
	q.at = min(end+1, len(q.text))
	inner, ok := q.literalIndent(indent)
	if !ok {
		return q.fail()
	}
	b := blockText{folded: folded}
	for q.at < len(q.text) {
		end := lineEnd(q.text, q.at)
		line := q.text[q.at:end]
		blank := len(line) <= inner && strings.Trim(line, " ") == ""
		if !blank && (len(line) < inner || strings.Trim(line[:inner], " ") != "") {
			if strings.Contains(line[:min(inner, len(line))], "\t") {
				return q.fail()
			}
			break
		}
		if build {
			if blank {
				b.blank(end < len(q.text))
			} else {
				b.line(line[inner:], end < len(q.text))
			}
		}
		q.at = min(end+1, len(q.text))
	}
	q.next()
	if q.indent > indent {
		return q.fail()
	}
	if !build {
		return nil
	}
	return b.finish(chomp)
}

func plainHeader(s string) bool {
	t := strings.TrimLeft(s, " ")
	return !strings.Contains(s, "\t") && (t == "" || t[0] == '#' && len(t) < len(s))
}

// blockText puts a block's lines together.
type blockText struct {
	strings.Builder
	folded bool
	// feed is the line feed behind the last line, breaks are those of the blank
	// lines after it.
	feed     bool
	breaks   int
	indented bool
}

func (b *blockText) blank(feed bool) {
	if feed {
		b.breaks++
	}
}

func (b *blockText) line(s string, feed bool) {
	indented := s[0] == ' ' || s[0] == '\t'
	switch {
	case !b.feed:
	case b.folded && !b.indented && !indented:
		if b.breaks == 0 {
			b.WriteByte(' ')
		}
	default:
		b.WriteByte('\n')
	}
	b.writeBreaks()
	b.WriteString(s)
	b.feed, b.indented = feed, indented
}

func (b *blockText) writeBreaks() {
	for ; b.breaks > 0; b.breaks-- {
		b.WriteByte('\n')
	}
}

func (b *blockText) finish(chomp byte) string {
	if chomp != '-' && b.feed {
		b.WriteByte('\n')
	}
	if chomp == '+' {
		b.writeBreaks()
	}
	return b.String()
}

// literalIndent is the indentation of a block: that of its first line with
// content. It does not know what to do where blank lines before that are longer.
func (q *quick) literalIndent(indent int) (int, bool) {
	longest := 0
	for at := q.at; at < len(q.text); {
		end := lineEnd(q.text, at)
		line := q.text[at:end]
		spaces := len(line) - len(strings.TrimLeft(line, " "))
		if spaces < len(line) {
			if line[spaces] == '\t' || longest > spaces {
				return 0, false
			}
			return max(spaces, indent+1), longest <= max(spaces, indent+1)
		}
		longest = max(longest, spaces)
		at = end + 1
	}
	return max(indent+1, 1), longest <= max(indent+1, 1)
}

// flow reads a collection in brackets that ends in its line.
func (q *quick) flow(build bool) any {
	if q.depth++; q.depth > maxQuickDepth {
		return q.fail()
	}
	defer func() { q.depth-- }()
	open := q.text[q.at]
	q.at++
	list, closing := []any{}, byte(']')
	var m map[string]any
	if open == '{' {
		m, closing = map[string]any{}, '}'
	}
	odd := false
	for first := true; ; first = false {
		q.odd = false
		q.spaces()
		if first && q.is(closing) {
			break
		}
		if open == '{' {
			key, ok := q.flowKey()
			odd = odd || q.odd
			if !ok || odd && has(m, key) {
				return q.fail()
			}
			m[key] = q.flowValue(build)
		} else {
			list = append(list, q.flowValue(build))
		}
		if q.bad {
			return nil
		}
		q.spaces()
		if q.is(closing) {
			break
		}
		if !q.is(',') {
			return q.fail()
		}
		q.at++
	}
	q.at++
	if open == '{' {
		return m
	}
	return list
}

func has(m map[string]any, key string) bool {
	_, there := m[key]
	return there
}

func (q *quick) spaces() {
	for q.at < len(q.text) && q.text[q.at] == ' ' {
		q.at++
	}
}

func (q *quick) is(c byte) bool { return q.at < len(q.text) && q.text[q.at] == c }

func (q *quick) flowKey() (string, bool) {
	if q.at == len(q.text) {
		return "", false
	}
	var s string
	if c := q.text[q.at]; c == '"' || c == '\'' {
		var ok bool
		if s, ok = q.quoted(); !ok {
			return "", false
		}
	} else {
		if s = q.flowWord(); s == "" {
			return "", false
		}
		var ok bool
		if s, ok = q.plainKey(s); !ok {
			return "", false
		}
	}
	if !q.is(':') || q.at+1 == len(q.text) || q.text[q.at+1] != ' ' {
		return "", false
	}
	q.at++
	return s, true
}

func (q *quick) flowValue(build bool) any {
	q.spaces()
	if q.at == len(q.text) {
		return q.fail()
	}
	switch q.text[q.at] {
	case '[', '{':
		return q.flow(build)
	case '"', '\'':
		s, ok := q.quoted()
		if !ok {
			return q.fail()
		}
		return s
	}
	s := q.flowWord()
	if s == "" || q.is(':') {
		return q.fail()
	}
	return q.resolve(s)
}

// flowWord reads letters, digits and the few marks that mean nothing anywhere.
func (q *quick) flowWord() string {
	from := q.at
	for q.at < len(q.text) {
		c := q.text[q.at]
		if !isWordByte(c) && strings.IndexByte("./-", c) < 0 || q.at == from && c == '-' && !q.digitAt(q.at+1) {
			break
		}
		q.at++
	}
	return q.text[from:q.at]
}

func (q *quick) digitAt(at int) bool {
	return at < len(q.text) && q.text[at] >= '0' && q.text[at] <= '9'
}
