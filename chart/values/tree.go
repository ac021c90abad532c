// SPDX-License-Identifier: Apache-2.0

package values

import (
	"slices"

	"github.com/Masterminds/semver/v3"

	"github.com/moonhelm/moonhelm/chart"
)

// node is a chart of the tree under work: a shallow copy of a loaded chart.
type node struct {
	chart *chart.Chart
	// listed reports that the chart's list of dependencies decides over the
	// charts below it. Below a chart that lists nothing all charts are taken as
	// they are in charts/, whatever they list themselves.
	listed bool
	kids   []*node
	// misfits are charts below it that its list names and wants in other versions.
	misfits []misfit
}

// misfit is a chart in a version that no entry of its name wants.
type misfit struct {
	chart   *chart.Chart
	entries []*chart.Dependency
}

// grow copies the tree of c: first the charts that no entry of its list fits,
// those of library/ among them, which are not dependencies, in their own order and
// under their own names; then one for each entry, in the list's order and under its
// alias: the first of its name whose version satisfies it.
func grow(c *chart.Chart, listed bool) *node {
	n := &node{chart: c.Shallow()}
	entries := entriesOf(c)
	n.listed = listed && len(entries) > 0
	found, fits := match(entries, c.Subcharts())
	for _, d := range c.Dependencies() {
		if n.listed && !d.FromLibrary {
			if fits[d] {
				continue
			}
			if wanted := named(entries, d.Name()); len(wanted) > 0 {
				n.misfits = append(n.misfits, misfit{d, wanted})
			}
		}
		n.kids = append(n.kids, grow(d, n.listed))
	}
	if !n.listed {
		return n
	}
	for i, e := range entries {
		if found[i] == nil {
			continue
		}
		k := grow(found[i], true)
		if e.Alias != "" {
			md := *k.chart.Metadata
			k.chart.Unaliased, md.Name = md.Name, e.Alias
			k.chart.Metadata = &md
		}
		n.kids = append(n.kids, k)
	}
	return n
}

// match finds each entry's chart, nil where there is none, and which charts fit
// an entry, the first or not.
func match(entries []*chart.Dependency, charts []*chart.Chart) (found []*chart.Chart, fits map[*chart.Chart]bool) {
	byName := make(map[string][]*chart.Chart, len(charts))
	for _, d := range charts {
		byName[d.Name()] = append(byName[d.Name()], d)
	}
	found = make([]*chart.Chart, len(entries))
	fits = make(map[*chart.Chart]bool, len(charts))
	for i, e := range entries {
		for _, d := range byName[e.Name] {
			if !satisfies(d.Version(), e.Version) {
				continue
			}
			if fits[d] = true; found[i] == nil {
				found[i] = d
			}
		}
	}
	return found, fits
}

// named are the entries of that name.
func named(entries []*chart.Dependency, name string) []*chart.Dependency {
	return slices.DeleteFunc(slices.Clone(entries), func(e *chart.Dependency) bool { return e.Name != name })
}

// called is the name that values and templates know an entry's chart by.
func called(e *chart.Dependency) string {
	if e.Alias != "" {
		return e.Alias
	}
	return e.Name
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

// satisfies reports whether a version is within a range. A version that is not a
// semantic version satisfies only its equal, and none satisfies a range that is
// left out.
func satisfies(version, want string) bool {
	if want == "" || version == want {
		return want != ""
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
