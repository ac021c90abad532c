// SPDX-License-Identifier: Apache-2.0

package suites

import (
	"os"
	"path"
	"path/filepath"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/unittest/coverage"
	"github.com/moonhelm/moonhelm/engine"
)

// AddCoverage adds what the tests have run of the templates to p, with those that they have not run:
// of the chart, and of the subcharts that are directories. Options.Coverage must be set.
func (c *Chart) AddCoverage(p *coverage.Profile) {
	c.addCoverage(p, c.Root, c.Path, []string{c.Root.Name()})
}

// addCoverage adds the templates of a chart. names are its paths from the root chart, of which it has
// several if dependencies have aliases.
func (c *Chart) addCoverage(p *coverage.Profile, of *chart.Chart, dir string, names []string) {
	for _, t := range of.Templates {
		text := string(t.Data)
		for _, name := range names {
			// A .tpl file whose output is not wanted has another name; see renderer.prepare.
			for _, file := range []string{t.Name, path.Join(path.Dir(t.Name), "_"+path.Base(t.Name))} {
				if counts, ok := c.Coverage.File(path.Join(name, file), text); ok {
					p.Add(path.Join(names[0], t.Name), filepath.Join(dir, filepath.FromSlash(t.Name)), text, convert(counts))
				}
			}
		}
	}
	for _, sub := range of.Dependencies() {
		in := chart.DirCharts
		if sub.FromLibrary {
			in = chart.DirLibrary
		}
		subDir := filepath.Join(dir, in, sub.Name())
		if info, err := os.Stat(subDir); err != nil || !info.IsDir() {
			continue
		}
		var subNames []string
		for _, name := range names {
			for _, alias := range append([]string{sub.Name()}, aliases(of, sub.Name())...) {
				subNames = append(subNames, path.Join(name, in, alias))
			}
		}
		c.addCoverage(p, sub, subDir, subNames)
	}
}

// aliases returns the aliases of a dependency.
func aliases(of *chart.Chart, name string) (out []string) {
	for _, d := range of.Metadata.Dependencies {
		if d != nil && d.Name == name && d.Alias != "" {
			out = append(out, d.Alias)
		}
	}
	return out
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
