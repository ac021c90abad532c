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

// barDelay is the age at which a download gets a bar.
const barDelay = 300 * time.Millisecond

// transfer is a download.
type transfer struct {
	name        string
	done, total int64
	start       time.Time
}

// transfers are the current downloads. The zero value is empty.
type transfers struct {
	list []*transfer // in the order of their first events
}

// update handles an event. Concurrent downloads of the same name share a line.
func (t *transfers) update(e progress.Event, now time.Time) {
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

// table returns a line for each download older than barDelay, limited to the given columns and
// rows.
func (t *transfers) table(st term.Style, columns, height int, now time.Time) []string {
	var slow []*transfer
	wide := 0
	for _, l := range t.list {
		if now.Sub(l.start) >= barDelay {
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

// barWidth is the maximum width of a bar.
const barWidth = 30

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
	long := min(barWidth, room/2)
	full := int(int64(long) * min(l.done, l.total) / l.total)
	drawn := st.Green(strings.Repeat("█", full)) + st.Dim(strings.Repeat("░", long-full))
	return padName(name, min(wide, room-long-2)) + "  " + drawn + "  " + numbers
}

// size formats a number of bytes.
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
