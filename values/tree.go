// SPDX-License-Identifier: Apache-2.0

package values

import (
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/moonhelm/moonhelm/chart"
)

// node is a chart of the tree under work: a shallow copy of a loaded chart,
// with the dependency entry that brought it in.
type node struct {
	chart *chart.Chart
	entry *chart.Dependency // nil where charts/ holds a chart that nobody lists
	kids  []*node
}

// grow copies the tree of c: one node for every dependency entry and every
// unlisted chart, each under the name that values know it by.
func grow(c *chart.Chart, entry *chart.Dependency) *node {
	n := &node{chart: c.Shallow(), entry: entry}
	if entry != nil && entry.Alias != "" && n.chart.Metadata != nil {
		md := *n.chart.Metadata
		md.Name = entry.Alias
		n.chart.Metadata = &md
	}
	var entries []*chart.Dependency
	if c.Metadata != nil {
		entries = c.Metadata.Dependencies
	}
	byName := make(map[string][]*chart.Chart, len(c.Dependencies()))
	for _, d := range c.Dependencies() {
		byName[d.Name()] = append(byName[d.Name()], d)
	}
	listed := make(map[string]bool, len(entries))
	for _, e := range entries {
		if e != nil {
			listed[e.Name] = true
		}
	}
	for _, d := range c.Dependencies() {
		if !listed[d.Name()] {
			n.kids = append(n.kids, grow(d, nil))
		}
	}
	for _, e := range entries {
		if e == nil {
			continue
		}
		for _, d := range byName[e.Name] {
			if satisfies(d.Version(), e.Version) {
				n.kids = append(n.kids, grow(d, e))
				break
			}
		}
	}
	return n
}

// link makes the nodes' charts a tree of charts.
func (n *node) link() *chart.Chart {
	charts := make([]*chart.Chart, len(n.kids))
	for i, k := range n.kids {
		charts[i] = k.link()
	}
	n.chart.SetDependencies(charts...)
	return n.chart
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

// Missing are the names that c lists as dependencies but has no chart for, in
// the order of the list.
func Missing(c *chart.Chart) []string {
	if c.Metadata == nil {
		return nil
	}
	have := make(map[string]bool, len(c.Dependencies()))
	for _, d := range c.Dependencies() {
		have[d.Name()] = true
	}
	var out []string
	for _, e := range c.Metadata.Dependencies {
		if e != nil && !have[e.Name] {
			out = append(out, e.Name)
		}
	}
	return out
}

// walk calls fn for n and all nodes below it, parents first.
func (n *node) walk(fn func(*node)) {
	fn(n)
	for _, k := range n.kids {
		k.walk(fn)
	}
}

func splitPath(path string) []string { return strings.Split(path, ".") }
