// SPDX-License-Identifier: Apache-2.0

package markdown

import (
	"slices"
	"strings"

	"github.com/clipperhouse/displaywidth"
)

// gap separates the columns of a table.
const gap = "  "

// maxTableColumns is the maximum number of columns of a table that are shown.
const maxTableColumns = 64

// table returns a table whose cells are wrapped, so that it fits the columns.
func (r *renderer) table(n *node, columns int) []string {
	var rows [][][]span
	for row := n.first; row != nil; row = row.next {
		var cells [][]span
		for cell := row.first; cell != nil && len(cells) < maxTableColumns; cell = cell.next {
			cells = append(cells, r.cell(cell, len(rows) == 0))
		}
		rows = append(rows, cells)
	}
	widths := tableWidths(rows, columns)
	var out []string
	for i, cells := range rows {
		out = append(out, r.row(cells, widths)...)
		if i == 0 {
			var rule []string
			for _, w := range widths {
				rule = append(rule, strings.Repeat("─", w))
			}
			out = append(out, r.style.Dim(strings.Join(rule, gap)))
		}
	}
	return out
}

func (r *renderer) cell(n *node, head bool) []span {
	r.inCell = true
	spans := r.inline(n)
	r.inCell = false
	if head {
		for i := range spans {
			spans[i].codes = append(slices.Clone(spans[i].codes), "1")
		}
	}
	return spans
}

// tableWidths returns the widths of the columns: what each needs, or less, so that the widest ones
// are of the same width.
func tableWidths(rows [][][]span, columns int) []int {
	var widths []int
	for _, cells := range rows {
		for i, cell := range cells {
			if i == len(widths) {
				widths = append(widths, 1)
			}
			wide, line := 0, 0
			for _, s := range cell {
				if line += displaywidth.String(s.text); s.text == "\n" {
					line = 0
				}
				wide = max(wide, line)
			}
			widths[i] = max(widths[i], wide)
		}
	}
	if len(widths) == 0 {
		return nil
	}
	room := columns - len(gap)*(len(widths)-1)
	sum := func(limit int) (n int) {
		for _, w := range widths {
			n += min(w, limit)
		}
		return n
	}
	limit := min(slices.Max(widths), max(columns, 1))
	for limit > 1 && sum(limit) > room {
		limit--
	}
	for i := range widths {
		widths[i] = min(widths[i], limit)
	}
	return widths
}

// row returns the lines of a row.
func (r *renderer) row(cells [][]span, widths []int) []string {
	var columns [][]string
	height := 0
	for i, cell := range cells {
		lines := r.wrap(cell, widths[i])
		columns = append(columns, lines)
		height = max(height, len(lines))
	}
	out := make([]string, height)
	for y := range out {
		var b strings.Builder
		blank := 0
		for i, lines := range columns {
			text := ""
			if y < len(lines) {
				text = lines[y]
			}
			if text != "" {
				b.WriteString(strings.Repeat(" ", blank) + text)
				blank = 0
			}
			blank += widths[i] - displaywidth.Options{ControlSequences: true}.String(text) + len(gap)
		}
		out[y] = b.String()
	}
	return out
}
