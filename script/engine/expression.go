// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"slices"
	"strings"
)

// What stands in a line of a script. These look at text and guess: they find what
// is written plainly, as in server.tls.name, and nothing else.

// longestLine is how much of a line is looked at.
const longestLine = 1000

// sourceLine is a line of a text, without a comment at its end, "" where there is
// none that could be looked at.
func sourceLine(text string, line int) string {
	for n := 1; ; n++ {
		this, rest, more := strings.Cut(text, "\n")
		if n == line {
			if len(this) > longestLine {
				return ""
			}
			this, _, _ = strings.Cut(this, "--")
			return this
		}
		if !more {
			return ""
		}
		text = rest
	}
}

func isWord(b byte) bool {
	return b == '_' || b|0x20 >= 'a' && b|0x20 <= 'z' || b >= '0' && b <= '9'
}

// before is the path of names that ends where at stands: "a.b", "list[i]". It is
// "" where something else stands there.
func before(line string, at int) string {
	from := at
	for from > 0 {
		b := line[from-1]
		switch {
		case isWord(b) || b == '.':
			from--
			continue
		case b == ']':
			if i := strings.LastIndexByte(line[:from], '['); i > 0 && !strings.ContainsAny(line[i+1:from-1], "[]()") {
				from = i
				continue
			}
			return ""
		case b == ':' || b == ')' || b == '"' || b == '\'':
			return ""
		}
		break
	}
	path := line[from:at]
	if path == "" || strings.Trim(path, ".") != path || strings.Contains(path, "..") || path[0] >= '0' && path[0] <= '9' ||
		path[0] == '[' {
		return ""
	}
	return path
}

// holders are the paths whose field of this name a line speaks of: "a.b" for the
// name c in a.b.c, a.b["c"] and a.b:c().
func holders(line, name string) []string {
	var found []string
	add := func(form string, word bool) {
		for from := 0; ; {
			i := strings.Index(line[from:], form)
			if i < 0 {
				return
			}
			at, end := from+i, from+i+len(form)
			from = end
			if word && end < len(line) && isWord(line[end]) {
				continue
			}
			if at > 0 && line[at-1] == '.' { // "..": two texts are joined
				continue
			}
			// What cannot be told counts too: then it is one of several.
			found = append(found, before(line, at))
		}
	}
	add("."+name, true)
	add(":"+name, true)
	add(`["`+name+`"]`, false)
	add("['"+name+"']", false)
	if name != "" && strings.Trim(name, "0123456789") == "" {
		add("["+name+"]", false)
	}
	if slices.Contains(found, "") {
		return nil
	}
	return found
}

// keywords can stand before a bracket and are not functions.
var keywords = []string{
	"and", "or", "not", "if", "elseif", "while", "until", "return", "in", "function", "then", "do", "else", "repeat",
}

// withoutTexts is a line with blanks for what its texts say; their quotes stay.
func withoutTexts(line string) string {
	b := []byte(line)
	for i := 0; i < len(b); i++ {
		if b[i] != '"' && b[i] != '\'' {
			continue
		}
		quote := b[i]
		for i++; i < len(b) && b[i] != quote; i++ {
			if b[i] == '\\' && i+1 < len(b) {
				b[i] = ' '
				i++
			}
			b[i] = ' '
		}
	}
	return string(b)
}

// callees are the names of what a line calls; of a method of something that is no
// plain path its name alone, behind a colon.
func callees(line string) []string {
	var found []string
	line = withoutTexts(line)
	for i := range len(line) {
		switch line[i] {
		case '(', '{', '"', '\'':
		default:
			continue
		}
		end := len(strings.TrimRight(line[:i], " "))
		from := end
		for from > 0 && (isWord(line[from-1]) || line[from-1] == '.' || line[from-1] == ':') {
			from--
		}
		name := line[from:end]
		if name == "" && from > 0 && (line[from-1] == ')' || line[from-1] == ']') && line[i] == '(' {
			return nil // f(x)(y), list[i](y): what is called has no name
		}
		if name == "" || slices.Contains(keywords, name) || name[0] >= '0' && name[0] <= '9' ||
			strings.HasSuffix(strings.TrimRight(line[:from], " "), "function") {
			continue
		}
		if strings.Contains(name, "..") || strings.HasSuffix(name, ".") || strings.HasSuffix(name, ":") {
			continue
		}
		found = append(found, strings.TrimPrefix(name, "."))
	}
	return found
}

// callArguments are the arguments of calls of a function with one plain path.
func callArguments(line, function string) []string {
	var found []string
	for from := 0; ; {
		i := strings.Index(line[from:], function+"(")
		if i < 0 {
			return found
		}
		at := from + i
		from = at + len(function) + 1
		if at > 0 && isWord(line[at-1]) {
			continue
		}
		argument, _, ok := strings.Cut(line[from:], ")")
		argument = strings.TrimSpace(argument)
		if !ok || argument == "" || before(argument, len(argument)) != argument {
			return nil
		}
		found = append(found, argument)
	}
}

// after is the path of names that begins where at stands, "" where something else
// stands there or follows it.
func after(line string, at int) string {
	end := at
	for end < len(line) &&
		(isWord(line[end]) || line[end] == '.' && !strings.HasPrefix(line[end:], "..") || line[end] == '[') {
		if line[end] == '[' {
			i := strings.IndexByte(line[end:], ']')
			if i < 0 {
				return ""
			}
			end += i
		}
		end++
	}
	rest := strings.TrimLeft(line[end:], " ")
	if rest != "" && strings.ContainsAny(rest[:1], "(:{\"'") || before(line[:end], end) != line[at:end] {
		return ""
	}
	return line[at:end]
}

// measured are the paths whose length a line takes.
func measured(line string) []string {
	line = withoutTexts(line)
	var found []string
	for i := range len(line) {
		if line[i] == '#' {
			path := after(line, i+1)
			if path == "" {
				return nil
			}
			found = append(found, path)
		}
	}
	return found
}

// joined are the paths that a line joins to text with "..", nil where it joins
// something else too that could be nil.
func joined(line string) []string {
	line = withoutTexts(line)
	var found []string
	for from := 0; ; {
		i := strings.Index(line[from:], "..")
		if i < 0 {
			return found
		}
		at := from + i
		from = at + 2
		left := strings.TrimRight(line[:at], " ")
		right := len(line) - len(strings.TrimLeft(line[from:], " "))
		if strings.HasPrefix(line[from:], ".") || left == "" || right == len(line) {
			return nil
		}
		for _, side := range []struct {
			path string
			next byte
		}{{before(left, len(left)), left[len(left)-1]}, {after(line, right), line[right]}} {
			switch {
			case side.next == '"' || side.next == '\'':
			case side.path == "":
				return nil
			default:
				found = append(found, side.path)
			}
		}
	}
}

// iterated is the path that stands alone behind the in of a for.
func iterated(line string) string {
	rest, ok := strings.CutPrefix(strings.TrimSpace(line), "for ")
	if !ok {
		return ""
	}
	_, expr, ok := strings.Cut(rest, " in ")
	expr, _, done := strings.Cut(expr, " do")
	if expr = strings.TrimSpace(expr); !ok || !done || before(expr, len(expr)) != expr {
		return ""
	}
	return expr
}
