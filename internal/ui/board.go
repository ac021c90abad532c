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

// minInterval is the minimum time between two drawings of a table.
const minInterval = 100 * time.Millisecond

// Escape sequences that move the cursor. Lines do not wrap while a table is drawn: a terminal that
// considers a character wider than displaywidth does must not push the table down. The cursor stays
// visible, so that a killed process leaves nothing behind that the user has to repair.
const (
	wrapOff    = "\x1b[?7l"
	wrapOn     = "\x1b[?7h"
	eraseBelow = "\x1b[J"
	eraseRight = "\x1b[K"
)

// Mode says how progress is shown.
type Mode string

// The modes. The zero value means Auto.
const (
	Auto  Mode = "auto"  // steps and live tables on a terminal, nothing elsewhere
	Plain Mode = "plain" // steps and changes as lines, also on a terminal
	None  Mode = "none"  // nothing
)

// Modes returns the names of all modes.
func Modes() []string { return []string{string(Auto), string(Plain), string(None)} }

// Board is the progress display of one run of the program, on standard error. It always prints
// warnings, kept objects and logs. Depending on the [Mode] it prints steps too, with live tables of
// awaited objects and downloads below the last line, or a line for each step and change. With
// verbose output it prints lines for all objects, also without a terminal.
//
// Board is safe for concurrent use. A goroutine draws the tables, from the first event of an
// awaited object or download until [progress.Settled] or Close. Write errors are ignored: a broken
// display must not stop the operation.
type Board struct {
	w       io.Writer
	style   term.Style
	verbose bool
	chatty  bool                       // print steps, and changes if there are no tables
	size    func() (columns, rows int) // nil: no tables

	mu      sync.Mutex
	wait    wait
	plain   plainWait
	loads   transfers
	closed  bool
	stop    chan struct{} // closing it ends the drawing goroutine; nil if there is none
	lines   []byte        // lines to print above the table at the next drawing
	drawn   []int         // widths of the lines of the table on the screen
	columns int           // width of the screen when it was drawn
	last    []string      // the table on the screen
	at      time.Time     // time of the last drawing
	stale   bool          // more than the elapsed time has changed since
	open    bool          // the last line, a question, is not terminated
}

// NewBoard returns a board that writes to s.Err, if it is not nil.
func NewBoard(s term.Streams, mode Mode, verbose bool) *Board {
	b := &Board{w: s.ScreenWriter(s.Err), style: s.Style(s.Err), verbose: verbose && mode != None}
	b.chatty = b.verbose || mode == Plain || mode != None && term.IsTerminal(s.Err)
	if s.Err == nil {
		b.w = io.Discard
	}
	if mode != Plain && mode != None && s.Movable(s.Err) {
		b.size = func() (int, int) { return term.Size(s.Err) }
	}
	return b
}

// Report shows an event. It is a [progress.Func].
func (b *Board) Report(e progress.Event) {
	line := b.describe(e)
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	switch e.Kind {
	case progress.Settled:
		b.settle(now, e.Text != "")
		return
	case progress.Download, progress.Fetched:
		b.updateTransfer(e, now)
	}
	changed := b.wait.update(e, now)
	if changed && b.tables() {
		b.stale = true
	}
	if changed && (b.tables() || b.chatty && !b.closed) {
		b.startDrawing()
	}
	switch {
	case changed && b.chatty && b.closed, b.tables() && b.verbose && e.Kind == progress.Ready:
		line = b.change(e)
	case changed && b.chatty && !b.tables():
		line = b.plainChange(e, now)
	}
	if line != "" {
		if b.size != nil && e.Kind != progress.Log {
			columns, _ := b.size()
			line = Fold(line, columns)
		}
		b.printAbove(line+"\n", now)
	} else if changed && b.drawn != nil {
		b.draw(now)
	}
}

// Close removes the tables and writes pending lines. Later events are printed as lines.
func (b *Board) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.close()
	b.wait, b.plain, b.loads = wait{}, plainWait{}, transfers{}
	b.closed = true
}

// updateTransfer handles an event of a download.
func (b *Board) updateTransfer(e progress.Event, now time.Time) {
	b.loads.update(e, now)
	if !b.tables() {
		return
	}
	b.stale = true
	if len(b.loads.list) > 0 {
		b.startDrawing()
	} else if len(b.wait.objects) == 0 {
		b.close()
	}
}

// Above returns a writer to w, a stream of the same terminal, whose lines appear above the table.
// No table is drawn while the last line is not terminated, because it is a question.
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

// settle ends the wait: it replaces the table with a summary, which is the last line of a plain wait
// too. brief omits the slowest objects.
func (b *Board) settle(now time.Time, brief bool) {
	over := b.wait
	b.close()
	b.wait, b.plain = wait{}, plainWait{}
	if len(b.loads.list) > 0 && b.tables() {
		b.startDrawing()
	}
	if len(over.objects) == 0 || !b.tables() && (!b.chatty || b.closed) {
		return
	}
	paint := b.style.Green
	if over.done() < over.all() {
		paint = b.style.Yellow
	}
	b.write(paint(over.summary(now)) + "\n")
	if brief {
		return
	}
	columns := 0
	if b.tables() {
		columns, _ = b.size()
	}
	for _, line := range over.slowest(now, columns) {
		b.write(b.style.Dim(line) + "\n")
	}
}

// printAbove writes whole lines, above the table if there is one.
func (b *Board) printAbove(text string, now time.Time) {
	if b.drawn == nil {
		b.write(text)
		b.open = false
		return
	}
	b.lines = append(b.lines, text...)
	b.stale = true
	b.draw(now)
}

// startDrawing starts the goroutine that draws the table, or writes the lines instead. It draws first
// after minInterval, so that a short wait shows no table.
func (b *Board) startDrawing() {
	if b.stop != nil {
		return
	}
	stop := make(chan struct{})
	b.stop = stop
	go func() {
		tick := time.NewTicker(minInterval)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case now := <-tick.C:
				b.mu.Lock()
				switch {
				case b.stop != stop:
				case b.tables():
					b.draw(now)
				default:
					b.plainTick(now)
				}
				b.mu.Unlock()
			}
		}
	}()
}

// draw updates the screen, at most once per minInterval after changes, and once per second
// otherwise.
func (b *Board) draw(now time.Time) {
	if b.stop == nil || b.open {
		return
	}
	columns, rows := b.size()
	waited := now.Sub(b.at)
	if waited < minInterval || !b.stale && columns == b.columns && waited < time.Second-minInterval/2 {
		return
	}
	// The cursor is in the row below the table. The height is limited even on a large screen, so
	// that earlier output stays visible.
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

// up returns the sequence that moves the cursor to the start of the table. A terminal that has
// become narrower has wrapped the table's lines.
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

// erase removes the table from the screen and writes pending lines.
func (b *Board) erase() {
	if b.drawn != nil {
		columns, _ := b.size()
		b.write(b.up(columns) + eraseBelow + string(b.lines))
	}
	b.lines, b.drawn, b.last = nil, nil, nil
}

// close erases the table and stops the goroutine.
func (b *Board) close() {
	b.erase()
	if b.stop != nil {
		close(b.stop)
		b.stop = nil
	}
	b.at, b.stale = time.Time{}, false
}

func (b *Board) write(text string) { _, _ = io.WriteString(b.w, text) }
