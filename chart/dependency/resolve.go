// SPDX-License-Identifier: Apache-2.0

// Package dependency chooses versions: of a chart among those that there are
// ([Version]), and of library charts one of each for a whole tree ([Libraries]).
//
// For the latter, in comes a chart tree whose dependencies are decided (values.Resolve), with
// the charts of its library/ directories in it; out comes the same tree with each
// library once, below the root. The package reads no files, asks no repository
// and knows nothing of dependencies: they stay where they are, also those of
// type library, which are only charts without objects.
//
// # Who asks, and what is there
//
// A chart asks for what is under libraries: in its Chart.yaml (or
// requirements.yaml), each with a range. A chart that is in a library/ directory
// without standing in that chart's list is asked for without a range. A library
// asks like any chart, once it is chosen itself. What is there are the charts of
// all library/ directories of the tree, those of libraries included: a chart need
// not bring what a chart above it, or beside it, has.
//
// Of each library the highest version is used that is within the range of
// everybody who asks. Where two libraries leave a choice, the one that was
// asked for first gets the highest that allows the other any version at all.
// Where nothing suits everybody there is no result, but a [*ConflictError].
//
// # What hoisting means
//
// The chosen libraries become the root's first dependencies, a library before
// those that use it, with [chart.Chart.FromLibrary] set as before; all others
// leave the tree. So exactly one version of each library's definitions exists,
// and its scripts are loaded once, before those that require them. A library's
// definitions are for its users to replace: one of the same name in any chart
// that is not a library wins, and among libraries that of the user.
//
// Of a library nothing else counts. What its templates hold outside of
// definitions is not rendered, its NOTES.txt not shown, its crds/ not
// installed; its values.yaml has no scope and nothing overlays it (a definition
// sees what its caller passes); what is below it in charts/ comes along, as
// definitions only. Hence hoisting changes no chart's values and moves none of
// its objects: the charts that are not libraries keep their places and order.
package dependency

import (
	"maps"
	"slices"

	"github.com/moonhelm/moonhelm/chart"
)

// Library is a library as the tree uses it.
type Library struct {
	Chart *chart.Chart
	// Asks are who asked for it, in the order of the tree.
	Asks []Ask
}

// Libraries gives the tree of c its libraries, as the package comment says.
// The tree must be the caller's own: its charts are linked again, and their
// metadata replaced where a library that is in library/ without being
// listed is added to the list. After an error it is as it was.
//
// The result lists the libraries in the order in which they hang below c: those
// that use others come after them. It is nil where no chart has anything to do
// with libraries.
//
// Errors are a [*MissingError], a [*ConflictError] or a [*RangeError]; several
// missing ones are joined.
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

// Named are the charts that c may name, by their names and aliases: its direct
// dependencies, and of the libraries of its tree those that it lists. Where a
// dependency and a library have one name it means the dependency. The tree must
// have been through [Libraries].
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
		// Of two that are one chart under two aliases, the name means the first.
		if name := d.Unaliased; name != "" && subs[name] == nil {
			subs[name] = d
		}
	}
	maps.Copy(out, subs)
	return out
}

// hoist makes libs the libraries of the tree of c, and the only ones.
func hoist(c *chart.Chart, libs []*chart.Chart) {
	for _, l := range append([]*chart.Chart{c}, libs...) {
		walk(l, func(x *chart.Chart) {
			list(x)
			x.SetDependencies(x.Subcharts()...)
		})
	}
	c.SetDependencies(slices.Concat(libs, c.Dependencies())...)
}

// list adds to the list of libraries of c those that it has in library/
// without listing them: once they are hoisted, nothing else tells whose they
// were.
func list(c *chart.Chart) {
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

// unlisted are the names of the charts in the library/ directory of c that c does
// not list.
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

// entriesOf are the libraries that c lists.
func entriesOf(c *chart.Chart) []*chart.Dependency {
	if c.Metadata == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(c.Metadata.Libraries), func(e *chart.Dependency) bool { return e == nil })
}

// walk calls fn for c and the charts below it, parents first, without those of
// library/ directories.
func walk(c *chart.Chart, fn func(*chart.Chart)) {
	subs := c.Subcharts()
	fn(c)
	for _, d := range subs {
		walk(d, fn)
	}
}
