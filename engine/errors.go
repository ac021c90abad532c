// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"strconv"
	"strings"
)

// An Error is returned when a template fails. It has the place and the calls that led
// there.
type Error struct {
	// Chart is the path of the chart that the template belongs to.
	Chart string
	// File is the template's path from the root chart. Where text that was
	// handed to tpl failed it is the file that called tpl, as are the numbers.
	File string
	// Line and Column count from 1; Column is 0 where only the line is known.
	Line, Column int
	// Expr is the expression that failed.
	Expr string
	// Message is what the chart's author wants to be said, by fail or required.
	Message string
	// Cause says what went wrong, where there is no Message.
	Cause string
	// Syntax is set where the file is not a template.
	Syntax bool
	// Missing is what is not there, nil where something else is wrong.
	Missing *Missing
	// Hint says what may help, "" where that is not known.
	Hint string
	// Calls lead to the error: the template file first, where it happened last.
	Calls []Call
	// Excerpt are the lines that show the expression, with a mark below it.
	Excerpt string

	err error
}

// Missing is the part of a path that is not there.
type Missing struct {
	// Path is the shortest path that leads nowhere: ".Values.image".
	Path string
	// Null is set where it exists and is null.
	Null bool
	// In is the path of the table that should hold it; Keys are that table's,
	// the nearest first.
	In   string
	Keys []string
	// Guess is the key that was meant, perhaps.
	Suggestion string
}

// Call is one step on the way to an error.
type Call struct {
	// Template is the name of the template that was running.
	Template string
	// File is the file that it is in, "" for text handed to tpl.
	File         string
	Line, Column int
	// Expr is what it was doing.
	Expr string
}

func (c Call) String() string {
	if c.File == "" {
		return fmt.Sprintf("tpl text, line %d: %s", c.Line, c.Expr)
	}
	at := fmt.Sprintf("%s:%d:%d", c.File, c.Line, c.Column)
	if c.Template != c.File {
		at += fmt.Sprintf(" (in %q)", c.Template)
	}
	return at + ": " + c.Expr
}

// Unwrap gives what a function returned, or what the parser said.
func (e *Error) Unwrap() error { return e.err }

// Position is where it happened: "web/templates/pod.yaml:3:7".
func (e *Error) Position() string {
	switch {
	case e.Line == 0:
		return e.File
	case e.Column == 0:
		return fmt.Sprintf("%s:%d", e.File, e.Line)
	}
	return fmt.Sprintf("%s:%d:%d", e.File, e.Line, e.Column)
}

// Error is a text of several lines: a sentence, the place in the source, what
// stands near what is missing, and the calls that led there.
func (e *Error) Error() string {
	var b strings.Builder
	// What is said before the place, Helm says too, and scripts look for it.
	switch {
	case e.Message != "":
		fmt.Fprintf(&b, "execution error at (%s): %s", e.Position(), quoted(e.Message))
	case e.Syntax:
		fmt.Fprintf(&b, "parse error at (%s): %s", e.Position(), quoted(e.Cause))
	default:
		fmt.Fprintf(&b, "%s: %s", e.Position(), quoted(e.Cause))
	}
	if e.Excerpt != "" {
		b.WriteByte('\n')
		b.WriteString(e.Excerpt)
	}
	if e.Missing != nil {
		b.WriteString(e.Missing.neighbours())
	}
	if e.Hint != "" {
		b.WriteString("\n  hint: ")
		b.WriteString(e.Hint)
	}
	e.writeCalls(&b)
	return b.String()
}

// quoted moves the further lines of what a chart says in, further than any line
// of the error's own, so that it cannot forge one.
func quoted(text string) string { return strings.ReplaceAll(text, "\n", "\n    ") }

// key is the name of a key as it is shown, on one line.
func key(name string) string {
	if strings.ContainsFunc(name, endsLine) {
		return strconv.Quote(name)
	}
	return name
}

// most calls and keys that the text shows; a circle has thousands of calls.
const (
	mostCalls = 8
	mostKeys  = 12
)

func (e *Error) writeCalls(b *strings.Builder) {
	callers := e.Calls
	if len(callers) > 0 {
		callers = callers[:len(callers)-1]
	}
	shown := 0
	for i := len(callers) - 1; i >= 0; i-- {
		if shown == mostCalls && i > 1 {
			fmt.Fprintf(b, "\n  ... %d more calls", i)
			i = 0
		}
		fmt.Fprintf(b, "\n  called by %s", callers[i])
		shown++
	}
}

func (m *Missing) neighbours() string {
	if len(m.Keys) == 0 {
		return fmt.Sprintf("\n  %s is empty", m.In)
	}
	keys, more := m.Keys, ""
	if len(keys) > mostKeys {
		more = fmt.Sprintf(" and %d more", len(keys)-mostKeys)
		keys = keys[:mostKeys]
	}
	shown := make([]string, len(keys))
	for i, k := range keys {
		shown[i] = key(k)
	}
	s := fmt.Sprintf("\n  %s has: %s%s", m.In, strings.Join(shown, ", "), more)
	if m.Suggestion != "" {
		s += fmt.Sprintf("\n  did you mean %s.%s?", strings.TrimSuffix(m.In, "."), key(m.Suggestion))
	}
	return s
}
