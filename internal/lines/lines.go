// SPDX-License-Identifier: Apache-2.0

// Package lines finds the lines of a template that rendered the lines of its output.
//
//	m := lines.New(template, output)
//	fmt.Println(m.Source(7)) // the line of the template that rendered line 7 of the output
//
// It aligns the two texts: most lines of a template are in its output in the same order,
// either unchanged or with other text in place of their actions.
package lines

import (
	"strings"
	"unicode"
)

// Ends reports whether r may end a line: whether it is a control character or a separator of
// YAML 1.1. In a name in a "# Source:" comment it could begin a new document.
func Ends(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' }

// Map maps the lines of a template's output to lines of the template. It is safe for concurrent
// use.
type Map struct {
	patterns []pattern
	output   []string
	// aligned has the 1-based index of the pattern of each line of the output, or 0. It is nil if
	// there are too many lines.
	aligned []int
}

// New returns the map of a template and its output.
func New(template, output string) *Map {
	m := &Map{patterns: patternsOf(template), output: strings.Split(output, "\n")}
	m.aligned = align(m.patterns, m.output)
	return m
}

// Source returns the line of the template that rendered the given line of its output. Both
// are 1-based. It returns 0 if the line cannot be found, such as in the output of another
// template that this one includes.
func (m *Map) Source(line int) int {
	if line < 1 || line > len(m.output) {
		return 0
	}
	if m.aligned != nil && m.aligned[line-1] > 0 {
		return m.aligned[line-1]
	}
	// A loop renders a line several times, only one of which is aligned.
	best, found := 0, 0
	for i, p := range m.patterns {
		switch w := p.match(m.output[line-1]); {
		case w > best:
			best, found = w, i+1
		case w > 0 && w == best:
			found = 0
		}
	}
	if found == 0 && m.aligned != nil {
		return between(m.patterns, m.aligned, line-1)
	}
	return found
}

// between returns the only line with an action between the template's lines for the output
// lines before and after at, because an action may render any number of lines. It returns 0
// if there is not exactly one.
func between(patterns []pattern, aligned []int, at int) int {
	from, to := 0, len(patterns)
	for i := at - 1; i >= 0 && from == 0; i-- {
		from = aligned[i]
	}
	for i := at + 1; i < len(aligned); i++ {
		if aligned[i] > 0 {
			to = aligned[i] - 1
			break
		}
	}
	found := 0
	for i := from; i < to; i++ {
		if !patterns[i].prints {
			continue
		}
		if found > 0 {
			return 0
		}
		found = i + 1
	}
	return found
}

// pattern is a line of a template.
type pattern struct {
	texts []string // the text between actions
	// prints is set if an action of the line may render text.
	prints bool
	// branches is set if an action of the line chooses the texts that are rendered.
	branches bool
}

// patternsOf splits a template into lines. The inner lines of an action or comment with
// several lines have no text.
func patternsOf(source string) []pattern {
	var out []pattern
	inside := false
	for line := range strings.SplitSeq(source, "\n") {
		var p pattern
		if inside {
			p.texts = append(p.texts, "")
		}
		for rest := line; ; {
			if inside {
				_, after, closed := strings.Cut(rest, "}}")
				if !closed {
					break
				}
				rest, inside = after, false
				continue
			}
			text, after, opened := strings.Cut(rest, "{{")
			p.texts = append(p.texts, text)
			if !opened {
				break
			}
			p.prints = p.prints || prints(after)
			p.branches = p.branches || isControl(after)
			rest, inside = after, true
		}
		if inside {
			p.texts = append(p.texts, "")
		}
		out = append(out, p)
	}
	return out
}

// prints reports whether an action may render text itself. action is the text after its "{{".
func prints(action string) bool {
	action = strings.TrimLeft(strings.TrimPrefix(action, "-"), " ")
	first, _, _ := strings.Cut(action, "}}")
	if isControl(action) || strings.HasPrefix(action, "/*") {
		return false
	}
	name, rest, _ := strings.Cut(first, "=")
	return !strings.HasPrefix(name, "$") || rest == "" || strings.Contains(strings.TrimRight(name, ": "), " ")
}

// isControl reports whether an action renders no text itself, such as if and end.
func isControl(action string) bool {
	action = strings.TrimLeft(strings.TrimPrefix(action, "-"), " ")
	first, _, _ := strings.Cut(action, "}}")
	word, _, _ := strings.Cut(strings.TrimRight(first, " -"), " ")
	switch word {
	case "if", "else", "end", "range", "with", "define", "block", "break", "continue":
		return true
	}
	return false
}

// match returns how many characters of a rendered line the pattern matches. It returns 0 if
// the line does not match or only by white space.
func (p pattern) match(line string) int {
	line = strings.TrimRight(line, " \t\r")
	if len(p.texts) == 1 {
		if strings.TrimRight(p.texts[0], " \t\r") != line {
			return 0
		}
		return 2 * len(strings.TrimSpace(line)) // better than a pattern with actions
	}
	weight, last := 0, len(p.texts)-1
	for i, text := range p.texts {
		if i == last {
			text = strings.TrimRight(text, " \t\r")
		}
		if i == 0 && line == strings.TrimRight(text, " ") {
			text = line // the action has rendered nothing
		}
		at := strings.Index(line, text)
		switch {
		case at < 0 && p.branches && i > 0 && i < last:
			continue // the text of a branch that was not taken
		case i == 0 && at != 0:
			return 0
		case i == last && !strings.HasSuffix(line, text):
			return 0
		case at < 0:
			return 0
		}
		line = line[at+len(text):]
		if i == last {
			line = ""
		}
		weight += len(strings.TrimSpace(text))
	}
	return weight
}

// maxCells limits the work of align.
const maxCells = 4_000_000

// align aligns patterns with lines, in order, so that the sum of their matches is highest. It
// returns the 1-based index of the pattern for each line, or 0 if the line has none. It
// returns nil if there are too many lines.
func align(patterns []pattern, lines []string) []int {
	rows, cols := len(patterns)+1, len(lines)+1
	if rows*cols > maxCells {
		return nil
	}
	// best[i*cols+j] is the sum for the first i patterns and the first j lines.
	best := make([]int32, rows*cols)
	for i := 1; i < rows; i++ {
		for j := 1; j < cols; j++ {
			v := max(best[(i-1)*cols+j], best[i*cols+j-1])
			if w := patterns[i-1].match(lines[j-1]); w > 0 {
				v = max(v, best[(i-1)*cols+j-1]+int32(w))
			}
			best[i*cols+j] = v
		}
	}
	aligned := make([]int, len(lines))
	for i, j := rows-1, cols-1; i > 0 && j > 0; {
		switch v := best[i*cols+j]; {
		case v == best[(i-1)*cols+j]:
			i--
		case v == best[i*cols+j-1]:
			j--
		default:
			aligned[j-1] = i
			i, j = i-1, j-1
		}
	}
	return aligned
}
