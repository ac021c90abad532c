// SPDX-License-Identifier: Apache-2.0

// Package dependency resolves versions: [Version] chooses the version of a chart from those
// available, and [Libraries] chooses one version of each library chart for a whole tree. It
// also reads, writes and checks lock files ([Lock]).
//
//	newest, err := dependency.Version([]string{"1.0.0", "1.4.2", "2.0.0"}, "^1.2", false) // 1.4.2
//	...
//	resolved, err := values.Resolve(c, user) // package chart/values
//	...
//	libraries, err := dependency.Libraries(resolved.Chart)
//
// [Libraries] takes a chart tree from values.Resolve, which has removed disabled
// dependencies, and leaves each library in it once, below the root. It does not change
// dependencies, including those of type library. The package reads no files and does not
// access repositories.
//
// # How libraries are resolved
//
// A chart requires the libraries under "libraries:" in its Chart.yaml or
// requirements.yaml, each with a version range, and those that are in its library/
// directory without being listed, in any version. A chosen library has requirements like
// any other chart. The available versions are the charts in all library/ directories of the
// tree, including those of libraries: a chart need not contain a library that another chart
// of the tree contains.
//
// Of each library, the highest version that satisfies all requirements is used. If the
// choice of one library restricts that of another, the library that was required first gets
// the highest version for which there is a version of the other. If no versions satisfy all
// requirements, the error is a [*ConflictError].
//
// # Hoisting
//
// The chosen libraries become the root's first dependencies, a library before those that
// use it, with [chart.Chart.FromLibrary] still set. All other libraries are removed. So there
// is one version of each library's definitions, and its scripts are loaded once, before
// those that require them. A definition in a chart that is not a library overrides one with
// the same name in a library, and a definition in a library overrides one in a library that
// it uses.
//
// A library provides only definitions and scripts: its other template text is not rendered,
// its NOTES.txt not shown and its crds/ not installed, and its values.yaml has no effect (a
// definition has the values that its caller passes). Charts in a library's charts/ also
// provide only definitions. So hoisting changes neither the values nor the objects of a
// chart, and charts that are not libraries stay in their order.
package dependency

import (
	"maps"
	"slices"

	"github.com/moonhelm/moonhelm/chart"
)

// Library is a resolved library of a tree.
type Library struct {
	Chart *chart.Chart
	// Asks are the requirements for it, in the order of the tree.
	Asks []Ask
}

// Libraries resolves and hoists the libraries of the tree of c; see the package comment. It
// changes the dependencies of the tree's charts, and replaces the metadata of a chart whose
// library/ directory has a library that it does not list. If it returns an error, the tree
// is unchanged.
//
// Libraries returns the libraries in their order below c, each after those that it uses. It
// returns nil if no chart has or requires a library.
//
// Errors are of type [*MissingError], [*ConflictError] or [*RangeError]. Several errors for
// missing libraries are joined.
func Libraries(c *chart.Chart) ([]Library, error) {
	s := newSearch(c)
	if len(s.have) == 0 && len(s.queue) == 0 {
		return nil, nil
	}
	if !s.solve(0) {
		return nil, s.failed
	}
	libs := s.result()
	charts := make([]*chart.Chart, len(libs))
	for i, l := range libs {
		charts[i] = l.Chart
	}
	hoist(c, charts)
	return libs, nil
}

// Named returns the charts to which c may refer, by their names and aliases: its direct
// dependencies and the libraries that it lists. If a dependency and a library have the same
// name, it returns the dependency. [Libraries] must have been called for the tree.
func Named(c *chart.Chart) map[string]*chart.Chart {
	out := map[string]*chart.Chart{}
	hoisted := map[string]*chart.Chart{}
	for _, d := range c.Root().Dependencies() {
		if d.FromLibrary {
			hoisted[d.Name()] = d
		}
	}
	for _, e := range entriesOf(c) {
		lib := hoisted[e.Name]
		if lib == nil || lib == c {
			continue
		}
		out[e.Name] = lib
		if e.Alias != "" {
			out[e.Alias] = lib
		}
	}
	subs := map[string]*chart.Chart{}
	for _, d := range c.Subcharts() {
		subs[d.Name()] = d
	}
	for _, d := range c.Subcharts() {
		// If a chart has two aliases, its name refers to the first.
		if name := d.Unaliased; name != "" && subs[name] == nil {
			subs[name] = d
		}
	}
	maps.Copy(out, subs)
	return out
}

// hoist makes libs the only libraries of the tree of c.
func hoist(c *chart.Chart, libs []*chart.Chart) {
	for _, l := range append([]*chart.Chart{c}, libs...) {
		walk(l, func(x *chart.Chart) {
			listUnlisted(x)
			x.SetDependencies(x.Subcharts()...)
		})
	}
	c.SetDependencies(slices.Concat(libs, c.Dependencies())...)
}

// listUnlisted adds the libraries that c has in library/ without listing them to its list,
// because hoisting removes them from c.
func listUnlisted(c *chart.Chart) {
	more := unlisted(c)
	if len(more) == 0 || c.Metadata == nil {
		return
	}
	md := *c.Metadata
	md.Libraries = slices.Clone(md.Libraries)
	for _, name := range more {
		md.Libraries = append(md.Libraries, &chart.Dependency{Name: name})
	}
	c.Metadata = &md
}

// unlisted returns the names of the charts in the library/ directory of c that c does not
// list.
func unlisted(c *chart.Chart) []string {
	var out []string
	for _, d := range c.Dependencies() {
		name := d.Name()
		listed := slices.ContainsFunc(entriesOf(c), func(e *chart.Dependency) bool { return e.Name == name })
		if d.FromLibrary && !listed && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// entriesOf returns the libraries that c lists.
func entriesOf(c *chart.Chart) []*chart.Dependency {
	if c.Metadata == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(c.Metadata.Libraries), func(e *chart.Dependency) bool { return e == nil })
}

// walk calls fn for c and the charts below it, except those in library/, parents first.
func walk(c *chart.Chart, fn func(*chart.Chart)) {
	subs := c.Subcharts()
	fn(c)
	for _, d := range subs {
		walk(d, fn)
	}
}
