// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/moonhelm/moonhelm/internal/lazy"
	"github.com/moonhelm/moonhelm/internal/plural"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/progress"
)

// Times of the lines of a wait that is shown without a table.
const (
	// announceAfter is when the first line names what is awaited.
	announceAfter = time.Second
	// repeatAfter is the time without a line after which another one does.
	repeatAfter = 30 * time.Second
)

// plainWait is what the lines of the current wait have said, if there is no table. The zero value
// has said nothing.
type plainWait struct {
	last     time.Time       // time of the last line
	troubles map[string]bool // objects with the texts of their problems
}

// plainChange returns the line for a change of an awaited object, or "". A change of what is
// missing has no line of its own, nor has a problem that was shown before: controllers report
// both again and again.
func (b *Board) plainChange(e progress.Event, now time.Time) string {
	switch key := e.Object + "\x00" + problemOf(e.Text); {
	case b.verbose, e.Kind == progress.Ready:
	case e.Kind == progress.Failing && !b.plain.troubles[key]:
		if b.plain.troubles == nil {
			b.plain.troubles = map[string]bool{}
		}
		b.plain.troubles[key] = true
	default:
		return ""
	}
	return b.plainLine(b.change(e), now)
}

// plainTick writes the line that names what is awaited, when it is time for it.
func (b *Board) plainTick(now time.Time) {
	begun, after := b.plain.last, repeatAfter
	if begun.IsZero() {
		begun, after = b.wait.start, announceAfter
	}
	if len(b.wait.objects) == 0 || b.open || now.Sub(begun) < after {
		return
	}
	if text := b.wait.awaited(); text != "" {
		b.write(b.plainLine(b.style.Dim("waiting for ")+text, now) + "\n")
	}
}

// plainLine returns a line of the current wait: the time, how many objects are ready, and text.
func (b *Board) plainLine(text string, now time.Time) string {
	b.plain.last = now
	all := fmt.Sprint(b.wait.all())
	count := fmt.Sprintf("%*d of %s", len(all), b.wait.done(), all)
	return b.style.Dim(fmt.Sprintf("%5s  %s", elapsed(now.Sub(b.wait.start)), count)) + "  " + text
}

// maxAwaited is the number of objects that a line names.
const maxAwaited = 3

// awaited returns the objects that are not ready, with what is missing: those with a problem
// first, and only the number of those beyond maxAwaited.
func (w *wait) awaited() string {
	var missing []*awaitedObject
	for _, o := range w.objects {
		if o.state != ready {
			missing = append(missing, o)
		}
	}
	slices.SortStableFunc(missing, func(x, y *awaitedObject) int { return cmp.Compare(y.state, x.state) })
	var parts []string
	for _, o := range missing[:min(len(missing), maxAwaited)] {
		parts = append(parts, subject(term.SafeLine(o.name), fit(term.SafeLine(o.text), 100)))
	}
	text := strings.Join(parts, "; ")
	if rest := len(missing) - maxAwaited; rest > 0 {
		text += fmt.Sprintf("; and %d more", rest)
	}
	return text
}

var podName = lazy.Regexp(`\bpod \S+`)

// problemOf returns the text of a problem without what differs each time it is reported: counts, what
// is in parentheses, the names of pods.
func problemOf(text string) string {
	text, _, _ = strings.Cut(text, " (")
	return strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return -1
		}
		return r
	}, podName().ReplaceAllLiteralString(text, "pod"))
}

const (
	// minSlow is the time from which an object of a wait is slow, minDetailed that of a wait
	// from which the slow ones are named.
	minSlow     = time.Second
	minDetailed = 3 * time.Second
	// maxSlow is the number of objects that are named.
	maxSlow = 5
)

// slowest returns lines with the objects that were ready last, the last first, and their times,
// each of less than columns columns; columns 0 means any number.
func (w *wait) slowest(now time.Time, columns int) []string {
	if len(w.objects) < 2 || now.Sub(w.start) < minDetailed || w.done() < w.all() {
		return nil
	}
	slow := slices.Clone(w.objects)
	slices.SortStableFunc(slow, func(x, y *awaitedObject) int { return y.since.Compare(x.since) })
	n := min(len(slow), maxSlow)
	for n > 0 && slow[n-1].since.Sub(w.start) < minSlow {
		n--
	}
	wide := 0
	for _, o := range slow[:n] {
		wide = max(wide, width(standalone(o.name)))
	}
	if columns > 0 {
		wide = max(min(wide, columns-len("   ")-len("59m59s")-2), 1)
	}
	var lines []string
	for _, o := range slow[:n] {
		lines = append(lines, fmt.Sprintf("  %s  %6s", padName(standalone(o.name), wide), elapsed(o.since.Sub(w.start))))
	}
	if rest := slow[n:]; n > 0 && len(rest) > 0 {
		last := elapsed(rest[0].since.Sub(w.start) + time.Second - 1)
		line := fmt.Sprintf("  %s within %s", plural.Count(len(rest), "other"), last)
		if columns > 0 {
			line = fit(line, columns-1)
		}
		lines = append(lines, line)
	}
	return lines
}
