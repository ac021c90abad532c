// SPDX-License-Identifier: Apache-2.0

package markdown

import (
	"fmt"
	"strings"

	"github.com/clipperhouse/displaywidth"

	"github.com/moonhelm/moonhelm/internal/lazy"
	"github.com/moonhelm/moonhelm/internal/term"
)

// block returns the lines of a block.
func (r *renderer) block(n *node, columns, depth int) []string {
	switch n.kind {
	case heading:
		return r.heading(n, columns)
	case paragraph:
		return r.wrap(r.inline(n), min(columns, maxColumns))
	case codeBlock:
		return r.code(n)
	case htmlBlock:
		return r.wrap([]span{{text: plainHTML(n.text)}}, min(columns, maxColumns))
	case rule:
		return []string{r.style.Dim(strings.Repeat("─", min(columns, maxColumns)))}
	case quotation:
		return prefixed(r.blocks(n, narrower(columns, 2), depth+1), r.style.Dim("│")+" ", r.style.Dim("│")+" ")
	case list:
		return r.list(n, columns, depth)
	case table:
		return r.table(n, columns)
	}
	return r.blocks(n, columns, depth+1)
}

func narrower(columns, by int) int { return max(columns-by, min(columns, minColumns)) }

// prefixed returns lines after a prefix; the first has its own.
func prefixed(lines []string, first, others string) []string {
	for i, l := range lines {
		switch {
		case i == 0:
			lines[i] = first + l
		case l != "":
			lines[i] = others + l
		default:
			lines[i] = strings.TrimRight(others, " ")
		}
	}
	return lines
}

// heading is bold, and underlined at the first level. Without colours it has the marks of its level.
func (r *renderer) heading(n *node, columns int) []string {
	spans := r.inline(n)
	for i := range spans {
		spans[i].codes = append(spans[i].codes, "1")
		if n.level == 1 {
			spans[i].codes = append(spans[i].codes, "4")
		}
	}
	lines := r.wrap(spans, min(columns, maxColumns))
	if len(lines) > 0 && !r.style.On() {
		lines[0] = strings.Repeat("#", n.level) + " " + lines[0]
	}
	return lines
}

// code returns a block of code, indented and not wrapped, so that it can be copied.
func (r *renderer) code(n *node) []string {
	var out []string
	for line := range strings.Lines(n.text) {
		text := strings.ReplaceAll(strings.TrimRight(line, "\r\n"), "\t", "    ")
		if isBlank(text) {
			text = ""
		}
		out = append(out, strings.TrimRight("    "+r.style.Cyan(term.Safe(text)), " "))
	}
	return out
}

// list returns the items of a list with their marks.
func (r *renderer) list(n *node, columns, depth int) []string {
	var out []string
	number := n.level
	for c := n.first; c != nil; c = c.next {
		mark := "• "
		if n.ordered {
			mark = fmt.Sprintf("%d. ", number)
			number++
		}
		blank := strings.Repeat(" ", displaywidth.String(mark))
		lines := prefixed(r.blocks(c, narrower(columns, len(blank)), depth+1), r.style.Dim(mark), blank)
		if len(out) > 0 && !n.tight {
			out = append(out, "")
		}
		out = append(out, lines...)
	}
	return out
}

// hidden matches comments, tags, and elements whose content is not text.
var hidden = lazy.Regexp(`(?is)<!--.*?(-->|$)|<(script|style)\b.*?(</(script|style)>|$)|<[^>]*(>|$)`)

// plainHTML returns the text in HTML.
func plainHTML(text string) string {
	return term.SafeLine(resolve(strings.TrimSpace(hidden().ReplaceAllString(text, " ")), false))
}
