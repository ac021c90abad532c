// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/progress"
)

// pace is the shortest time between two drawings of a table.
const pace = 100 * time.Millisecond

// What moves the cursor. Lines do not wrap while a table is drawn: a terminal
// that takes a character for wider than we do must not push the table down. The
// cursor stays visible, so that a process that is killed leaves nothing behind
// that the user has to repair.
const (
	wrapOff    = "\x1b[?7l"
	wrapOn     = "\x1b[?7h"
	eraseBelow = "\x1b[J"
	eraseRight = "\x1b[K"
)

// Mode is how progress is shown.
type Mode string

// The modes. The zero value is Auto.
const (
	Auto  Mode = "auto"  // steps and live tables on a terminal, elsewhere nothing
	Plain Mode = "plain" // steps and changes as lines, on a terminal too
	None  Mode = "none"  // nothing
)

// Modes are the names of the modes.
func Modes() []string { return []string{string(Auto), string(Plain), string(None)} }

// Board is the error stream of one run of the program, as people watch it. Warnings,
// what was kept and what objects wrote are always told, progress by the [Mode]: on a
// terminal each step, with a table of what is awaited, and of what is being downloaded,
// below the last line; or a line for each step and each change of what is awaited.
// Verbose shows progress as lines where there is no terminal, and tells every object too.
//
// All methods may be called from several goroutines at once. A table is drawn
// from the first event about an awaited object until [progress.Settled] or
// Close, by a goroutine that lives as long. Writing never fails: who watches
// must not stop what is watched.
type Board struct {
	w       io.Writer
	style   term.Style
	verbose bool
	chatty  bool                       // tells steps, and changes where there are no tables
	size    func() (columns, rows int) // nil: there are no tables

	mu      sync.Mutex
	wait    wait
	loads   transfers
	closed  bool
	stop    chan struct{} // ends the goroutine that draws; nil where there is none
	lines   []byte        // lines that the next drawing puts above the table
	drawn   []int         // the widths of the lines of the table on the screen
	columns int           // the width of the screen when it was drawn
	last    []string      // the table on the screen
	at      time.Time     // when it was drawn
	stale   bool          // more than seconds has changed since
	open    bool          // the beginning of a line was written: a question
}

// NewBoard returns the board for the error stream of s. Without one it says
// nothing.
func NewBoard(s term.Streams, mode Mode, verbose bool) *Board {
	b := &Board{w: s.Err, style: s.Style(s.Err), verbose: verbose && mode != None}
	b.chatty = b.verbose || mode == Plain || mode != None && term.IsTerminal(s.Err)
	if s.Err == nil {
		b.w = io.Discard
	}
	if mode != Plain && mode != None && s.Movable(s.Err) {
		b.size = func() (int, int) { return term.Size(s.Err) }
	}
	return b
}

// Report tells what e says. It is a [progress.Func].
func (b *Board) Report(e progress.Event) {
	line := b.describe(e)
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	switch e.Kind {
	case progress.Settled:
		b.settle(now)
		return
	case progress.Download, progress.Fetched:
		b.hearLoad(e, now)
	}
	changed := b.wait.hear(e, now)
	if changed && b.tables() {
		b.stale = true
		b.watch()
	}
	if changed && !b.tables() && b.chatty || b.verbose && e.Kind == progress.Ready {
		line = b.change(e)
	}
	if line != "" {
		b.above(line+"\n", now)
	} else if changed && b.drawn != nil {
		b.draw(now)
	}
}

// Close takes the table away, writes what has not been written yet, and draws
// no table any more: the last word is the command's. What comes later is told in
// lines.
func (b *Board) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.close()
	b.wait, b.loads = wait{}, transfers{}
	b.closed = true
}

// hearLoad takes the state of a download in.
func (b *Board) hearLoad(e progress.Event, now time.Time) {
	b.loads.hear(e, now)
	if !b.tables() {
		return
	}
	b.stale = true
	if len(b.loads.list) > 0 {
		b.watch()
	} else if len(b.wait.objects) == 0 {
		b.close()
	}
}

