// SPDX-License-Identifier: Apache-2.0

package values

import (
	"slices"

	"github.com/Masterminds/semver/v3"

	"github.com/moonhelm/moonhelm/chart"
)

// node is a chart of the tree under work: a shallow copy of a loaded chart,
// with the dependency entry that it goes by.
type node struct {
	chart *chart.Chart
	entry *chart.Dependency // nil where nobody lists the chart
	// listed tells that the chart's list of dependencies decides over the
	// charts below it. Below a chart that lists nothing all charts are taken as
	// they stand in charts/, whatever they list themselves.
	listed bool
	kids   []*node
}

// grow copies the tree of c: first the charts that nobody lists, those of
// library/ among them, which are no dependencies, in their own order; then one for each entry of the list, in its order and under its alias.
func grow(c *chart.Chart, entry *chart.Dependency, listed bool) *node {
	n := &node{chart: c.Shallow(), entry: entry}
	entries := entriesOf(c)
	n.listed = listed && len(entries) > 0
	byName := make(map[string]*chart.Dependency, len(entries))
	for _, e := range slices.Backward(entries) {
		byName[e.Name] = e
	}
	for _, d := range c.Dependencies() {
		if d.FromLibrary {
			n.kids = append(n.kids, grow(d, nil, n.listed))
		} else if e := byName[d.Name()]; e == nil || !n.listed {
			n.kids = append(n.kids, grow(d, e, n.listed))
		}
	}
	if !n.listed {
		return n
	}
	found := match(entries, c.Subcharts())
	for i, e := range entries {
		if found[i].chart == nil {
			continue
		}
		k := grow(found[i].chart, e, true)
		if e.Alias != "" && found[i].exact {
			md := *k.chart.Metadata
			k.chart.Unaliased, md.Name = md.Name, e.Alias
			k.chart.Metadata = &md
		}
		n.kids = append(n.kids, k)
	}
	return n
}

// finding is the chart that an entry means. It is exact where the version is
// the one that the entry asks for.
type finding struct {
	chart *chart.Chart
	exact bool
}

// match finds each entry's chart: one of its name whose version satisfies it,
// else one of its name that no other entry has got.
func match(entries []*chart.Dependency, charts []*chart.Chart) []finding {
	byName := make(map[string][]*chart.Chart, len(charts))
	for _, d := range charts {
		byName[d.Name()] = append(byName[d.Name()], d)
	}
	out := make([]finding, len(entries))
	taken := make(map[*chart.Chart]bool, len(charts))
	for i, e := range entries {
		for _, d := range byName[e.Name] {
			if satisfies(d.Version(), e.Version) {
				out[i] = finding{d, true}
				taken[d] = true
				break
			}
		}
	}
	for i, e := range entries {
		for _, d := range byName[e.Name] {
			if out[i].chart == nil && !taken[d] {
				out[i] = finding{d, false}
				taken[d] = true
			}
		}
	}
	return out
}

// entriesOf are the dependencies that c lists.
func entriesOf(c *chart.Chart) []*chart.Dependency {
	if c.Metadata == nil {
		return nil
	}
	if !slices.Contains(c.Metadata.Dependencies, nil) {
		return c.Metadata.Dependencies
	}
	return slices.DeleteFunc(slices.Clone(c.Metadata.Dependencies), func(e *chart.Dependency) bool { return e == nil })
}

// satisfies tells whether a version is within a range. A version that is no
// semantic version satisfies only its equal.
func satisfies(version, want string) bool {
	if want == "" || version == want {
		return true
	}
	constraint, err := semver.NewConstraint(want)
	if err != nil {
		return false
	}
	v, err := semver.NewVersion(version)
	return err == nil && constraint.Check(v)
}

// link makes the nodes' charts a tree of charts.
func (n *node) link() {
	charts := make([]*chart.Chart, len(n.kids))
	for i, k := range n.kids {
		k.link()
		charts[i] = k.chart
	}
	n.chart.SetDependencies(charts...)
}

// walk calls fn for n and all nodes below it, parents first.
func (n *node) walk(fn func(*node)) {
	fn(n)
	for _, k := range n.kids {
		k.walk(fn)
	}
}

// look finds the charts of the tree whose defaults hold a null, and tells
// whether any holds a number that must be rounded.
func (n *node) look() (nulls map[*chart.Chart]bool, exact bool) {
	nulls = map[*chart.Chart]bool{}
	n.walk(func(n *node) {
		var t traits
		t.look(n.chart.Values)
		if t.null {
			nulls[n.chart] = true
		}
		exact = exact || t.exact
	})
	return nulls, exact
}

// Missing are the names that c lists as dependencies but has no chart for in
// charts/, in the order of the list. Conditions do not matter: what is switched
// off today may be switched on by the next upgrade.
func Missing(c *chart.Chart) []string {
	have := make(map[string]bool, len(c.Dependencies()))
	for _, d := range c.Subcharts() {
		have[d.Name()] = true
	}
	var out []string
	for _, e := range entriesOf(c) {
		if !have[e.Name] {
			out = append(out, e.Name)
		}
	}
	return out
}
