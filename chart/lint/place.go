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
	beside := align(patterns, out)
	if beside != nil && beside[line-1] > 0 {
		return beside[line-1]
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
	if found == 0 && beside != nil {
		return between(patterns, beside, line-1)
	}
	return found
}

// between finds the one line with an action that stands where the lines around
// at come from: an action may render any number of lines.
func between(patterns []pattern, beside []int, at int) int {
	from, to := 0, len(patterns)
	for i := at - 1; i >= 0 && from == 0; i-- {
		from = beside[i]
	}
	for i := at + 1; i < len(beside); i++ {
		if beside[i] > 0 {
			to = beside[i] - 1
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

// pattern is one line of a template.
type pattern struct {
	texts []string // with actions between them
	// prints reports that an action of the line may render something.
	prints bool
}

// patternsOf cuts a template into lines. What stands inside of actions and
// comments that go over several lines renders nothing of its own.
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
			rest, inside = after, true
		}
		if inside {
			p.texts = append(p.texts, "")
		}
		out = append(out, p)
	}
	return out
}

// prints reports whether an action, given what follows its "{{", may render
// something itself.
func prints(action string) bool {
	action = strings.TrimLeft(strings.TrimPrefix(action, "-"), " ")
	first, _, _ := strings.Cut(action, "}}")
	word, _, _ := strings.Cut(strings.TrimRight(first, " -"), " ")
	switch word {
	case "if", "else", "end", "range", "with", "define", "block", "break", "continue":
		return false
	}
	if strings.HasPrefix(action, "/*") {
		return false
	}
	name, rest, _ := strings.Cut(first, "=")
	return !strings.HasPrefix(name, "$") || rest == "" || strings.Contains(strings.TrimRight(name, ": "), " ")
}

// match tells how much of a rendered line the pattern explains: 0 is not a match,
// or one that says nothing.
func (p pattern) match(line string) int {
	line = strings.TrimRight(line, " \t\r")
	if len(p.texts) == 1 {
		if strings.TrimRight(p.texts[0], " \t\r") != line {
			return 0
		}
		return 2 * len(strings.TrimSpace(line)) // better than one with a hole in it
	}
	weight, last := 0, len(p.texts)-1
	for i, text := range p.texts {
		if i == last {
			text = strings.TrimRight(text, " \t\r")
		}
		at := strings.Index(line, text)
		switch {
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

// maxCells bounds the work of laying two texts side by side.
const maxCells = 4_000_000

// align lays patterns beside lines so that together they explain the most. It
// returns for each line the pattern that it is next to, from 1; 0 for none,
// and nil where that would be too much work.
func align(patterns []pattern, lines []string) []int {
	rows, cols := len(patterns)+1, len(lines)+1
	if rows*cols > maxCells {
		return nil
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
	beside := make([]int, len(lines))
	for i, j := rows-1, cols-1; i > 0 && j > 0; {
		switch v := best[i*cols+j]; {
		case v == best[(i-1)*cols+j]:
			i--
		case v == best[i*cols+j-1]:
			j--
		default:
			beside[j-1] = i
			i, j = i-1, j-1
		}
	}
	return beside
}
