// SPDX-License-Identifier: Apache-2.0

package script

import (
	"fmt"
	"strconv"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/lint"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/internal/truncate"
)

// InterfaceVersion is the version of the interface between scripts and this program: the
// events, the context and the functions of docs/scripts-reference.md. It is raised when
// scripts that use something new would not run with a program that has the version before.
const InterfaceVersion = 1

// InterfaceAnnotation is the annotation in Chart.yaml with the version of the interface that
// a chart's scripts are written for. Without it, that is 1.
const InterfaceAnnotation = "moonhelm.github.io/scripts"

// An InterfaceError is returned for a chart whose scripts are written for another version of
// the interface than this program has. None of the tree's scripts has run.
type InterfaceError struct {
	Chart string
	// Version is the text of the annotation.
	Version string
}

func (e *InterfaceError) Error() string {
	return fmt.Sprintf("chart %s: its scripts %s", strconv.Quote(truncate.Bytes(e.Chart, maxName, "…")), e.problem())
}

// problem says what is wrong, after "its scripts".
func (e *InterfaceError) problem() string {
	version := strconv.Quote(truncate.Bytes(term.SafeLine(e.Version), maxName, "…"))
	if n, err := strconv.Atoi(e.Version); err == nil && n > InterfaceVersion {
		return fmt.Sprintf("are written for version %d of the scripts' interface, and this helm has version %d", n,
			InterfaceVersion)
	}
	return fmt.Sprintf("are written for version %s of the scripts' interface, which is not a version: "+
		"annotations.%s in Chart.yaml is a whole number in quotes", version, InterfaceAnnotation)
}

// Hint says how to get a helm or a chart that fits.
func (e *InterfaceError) Hint() string {
	if n, err := strconv.Atoi(e.Version); err == nil && n > InterfaceVersion {
		return "update helm, or use a version of the chart for this one"
	}
	return fmt.Sprintf("%q is the version of this helm", strconv.Itoa(InterfaceVersion))
}

// checkInterface returns an [*InterfaceError] for a chart with scripts that this program
// cannot run.
func (m *treeChart) checkInterface() error {
	if m.chart.Metadata == nil || len(m.files) == 0 {
		return nil
	}
	text, ok := m.chart.Metadata.Annotations[InterfaceAnnotation]
	if n, err := strconv.Atoi(text); !ok || err == nil && n >= 1 && n <= InterfaceVersion {
		return nil
	}
	return &InterfaceError{Chart: m.name, Version: text}
}

// wrongInterfaces returns a problem for each chart whose scripts this program cannot run.
func (t *tree) wrongInterfaces() []lint.Problem {
	var out []lint.Problem
	for _, m := range t.charts {
		if wrong, ok := m.checkInterface().(*InterfaceError); ok {
			out = append(out, lint.Problem{Severity: lint.Error, Chart: m.path, File: chart.FileMetadata,
				Message: "the scripts " + wrong.problem()})
		}
	}
	return out
}
