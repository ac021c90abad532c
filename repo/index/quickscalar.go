// SPDX-License-Identifier: Apache-2.0

package index

import "strings"

// keyAhead tells whether the line from here on is a table's key, perhaps with a
// value behind it.
func (q *quick) keyAhead() bool {
	try := quick{text: q.text, at: q.at}
	_, ok := try.key()
	return ok
}

// key reads a key and its colon.
func (q *quick) key() (string, bool) {
	c := q.text[q.at]
	if c == '"' || c == '\'' {
		from := q.at
		s, ok := q.quoted()
		if !ok || q.at-from > longestKey || !q.colon(q.at) {
			return "", false
		}
		q.at++
		return s, true
	}
	if !isWordByte(c) && c != '/' && c != '.' && c != '$' {
		return "", false
	}
	for i := q.at; i < len(q.text) && i-q.at < longestKey; i++ {
		switch c := q.text[i]; {
		case isWordByte(c):
		case c == ':':
			if !q.colon(i) {
				continue
			}
			s := strings.TrimRight(q.text[q.at:i], " ")
			q.at = i + 1
			return s, true
		case strings.IndexByte("-./$()+@~ ", c) >= 0:
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

// quoted reads a scalar in quotes that ends in its line and uses no escapes but
// the usual ones.
func (q *quick) quoted() (string, bool) {
	quote := q.text[q.at]
	line := q.text[q.at+1 : q.lineEnd(q.at)]
	stop := strings.IndexByte(line, quote)
	if stop < 0 || strings.IndexByte(line, '\t') >= 0 {
		return "", false
	}
	if quote == '\'' {
		stop = closing(line, quote)
		if stop < 0 {
			return "", false
		}
		q.at += stop + 2
		return strings.ReplaceAll(line[:stop], "''", "'"), true
	}
	if strings.IndexByte(line[:stop], '\\') < 0 {
		q.at += stop + 2
		return line[:stop], true
	}
	return q.escaped(line)
}

func (q *quick) escaped(line string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(line); i++ {
		switch c := line[i]; c {
		case '"':
			q.at += i + 2
			return b.String(), true
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

// blockScalar reads a block whose header is "|" or ">", perhaps with "-" or
// "+". In a folded block, a line feed between two lines that begin with text
// is a space.
func (q *quick) blockScalar(indent int, folded bool) {
	q.at++
	chomp := byte(0)
	if q.at < len(q.text) && (q.text[q.at] == '-' || q.text[q.at] == '+') {
		chomp = q.text[q.at]
		q.at++
	}
	end := q.lineEnd(q.at)
	inner, ok := 0, plainHeader(q.text[q.at:end])
	if ok {
		q.at = min(end+1, len(q.text))
		inner, ok = q.literalIndent(indent)
	}
	if !ok {
		q.fail()
		return
	}
	b := blockText{folded: folded}
	for q.at < len(q.text) {
		end := q.lineEnd(q.at)
		line := q.text[q.at:end]
		blank := len(line) <= inner && strings.Trim(line, " ") == ""
		if !blank && (len(line) < inner || strings.Trim(line[:inner], " ") != "") {
			if strings.Contains(line[:min(inner, len(line))], "\t") {
				q.fail()
				return
			}
			break
		}
		if blank {
			b.blank(end < len(q.text))
		} else {
			b.line(line[inner:], end < len(q.text))
		}
		q.at = min(end+1, len(q.text))
	}
	q.next()
	if q.indent > indent {
		q.fail()
	}
	if !q.bad {
		q.tape.scalar(b.finish(chomp), false, 0)
	}
}

func plainHeader(s string) bool {
	t := strings.TrimLeft(s, " ")
	return !strings.Contains(s, "\t") && (t == "" || t[0] == '#' && len(t) < len(s))
}

// literalIndent is the indentation of a block: that of its first line with
// content. It does not know what to do where blank lines before that are longer.
func (q *quick) literalIndent(indent int) (int, bool) {
	longest := 0
	for at := q.at; at < len(q.text); {
		end := q.lineEnd(at)
		line := q.text[at:end]
		spaces := len(line) - len(strings.TrimLeft(line, " "))
		if spaces < len(line) {
			inner := max(spaces, indent+1)
			return inner, line[spaces] != '\t' && longest <= spaces
		}
		longest = max(longest, spaces)
		at = end + 1
	}
	return max(indent+1, 1), longest <= max(indent+1, 1)
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

// flow reads a collection in brackets that ends in its line.
func (q *quick) flow() {
	if q.depth++; q.depth > maxDepth {
		q.fail()
		return
	}
	open, kind, end := q.text[q.at], list, byte(']')
	if open == '{' {
		kind, end = table, '}'
	}
	q.at++
	i := q.open(kind, 0)
	for first := true; !q.bad; first = false {
		q.spaces()
		if first && q.is(end) {
			break
		}
		if kind == table && !q.flowKey() {
			q.fail()
			return
		}
		q.flowValue()
		q.spaces()
		if q.is(end) {
			break
		}
		if !q.is(',') {
			q.fail()
			return
		}
		q.at++
	}
	q.at++
	q.tape.close(i)
	if !q.bad && kind == table && q.duplicate(i) >= 0 {
		q.fail()
	}
	q.depth--
}

func (q *quick) spaces() {
	for q.at < len(q.text) && q.text[q.at] == ' ' {
		q.at++
	}
}

func (q *quick) is(c byte) bool { return q.at < len(q.text) && q.text[q.at] == c }

func (q *quick) flowKey() bool {
	if q.at == len(q.text) {
		return false
	}
	var s string
	if c := q.text[q.at]; c == '"' || c == '\'' {
		var ok bool
		if s, ok = q.quoted(); !ok {
			return false
		}
	} else if s = q.flowWord(); s == "" {
		return false
	}
	if !q.is(':') || q.at+1 == len(q.text) || q.text[q.at+1] != ' ' {
		return false
	}
	q.at++
	q.tape.scalar(s, false, 0)
	return true
}

func (q *quick) flowValue() {
	q.spaces()
	if q.at == len(q.text) {
		q.fail()
		return
	}
	switch q.text[q.at] {
	case '[', '{':
		q.flow()
	case '"', '\'':
		s, ok := q.quoted()
		if !ok {
			q.fail()
			return
		}
		q.tape.scalar(s, false, 0)
	default:
		s := q.flowWord()
		if s == "" || q.is(':') {
			q.fail()
			return
		}
		q.tape.scalar(s, true, 0)
	}
}

// flowWord reads letters, digits and the few marks that mean nothing anywhere.
func (q *quick) flowWord() string {
	from := q.at
	for q.at < len(q.text) {
		c := q.text[q.at]
		if !isWordByte(c) && strings.IndexByte("./-", c) < 0 || q.at == from && !isWordByte(c) {
			break
		}
		q.at++
	}
	return q.text[from:q.at]
}
