// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/clipperhouse/displaywidth"

	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/progress"
)

// blink is how long a download may take without a bar.
const blink = 300 * time.Millisecond

// transfer is one download.
type transfer struct {
	name        string
	done, total int64
	start       time.Time
}

// transfers are the downloads that are under way. The zero value has none.
type transfers struct {
	list []*transfer // in the order in which they began
}

// hear takes an event in. Two downloads of one name at once share a line.
func (t *transfers) hear(e progress.Event, now time.Time) {
	i := slices.IndexFunc(t.list, func(l *transfer) bool { return l.name == e.Text })
	if e.Kind == progress.Fetched {
		if i >= 0 {
			t.list = slices.Delete(t.list, i, i+1)
		}
		return
	}
	if i < 0 {
		i = len(t.list)
		t.list = append(t.list, &transfer{name: e.Text, start: now})
	}
	t.list[i].done, t.list[i].total = e.Done, e.Total
}

// table draws a bar for each download that has taken longer than a blink, in at
// most that many columns and rows.
func (t *transfers) table(st term.Style, columns, height int, now time.Time) []string {
	var slow []*transfer
	wide := 0
	for _, l := range t.list {
		if now.Sub(l.start) >= blink {
			slow = append(slow, l)
			wide = max(wide, displaywidth.String(term.SafeLine(l.name)))
		}
	}
	var lines []string
	for i, l := range slow {
		if left := len(slow) - i; i == height-1 && left > 1 {
			return append(lines, st.Dim(fit(fmt.Sprintf("  and %d more downloads", left), columns-1)))
		}
		lines = append(lines, l.line(st, wide, columns-1, now))
	}
	return lines
}

// bar is the widest that a bar gets.
const bar = 30

func (l *transfer) line(st term.Style, wide, columns int, now time.Time) string {
	numbers := size(l.done)
	if l.total > 0 {
		numbers = fmt.Sprintf("%3d%%  %s of %s", 100*min(l.done, l.total)/l.total, size(l.done), size(l.total))
	}
	if took := now.Sub(l.start); took > time.Second {
		numbers += fmt.Sprintf("  %s/s", size(int64(float64(l.done)/took.Seconds())))
	}
	name := term.SafeLine(l.name)
	room := columns - 2 - displaywidth.String(numbers)
	if l.total <= 0 || room < 20 {
		return fit(padName(name, min(wide, max(room, 1)))+"  "+numbers, columns)
	}
	long := min(bar, room/2)
	full := int(int64(long) * min(l.done, l.total) / l.total)
	drawn := st.Green(strings.Repeat("█", full)) + st.Dim(strings.Repeat("░", long-full))
	return padName(name, min(wide, room-long-2)) + "  " + drawn + "  " + numbers
}

// size shows bytes as people read them.
func size(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d B", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	case n < 1<<30:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
}
