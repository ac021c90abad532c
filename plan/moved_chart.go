// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/internal/suggest"
	"github.com/moonhelm/moonhelm/manifest"
)

// moveCharts finds the objects that have moved from one subchart to another.
func (m *mover) moveCharts() error {
	for _, e := range m.in.Moves {
		if e.From.Chart == "" {
			continue
		}
		from, to := path.Join(e.Chart, e.From.Chart), path.Join(e.Chart, e.To.Chart)
		if err := m.checkChart(e, to); err != nil {
			return err
		}
		for _, o := range m.rendered {
			c := chartOf(o.Source)
			rest, ok := strings.CutPrefix("/"+c, strings.TrimSuffix("/"+to, "/"))
			if !ok || rest != "" && rest[0] != '/' || to == "" && c != "" || !e.matchesKind(o) {
				continue
			}
			was, is := lastOf(from, m.in.Root), lastOf(to, m.in.Root)
			if err := m.moveFromChart(e, o, strings.Trim(from+rest, "/"), was, is); err != nil {
				return err
			}
		}
		m.warnOfLeft(e, from)
	}
	return nil
}

// checkChart returns an error if the tree has no chart at a path.
func (m *mover) checkChart(e Move, to string) error {
	if to == "" || slices.Contains(m.in.Charts, to) {
		return nil
	}
	problem := fmt.Sprintf("to.chart is %q, which is not a subchart", e.To.Chart)
	if near := suggest.Nearest(m.in.Charts, to); len(near) > 0 {
		problem += fmt.Sprintf("; did you mean %q?", strings.TrimPrefix(near[0], e.Chart+"/"))
	}
	return e.fail("the path is that of names or aliases in dependencies, such as backend/db", "%s", problem)
}

func lastOf(c, root string) string {
	if c == "" || c == "." {
		return root
	}
	return path.Base(c)
}

func (e Move) matchesKind(o *manifest.Object) bool {
	return (e.Kind == "" || e.Kind == o.Kind) &&
		(e.APIVersion == "" || manifest.Group(e.APIVersion) == manifest.Group(o.APIVersion))
}

// moveFromChart finds the object of the chart from that o is now: it has the same name, or one with
// the name of the chart replaced.
func (m *mover) moveFromChart(e Move, o *manifest.Object, from, fromName, toName string) error {
	id := m.id(o)
	if was := m.old[id]; was != nil {
		if chartOf(was.Source) == from {
			m.out.Moved = append(m.out.Moved, MovedObject{From: refOf(was, m.in.Namespace), To: refOf(o, m.in.Namespace),
				FromPlace: placeOf(from), ToPlace: placeOf(chartOf(o.Source))})
		}
		return nil
	}
	was := id
	was.Name = replaceName(o.Name, toName, fromName)
	before := m.old[was]
	if before == nil || chartOf(before.Source) != from || m.current[was] != nil {
		return nil
	}
	if e.Recreate == nil {
		return e.fail("recreate: true creates objects under their new names and deletes the old ones, false keeps the "+
			"old names", "%s is called %s in %s, and recreate is not set", before, o.Name, placeOf(chartOf(o.Source)))
	}
	if _, taken := m.edges[id]; !taken {
		m.edges[id] = edge{was, e}
	}
	return nil
}

func placeOf(c string) string {
	if c == "" {
		return "the chart itself"
	}
	return "chart " + c
}

// replaceName replaces a part of a name that is between the ends and separators of the name.
func replaceName(name, from, to string) string {
	parts := strings.Split("-"+name+"-", "-"+from+"-")
	return strings.Trim(strings.Join(parts, "-"+to+"-"), "-")
}

// warnOfLeft warns of objects of a chart that have no successor.
func (m *mover) warnOfLeft(e Move, from string) {
	to := map[Ref]bool{}
	for _, edge := range m.edges {
		to[edge.from] = true
	}
	if len(m.in.Old) == 0 {
		return
	}
	for _, o := range m.in.Old[0] {
		id := m.id(o)
		left := o.Name != "" && m.current[id] == nil && !to[id]
		if left && from != "" && isBelow(chartOf(o.Source), from) && e.matchesKind(o) &&
			!slices.Contains(m.out.Definitions, o) {
			m.warn("%s: chart %s has no successor of %s, which is deleted", e.Field, e.To.Chart, o)
		}
	}
}
