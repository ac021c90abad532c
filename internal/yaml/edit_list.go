// SPDX-License-Identifier: Apache-2.0

package yaml

import (
	"maps"
	"slices"
	"strings"
)

// pair has the indexes of an old item of a list and of the new item that replaces it, or -1.
type pair struct{ old, goal int }

// align matches the items of two lists in order: first equal items, then maps with the same
// name, and then the items between matches by position. It returns nil if the lists are too
// long.
func (x *editor) align(old, goal []any) []pair {
	from := 0
	for from < len(old) && from < len(goal) && x.same(old[from], goal[from]) {
		from++
	}
	to := 0
	for to < len(old)-from && to < len(goal)-from && x.same(old[len(old)-1-to], goal[len(goal)-1-to]) {
		to++
	}
	var out []pair
	for i := range from {
		out = append(out, pair{i, i})
	}
	n, m := len(old)-from-to, len(goal)-from-to
	if n*m > 250_000 {
		return nil
	}
	out = append(out, x.alignMiddle(old[from:from+n], goal[from:from+m], from)...)
	for i := range to {
		out = append(out, pair{from + n + i, from + m + i})
	}
	return out
}

// alignMiddle finds the longest common subsequence.
func (x *editor) alignMiddle(old, goal []any, base int) []pair {
	n, m := len(old), len(goal)
	worth := make([][]int, n)
	best := make([][]int, n+1)
	best[n] = make([]int, m+1)
	for i := n - 1; i >= 0; i-- {
		worth[i], best[i] = make([]int, m), make([]int, m+1)
		for j := m - 1; j >= 0; j-- {
			switch {
			case x.same(old[i], goal[j]):
				worth[i][j] = 3
			case namesake(old[i], goal[j]):
				worth[i][j] = 2
			}
			best[i][j] = max(best[i+1][j], best[i][j+1])
			if worth[i][j] > 0 {
				best[i][j] = max(best[i][j], best[i+1][j+1]+worth[i][j])
			}
		}
	}
	var out []pair
	i, j := 0, 0
	gapOld, gapGoal := 0, 0
	gap := func() { // match the items between two matches by position
		for gapOld < i || gapGoal < j {
			p := pair{-1, -1}
			if gapOld < i {
				p.old = base + gapOld
				gapOld++
			}
			if gapGoal < j {
				p.goal = base + gapGoal
				gapGoal++
			}
			out = append(out, p)
		}
	}
	for i < n && j < m {
		switch w := worth[i][j]; {
		case w > 0 && best[i][j] == best[i+1][j+1]+w:
			gap()
			out = append(out, pair{base + i, base + j})
			i, j = i+1, j+1
			gapOld, gapGoal = i, j
		case best[i][j] == best[i+1][j]:
			i++
		default:
			j++
		}
	}
	i, j = n, m
	gap()
	return out
}

// namesake reports whether two maps have the same name, as containers do.
func namesake(a, b any) bool {
	m, ok := a.(map[string]any)
	w, also := b.(map[string]any)
	if !ok || !also {
		return false
	}
	for _, key := range []string{"name", "key", "host", "path"} {
		if name, ok := m[key].(string); ok {
			return name == w[key]
		}
	}
	return false
}

// list edits a block list. It reports false, without changes, if no item stays.
func (x *editor) list(p *part, old, goal []any) bool {
	if len(p.entries) != len(old) || len(goal) == 0 || p.marked {
		return false
	}
	pairs := x.align(old, goal)
	behindDash := p.entries[0].start != x.lineBegin(p.entries[0].start)
	kept := false
	for i, c := range pairs {
		kept = kept || c.old >= 0 && c.goal >= 0
		if behindDash && i == 0 && c.goal < 0 || !kept && c.old < 0 && behindDash {
			return false
		}
	}
	if !kept {
		return false
	}
	x.depth++
	defer func() { x.depth-- }()
	pos := x.commentStart(p, 0) // the offset for a new item
	for _, c := range pairs {
		switch {
		case c.old < 0:
			w := x.writer()
			w.indent(p.column)
			list(w, goal[c.goal:c.goal+1], p.column)
			w.newline()
			x.replace(pos, pos, string(w.text))
			continue
		case c.goal < 0:
			x.drop(p, c.old)
		case !x.same(old[c.old], goal[c.goal]):
			x.value(p, c.old, old[c.old], goal[c.goal])
		}
		pos = x.entryEnd(p, c.old)
	}
	return true
}

