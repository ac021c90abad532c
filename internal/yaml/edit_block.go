// SPDX-License-Identifier: Apache-2.0

package yaml

import (
	"strings"
)

// editable reports whether a key of a block map stays, so that the map can be edited.
func (x *editor) editable(p *part, old, goal map[string]any) bool {
	if p.marked || len(goal) == 0 {
		return false
	}
	for k := range goal {
		if _, kept := old[k]; kept {
			return true
		}
	}
	return false
}

// table edits a block map whose value is old.
func (x *editor) table(p *part, old, goal map[string]any) {
	x.depth++
	defer func() { x.depth-- }()
	last := make(map[string]int, len(p.entries)) // the last of duplicate keys wins
	for i, e := range p.entries {
		last[e.key] = i
	}
	from := 0
	if p.entries[0].start != x.lineBegin(p.entries[0].start) {
		from = x.dropFirst(p, goal) // the first key is after a dash
	}
	for i := from; i < len(p.entries); i++ {
		e := p.entries[i]
		v, stays := goal[e.key]
		switch {
		case !stays:
			x.drop(p, i)
		case last[e.key] == i && !x.same(old[e.key], v):
			x.value(p, i, old[e.key], v)
		}
	}
	added := map[string]any{}
	for k, v := range goal {
		if _, there := last[k]; !there {
			added[k] = v
		}
	}
	if len(added) == 0 {
		return
	}
	w := x.writer()
	level := 2
	if p.column == 0 {
		level = 0
	}
	w.indent(p.column)
	table(w, added, p.column, level)
	w.newline()
	pos := x.entryEnd(p, len(p.entries)-1)
	x.replace(pos, pos, string(w.text))
}

// lineBegin returns the offset of the first character on at's line that is not a space.
func (x *editor) lineBegin(pos int) int {
	begin := lineStart(x.text, pos)
	for begin < pos && x.text[begin] == ' ' {
		begin++
	}
	return begin
}

// dropFirst removes the entries at the beginning of p that do not stay, of which the first is
// after a dash. It returns the number of entries that it has handled.
func (x *editor) dropFirst(p *part, goal map[string]any) int {
	n := 0
	for n < len(p.entries) {
		if _, stays := goal[p.entries[n].key]; stays {
			break
		}
		n++
	}
	if n == 0 || n == len(p.entries) {
		return 0
	}
	to := x.commentStart(p, n)
	for x.text[to] == ' ' {
		to++
	}
	x.replace(p.entries[0].start, to, "")
	return n
}

// drop removes an entry and its comments.
func (x *editor) drop(p *part, i int) {
	from, to := x.commentStart(p, i), x.entryEnd(p, i)
	alone := i+1 < len(p.entries) && (from == 0 || strings.HasSuffix(x.text[:from], "\n\n"))
	for alone && to < len(x.text) && x.text[to] == '\n' {
		to++ // one empty line is enough
	}
	x.replace(from, to, "")
}

// commentStart returns the beginning of an entry's line, or of the comments directly above it.
func (x *editor) commentStart(p *part, i int) int {
	pos, bound := lineStart(x.text, p.entries[i].start), 0
	if i > 0 {
		bound = x.entryEnd(p, i-1)
	} else if x.lineBegin(p.entries[0].start) < p.entries[0].start {
		return pos // after a dash
	}
	for pos > bound {
		above := lineStart(x.text, pos-1)
		line := x.text[above : pos-1]
		trimmed := strings.TrimLeft(line, " ")
		if above < bound || !strings.HasPrefix(trimmed, "#") || len(line)-len(trimmed) != p.column {
			break
		}
		pos = above
	}
	return pos
}

// entryEnd returns the end of an entry, including the comments below it that are indented
// more than it.
func (x *editor) entryEnd(p *part, i int) int {
	e := p.entries[i]
	stop := min(lineEnd(x.text, e.value.end)+1, len(x.text))
	for pos := stop; pos < len(x.text); {
		end := lineEnd(x.text, pos)
		line := strings.TrimRight(x.text[pos:end], "\r")
		trimmed := strings.TrimLeft(line, " ")
		pos = min(end+1, len(x.text))
		switch {
		case trimmed == "":
		case trimmed[0] == '#' && len(line)-len(trimmed) > p.column:
			stop = pos
		default:
			return stop
		}
	}
	return stop
}

// value changes the value of an entry of a block map or list from old to goal.
func (x *editor) value(p *part, i int, old, goal any) {
	v := p.entries[i].value
	if !v.marked && (!x.whole || x.depth > 1) {
		switch old := old.(type) {
		case map[string]any:
			if goal, ok := goal.(map[string]any); ok {
				if v.shape == blockMap && x.editable(v, old, goal) {
					x.table(v, old, goal)
					return
				}
				if v.shape == flowMap && x.flowTable(v, old, goal) {
					return
				}
			}
		case []any:
			if goal, ok := goal.([]any); ok {
				if v.shape == blockList && x.list(v, old, goal) || v.shape == flowList && x.flowItems(v, old, goal) {
					return
				}
			}
		default:
			if x.scalar(v, goal) {
				return
			}
		}
	}
	x.rewriteValue(p, i, goal)
}

// scalar replaces a scalar on one line. It reports false if it cannot.
func (x *editor) scalar(v *part, goal any) bool {
	if v.shape != scalarShape || v.start == v.end || v.quote == '|' || v.quote == '>' ||
		strings.Contains(x.text[v.start:v.end], "\n") {
		return false
	}
	text := ""
	switch goal := goal.(type) {
	case map[string]any, []any:
		return false
	case string:
		if blockHeader(goal, 2) != "" {
			return false
		}
		text = likeText(goal, v.quote, false)
	default:
		text = x.line(goal, false)
	}
	x.replace(v.start, v.end, text)
	return true
}

// rewriteValue rewrites the value of an entry. A comment on the line of the key or the value
// stays.
func (x *editor) rewriteValue(p *part, i int, goal any) {
	e := p.entries[i]
	w := x.writer()
	item := p.shape == blockList
	w.value(goal, p.column, item, 2)
	text := string(w.text)
	first, rest, block := strings.Cut(text, "\n")
	after := e.after
	inline := e.value.start < lineEnd(x.text, after)
	to := x.entryEnd(p, i) - 1
	if to > 0 && x.text[to-1] == '\r' {
		to--
	}
	if !block && e.value.shape == scalarShape && e.value.quote != '|' && e.value.quote != '>' {
		to = e.value.end // comments follow
	}
	comment := x.lineComment(e)
	switch {
	case comment == "":
		x.replace(after, to, text)
	case block && item && first != "":
		x.replace(after, to, text) // "- a: 1" has no room for the comment
	case block:
		x.replace(after, to, first+comment+"\n"+rest)
	case inline && to == e.value.end:
		x.replace(after, to, text)
	default:
		x.replace(after, to, first+comment)
	}
}

// lineComment returns the comment on the line of an entry's key, with the space before it.
func (x *editor) lineComment(e entry) string {
	end := lineEnd(x.text, e.after)
	pos := e.after
	if v := e.value; v.start < end && v.end <= end && v.quote != '|' && v.quote != '>' {
		pos = max(pos, v.end)
	} else if v.start < end {
		return ""
	}
	rest := strings.TrimRight(x.text[pos:end], " \r")
	if trimmed := strings.TrimLeft(rest, " "); len(trimmed) < len(rest) && trimmed[0] == '#' {
		return rest
	}
	return ""
}
