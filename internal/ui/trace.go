// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/internal/term"
)

// TraceText returns a function that prints the steps of an event bus: each event, its handlers in
// order, and their changes. Where it has colours, it shows what was and what is, with the lines of
// objects and files. It is safe for concurrent use.
func TraceText(w io.Writer, style term.Style) func(event.Step) {
	var mu sync.Mutex
	last := ""
	return func(s event.Step) {
		mu.Lock()
		defer mu.Unlock()
		var b strings.Builder
		if s.Event != last {
			last = s.Event
			fmt.Fprintf(&b, "%s\n", style.Bold(s.Event))
		}
		place := "  ·"
		if !s.Core {
			place = "  " + strconv.FormatFloat(s.Priority, 'g', 4, 64)
		}
		b.WriteString(place + " " + term.SafeLine(s.Owner))
		if s.Where != "" {
			b.WriteString(" " + style.Cyan(term.SafeLine(s.Where)))
		}
		b.WriteString(" " + style.Dim(round(s.Took).String()) + "\n")
		for _, c := range s.Changes {
			b.WriteString("      " + traceText(c, style) + "\n")
			if style.On() {
				b.WriteString(traceDiff(c, style))
			}
		}
		if s.Err != nil {
			first, _, _ := strings.Cut(s.Err.Error(), "\n")
			b.WriteString("      " + style.Red("error: "+term.SafeLine(first)) + "\n")
		}
		// An error of the trace must not fail the operation.
		_, _ = io.WriteString(w, b.String())
	}
}

// traceText returns a change as a line.
func traceText(c event.Change, style term.Style) string {
	text := term.SafeLine(c.String())
	from, to := term.SafeLine(c.From), term.SafeLine(c.To)
	switch {
	case c.Whole() && c.From == "":
		return style.Green(text)
	case c.Whole() && c.To == "":
		return style.Red(text)
	case c.Whole(), c.From == "" && c.To == "":
		return style.Yellow(text)
	case c.From == "":
		from = ""
		to = style.Green("+ " + to)
	case c.To == "":
		from = style.Red("- " + from)
	default:
		from, to = style.Red(from)+" → ", style.Green(to)
	}
	return term.SafeLine(c.Path) + ": " + from + to
}

// maxTraceLines is how many lines of an object or file a trace shows.
const maxTraceLines = 40

// traceDiff returns the lines of an object or file that have changed.
func traceDiff(c event.Change, style term.Style) string {
	if c.Before == c.After {
		return ""
	}
	lines := strings.Split(strings.TrimSuffix(string(diff.Diff("", []byte(c.Before), "", []byte(c.After))), "\n"), "\n")
	lines = lines[min(len(lines), 3):] // of the names
	more := len(lines) - maxTraceLines
	if more > 0 {
		lines = lines[:maxTraceLines]
	}
	var b strings.Builder
	for _, line := range lines {
		safe := term.SafeLine(line)
		switch {
		case strings.HasPrefix(line, "+"):
			safe = style.Green(safe)
		case strings.HasPrefix(line, "-"):
			safe = style.Red(safe)
		case strings.HasPrefix(line, "@@"):
			if c.From == "" || c.To == "" {
				continue
			}
			safe = style.Dim(safe)
		}
		b.WriteString("        " + safe + "\n")
	}
	if more > 0 {
		b.WriteString("        " + style.Dim(fmt.Sprintf("… and %d more lines", more)) + "\n")
	}
	return b.String()
}

// traceLine is the JSON of a step.
type traceLine struct {
	Event     string        `json:"event"`
	Handler   string        `json:"handler"`
	Where     string        `json:"where,omitempty"`
	Priority  *float64      `json:"priority,omitempty"`
	Took      float64       `json:"tookMilliseconds"`
	Changes   []traceChange `json:"changes"`
	Error     string        `json:"error,omitempty"`
	Responder bool          `json:"responder,omitempty"`
}

// traceChange is a change with JSON values; truncated values are strings.
type traceChange struct {
	Path string          `json:"path"`
	From json.RawMessage `json:"from,omitempty"`
	To   json.RawMessage `json:"to,omitempty"`
}

// valueOf converts the text of a value to JSON.
func valueOf(text string) json.RawMessage {
	switch {
	case text == "":
		return nil
	case json.Valid([]byte(text)):
		return json.RawMessage(text)
	}
	quoted, err := json.Marshal(text)
	if err != nil {
		return nil // quoting a string cannot fail
	}
	return quoted
}

// TraceJSON is like [TraceText], but prints one JSON object per line.
func TraceJSON(w io.Writer) func(event.Step) {
	var mu sync.Mutex
	return func(s event.Step) {
		line := traceLine{
			Event: s.Event, Handler: s.Owner, Where: s.Where, Responder: s.Core,
			Took: float64(s.Took.Microseconds()) / 1000, Changes: []traceChange{},
		}
		for _, c := range s.Changes {
			line.Changes = append(line.Changes, traceChange{Path: c.Path, From: valueOf(c.From), To: valueOf(c.To)})
		}
		if !s.Core {
			line.Priority = &s.Priority
		}
		if s.Err != nil {
			line.Error = s.Err.Error()
		}
		mu.Lock()
		defer mu.Unlock()
		var b strings.Builder
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		_ = enc.Encode(line) // cannot fail
		_, _ = io.WriteString(w, term.Escape(b.String()))
	}
}

// round rounds a time for display.
func round(d time.Duration) time.Duration {
	if d < 10*time.Millisecond {
		return d.Round(10 * time.Microsecond)
	}
	return d.Round(time.Millisecond)
}
