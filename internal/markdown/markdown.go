// SPDX-License-Identifier: Apache-2.0

// Package markdown renders Markdown for a terminal.
//
//	text := markdown.Render(readme, markdown.Options{Columns: 80, Style: streams.Style(streams.Out)})
//
// It knows CommonMark and GitHub's tables. HTML is left out, except for the text in it. The input may
// be hostile: control characters are escaped, and what is too large or takes too long to parse is
// returned as it is, escaped.
package markdown

import (
	"strings"
	"time"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

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
	// maxTime is the maximum duration of parsing and rendering.
	maxTime = 2 * time.Second
)

// Render returns source, rendered, with a newline at its end unless it is empty.
func Render(source []byte, o Options) string {
	if len(source) > maxSource {
		return term.Safe(string(source))
	}
	done := make(chan string, 1)
	go func() { done <- render(source, o) }()
	late := time.NewTimer(maxTime)
	defer late.Stop()
	select {
	case text := <-done:
		return text
	case <-late.C: // the goroutine goes on until it is done: the parser cannot be interrupted
		return term.Safe(string(source))
	}
}

func render(source []byte, o Options) string {
	if o.Columns <= 0 {
		o.Columns = 80
	}
	source = []byte(strings.TrimPrefix(string(source), "\ufeff"))
	r := &renderer{source: source, style: o.Style}
	doc := newParser().Parse(text.NewReader(source))
	lines := r.blocks(doc, o.Columns, 0)
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}

func newParser() parser.Parser {
	return parser.NewParser(
		parser.WithBlockParsers(parser.DefaultBlockParsers()...),
		parser.WithInlineParsers(parser.DefaultInlineParsers()...),
		parser.WithParagraphTransformers(append(parser.DefaultParagraphTransformers(),
			util.Prioritized(tableParser{}, 200))...),
	)
}

// renderer renders one document.
type renderer struct {
	source []byte
	style  term.Style
	inCell bool // a pipe in code is escaped
}

// minColumns is the width below which nested blocks are not indented any more.
const minColumns = 20

// maxDepth is the maximum depth of nested blocks; deeper ones are left out.
const maxDepth = 32

// blocks returns the lines of the child blocks of n, separated by empty lines unless they are items
// of a tight list.
func (r *renderer) blocks(n ast.Node, columns, depth int) []string {
	if depth > maxDepth {
		return []string{"..."}
	}
	var out []string
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		lines := r.block(c, columns, depth)
		if len(lines) == 0 {
			continue
		}
		if len(out) > 0 && !isTight(n) {
			out = append(out, "")
		}
		out = append(out, lines...)
	}
	return out
}

// isTight reports whether the blocks in n follow each other without an empty line: n is an item of a
// tight list.
func isTight(n ast.Node) bool {
	if _, ok := n.(*ast.ListItem); !ok {
		return false
	}
	list, ok := n.Parent().(*ast.List)
	return ok && list.IsTight
}
