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
	paths []string // parents of the changes, at most maxPaths
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
func (n *names) hunks(x, y []string, context int) []hunk {
	diffs := lcs.DiffLines(n.lines(x, y))
	var out []hunk
	before, after := &yamlPath{lines: x}, &yamlPath{lines: y}
	printed := 0 // number of lines of x that have been added
	for len(diffs) > 0 {
		n := 1
		for n < len(diffs) && diffs[n].Start-diffs[n-1].End <= 2*context {
			n++
		}
		group := diffs[:n]
		diffs = diffs[n:]
		h := hunk{}
		at := max(group[0].Start-context, 0)
		h.gap = at > printed
		var paths [][]string
		for _, d := range group {
			h.add(' ', x[at:d.Start])
			h.add('-', x[d.Start:d.End])
			h.add('+', y[d.ReplStart:d.ReplEnd])
			paths = append(paths, before.parents(d.Start, d.End)...)
			paths = append(paths, after.parents(d.ReplStart, d.ReplEnd)...)
			at = d.End
		}
		h.paths = foldPaths(paths)
		printed = min(at+context, len(x))
		h.add(' ', x[at:printed])
		h.tail = len(diffs) == 0 && printed < len(x)
		out = append(out, h)
	}
	return out
}

// maxPaths is the largest number of paths in a hunk's heading.
const maxPaths = 4

// foldPaths returns paths as text, without duplicates. While there are more than maxPaths, the
// longest are replaced by their parents.
func foldPaths(paths [][]string) []string {
	for {
		var out []string
		var distinct [][]string
		longest := 0
		seen := map[string]bool{}
		for _, p := range paths {
			if text := strings.TrimPrefix(strings.Join(p, ""), "."); !seen[text] {
				seen[text] = true
				out, distinct = append(out, text), append(distinct, p)
				longest = max(longest, len(p))
			}
		}
		if len(out) <= maxPaths || longest <= 1 {
			return out
		}
		for i, p := range distinct {
			if len(p) == longest {
				distinct[i] = p[:longest-1]
			}
		}
		paths = distinct
	}
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

// parents returns the paths of the parents of the lines from start to end, except of those whose
// parent is among these lines.
func (p *yamlPath) parents(start, end int) [][]string {
	var out [][]string
	last := -1 // line of the last parent
	for n := start; n < end; n++ {
		p.seek(n)
		parents := p.parentPlaces()
		if len(parents) == 0 || strings.HasPrefix(p.lines[n], "#") {
			continue
		}
		parent := parents[len(parents)-1]
		if parent.line == n && len(parents) > 1 { // the item of which the line is the first
			parents = parents[:len(parents)-1]
		}
		if above := parents[len(parents)-1].line; parent.line != last && (above < start || above == n) {
			last = parent.line
			out = append(out, p.at(n))
		}
	}
	return out
}

// parentPlaces returns the places of the parents of the last line, or its own if it has no parent.
func (p *yamlPath) parentPlaces() []yamlPlace {
	if p.own < len(p.stack) {
		return p.stack[:len(p.stack)-p.own]
	}
	return p.stack
}

// seek reads up to and including line n.
func (p *yamlPath) seek(n int) {
	for ; p.next <= n && p.next < len(p.lines); p.next++ {
		p.read(p.lines[p.next])
	}
}

// at returns the path of the parent of line n, or of the line itself if it has no parent. Its
// elements begin with a dot or are in brackets.
func (p *yamlPath) at(n int) []string {
	p.seek(n)
	parents := p.parentPlaces()
	out := make([]string, 0, len(parents))
	for _, place := range parents {
		switch {
		case place.item:
			out = append(out, "["+p.name(place)+"]")
		case strings.ContainsAny(place.key, "./[]"):
			out = append(out, "["+place.key+"]")
		default:
			out = append(out, "."+place.key)
		}
	}
	return out
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
