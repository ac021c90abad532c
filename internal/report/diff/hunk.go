// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff/lcs"
)

// hunk is a range of lines that contains changes.
type hunk struct {
	path  string // path of the first change
	lines []hunkLine
	gap   bool // lines are omitted before it
	tail  bool // it is the last hunk, and lines are omitted after it
}

type hunkLine struct {
	sign byte // '+', '-' or ' '
	text string
}

// hunks returns the differences of x and y, lines of canonical YAML, with context lines around
// them. The time is bounded: with more than about a hundred changes the result is correct but may
// not be minimal.
func hunks(x, y []string, context int) []hunk {
	diffs := lcs.DiffLines(x, y)
	var out []hunk
	in, on := &yamlPath{lines: x}, &yamlPath{lines: y}
	shown := 0 // number of lines of x that have been added
	for len(diffs) > 0 {
		n := 1
		for n < len(diffs) && diffs[n].Start-diffs[n-1].End <= 2*context {
			n++
		}
		group := diffs[:n]
		diffs = diffs[n:]
		first := group[0]
		h := hunk{}
		if first.Start < first.End {
			h.path = in.at(first.Start)
		} else {
			h.path = on.at(first.ReplStart)
		}
		at := max(first.Start-context, 0)
		h.gap = at > shown
		for _, d := range group {
			h.add(' ', x[at:d.Start])
			h.add('-', x[d.Start:d.End])
			h.add('+', y[d.ReplStart:d.ReplEnd])
			at = d.End
		}
		shown = min(at+context, len(x))
		h.add(' ', x[at:shown])
		h.tail = len(diffs) == 0 && shown < len(x)
		out = append(out, h)
	}
	return out
}

func (h *hunk) add(sign byte, lines []string) {
	for _, l := range lines {
		h.lines = append(h.lines, hunkLine{sign, l})
	}
}

// yamlPath finds the path of a line in canonical YAML. Its lines must be requested in ascending
// order, and are read once.
type yamlPath struct {
	lines []string
	next  int
	stack []yamlPlace
	block int // 1 + indentation of the key of a block scalar, 0 outside of one
	own   int // number of places on the stack that the last line has opened
}

// yamlPlace is a key, or an item of a list.
type yamlPlace struct {
	indent, line int
	key          string
	item         bool
	index        int
}

// at returns the path of the parent of line n, or of the line itself if it has no parent.
func (p *yamlPath) at(n int) string {
	for ; p.next <= n && p.next < len(p.lines); p.next++ {
		p.read(p.lines[p.next])
	}
	stack := p.stack
	if p.own < len(stack) {
		stack = stack[:len(stack)-p.own]
	}
	var b strings.Builder
	for _, place := range stack {
		switch {
		case place.item:
			b.WriteString("[" + p.name(place) + "]")
		case strings.ContainsAny(place.key, "./[]"):
			b.WriteString("[" + place.key + "]")
		case b.Len() > 0:
			b.WriteString("." + place.key)
		default:
			b.WriteString(place.key)
		}
	}
	return b.String()
}

func (p *yamlPath) read(line string) {
	content := strings.TrimLeft(line, " ")
	indent := len(line) - len(content)
	if p.block > 0 && (content == "" || indent >= p.block) {
		p.own = 0
		return
	}
	p.block, p.own = 0, 0
	for content == "-" || strings.HasPrefix(content, "- ") {
		index := 0
		p.leave(func(top yamlPlace) bool {
			if top.item && top.indent == indent {
				index = top.index + 1
			}
			return top.indent > indent || top.item && top.indent == indent
		})
		p.stack = append(p.stack, yamlPlace{indent: indent, line: p.next, item: true, index: index})
		p.own = 1 // for an item that is a scalar; one with keys gets its name below
		rest := strings.TrimLeft(content[1:], " ")
		indent += len(content) - len(rest)
		content = rest
	}
	key, value, ok := splitKey(content)
	if !ok {
		p.openBlock(content, indent-2)
		return
	}
	p.leave(func(top yamlPlace) bool { return top.indent >= indent })
	p.stack = append(p.stack, yamlPlace{indent: indent, line: p.next, key: key})
	p.own = 1
	p.openBlock(value, indent)
}

func (p *yamlPath) openBlock(value string, indent int) {
	if strings.HasPrefix(value, "|") || strings.HasPrefix(value, ">") {
		p.block = indent + 1
	}
}

func (p *yamlPath) leave(isClosed func(yamlPlace) bool) {
	for len(p.stack) > 0 && isClosed(p.stack[len(p.stack)-1]) {
		p.stack = p.stack[:len(p.stack)-1]
	}
}

// splitKey splits a line into key and value.
func splitKey(content string) (key, value string, ok bool) {
	if content != "" && (content[0] == '"' || content[0] == '\'') {
		end := strings.IndexByte(content[1:], content[0])
		if end < 0 || !strings.HasPrefix(content[end+2:], ":") {
			return "", "", false
		}
		return content[1 : end+1], strings.TrimLeft(content[end+3:], " "), true
	}
	key, value, ok = strings.Cut(content, ": ")
	if !ok {
		key, ok = strings.CutSuffix(content, ":")
	}
	return key, value, ok && key != ""
}

// name returns the name of a list's item, or its index if it has no name.
func (p *yamlPath) name(place yamlPlace) string {
	const far = 200 // lines searched for the name; longer items are identified by index
	prefix := strings.Repeat(" ", place.indent+2)
	for n, line := range p.lines[place.line:min(place.line+far, len(p.lines))] {
		if n == 0 {
			line = prefix + strings.TrimLeft(line, "- ")
		}
		if !strings.HasPrefix(line, prefix) {
			break
		}
		if name, ok := strings.CutPrefix(line[len(prefix):], "name: "); ok {
			return strings.Trim(name, `"'`)
		}
	}
	return fmt.Sprint(place.index)
}

// unique reports whether there are no duplicate names.
func unique(names []string) bool {
	sorted := slices.Sorted(slices.Values(names))
	return len(slices.Compact(sorted)) == len(names)
}
