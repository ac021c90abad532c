// SPDX-License-Identifier: Apache-2.0

package markdown

import (
	"bytes"
	"regexp"
	"sync"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// tableParser finds GitHub's tables in paragraphs. The parser's own extension package compiles
// regular expressions when the program starts, which takes a tenth of the time of a short command.
type tableParser struct{}

// delimiterRow returns the expression for the row below a table's header.
var delimiterRow = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$`)
})

// Transform implements parser.ParagraphTransformer. The lines before the header stay in the
// paragraph.
func (tableParser) Transform(node *ast.Paragraph, reader text.Reader, _ parser.Context) {
	lines, source := node.Lines(), reader.Source()
	for i := 1; i < lines.Len(); i++ {
		delimiter, head := lines.At(i), lines.At(i-1)
		line := delimiter.Value(source)
		if !bytes.ContainsRune(line, '|') || !delimiterRow().Match(line) {
			continue
		}
		cells := splitCells(head, source)
		if len(cells) != len(splitCells(delimiter, source)) {
			continue
		}
		table := east.NewTable()
		table.AppendChild(table, east.NewTableHeader(tableRow(cells, len(cells))))
		for j := i + 1; j < lines.Len(); j++ {
			table.AppendChild(table, tableRow(splitCells(lines.At(j), source), len(cells)))
		}
		parent := node.Parent()
		parent.InsertAfter(parent, node, table)
		if lines.SetSliced(0, i-1); lines.Len() == 0 {
			parent.RemoveChild(parent, node)
		}
		return
	}
}

// tableRow returns a row of at most the given number of cells.
func tableRow(cells []text.Segment, columns int) *east.TableRow {
	row := east.NewTableRow(nil)
	for _, c := range cells[:min(len(cells), columns)] {
		cell := east.NewTableCell()
		cell.Lines().Append(c)
		row.AppendChild(row, cell)
	}
	return row
}

// splitCells divides a line at the pipes that are not escaped.
func splitCells(line text.Segment, source []byte) []text.Segment {
	line = line.TrimLeftSpace(source)
	line = line.TrimRightSpace(source)
	data := source[line.Start:line.Stop]
	var out []text.Segment
	start := 0
	add := func(end int) {
		c := text.NewSegment(line.Start+start, line.Start+end)
		c = c.TrimLeftSpace(source)
		out = append(out, c.TrimRightSpace(source))
	}
	for i := 0; i < len(data); i++ {
		switch {
		case data[i] == '\\':
			i++
		case data[i] == '|':
			if i > 0 {
				add(i)
			}
			start = i + 1
		}
	}
	if start < len(data) {
		add(len(data))
	}
	return out
}
