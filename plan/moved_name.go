// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"slices"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/internal/suggest"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/release"
)

// readEdges adds the entries with names.
func (m *mover) readEdges() error {
	sources := map[Ref]Move{}
	for _, e := range m.in.Moves {
		if !e.IsName() {
			continue
		}
		from := Ref{manifest.Group(e.APIVersion), e.Kind, cmp.Or(e.From.Namespace, m.in.Namespace), e.From.Name}
		to := Ref{from.APIVersion, e.Kind, cmp.Or(e.To.Namespace, m.in.Namespace), e.To.Name}
		if e.APIVersion == "" {
			from.APIVersion = m.groups[e.Kind]
			to.APIVersion = from.APIVersion
		}
		if from == to {
			continue // the names differ for other values
		}
		if other, twice := m.edges[to]; twice && other.from != from {
			return e.fail(oneName, "%s/%s has moved from %s already, by %s", to.Kind, to.Name, other.from.Name,
				other.move.Field)
		}
		if other, twice := sources[from]; twice && other.To != e.To {
			return e.fail(oneName, "%s/%s has moved to %s already, by %s", from.Kind, from.Name, other.To.Name, other.Field)
		}
		sources[from], m.edges[to] = e, edge{from, e}
	}
	return nil
}

// moveNames pairs the rendered objects with those of earlier revisions.
func (m *mover) moveNames() error {
	for _, o := range m.rendered {
		to := m.id(o)
		if _, moves := m.edges[to]; !moves || !m.mayMove(o, m.edges[to].move) {
			continue
		}
		if err := m.moveName(o, to); err != nil {
			return err
		}
	}
	return m.checkTargets()
}

// mayMove reports whether the chart of an entry, or one below it, has rendered o.
func (m *mover) mayMove(o *manifest.Object, e Move) bool {
	return o.Source == "" || isBelow(chartOf(o.Source), e.Chart)
}

func (m *mover) moveName(o *manifest.Object, to Ref) error {
	recreate, deleteFirst, e := false, false, m.edges[to].move
	seen := map[Ref]bool{to: true}
	for id := to; ; {
		next, ok := m.edges[id]
		if !ok {
			return nil // no revision has an old name
		}
		if seen[next.from] {
			return e.fail("two objects cannot exchange their names: give one of them a third name",
				"the entries for %s lead back to it", o)
		}
		if m.current[next.from] != nil {
			return next.move.fail("remove the entry, or the template of the old object",
				"the chart renders both %s and %s/%s, which it has moved from", o, next.from.Kind, next.from.Name)
		}
		id = next.from
		seen[id] = true
		recreate = recreate || *next.move.Recreate
		deleteFirst = deleteFirst || next.move.Order == chart.MoveDeleteFirst
		if was := m.old[id]; was != nil && m.base[to] == nil {
			return m.pair(was, o, e, recreate, deleteFirst)
		}
	}
}

// pair adds a moved object.
func (m *mover) pair(was, o *manifest.Object, e Move, recreate, deleteFirst bool) error {
	m.moved[m.id(was)] = true
	moved := MovedObject{From: refOf(was, m.in.Namespace), To: refOf(o, m.in.Namespace), Recreate: recreate}
	moved.From.APIVersion = moved.To.APIVersion
	if !recreate {
		m.keep = append(m.keep, rename{
			object: o, kind: o.Kind, group: manifest.Group(o.APIVersion), to: moved.From, from: moved.To,
		})
		m.out.Moved = append(m.out.Moved, moved)
		return nil
	}
	after, err := o.Map()
	if err != nil {
		return err
	}
	if why := LostBy(o.Kind, after); why != "" && !Replaceable(Step{Item: Item{New: after}}) {
		return e.fail("recreate: false keeps the object under its old name; the annotation "+release.ReplaceAnnotation+
			`: "true" on the object accepts the loss`, "recreating %s as %s loses data: %s", was, o, why)
	}
	if deleteFirst {
		moved.DeleteFirst = "as " + e.Field + " says"
	} else if e.Order == "" {
		m.exclusive = append(m.exclusive, exclusive{len(m.out.Moved), was, m.id(o)})
	}
	m.out.Moved = append(m.out.Moved, moved)
	return nil
}

// checkTargets finds objects that would be deleted because the chart does not render what they have
// moved to.
func (m *mover) checkTargets() error {
	for to, e := range m.edges {
		was := m.base[e.from]
		if was == nil || m.current[to] != nil || m.current[e.from] != nil || m.moved[e.from] || m.hasEdgeFrom(to) {
			continue
		}
		var names []string
		for _, o := range m.rendered {
			if id := m.id(o); id.Kind == to.Kind && m.old[id] == nil {
				names = append(names, o.Name)
			}
		}
		if near := suggest.Nearest(names, to.Name); len(near) > 0 {
			return e.move.fail("to.name is the name as the chart renders it for the release",
				"the chart renders no %s/%s, and %s would be deleted; did you mean %q?", to.Kind, to.Name, was, near[0])
		}
		m.warn("%s: the chart renders no %s/%s, and %s is deleted", e.move.Field, to.Kind, to.Name, was)
	}
	slices.Sort(m.out.Warnings)
	return nil
}

// hasEdgeFrom reports whether an object has moved on from a name.
func (m *mover) hasEdgeFrom(id Ref) bool {
	for _, e := range m.edges {
		if e.from == id {
			return true
		}
	}
	return false
}
