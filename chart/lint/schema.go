// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/internal/yaml"
)

// Violation is the finding for a value that breaks a schema. text is the root
// chart's values.yaml, nil where there is none; owner the chart whose schema it
// is, and at the value's path in that chart's values, as --set writes it.
func Violation(text []byte, root, owner, at, problem string) Finding {
	steps := stepsOf(at)
	if at != "" {
		problem = at + ": " + problem
	}
	if owner != root {
		steps = append([]string{owner}, steps...)
		problem = fmt.Sprintf("values of subchart %s: %s", owner, problem)
	}
	return Finding{Severity: Error, Path: chart.FileValues, Line: valueLine(text, steps), Message: problem}
}

// stepsOf cuts a path into keys and indexes.
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

// valueLine is the line of the value at a path, or of what of the path is
// there; 0 where nothing is.
func valueLine(text []byte, steps []string) int {
	var doc yaml.Node
	if yaml.UnmarshalV3(text, &doc) != nil || len(doc.Content) == 0 {
		return 0
	}
	n, line := doc.Content[0], 0
	for _, step := range steps {
		n = resolve(n)
		if n == nil {
			return line
		}
		switch n.Kind {
		case yaml.MappingNode:
			found := false
			for i := 0; i+1 < len(n.Content) && !found; i += 2 {
				if found = n.Content[i].Value == step; found {
					line, n = n.Content[i].Line, n.Content[i+1]
				}
			}
			if !found {
				return line
			}
		case yaml.SequenceNode:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(n.Content) {
				return line
			}
			n = n.Content[i]
			line = n.Line
		default:
			return line
		}
	}
	return line
}
