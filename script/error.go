// SPDX-License-Identifier: Apache-2.0

package script

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/internal/truncate"
	"github.com/moonhelm/moonhelm/script/wire"
)

// An Error is returned when a script fails.
type Error struct {
	// Event is the event that was answered ("pre-render"), "" while scripts were loaded.
	Event string
	// Chart is the name of the chart that has the script, "" where it is not known.
	Chart string
	// File and Line are the place in the chart ("ext/lua/chart.lua"), "" and 0 where it is
	// not known.
	File string
	Line int
	// Message is the script's error message, or what is wrong with the script.
	Message string
	// Source is the text of the line.
	Source string
	// Traceback is the calls that led there, a line each; "" unless [Host.Debug] is set.
	Traceback string
	// Limit is the limit that was reached: "cpu", "memory", "output", "stack"; "" for none.
	Limit string

	// foreign is set where the script is not of the chart whose handler ran.
	foreign bool
	err     error
}

// Unwrap returns how the process ended, where that is the cause; nil otherwise.
func (e *Error) Unwrap() error { return e.err }

// Loading reports whether scripts failed while they were loaded, by an error of their own:
// no limit was reached, and the process did not end.
func (e *Error) Loading() bool { return e.Event == "" && e.Limit == "" && e.err == nil }

// Position returns file and line, "ext/lua/chart.lua:12", as far as they are known.
func (e *Error) Position() string {
	if e.File == "" || e.Line == 0 {
		return e.File
	}
	return e.File + ":" + strconv.Itoa(e.Line)
}

// Error returns place, message, source line and traceback, on several lines. The handler is
// named by the [event.HandlerError] that wraps it.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Event == "" {
		b.WriteString("load scripts")
		if e.Chart != "" {
			b.WriteString(" of chart " + strconv.Quote(e.Chart))
		}
		b.WriteString(": ")
	}
	if place := e.Position(); place != "" {
		b.WriteString(place)
		if e.foreign && e.Event != "" {
			b.WriteString(" of chart " + strconv.Quote(e.Chart))
		}
		b.WriteString(": ")
	}
	b.WriteString(e.Message)
	if e.Source != "" {
		fmt.Fprintf(&b, "\n  %d | %s", e.Line, e.Source)
	}
	if e.Traceback != "" {
		b.WriteString("\n  " + strings.ReplaceAll(strings.TrimRight(e.Traceback, "\n"), "\n", "\n  "))
	}
	return b.String()
}

// Bounds of what an error shows.
const (
	maxMessage = 32 << 10
	maxSource  = 400
)

// scriptError returns the error that the process reports. at is the index of the chart that
// it was asked about, and where the position of the handler.
func (s *session) scriptError(m wire.Message, event string, at int, where string) *Error {
	text := func(key string) string { t, _ := m.Body[key].(string); return t }
	number := func(key string) int64 { n, _ := m.Body[key].(int64); return n }
	e := &Error{
		Event: event, Message: truncate.Bytes(text("message"), maxMessage, "…"),
		File: truncate.Bytes(text("file"), maxSource, "…"), Limit: truncate.Bytes(text("limit"), maxSource, "…"),
	}
	if n := number("line"); n > 0 && n < 1<<31 {
		e.Line = int(n)
	}
	if e.Message == "" {
		e.Message = "it failed"
	}
	if e.Limit != "" {
		e.Message += s.limitText(e.Limit)
	}
	if e.File == "" {
		e.File, e.Line = splitPosition(where)
	}
	whose := at
	if n, ok := m.Body["chart"].(int64); ok && n >= 0 && n < int64(len(s.tree.charts)) {
		whose = int(n)
	}
	if whose >= 0 {
		owner := s.tree.charts[whose]
		e.Chart, e.foreign = owner.name, whose != at
		e.Source = truncate.Bytes(owner.line(e.File, e.Line), maxSource, "…")
	}
	if s.debug {
		e.Traceback = truncate.Bytes(text("traceback"), maxMessage, "…")
	}
	return e
}

// limitText says how large a limit is.
func (s *session) limitText(limit string) string {
	switch limit {
	case "cpu":
		return fmt.Sprintf(" (the limit is %s for an operation)", s.limits.CPU)
	case "memory":
		return fmt.Sprintf(" (the limit is %d MiB for an operation)", s.limits.Memory>>20)
	case "output":
		return fmt.Sprintf(" (the limit is %d KiB for an operation)", s.limits.Output>>10)
	}
	return ""
}

// changeError returns an error about what a handler has changed, at the statement that
// changed it or, where that is not known, where the handler was registered. items is where
// the process says that elements of lists were assigned.
func (r *request) changeError(err error, items []map[string]any) *Error {
	e := &Error{Event: r.event, Message: err.Error()}
	whose, where := r.chart, r.where
	if wrong, ok := errors.AsType[*itemError](err); ok {
		for _, b := range items {
			id, _ := b["id"].(int64)
			index, _ := b["index"].(int64)
			item, _ := b["item"].(int64)
			same := uint64(id) == wrong.list.ID && index == int64(wrong.index) || item > 0 && uint64(item) == wrong.item
			if at, ok := r.session.chartOf(b); ok && same {
				whose, where = at, truncate.Bytes(textOf(b, "where"), maxSource, "…")
			}
		}
	}
	e.File, e.Line = splitPosition(where)
	if whose >= 0 {
		owner := r.session.tree.charts[whose]
		e.Chart, e.foreign = owner.name, whose != r.chart
		e.Source = truncate.Bytes(owner.line(e.File, e.Line), maxSource, "…")
	}
	return e
}

// splitPosition splits "ext/lua/chart.lua:12".
func splitPosition(where string) (file string, line int) {
	file, digits, ok := strings.Cut(where, ":")
	if n, err := strconv.Atoi(digits); ok && err == nil {
		return file, n
	}
	return where, 0
}

// likelyOwner returns the chart to name where it is not known whose script it was: the only
// one with a script, the top chart where there are several, -1 where there is none.
func (t *tree) likelyOwner() int {
	found := -1
	for _, m := range t.charts {
		if _, ok := m.files[strings.TrimPrefix(chart.FileScript, chart.DirScripts+"/")]; !ok {
			continue
		}
		if found >= 0 {
			return t.top().index
		}
		found = m.index
	}
	return found
}
