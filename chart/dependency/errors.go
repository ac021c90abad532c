// SPDX-License-Identifier: Apache-2.0

package dependency

import (
	"fmt"
	"strings"

	"github.com/moonhelm/moonhelm/chart"
)

// A Candidate is an available version of a library. Path is the library's path from the root
// chart, or "" if it is not known.
type Candidate struct{ Version, Path string }

// A ConflictError is returned if no version of a library satisfies the ranges of all charts
// that require it.
type ConflictError struct {
	Library      string
	Requirements []Requirement
	Have         []Candidate // empty if there is no version
}

func (e *ConflictError) Error() string {
	requirements := withRange(e.Requirements)
	available := "there is no version of it"
	if len(e.Have) > 0 {
		available = "there is " + joinCandidates(e.Have)
	}
	if len(requirements) == 1 {
		return fmt.Sprintf("%s wants the library %s in version %s, but %s; change the range under libraries: in its %s, or "+
			"put a version within it into %s/",
			requirements[0].By, e.Library, requirements[0].Range, available, chart.FileMetadata, chart.DirLibrary)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "no version of the library %s suits all charts that use it:", e.Library)
	for _, r := range requirements {
		fmt.Fprintf(&b, "\n  %s wants %s", r.By, r.Range)
	}
	fmt.Fprintf(&b, "\n%s; change a range under libraries: in %s, or put a version that suits all of them into %s/",
		available, chart.FileMetadata, chart.DirLibrary)
	return b.String()
}

// LibraryName returns the name of the library.
func (e *ConflictError) LibraryName() string { return e.Library }

// A MissingError is returned if a listed library is in no library/ directory of the tree.
type MissingError struct {
	Library      string
	Requirements []Requirement
	// Elsewhere is the path of a chart with that name that is not in a library/
	// directory, or "" if there is none.
	Elsewhere string
}

func (e *MissingError) Error() string {
	var by []string
	for _, r := range e.Requirements {
		text := r.By
		if r.Range != "" {
			text += " (" + r.Range + ")"
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

// LibraryName returns the name of the library.
func (e *MissingError) LibraryName() string { return e.Library }

// A RangeError is returned if the range of a requirement is not a valid version range.
type RangeError struct{ Requirement Requirement }

func (e *RangeError) Error() string {
	return fmt.Sprintf("%s wants the library %s in version %q, which is neither a version nor a range of versions such "+
		"as ^1.2.0; correct it under libraries: in %s",
		e.Requirement.By, e.Requirement.Library, e.Requirement.Range, chart.FileMetadata)
}

// LibraryName returns the name of the library.
func (e *RangeError) LibraryName() string { return e.Requirement.Library }

// withRange returns the requirements that have a range.
func withRange(requirements []Requirement) []Requirement {
	var out []Requirement
	for _, r := range requirements {
		if r.Range != "" {
			out = append(out, r)
		}
	}
	return out
}

func joinCandidates(have []Candidate) string {
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
