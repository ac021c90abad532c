// SPDX-License-Identifier: Apache-2.0

package dependency

import (
	"fmt"
	"strings"

	"github.com/moonhelm/moonhelm/chart"
)

// A Candidate is a version of a library and where it was found: its path from the root
// chart, "" where that is not known.
type Candidate struct{ Version, Path string }

// A ConflictError is returned when no version of a library is within the ranges of all
// charts that ask for it.
type ConflictError struct {
	Library string
	Asks    []Ask
	Have    []Candidate // empty where there is none at all
}

func (e *ConflictError) Error() string {
	wishes := listed(e.Asks)
	there := "there is no version of it"
	if len(e.Have) > 0 {
		there = "there is " + places(e.Have)
	}
	if len(wishes) == 1 {
		return fmt.Sprintf("%s wants the library %s in version %s, but %s; change the range under libraries: in its %s, or "+
			"put a version within it into %s/",
			wishes[0].By, e.Library, wishes[0].Range, there, chart.FileMetadata, chart.DirLibrary)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "no version of the library %s suits all charts that use it:", e.Library)
	for _, a := range wishes {
		fmt.Fprintf(&b, "\n  %s wants %s", a.By, a.Range)
	}
	fmt.Fprintf(&b, "\n%s; change a range under libraries: in %s, or put a version that suits all of them into %s/", there,
		chart.FileMetadata, chart.DirLibrary)
	return b.String()
}

// LibraryName is the library that the error is about.
func (e *ConflictError) LibraryName() string { return e.Library }

// A MissingError is returned when a library is listed and no library/ directory of
// the tree has it.
type MissingError struct {
	Library string
	Asks    []Ask
	// Elsewhere is the path of a chart of that name that is not in a library/
	// directory, "" where there is none.
	Elsewhere string
}

func (e *MissingError) Error() string {
	var by []string
	for _, a := range e.Asks {
		text := a.By
		if a.Range != "" {
			text += " (" + a.Range + ")"
		}
		by = append(by, text)
	}
	text := fmt.Sprintf("the library %s is missing: it is listed under libraries: by %s, but no %s/ directory has it; "+
		"put the chart into %s/%s, or take it off the list",
		e.Library, strings.Join(by, ", "), chart.DirLibrary, chart.DirLibrary, e.Library)
	if e.Elsewhere != "" {
		text += fmt.Sprintf(" (%s is a dependency and does not count as a library)", e.Elsewhere)
	}
	return text
}

// LibraryName is the library that the error is about.
func (e *MissingError) LibraryName() string { return e.Library }

// A RangeError is returned when an ask's range is none.
type RangeError struct{ Ask Ask }

func (e *RangeError) Error() string {
	return fmt.Sprintf("%s wants the library %s in version %q, which is neither a version nor a range of versions such "+
		"as ^1.2.0; correct it under libraries: in %s",
		e.Ask.By, e.Ask.Library, e.Ask.Range, chart.FileMetadata)
}

// LibraryName is the library that the error is about.
func (e *RangeError) LibraryName() string { return e.Ask.Library }

// listed are the asks that say something about versions.
func listed(asks []Ask) []Ask {
	var out []Ask
	for _, a := range asks {
		if a.Range != "" {
			out = append(out, a)
		}
	}
	return out
}

func places(have []Candidate) string {
	var out []string
	for _, p := range have {
		text := p.Version
		if p.Path != "" {
			text += " (" + p.Path + ")"
		}
		out = append(out, text)
	}
	if len(out) < 2 {
		return strings.Join(out, "")
	}
	return strings.Join(out[:len(out)-1], ", ") + " and " + out[len(out)-1]
}
