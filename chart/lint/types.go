// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/schema"
	"github.com/moonhelm/moonhelm/chart/values"
	"github.com/moonhelm/moonhelm/internal/yaml"
)

// Types compares the types of the user's values with those of the defaults of c and the
// charts below it, except for charts that have a schema. final are the values for templates,
// and user those of -f and --set. Each difference is a Warning at the line of the default.
// Types ignores values that the user did not set, so that without values it reports no
// findings that Helm does not report.
func Types(c *chart.Chart, user, final map[string]any) []Finding {
	var text []byte
	if f := c.File(chart.FileValues); f != nil {
		text = f.Data
	}
	t := typeChecker{text: text}
	t.tree(c, nil, user, final)
	return t.findings
}

// typeChecker collects findings about the types of values.
type typeChecker struct {
	text     []byte // the root's values.yaml
	findings []Finding
}

func (t *typeChecker) tree(c *chart.Chart, path []string, user, final map[string]any) {
	if len(user) == 0 {
		return
	}
	if schema.FileOf(c) == "" {
		t.chart(c, path, user, final)
	}
	for _, d := range c.Subcharts() {
		below, _ := final[d.Name()].(map[string]any)
		given, _ := user[d.Name()].(map[string]any)
		t.tree(d, append(path[:len(path):len(path)], d.Name()), given, below)
	}
}

func (t *typeChecker) chart(c *chart.Chart, path []string, user, final map[string]any) {
	text, err := schema.Of(c)
	if err != nil {
		var bad *chart.InvalidError
		if errors.As(err, &bad) && len(path) == 0 {
			t.findings = append(t.findings, Finding{Severity: Info, Path: bad.File, Line: bad.Line, Message: bad.Problem})
		}
		return
	}
	alone := c.Shallow()
	alone.SchemaYAML = text
	var broken *schema.Error
	if !errors.As(schema.Validate(alone, values.Rounded(final)), &broken) {
		return
	}
	for _, v := range broken.Violations {
		steps := stepsOf(v.Path)
		if !isSet(user, steps) {
			continue
		}
		at := v.Path
		for i := len(path) - 1; i >= 0; i-- {
			at = path[i] + "." + at
		}
		t.findings = append(t.findings, Finding{
			Severity: Warning, Path: chart.FileValues,
			Line:    yaml.Line(yaml.Root(t.text), append(path[:len(path):len(path)], steps...)...),
			Message: fmt.Sprintf("%s: %s, going by the chart's defaults", at, v.Problem),
		})
	}
}

// isSet reports whether a user's values set or replace the value at the path steps.
func isSet(user any, steps []string) bool {
	for _, step := range steps {
		switch v := user.(type) {
		case map[string]any:
			below, ok := v[step]
			if !ok {
				return false
			}
			user = below
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(v) {
				return false
			}
			user = v[i]
		default:
			return true
		}
	}
	return len(steps) > 0
}
