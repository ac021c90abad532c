// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/clipperhouse/displaywidth"

	"github.com/moonhelm/moonhelm/internal/term"
)

const (
	// narrow is the width below which a table has no column for states.
	narrow = 32
	// tiny is the width below which only the count is shown.
	tiny = 8
	// maxWithReady limits the height of a table that shows objects that are ready.
	maxWithReady = 8
)

// row is an object in a table.
type row struct {
	object, text, since string
	state               state
	below               []string // error message, if it does not fit the column
}

// table returns the lines of a table of awaited objects, at most height lines of fewer than columns
// columns: the objects, the number of further objects, and the number of objects that are ready. If
// there is not enough space, failing objects are preferred, and ready ones are dropped first. The
// order is that of the first event, so that lines do not jump. The last column is never used:
// terminals differ in the cursor position after it.
func (w *wait) table(st term.Style, columns, height int, now time.Time) []string {
	columns--
	if columns < 1 || height < 1 {
		return nil
	}
	if columns < tiny {
		height = 1
	}
	var rows []*row
	for _, o := range w.objects {
		if o.noticed {
			rows = append(rows, o.row(columns, now))
		}
	}
	shown, left := choose(rows, height-1)
	lines := draw(st, shown, columns)
	if left > 0 && height > 1 { // a single line shows the count
		lines = append(lines, st.Dim(fit(fmt.Sprintf("  and %d more", left), columns)))
	}
	count := fmt.Sprintf("%d of %d %s, %s", w.done(), w.all(), w.verb(), elapsed(now.Sub(w.start)))
	return append(lines, st.Dim(fit(count, columns)))
}

// standalone returns text as one line without leading combining characters, which would change the
// width of the text before it.
func standalone(text string) string {
	return strings.TrimLeftFunc(term.SafeLine(text), func(r rune) bool {
		return unicode.In(r, unicode.Mn, unicode.Me, unicode.Mc, unicode.Cf)
	})
}

func (o *awaitedObject) row(columns int, now time.Time) *row {
	r := &row{object: standalone(o.name), text: standalone(o.text), since: elapsed(now.Sub(o.since)), state: o.state}
	switch {
	case o.state == ready:
		r.since = "" // no longer relevant
		if r.text == "" {
			r.text = "ready"
		}
	case o.state == failing && (columns < narrow || displaywidth.String(r.text) > columns/2-8):
		r.below, r.text = fold(r.text, columns-4, 2), ""
	}
	return r
}

// choose returns the rows that fit into the given number of lines, in their order, and the number
// of other rows that are not ready.
func choose(rows []*row, lines int) (shown []*row, left int) {
	byRank := slices.Clone(rows)
	slices.SortStableFunc(byRank, func(a, b *row) int { return a.rank() - b.rank() })
	all := 0
	for _, r := range byRank {
		if r.state != ready {
			left, all = left+1, all+1+len(r.below)
		}
	}
	if all > lines {
		lines-- // one line says how many more there are
	}
	used, chosen := 0, map[*row]bool{}
	for _, r := range byRank {
		limit := lines
		if r.state == ready {
			limit = min(lines, maxWithReady)
		}
		if used+1+len(r.below) > limit {
			break
		}
		used += 1 + len(r.below)
		chosen[r] = true
		if r.state != ready {
			left--
		}
	}
	return slices.DeleteFunc(slices.Clone(rows), func(r *row) bool { return !chosen[r] }), left
}

// rank returns the priority of a row, 0 first.
func (r *row) rank() int {
	switch r.state {
	case failing:
		return 0
	case ready:
		return 2
	}
	return 1
}

func draw(st term.Style, rows []*row, columns int) []string {
	var wide, widest, since int
	for _, r := range rows {
		wide = max(wide, displaywidth.String(r.object))
		widest = max(widest, displaywidth.String(r.text))
		since = max(since, len(r.since), len("10s"))
	}
	// Names and states share the width without mark, time and gaps: each gets half of it, and what
	// the other does not need.
	room := columns - 2 - 2 - 2 - since
	object := min(wide, max(room/2, room-widest))
	text := min(widest, room-object)
	var lines []string
	for _, r := range rows {
		middle := padName(r.object, object) + "  " + r.tint(st, pad(r.text, text))
		if len(r.below) > 0 {
			middle = padName(r.object, object+2+text)
		}
		if columns < narrow {
			lines = append(lines, r.small(st, columns))
		} else {
			lines = append(lines, r.mark(st)+middle+st.Dim(fmt.Sprintf("  %*s", since, r.since)))
		}
		for _, l := range r.below {
			// A leading combining character changes the width of the space before it.
			lines = append(lines, st.Red(fit("    "+l, columns)))
		}
	}
	return lines
}

// small returns a row without the state: the object, and the time if it fits.
func (r *row) small(st term.Style, columns int) string {
	room := columns - 2 - 1 - len(r.since)
	if displaywidth.String(r.object) > room {
		return r.mark(st) + strings.TrimRight(padName(r.object, columns-2), " ")
	}
	return r.mark(st) + pad(r.object, room) + " " + st.Dim(r.since)
}

// mark returns a prefix that shows the state without colours.
func (r *row) mark(st term.Style) string {
	switch r.state {
	case failing:
		return st.Red("! ")
	case ready:
		return st.Green("+ ")
	}
	return "  "
}

func (r *row) tint(st term.Style, text string) string {
	switch r.state {
	case failing:
		return st.Red(text)
	case ready:
		return st.Green(text)
	}
	return text
}

// fit truncates text to columns columns, with an ellipsis.
func fit(text string, columns int) string { return term.Fit(text, columns) }

// pad truncates text to columns columns or pads it with spaces.
func pad(text string, columns int) string { return term.Pad(text, columns) }

// padName is like pad, but truncates in the middle: names in a release often differ at the end.
func padName(name string, columns int) string { return pad(term.FitMiddle(name, columns), columns) }

// fold breaks text into lines of at most columns columns, at spaces if possible, and truncates the
// last one.
func fold(text string, columns, lines int) []string { return term.Fold(text, columns, lines) }

// width returns the width of a drawn line without escape sequences.
func width(line string) int {
	return displaywidth.Options{ControlSequences: true}.String(line)
}
