// SPDX-License-Identifier: Apache-2.0

package markdown

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/clipperhouse/displaywidth"
	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"

	"github.com/moonhelm/moonhelm/internal/term"
)

// block returns the lines of a block.
func (r *renderer) block(n ast.Node, columns, depth int) []string {
	switch n := n.(type) {
	case *ast.Heading:
		return r.heading(n, columns)
	case *ast.Paragraph, *ast.TextBlock:
		return r.wrap(r.inline(n), min(columns, maxColumns))
	case *ast.CodeBlock, *ast.FencedCodeBlock:
		return r.code(n)
	case *ast.HTMLBlock:
		return r.html(n, columns)
	case *ast.ThematicBreak:
		return []string{r.style.Dim(strings.Repeat("─", min(columns, maxColumns)))}
	case *ast.Blockquote:
		return prefixed(r.blocks(n, narrower(columns, 2), depth+1), r.style.Dim("│")+" ", r.style.Dim("│")+" ")
	case *ast.List:
		return r.list(n, columns, depth)
	case *east.Table:
		return r.table(n, columns)
	}
	return r.blocks(n, columns, depth+1)
}

func narrower(columns, by int) int { return max(columns-by, min(columns, minColumns)) }

// prefixed returns lines behind a prefix; the first has its own.
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
func (r *renderer) heading(n *ast.Heading, columns int) []string {
	spans := r.inline(n)
	for i := range spans {
		spans[i].codes = append(spans[i].codes, "1")
		if n.Level == 1 {
			spans[i].codes = append(spans[i].codes, "4")
		}
	}
	lines := r.wrap(spans, min(columns, maxColumns))
	if len(lines) > 0 && !r.style.On() {
		lines[0] = strings.Repeat("#", n.Level) + " " + lines[0]
	}
	return lines
}

// code returns a block of code, indented and not wrapped, so that it can be copied.
func (r *renderer) code(n ast.Node) []string {
	var out []string
	for i := range n.Lines().Len() {
		segment := n.Lines().At(i)
		text := strings.TrimRight(string(segment.Value(r.source)), "\r\n")
		out = append(out, strings.TrimRight("    "+r.style.Cyan(term.Safe(strings.ReplaceAll(text, "\t", "    "))), " "))
	}
	return out
}

// list returns the items of a list with their marks.
func (r *renderer) list(n *ast.List, columns, depth int) []string {
	var out []string
	number := n.Start
	for item := n.FirstChild(); item != nil; item = item.NextSibling() {
		mark := "• "
		if n.IsOrdered() {
			mark = fmt.Sprintf("%d. ", number)
			number++
		}
		blank := strings.Repeat(" ", displaywidth.String(mark))
		lines := prefixed(r.blocks(item, narrower(columns, len(blank)), depth+1), r.style.Dim(mark), blank)
		if len(out) > 0 && !n.IsTight {
			out = append(out, "")
		}
		out = append(out, lines...)
	}
	return out
}

// html returns the text of a block of HTML, without its tags.
func (r *renderer) html(n *ast.HTMLBlock, columns int) []string {
	var b strings.Builder
	for i := range n.Lines().Len() {
		segment := n.Lines().At(i)
		b.Write(segment.Value(r.source))
	}
	if n.HasClosure() {
		b.Write(n.ClosureLine.Value(r.source))
	}
	text := plainHTML(b.String())
	return r.wrap([]span{{text: text}}, min(columns, maxColumns))
}

// hidden matches comments, tags, and elements whose content is not text.
var hidden = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?is)<!--.*?(-->|$)|<(script|style)\b.*?(</(script|style)>|$)|<[^>]*(>|$)`)
})

// plainHTML returns the text in HTML.
func plainHTML(text string) string {
	return plain([]byte(strings.TrimSpace(hidden().ReplaceAllString(text, " "))), false)
}
