// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"strings"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/values"
)

// Violation returns the finding for a value that violates a schema. text is the root chart's
// values.yaml, or nil; owner is the chart that has the schema, and at the value's path in
// that chart's values in the syntax of --set.
func Violation(text []byte, root, owner, at, problem string) Finding {
	steps := stepsOf(at)
	if at != "" {
		problem = at + ": " + problem
	}
	if owner != root {
		steps = append([]string{owner}, steps...)
		problem = fmt.Sprintf("values of subchart %s: %s", owner, problem)
	}
	return Finding{Severity: Error, Path: chart.FileValues, Line: values.Lines(text)(steps...), Message: problem}
}

// stepsOf splits a path into keys and indexes.
func stepsOf(at string) []string {
	var steps []string
	var b strings.Builder
	end := func() {
		if b.Len() > 0 {
			steps = append(steps, b.String())
			b.Reset()
		}
	}
	for i := 0; i < len(at); i++ {
		switch c := at[i]; {
		case c == '\\' && i+1 < len(at):
			i++
			b.WriteByte(at[i])
		case c == '.', c == '[', c == ']':
			end()
		default:
			b.WriteByte(c)
		}
	}
	end()
	return steps
}