// Above returns a writer to w, a stream of the same terminal, whose lines come
// above the table. While the last line is not ended, because it is a question,
// no table is drawn.
func (b *Board) Above(w io.Writer) io.Writer { return above{b, w} }

type above struct {
	b *Board
	w io.Writer
}

func (a above) Write(p []byte) (int, error) {
	a.b.mu.Lock()
	defer a.b.mu.Unlock()
	if len(p) > 0 {
		a.b.open = p[len(p)-1] != '\n'
	}
	a.b.erase()
	n, err := a.w.Write(p)
	a.b.stale = true
	return n, err
}

func (b *Board) tables() bool { return b.size != nil && !b.closed }

// settle ends the wait: the table goes, one line stays.
func (b *Board) settle(now time.Time) {
	over := b.wait
	b.close()
	b.wait = wait{}
	if len(b.loads.list) > 0 && b.tables() {
		b.watch()
	}
	if !b.tables() || len(over.objects) == 0 {
		return
	}
	paint := b.style.Green
	if over.done() < len(over.objects) {
		paint = b.style.Yellow
	}
	b.write(paint(over.summary(now)) + "\n")
}

// above writes whole lines: at once where there is no table, else above it, at
// the table's pace.
func (b *Board) above(text string, now time.Time) {
	if b.drawn == nil {
		b.write(text)
		b.open = false
		return
	}
	b.lines = append(b.lines, text...)
	b.stale = true
	b.draw(now)
}

// watch starts what draws the table, first after one pace: a wait that is over
// by then shows none.
func (b *Board) watch() {
	if b.stop != nil {
		return
	}
	stop := make(chan struct{})
	b.stop = stop
	go func() {
		tick := time.NewTicker(pace)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case now := <-tick.C:
				b.mu.Lock()
				if b.stop == stop {
					b.draw(now)
				}
				b.mu.Unlock()
			}
		}
	}()
}

// draw brings the screen up to date, where it is time to: after changes at most
// once per pace, and without any once per second.
func (b *Board) draw(now time.Time) {
	if b.stop == nil || b.open {
		return
	}
	columns, rows := b.size()
	waited := now.Sub(b.at)
	if waited < pace || !b.stale && columns == b.columns && waited < time.Second-pace/2 {
		return
	}
	// The row below the table is the cursor's. A table that fills a large screen
	// would take away what was said before.
	height := min(rows-1, max(rows/2, 15))
	table := b.loads.table(b.style, columns, height, now)
	if len(b.wait.objects) > 0 {
		table = append(table, b.wait.table(b.style, columns, height-len(table), now)...)
	}
	b.at, b.stale = now, false
	if len(b.lines) == 0 && columns == b.columns && slices.Equal(table, b.last) {
		return
	}
	var out strings.Builder
	out.WriteString(b.up(columns))
	if len(b.lines) > 0 {
		out.WriteString(eraseBelow)
		out.Write(b.lines)
		b.lines = b.lines[:0]
	}
	out.WriteString(wrapOff)
	b.drawn = make([]int, 0, len(table))
	for _, line := range table {
		out.WriteString(line + eraseRight + "\n")
		b.drawn = append(b.drawn, width(line))
	}
	out.WriteString(wrapOn + eraseBelow)
	b.last, b.columns = table, columns
	b.write(out.String())
}

// up moves the cursor to where the table begins. A terminal that became
// narrower has broken the table's lines into several.
func (b *Board) up(columns int) string {
	n := 0
	for _, w := range b.drawn {
		n += max((w+columns-1)/max(columns, 1), 1)
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("\r\x1b[%dA", n)
}

// erase takes the table off the screen and writes what waits to be above it.
func (b *Board) erase() {
	if b.drawn != nil {
		columns, _ := b.size()
		b.write(b.up(columns) + eraseBelow + string(b.lines))
	}
	b.lines, b.drawn, b.last = nil, nil, nil
}

// close is erase for good.
func (b *Board) close() {
	b.erase()
	if b.stop != nil {
		close(b.stop)
		b.stop = nil
	}
	b.at, b.stale = time.Time{}, false
}

func (b *Board) write(text string) { _, _ = io.WriteString(b.w, text) }
