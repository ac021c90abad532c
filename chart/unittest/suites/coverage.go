// SPDX-License-Identifier: Apache-2.0

package suites

import (
	"path"
	"path/filepath"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/unittest/coverage"
	"github.com/moonhelm/moonhelm/engine"
)

// AddCoverage adds what the tests have run of the templates to p, with those that they have not run,
// and what they have run of the scripts: of the chart, and of the subcharts that are directories.
// Options.Coverage must be set.
func (c *Chart) AddCoverage(p *coverage.Profile) {
	coverage.Walk(c.Root, c.Path, func(of *chart.Chart, dir string, names []string) {
		for _, t := range of.Templates {
			for _, name := range names {
				c.addTemplate(p, t, name, path.Join(names[0], t.Name), filepath.Join(dir, filepath.FromSlash(t.Name)))
			}
		}
	})
	if c.ScriptLines != nil {
		c.ScriptLines.AddTo(p, c.Root, c.Path, "")
	}
}

// addTemplate adds a template of the chart with the path in, under the name of its file.
func (c *Chart) addTemplate(p *coverage.Profile, t *chart.File, in, name, file string) {
	text := string(t.Data)
	// A .tpl file whose output is not wanted has another name; see prepare.
	for _, f := range []string{t.Name, path.Join(path.Dir(t.Name), "_"+path.Base(t.Name))} {
		if counts, ok := c.Coverage.File(path.Join(in, f), text); ok {
			p.Add(name, file, text, convert(counts))
		}
	}
}

func convert(f engine.CoveredFile) coverage.Counts {
	out := coverage.Counts{Lines: make(map[int]int64, len(f.Lines))}
	for line, hits := range f.Lines {
		out.Lines[line] = hits
	}
	for _, b := range f.Branches {
		out.Branches = append(out.Branches, coverage.Branch{Line: b.Line, Offset: b.Column, Name: b.Name, Hits: b.Hits})
	}
	return out
}
