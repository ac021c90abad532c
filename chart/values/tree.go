// SPDX-License-Identifier: Apache-2.0

package values

import (
	"slices"

	"github.com/Masterminds/semver/v3"

	"github.com/moonhelm/moonhelm/chart"
)

// node is a chart of the tree that Resolve changes: a shallow copy of a loaded chart.
type node struct {
	chart *chart.Chart
	// listed is set if the chart's list of dependencies applies to the charts below it.
	// As in Helm, the lists of all charts below a chart without dependencies are ignored.
	listed   bool
	children []*node
	// misfits are the charts below it whose versions satisfy no entry with their name.
	misfits []misfit
}

// misfit is a chart whose version satisfies none of the entries with its name.
type misfit struct {
	chart   *chart.Chart
	entries []*chart.Dependency
}

// grow returns a copy of the tree of c. The copy has first the charts that satisfy no entry
// of the chart's dependencies, and those in library/, in their order and with their names.
// Then it has, for each entry in the list's order, the first chart that satisfies it, with
// the entry's alias.
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
			if wanted := entriesNamed(entries, d.Name()); len(wanted) > 0 {
				n.misfits = append(n.misfits, misfit{d, wanted})
			}
		}
		n.children = append(n.children, grow(d, n.listed))
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
		n.children = append(n.children, k)
	}
	return n
}

// match returns, for each entry, the first chart that satisfies it, or nil, and the set of
// all charts that satisfy an entry.
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

// entriesNamed returns the entries with the given name.
func entriesNamed(entries []*chart.Dependency, name string) []*chart.Dependency {
	return slices.DeleteFunc(slices.Clone(entries), func(e *chart.Dependency) bool { return e.Name != name })
}

// effectiveName returns the name of an entry's chart in values and templates: the alias, if any,
// or the name.
func effectiveName(e *chart.Dependency) string {
	if e.Alias != "" {
		return e.Alias
	}
	return e.Name
}

// entriesOf returns the dependencies in c's metadata without null entries.
func entriesOf(c *chart.Chart) []*chart.Dependency {
	if c.Metadata == nil {
		return nil
	}
	if !slices.Contains(c.Metadata.Dependencies, nil) {
		return c.Metadata.Dependencies
	}
	return slices.DeleteFunc(slices.Clone(c.Metadata.Dependencies), func(e *chart.Dependency) bool { return e == nil })
}

// satisfies reports whether version satisfies the constraint want. A version that is not
// a semantic version satisfies only itself, and no version satisfies an empty constraint.
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

// link sets the dependencies of the nodes' charts.
func (n *node) link() {
	charts := make([]*chart.Chart, len(n.children))
	for i, k := range n.children {
		k.link()
		charts[i] = k.chart
	}
	n.chart.SetDependencies(charts...)
}

// walk calls fn for n and all nodes below it, parents first.
func (n *node) walk(fn func(*node)) {
	fn(n)
	for _, k := range n.children {
		k.walk(fn)
	}
}

// findTraits returns the charts of the tree that have a null in their defaults, and reports
// whether any chart's defaults have a number to round.
func (n *node) findTraits() (nulls map[*chart.Chart]bool, exact bool) {
	nulls = map[*chart.Chart]bool{}
	n.walk(func(n *node) {
		var t traits
		t.addTable(n.chart.Values)
		if t.null {
			nulls[n.chart] = true
		}
		exact = exact || t.exact
	})
	return nulls, exact
}

// Missing returns the names of dependencies of c that have no chart in charts/, in the order
// of the list. It includes disabled dependencies, because an upgrade may enable them.
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
