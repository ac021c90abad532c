// SPDX-License-Identifier: Apache-2.0

package index

import (
	"fmt"
	"strings"
)

// A FormatError is returned for a text that is not an index. Problem is the rest of the message.
type FormatError struct {
	// Line is the line from 1, or 0 if it is unknown.
	Line    int
	Problem string
}

func (e *FormatError) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("this is not a repository index: line %d: %s", e.Line, e.Problem)
	}
	return "this is not a repository index: " + e.Problem
}

// A DuplicateError is returned for a duplicate key of a table, because parsers disagree on
// which of the values they use.
type DuplicateError struct {
	Key  string
	Line int // of the second key, from 1, or 0 if it is unknown
}

func (e *DuplicateError) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("the index is refused: line %d has the key %q a second time", e.Line, e.Key)
	}
	return fmt.Sprintf("the index is refused: it has the key %q twice in one place", e.Key)
}

// An EntryError is returned for an invalid entry. The other entries can be used.
type EntryError struct {
	Chart   string
	Version string // "" if it has none
	Number  int    // the position among the chart's entries, from 1; 0 for the whole chart
	Field   string // "" for the whole entry
	Problem string // the rest of the message
}

func (e *EntryError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "the index's entry %q", e.Chart)
	switch {
	case e.Version != "":
		b.WriteString(" " + e.Version)
	case e.Number > 0:
		fmt.Fprintf(&b, " number %d", e.Number)
	}
	b.WriteString(" is left out: ")
	if e.Field != "" {
		b.WriteString(e.Field + " ")
	}
	b.WriteString(e.Problem)
	return b.String()
}

// A NotFoundError is returned for a chart that an index does not have.
type NotFoundError struct {
	Name       string
	Suggestion string // a similar name, or ""
}

func (e *NotFoundError) Error() string {
	if e.Suggestion != "" {
		return fmt.Sprintf("there is no chart %q in the index; did you mean %q?", e.Name, e.Suggestion)
	}
	return fmt.Sprintf("there is no chart %q in the index", e.Name)
}
