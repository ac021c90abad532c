// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/moonhelm/moonhelm/internal/lines"
)

// An Error is returned if a template fails. It has the position and the calls that led to
// it.
type Error struct {
	// Chart is the path of the chart that contains the template.
	Chart string
	// File is the template's path from the root chart. If text that was passed to tpl
	// failed, File, Line and Column are those of the call of tpl.
	File string
	// Line and Column are 1-based. Column is 0 if only the line is known.
	Line, Column int
	// Expr is the expression that failed.
	Expr string
	// Message is the message that the template passed to fail or required.
	Message string
	// Cause describes the error if there is no Message.
	Cause string
	// Syntax is set if the file is not a valid template.
	Syntax bool
	// Missing is the missing value, or nil if the error has another cause.
	Missing *Missing
	// Hint suggests how to fix the error. It may be "".
	Hint string
	// Calls are the calls that led to the error, outermost first.
	Calls []Call
	// Excerpt is the line with the expression and a line that marks it.
	Excerpt string

	err error
}

// Missing describes a path of which a part is missing.
type Missing struct {
	// Path is the shortest prefix of the path that is missing: ".Values.image".
	Path string
	// Null is set if Path exists and is null.
	Null bool
	// In is the path of the table that should contain it, and Keys are that table's
	// keys, most similar first.
	In   string
	Keys []string
	// Suggestion is the key that was probably meant, or "".
	Suggestion string
}

// Call is a call that led to an error.
type Call struct {
	// Template is the name of the template that was running.
	Template string
	// File is the file with the template, or "" for text passed to tpl.
	File         string
	Line, Column int
	// Expr is the expression that was being evaluated.
	Expr string
}

func (c Call) String() string {
	if c.File == "" {
		return fmt.Sprintf("tpl text, line %d: %s", c.Line, c.Expr)
	}
	pos := fmt.Sprintf("%s:%d:%d", c.File, c.Line, c.Column)
	if c.Template != c.File {
		pos += fmt.Sprintf(" (in %q)", c.Template)
	}
	return pos + ": " + c.Expr
}

// Unwrap returns the error of the function or the parser.
func (e *Error) Unwrap() error { return e.err }

// Position returns the position of the error: "web/templates/pod.yaml:3:7".
func (e *Error) Position() string {
	switch {
	case e.Line == 0:
		return e.File
	case e.Column == 0:
		return fmt.Sprintf("%s:%d", e.File, e.Line)
	}
	return fmt.Sprintf("%s:%d:%d", e.File, e.Line, e.Column)
}

// Error returns a message of several lines: the error, an excerpt of the source, keys that are
// similar to a missing one, and the calls that led to the error.
func (e *Error) Error() string {
	var b strings.Builder
	// Helm's message begins like this, and scripts look for it.
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

// quoted indents the lines of a chart's message after the first, so that they cannot look like
// lines of the error itself.
func quoted(text string) string { return strings.ReplaceAll(text, "\n", "\n    ") }

// key returns the name of a key for a message, on one line.
func key(name string) string {
	if strings.ContainsFunc(name, lines.Ends) {
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
