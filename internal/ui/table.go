// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"

	"github.com/moonhelm/moonhelm/internal/term"
)

const (
	// narrow is the width below which a table has no column for states.
	narrow = 32
	// tiny is the width below which there is no table, only its count.
	tiny = 8
	// company is how many lines objects that are ready may fill a table up to.
	company = 8
)

// row is what a table shows of an object.
type row struct {
	object, text, since string
	state               state
	below               []string // what is wrong, where the column is too small for it
}

// table draws what is awaited, in at most that many columns and rows, one
// string per line: the objects, how many more there are, how many are ready.
// Trouble is shown first where not everything fits, and objects that are ready
// last; what is shown is in the order in which it was first awaited, so that
// lines do not jump. A line never fills the last column: terminals differ in
// where they go from there.
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
	if left > 0 && height > 1 { // where there is one line, it counts
		lines = append(lines, st.Dim(fit(fmt.Sprintf("  and %d more", left), columns)))
	}
	count := fmt.Sprintf("%d of %d %s, %s", w.done(), len(w.objects), w.verb(), elapsed(now.Sub(w.start)))
	return append(lines, st.Dim(fit(count, columns)))
}

// visible is text on one line that stands by itself: marks at its beginning would change the
// width of what it is put behind.
func visible(text string) string {
	return strings.TrimLeftFunc(term.SafeLine(text), func(r rune) bool {
		return unicode.In(r, unicode.Mn, unicode.Me, unicode.Mc, unicode.Cf)
	})
}

func (o *awaitedObject) row(columns int, now time.Time) *row {
	r := &row{object: visible(o.name), text: visible(o.text), since: elapsed(now.Sub(o.since)), state: o.state}
	switch {
	case o.state == ready:
		r.since = "" // of no interest any more
		if r.text == "" {
			r.text = "ready"
		}
	case o.state == failing && (columns < narrow || displaywidth.String(r.text) > columns/2-8):
		r.below, r.text = fold(r.text, columns-4, 2), ""
	}
	return r
}

// choose picks the rows that are shown in that many lines, in their order, and
// counts those that are awaited and not shown.
func choose(rows []*row, lines int) (shown []*row, left int) {
	byNeed := slices.Clone(rows)
	slices.SortStableFunc(byNeed, func(a, b *row) int { return a.need() - b.need() })
	all := 0
	for _, r := range byNeed {
		if r.state != ready {
			left, all = left+1, all+1+len(r.below)
		}
	}
	if all > lines {
		lines-- // one line says how many more there are
	}
	used, chosen := 0, map[*row]bool{}
	for _, r := range byNeed {
		limit := lines
		if r.state == ready {
			limit = min(lines, company)
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

// need ranks a row by how important it is to see it.
func (r *row) need() int {
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
	// Names tell objects apart, states are read: each gets half of what the
	// mark, the time and the gaps leave, and what the other does not need.
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
			// A text that begins with a mark of its own widens the space before it.
			lines = append(lines, st.Red(fit("    "+l, columns)))
		}
	}
	return lines
}

// small is a row where there is little room: the object, and the time where it
// fits.
func (r *row) small(st term.Style, columns int) string {
	room := columns - 2 - 1 - len(r.since)
	if displaywidth.String(r.object) > room {
		return r.mark(st) + strings.TrimRight(padName(r.object, columns-2), " ")
	}
	return r.mark(st) + pad(r.object, room) + " " + st.Dim(r.since)
}

// mark says without colours how an object stands.
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

// fit cuts text to that many columns, and shows that it was cut.
func fit(text string, columns int) string {
	if columns < 1 {
		return ""
	}
	return displaywidth.TruncateString(text, columns, "…")
}

// pad is [fit] that fills up with spaces.
func pad(text string, columns int) string {
	text = fit(text, columns)
	return text + strings.Repeat(" ", max(columns-displaywidth.String(text), 0))
}

// padName is [pad] for names, which are cut in their middle: what tells many of
// one release apart is at the end.
func padName(name string, columns int) string {
	// What lies far from both ends is not shown, and finding the end to show takes time
	// that grows with the square of the length.
	if n := 8 * columns; len(name) > 2*n {
		name = strings.ToValidUTF8(name[:n], "") + strings.ToValidUTF8(name[len(name)-n:], "")
	}
	tail := name
	for most := columns / 3; displaywidth.String(tail) > most && tail != ""; {
		_, n := utf8.DecodeRuneInString(tail)
		tail = tail[n:]
	}
	if displaywidth.String(name) <= columns || tail == "" {
		return pad(name, columns)
	}
	head := fit(name, columns-displaywidth.String(tail))
	return pad(head+tail, columns)
}

// fold breaks text into lines of that many columns, at spaces where it can; the
// last of them is cut.
func fold(text string, columns, lines int) []string {
	var out []string
	for ; lines > 1 && displaywidth.String(text) > columns; lines-- {
		head := displaywidth.TruncateString(text, max(columns, 1), "")
		if space := strings.LastIndexByte(head, ' '); space > len(head)/2 {
			head = head[:space]
		}
		out, text = append(out, head), strings.TrimPrefix(text[len(head):], " ")
	}
	return append(out, fit(text, columns))
}

// width is the width of a drawn line. Escape codes for colours take none.
func width(line string) int {
	return displaywidth.Options{ControlSequences: true}.String(line)
}
