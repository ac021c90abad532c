// SPDX-License-Identifier: Apache-2.0

package index

import (
	"fmt"
	"strings"
)

// A FormatError is returned for a text that is not an index. Problem is the rest of the sentence.
type FormatError struct {
	// Line is 1-based, 0 where it is not known.
	Line    int
	Problem string
}

func (e *FormatError) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("this is not a repository index: line %d: %s", e.Line, e.Problem)
	}
	return "this is not a repository index: " + e.Problem
}

// A DuplicateError is returned for a key that a table has twice, of which two
// readers may take one each.
type DuplicateError struct {
	Key  string
	Line int // of the second one, 1-based, 0 where it is not known
}

func (e *DuplicateError) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("the index is refused: line %d has the key %q a second time", e.Line, e.Key)
	}
	return fmt.Sprintf("the index is refused: it has the key %q twice in one place", e.Key)
}

// An EntryError is returned for an entry that cannot be used. The other entries can.
type EntryError struct {
	Chart   string
	Version string // "" where it has none
	Number  int    // the entry's place among the chart's, 1-based; 0 for the whole chart
	Field   string // "" where the whole entry is meant
	Problem string // the rest of the sentence
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
	Suggestion string // a name that may have been meant, or ""
}

func (e *NotFoundError) Error() string {
	if e.Suggestion != "" {
		return fmt.Sprintf("there is no chart %q in the index; did you mean %q?", e.Name, e.Suggestion)
	}
	return fmt.Sprintf("there is no chart %q in the index", e.Name)
}
