// SPDX-License-Identifier: Apache-2.0

// Package markdown renders Markdown for a terminal.
//
//	text := markdown.Render(readme, markdown.Options{Columns: 80, Style: streams.Style(streams.Out)})
//
// It knows CommonMark and GitHub's tables. HTML is left out, except for the text in it. The input may
// be hostile: control characters are escaped, the time is linear in its size, and what is too
// large is returned as it is, escaped.
package markdown

import (
	"strings"

	"github.com/moonhelm/moonhelm/internal/term"
)

// Options configure the output. The zero value is 80 columns without colours.
type Options struct {
	// Columns is the width of the terminal. Text is wrapped to it, and to 100 columns at most, which
	// are easier to read; code is not wrapped.
	Columns int
	Style   term.Style
}

const (
	// maxColumns is the maximum width of paragraphs.
	maxColumns = 100
	// maxSource is the size of the largest text that is rendered, in bytes.
	maxSource = 1 << 20
)

// Render returns source, rendered, with a newline at its end unless it is empty.
func Render(source []byte, o Options) string {
	if len(source) > maxSource {
		return term.Safe(string(source))
	}
	return render(parse(strings.TrimPrefix(string(source), "\ufeff")), o)
}

func render(doc *node, o Options) string {
	if o.Columns <= 0 {
		o.Columns = 80
	}
	r := &renderer{style: o.Style}
	lines := r.blocks(doc, o.Columns, 0)
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}

// renderer renders one document.
type renderer struct {
	style  term.Style
	inCell bool // a pipe in code is escaped
}

// minColumns is the width below which nested blocks are not indented any more.
const minColumns = 20

// maxDepth is the maximum depth of nested blocks; deeper ones are left out.
const maxDepth = 32

// blocks returns the lines of the child blocks of n, separated by empty lines unless they are items
// of a tight list.
func (r *renderer) blocks(n *node, columns, depth int) []string {
	if depth > maxDepth {
		return []string{"..."}
	}
	var out []string
	for c := n.first; c != nil; c = c.next {
		lines := r.block(c, columns, depth)
		if len(lines) == 0 {
			continue
		}
		if len(out) > 0 && !(n.kind == item && n.tight) {
			out = append(out, "")
		}
		out = append(out, lines...)
	}
	return out
}
