// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/Masterminds/semver/v3"

	"github.com/moonhelm/moonhelm/chart"
)

// dependencies compares the list of dependencies with the charts in charts/, unless the
// chart cannot be loaded.
func (l *linter) dependencies() {
	c := l.in.Chart
	if c == nil || c.Metadata == nil {
		return
	}
	file := l.files[chart.FileMetadata]
	if f := l.files[chart.FileRequirements]; f != nil {
		if r, err := chart.ParseRequirements(f.Name, f.Data); err == nil && r.Dependencies != nil {
			file = f
		}
	}
	if file == nil {
		return
	}
	var issues []issue
	for i, d := range c.Metadata.Dependencies {
		at := fmt.Sprintf("dependencies[%d]", i)
		if charts := chartsNamed(c, d.Name); len(charts) == 0 {
			issues = append(issues,
				issue{Warning, at, "chart directory is missing these dependencies: " + cmp.Or(d.Name, "one without a name")})
		} else if !anyVersion(charts, d.Version) {
			issues = append(issues,
				issue{Info, at,
					fmt.Sprintf("charts/ has version %s of %s, which is not '%s'", charts[0].Version(), d.Name, d.Version)})
		}
	}
	l.locate(file, issues)
	var reported []string
	for _, sub := range c.Subcharts() {
		name := sub.Name()
		listed := slices.ContainsFunc(c.Metadata.Dependencies, func(d *chart.Dependency) bool { return d.Name == name })
		if listed || slices.Contains(reported, name) {
			continue
		}
		reported = append(reported, name)
		l.add(Error, chart.DirCharts+"/"+name, 0, "chart metadata is missing these dependencies: %s", name)
	}
}

// chartsNamed returns the charts in charts/ with the given name.
func chartsNamed(c *chart.Chart, name string) []*chart.Chart {
	var out []*chart.Chart
	for _, sub := range c.Subcharts() {
		if sub.Name() == name {
			out = append(out, sub)
		}
	}
	return out
}

// anyVersion reports whether one of the charts satisfies the range want. An invalid range
// and a version that is not semantic always satisfy it.
func anyVersion(charts []*chart.Chart, want string) bool {
	c, err := semver.NewConstraint(want)
	if want == "" || err != nil {
		return true
	}
	return slices.ContainsFunc(charts, func(sub *chart.Chart) bool {
		v, err := semver.NewVersion(sub.Version())
		return err != nil || c.Check(v)
	})
}
