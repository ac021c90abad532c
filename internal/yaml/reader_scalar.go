// SPDX-License-Identifier: Apache-2.0

package yaml

import (
	"strings"
	"unicode/utf8"
)

// Quoted scans a quoted scalar on one line that has only common escapes.
func (r *lineReader) Quoted() (string, bool) {
	line := r.Text[r.At+1 : lineEnd(r.Text, r.At)]
	if r.Text[r.At] == '\'' {
		return r.singleQuoted(line)
	}
	stop := strings.IndexAny(line, "\"\\\t")
	if stop < 0 || line[stop] == '\t' {
		return "", false
	}
	if line[stop] == '"' {
		r.At += stop + 2
		return line[:stop], true
	}
	return r.escaped(line)
}

func (r *lineReader) escaped(line string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(line); i++ {
		switch c := line[i]; c {
		case '"':
			r.At += i + 2
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

func (r *lineReader) singleQuoted(line string) (string, bool) {
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
		r.At += i + 2
		return strings.ReplaceAll(line[:i], "''", "'"), true
	}
	return "", false
}

// Plain scans a plain scalar, which may have several lines, and goes to the line after it.
// indent is the indentation of the collection that contains it. If build is false, Plain does
// not return the text.
func (r *lineReader) Plain(indent int, build bool) string {
	if !plainBegins(r.Text[r.At:lineEnd(r.Text, r.At)]) {
		r.Fail()
		return ""
	}
	s, ok := r.plainRest()
	if !ok {
		r.Fail()
		return ""
	}
	from := r.At
	r.EndLine()
	if r.Indent <= indent {
		return s
	}
	lines := []string{s}
	for r.Indent > indent {
		gap := r.Text[from:r.At]
		if strings.IndexByte(gap, '#') >= 0 || strings.IndexByte("-?:&*!|>%@`", r.Text[r.At]) >= 0 {
			r.Fail()
			return ""
		}
		line, ok := r.plainRest()
		if !ok {
			r.Fail()
			return ""
		}
		if build {
			between := " "
			if blank := strings.Count(gap, "\n") - 1; blank > 0 {
				between = strings.Repeat("\n", blank)
			}
			lines = append(lines, between, line)
		}
		from = r.At
		r.EndLine()
	}
	return strings.Join(lines, "")
}

// plainRest scans up to the end of the line or a comment.
func (r *lineReader) plainRest() (string, bool) {
	end := lineEnd(r.Text, r.At)
	line := r.Text[r.At:end]
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
				r.At += i - 1
				return strings.TrimRight(line[:i], " "), true
			}
		}
	}
	r.At = end
	return strings.TrimRight(line, " "), true
}

func plainBegins(s string) bool {
	c := s[0]
	switch {
	case IsWordByte(c), c >= utf8.RuneSelf:
		return true
	case c == '-':
		return len(s) > 1 && (IsWordByte(s[1]) || s[1] == '-')
	}
	return strings.IndexByte("/.$(+~=<^;\\", c) >= 0
}

// Block scans a block scalar, whose header is "|" or ">" with an optional "-" or "+", and goes
// to the line after it. indent is the indentation of the collection that contains it. In a
// folded block, a line feed between two lines that begin with text becomes a space. If build
// is false, Block does not return the text.
func (r *lineReader) Block(indent int, build bool) string {
	b := blockText{folded: r.Text[r.At] == '>'}
	r.At++
	chomp := byte(0)
	if r.Is('-') || r.Is('+') {
		chomp = r.Text[r.At]
		r.At++
	}
	end := lineEnd(r.Text, r.At)
	if !plainHeader(r.Text[r.At:end]) {
		r.Fail()
		return ""
	}
	r.At = min(end+1, len(r.Text))
	inner, ok := r.blockIndent(indent)
	if !ok || !r.blockLines(&b, inner, build) {
		r.Fail()
		return ""
	}
	r.Next()
	if r.Indent > indent {
		r.Fail()
	}
	if !build || r.Bad {
		return ""
	}
	return b.finish(chomp)
}

// blockLines scans the lines of a block that is indented by inner.
func (r *lineReader) blockLines(b *blockText, inner int, build bool) bool {
	for r.At < len(r.Text) {
		end := lineEnd(r.Text, r.At)
		line := r.Text[r.At:end]
		blank := len(line) <= inner && strings.Trim(line, " ") == ""
		if !blank && (len(line) < inner || strings.Trim(line[:inner], " ") != "") {
			return !strings.Contains(line[:min(inner, len(line))], "\t")
		}
		switch {
		case !build:
		case blank:
			b.blank(end < len(r.Text))
		default:
			b.line(line[inner:], end < len(r.Text))
		}
		r.At = min(end+1, len(r.Text))
	}
	return true
}

func plainHeader(s string) bool {
	t := strings.TrimLeft(s, " ")
	return !strings.Contains(s, "\t") && (t == "" || t[0] == '#' && len(t) < len(s))
}

// blockIndent returns the indentation of a block, which is that of its first line with
// content. It reports false if a blank line before that is longer.
func (r *lineReader) blockIndent(indent int) (int, bool) {
	longest := 0
	for pos := r.At; pos < len(r.Text); {
		end := lineEnd(r.Text, pos)
		line := r.Text[pos:end]
		spaces := len(line) - len(strings.TrimLeft(line, " "))
		if spaces < len(line) {
			return max(spaces, indent+1), line[spaces] != '\t' && longest <= spaces
		}
		longest = max(longest, spaces)
		pos = end + 1
	}
	return max(indent+1, 1), longest <= max(indent+1, 1)
}

// blockText joins the lines of a block.
type blockText struct {
	strings.Builder
	folded bool
	// feed is set if the last line has a line feed, and breaks counts those of the blank
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
