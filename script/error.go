// SPDX-License-Identifier: Apache-2.0

package script

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/internal/truncate"
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

// Hint says what a user of the command line can do about a limit that was reached, "" about
// anything else.
func (e *Error) Hint() string {
	switch e.Limit {
	case "cpu":
		return "--script-timeout gives the scripts more time, if they need it"
	case "memory":
		return "HELM_SCRIPT_MEMORY=512Mi gives the scripts more memory, if they need it"
	}
	return ""
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

// errorAt returns an error at a place in the scripts of a chart. of is nil where it is not
// known whose they are.
func (r *request) errorAt(of *treeChart, file string, line int, message string) *Error {
	e := &Error{Event: r.event, File: file, Line: line, Message: message}
	if of != nil {
		e.Chart, e.foreign = of.name, of != r.chart
		e.Source = truncate.Bytes(of.line(file, line), maxSource, "…")
	}
	return e
}

// scriptError returns the error that the process reports.
func (r *request) scriptError(f fields) *Error {
	file, line := f.short("file", maxSource), f.line()
	if file == "" {
		file, line = splitPosition(r.position())
	}
	message := cmp.Or(f.short("message", maxMessage), "it failed")
	e := r.errorAt(cmp.Or(r.session.tree.chartOf(f), r.chart), file, line, message)
	e.Limit = f.short("limit", maxSource)
	e.Message += r.session.limitText(e.Limit)
	if r.session.host.Debug {
		e.Traceback = f.short("traceback", maxMessage)
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
func (r *request) changeError(err error, items []fields) *Error {
	of, where := r.chart, r.where
	if wrong, ok := errors.AsType[*itemError](err); ok {
		for _, f := range items {
			item := f.number("item")
			same := uint64(f.number("id")) == wrong.list.ID && f.number("index") == int64(wrong.index) ||
				item > 0 && uint64(item) == wrong.item
			if at := r.session.tree.chartOf(f); at != nil && same {
				of, where = at, f.short("where", maxSource)
			}
		}
	}
	file, line := splitPosition(where)
	return r.errorAt(of, file, line, err.Error())
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
// one with a script, the top chart where there are several, nil where there is none.
func (t *tree) likelyOwner() *treeChart {
	var found *treeChart
	for _, m := range t.charts {
		if _, ok := m.files[path.Base(chart.FileScript)]; !ok {
			continue
		}
		if found != nil {
			return t.top()
		}
		found = m
	}
	return found
}