// widest is the maximum length of a flow collection that Edit writes.
const widest = 100

// flowTable edits a map in flow style, if it can.
func (x *editor) flowTable(p *part, old, goal map[string]any) bool {
	if p.marked || len(old) == 0 || len(goal) == 0 {
		return false
	}
	mark := len(x.changes)
	quoted := true
	seen := map[string]bool{}
	for _, e := range p.entries {
		v, stays := goal[e.key]
		if !stays || seen[e.key] {
			x.changes = x.changes[:mark]
			return x.rewriteFlow(p, goal)
		}
		seen[e.key] = true
		quoted = quoted && e.quote == '"'
		if !x.same(old[e.key], v) && !x.flowValue(e.value, old[e.key], v) {
			x.changes = x.changes[:mark]
			return x.rewriteFlow(p, goal)
		}
	}
	if len(seen) == len(goal) {
		return true
	}
	if strings.Contains(x.text[p.start:p.end], "\n") {
		x.changes = x.changes[:mark]
		return false
	}
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(goal)) {
		if seen[k] {
			continue
		}
		key := lineText(k, true)
		if quoted {
			key = quoteDouble(k)
		}
		b.WriteString(", " + key + ": " + x.line(goal[k], true))
	}
	end := p.entries[len(p.entries)-1].value.end
	if p.end-lineStart(x.text, p.start)+b.Len() > widest {
		x.changes = x.changes[:mark]
		return false
	}
	x.replace(end, end, b.String())
	return true
}

// flowItems edits a list in flow style, if it can.
func (x *editor) flowItems(p *part, old, goal []any) bool {
	if p.marked || len(old) == 0 || len(goal) == 0 {
		return false
	}
	if len(old) != len(goal) || len(p.entries) != len(old) {
		return x.rewriteFlow(p, goal)
	}
	mark := len(x.changes)
	for i, e := range p.entries {
		if !x.same(old[i], goal[i]) && !x.flowValue(e.value, old[i], goal[i]) {
			x.changes = x.changes[:mark]
			return x.rewriteFlow(p, goal)
		}
	}
	return true
}

func (x *editor) flowValue(v *part, old, goal any) bool {
	if v.marked || v.start == v.end {
		return false
	}
	switch goal := goal.(type) {
	case map[string]any:
		old, ok := old.(map[string]any)
		return ok && v.shape == flowMap && x.flowTable(v, old, goal)
	case []any:
		old, ok := old.([]any)
		return ok && v.shape == flowList && x.flowItems(v, old, goal)
	case string:
		if v.shape == scalarShape {
			x.replace(v.start, v.end, likeText(goal, v.quote, true))
			return true
		}
		return false
	}
	if v.shape != scalarShape {
		return false
	}
	x.replace(v.start, v.end, x.line(goal, true))
	return true
}

// rewriteFlow rewrites a flow collection, if it was and stays short. Strings get the quotes
// of the first string that was in it.
func (x *editor) rewriteFlow(p *part, goal any) bool {
	if strings.Contains(x.text[p.start:p.end], "\n") {
		return false
	}
	text := x.line(goal, true)
	if list, ok := goal.([]any); ok && len(p.entries) > 0 && p.entries[0].value.quote != 0 {
		parts := make([]string, len(list))
		for i, v := range list {
			if s, ok := v.(string); ok {
				parts[i] = likeText(s, p.entries[0].value.quote, true)
			} else {
				parts[i] = x.line(v, true)
			}
		}
		text = "[" + strings.Join(parts, ", ") + "]"
	}
	if p.start-lineStart(x.text, p.start)+len(text) > widest {
		return false
	}
	x.replace(p.start, p.end, text)
	return true
}
