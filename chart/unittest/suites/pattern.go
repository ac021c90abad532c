// SPDX-License-Identifier: Apache-2.0

package suites

import (
	"path"
	"strings"

	"github.com/moonhelm/moonhelm/chart"
)

// pattern selects templates by their paths in the chart. It is a path below the chart or below
// templates/, or the beginning of one; a * stands for any text, slashes included.
type pattern string

// newPattern returns the pattern of a suite. prefix is the path of the suite's chart from the root
// chart: "charts/db", or "" for the root.
func newPattern(text, prefix string) pattern {
	text = strings.ReplaceAll(text, "\\", "/")
	if strings.HasPrefix(text, "**") {
		return pattern(text)
	}
	if text != chart.FileScript && !isBelow(text, chart.DirTemplates) && !isBelow(text, chart.DirCharts) &&
		!isBelow(text, chart.DirCRDs) {
		text = chart.DirTemplates + "/" + text
	}
	return pattern(path.Join(prefix, text))
}

func isBelow(name, dir string) bool { return name == dir || strings.HasPrefix(name, dir+"/") }

// literal reports whether the pattern is the path of one template.
func (p pattern) literal() bool { return !strings.Contains(string(p), "*") }

// matches reports whether the pattern selects the template with the path name from the root chart.
func (p pattern) matches(name string) bool {
	parts := strings.Split(string(p), "*")
	rest, ok := strings.CutPrefix(name, parts[0])
	if !ok {
		return false
	}
	for _, part := range parts[1:] {
		i := strings.Index(rest, part)
		if i < 0 {
			return false
		}
		rest = rest[i+len(part):]
	}
	return true
}

// selection says which templates of a chart a suite renders.
type selection struct {
	include, exclude []pattern
}

func newSelection(d *definition, prefix string) selection {
	var s selection
	for _, t := range d.Templates {
		s.include = append(s.include, newPattern(t, prefix))
	}
	if len(s.include) == 0 && prefix != "" {
		s.include = []pattern{pattern(prefix + "/*")}
	}
	for _, t := range d.ExcludeTemplates {
		s.exclude = append(s.exclude, newPattern(t, prefix))
	}
	return s
}

// has reports whether to render a template. Partials are always rendered.
func (s selection) has(name string) bool {
	if strings.HasPrefix(path.Base(name), "_") {
		return true
	}
	for _, p := range s.exclude {
		if p.matches(name) {
			return false
		}
	}
	for _, p := range s.include {
		if p.matches(name) {
			return true
		}
	}
	return len(s.include) == 0
}
