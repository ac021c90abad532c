// SPDX-License-Identifier: Apache-2.0

package lint

import "strings"

// sourceLine finds the line of a template that rendered a line of its output,
// both from 1; 0 is where it cannot be told, such as in text that another
// template rendered.
//
// The two texts are laid side by side: most lines of a template appear in its
// output as they are, or with something in the place of their actions, and in
// the same order.
func sourceLine(source, content string, line int) int {
	out := strings.Split(content, "\n")
	if line < 1 || line > len(out) {
		return 0
	}
	patterns := patternsOf(source)
	if at := aligned(patterns, out, line-1); at > 0 {
		return at
	}
	// Not in its turn: a loop renders one line several times.
	best, found := 0, 0
	for i, p := range patterns {
		switch w := p.match(out[line-1]); {
		case w > best:
			best, found = w, i+1
		case w > 0 && w == best:
			found = 0
		}
	}
	return found
}

// pattern is one line of a template: its texts, with actions between them.
type pattern []string

// patternsOf cuts a template into lines. What stands inside of actions and
// comments that go over several lines renders nothing of its own.
func patternsOf(source string) []pattern {
	var out []pattern
	inside := false
	for line := range strings.SplitSeq(source, "\n") {
		var p pattern
		if inside {
			p = append(p, "")
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
			p = append(p, text)
			if !opened {
				break
			}
			rest, inside = after, true
		}
		if inside {
			p = append(p, "")
		}
		out = append(out, p)
	}
	return out
}

// match tells how much of a rendered line the pattern explains: 0 is no match,
// or one that says nothing.
func (p pattern) match(line string) int {
	line = strings.TrimRight(line, " \t\r")
	if len(p) == 1 {
		if strings.TrimRight(p[0], " \t\r") != line {
			return 0
		}
		return 2 * len(strings.TrimSpace(line)) // better than one with a hole in it
	}
	weight := 0
	for i, text := range p {
		if i == len(p)-1 {
			text = strings.TrimRight(text, " \t\r")
		}
		at := strings.Index(line, text)
		switch {
		case i == 0 && at != 0:
			return 0
		case i == len(p)-1 && !strings.HasSuffix(line, text):
			return 0
		case at < 0:
			return 0
		}
		line = line[at+len(text):]
		if i == len(p)-1 {
			line = ""
		}
		weight += len(strings.TrimSpace(text))
	}
	return weight
}

// maxCells bounds the work of laying two texts side by side.
const maxCells = 4_000_000

// aligned lays patterns beside lines so that together they explain the most,
// and returns the pattern that lines[want] stands beside, from 1; 0 for none.
func aligned(patterns []pattern, lines []string, want int) int {
	rows, cols := len(patterns)+1, len(lines)+1
	if rows*cols > maxCells {
		return 0
	}
	// best[i*cols+j] is what the first i patterns explain of the first j lines.
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
	for i, j := rows-1, cols-1; i > 0 && j > want; {
		switch v := best[i*cols+j]; {
		case v == best[(i-1)*cols+j]:
			i--
		case v == best[i*cols+j-1]:
			j--
		default:
			if j-1 == want {
				return i
			}
			i, j = i-1, j-1
		}
	}
	return 0
}
