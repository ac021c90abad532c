// SPDX-License-Identifier: Apache-2.0

package output

import (
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/moonhelm/moonhelm/internal/term"
)

// wideVariable is the environment variable that has tables printed to a terminal as to a pipe.
const wideVariable = "HELM_WIDE"

// OnScreen reports whether tables on s.Out are for a person: it is a terminal, and HELM_WIDE is
// not true.
func OnScreen(s term.Streams) bool {
	if !term.IsTerminal(s.Out) {
		return false
	}
	if s.Getenv == nil {
		return true
	}
	wide, _ := strconv.ParseBool(s.Getenv(wideVariable)) // as other variables: what is invalid is false
	return !wide
}

// Grid is a table. Programs get whole cells, padded to their column's width and separated by tabs,
// as scripts that parse Helm's tables expect. On a terminal it has no lines wider than that: long
// cells are shortened. Control characters in cells are escaped.
type Grid struct {
	// Header is omitted if it is nil.
	Header []string
	Rows   [][]string
	// Style returns the styled text of a cell, or of a header cell if row is -1. If it is nil, a
	// terminal's header is bold.
	Style func(row, column int, cell string) string
	// Spare are the columns that a terminal too narrow for all goes without, in that order.
	Spare []int
	// Below, if not nil, has cells of the last column continue on up to two further lines of a
	// terminal. It returns what these have in the first column.
	Below func(row int) string
}

// Write prints the table to s.Out.
func (g Grid) Write(s term.Streams) error {
	if !OnScreen(s) {
		_, err := io.WriteString(s.Out, g.tabbed())
		return err
	}
	if g.Style == nil {
		g.Style = s.Style(s.Out).Header
	}
	_, err := io.WriteString(s.ScreenWriter(s.Out), g.Fit(term.Width(s.Out)))
	return err
}

// lines returns the header and the rows with safe cells, and the index of the first of them.
func (g Grid) lines() (all [][]string, first int) {
	if g.Header != nil {
		all, first = append(all, g.Header), -1
	}
	all = append(all, g.Rows...)
	for i, row := range all {
		all[i] = slices.Clone(row)
		for j, cell := range row {
			all[i][j] = term.SafeLine(cell)
		}
	}
	return all, first
}

// widthsOf returns the widths of the columns, measured by width.
func widthsOf(lines [][]string, width func(string) int) []int {
	var widths []int
	for _, row := range lines {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], width(cell))
		}
	}
	return widths
}

func (g Grid) styled(row, column int, cell string) string {
	if g.Style == nil {
		return cell
	}
	return g.Style(row, column, cell)
}

// tabbed returns the table for programs. Escape sequences do not count for a column's width.
func (g Grid) tabbed() string {
	all, first := g.lines()
	widths := widthsOf(all, utf8.RuneCountInString)
	var b strings.Builder
	for n, row := range all {
		for i, cell := range row {
			if i > 0 {
				b.WriteByte('\t')
			}
			b.WriteString(g.styled(n+first, i, cell))
			b.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// gap separates the columns on a terminal.
const gap = "  "

// Fit returns the table for a terminal of the given width, without trailing blanks.
func (g Grid) Fit(columns int) string {
	all, first := g.lines()
	shown, widths := g.layout(widthsOf(all, displaywidth.String), columns)
	var b strings.Builder
	for n, row := range all {
		for _, line := range g.folded(row, n+first, widths) {
			blank := 0
			for k, i := range shown {
				if i >= len(line) {
					continue
				}
				cell := term.Fit(line[i], widths[i])
				if i == 0 {
					cell = term.FitMiddle(line[i], widths[i])
				}
				if k > 0 {
					blank += len(gap)
				}
				if cell != "" {
					b.WriteString(strings.Repeat(" ", blank) + g.styled(n+first, i, cell))
					blank = 0
				}
				blank += widths[i] - displaywidth.String(cell)
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// maxFolded is the maximum number of lines of a row.
const maxFolded = 3

// folded returns the lines of a row.
func (g Grid) folded(row []string, number int, widths []int) [][]string {
	last := len(widths) - 1
	if g.Below == nil || number < 0 || last < 1 || len(row) != len(widths) {
		return [][]string{row}
	}
	var out [][]string
	for i, part := range term.Fold(row[last], widths[last], maxFolded) {
		line := make([]string, len(row))
		if line[0] = term.SafeLine(g.Below(number)); i == 0 {
			copy(line, row)
		}
		line[last] = part
		out = append(out, line)
	}
	return out
}

const (
	// roomy is the width that a column should have before spare columns are shown.
	roomy = 12
	// roomyName is roomy of the first column, which has the names that people type. It gets half of
	// the terminal at most.
	roomyName = 24
)

// layout chooses the columns to show and their widths, so that they fit.
func (g Grid) layout(natural []int, columns int) (shown, widths []int) {
	for i := range natural {
		shown = append(shown, i)
	}
	width := func(i, limit int) int {
		if i == 0 {
			limit = max(limit, min(roomyName, columns/2))
		}
		return min(natural[i], limit)
	}
	limited := func(limit int) (sum int) {
		for _, i := range shown {
			sum += width(i, limit)
		}
		return sum + len(gap)*(len(shown)-1)
	}
	for _, spare := range g.Spare {
		if limited(roomy) <= columns {
			break
		}
		shown = slices.DeleteFunc(shown, func(i int) bool { return i == spare })
	}
	limit := slices.Max(append(natural, 1))
	for limit > 1 && limited(limit) > columns {
		limit--
	}
	widths = make([]int, len(natural))
	for _, i := range shown {
		widths[i] = width(i, limit)
	}
	// The name makes room only if nothing else does.
	if over := limited(limit) - columns; over > 0 && len(shown) > 0 {
		widths[shown[0]] = max(widths[shown[0]]-over, 1)
	}
	return shown, widths
}

// Ago formats a time in the past for a person: "5m ago". The zero time is "-", and a time in the
// future is formatted as a date.
func Ago(t, now time.Time) string {
	switch age := now.Sub(t); {
	case t.IsZero():
		return "-"
	case age < -time.Second:
		return t.Local().Format(time.DateTime)
	case age < time.Second:
		return "just now"
	default:
		return duration.ShortHumanDuration(age) + " ago"
	}
}
