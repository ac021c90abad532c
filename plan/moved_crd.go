// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/manifest"
)

const crdKind = "CustomResourceDefinition"

// moveDefinitions finds CRDs that have moved to crds/ or from there.
func (m *mover) moveDefinitions() {
	inCRDs := map[Ref]bool{}
	for _, d := range m.in.Definitions {
		id := m.id(d)
		if d.Kind != crdKind || inCRDs[id] {
			continue
		}
		inCRDs[id] = true
		was := m.old[id]
		if was == nil || m.current[id] != nil {
			continue
		}
		m.out.Definitions = append(m.out.Definitions, was)
		m.out.Moved = append(m.out.Moved, MovedObject{From: refOf(was, ""), To: refOf(was, ""),
			FromPlace: was.Source, ToPlace: d.Source, Definition: true})
		if !m.declared(d, chart.DirCRDs) {
			m.warn("%s has moved from templates/ to crds/, and is kept; Helm would delete it with all objects of its "+
				"kind: an entry of moved in %s says that it has moved", d, chart.FileMetadata)
		}
	}
	for _, o := range m.rendered {
		if id := m.id(o); o.Kind == crdKind && len(m.in.Old) > 0 && m.old[id] == nil && m.declared(o, chart.DirTemplates) {
			m.out.Adopted = append(m.out.Adopted, o)
			m.out.Moved = append(m.out.Moved, MovedObject{From: refOf(o, ""), To: refOf(o, ""),
				FromPlace: chart.DirCRDs + "/", ToPlace: o.Source, Definition: true})
		}
	}
}

// declared reports whether an entry says that a CRD has moved to a directory.
func (m *mover) declared(o *manifest.Object, directory string) bool {
	return slices.ContainsFunc(m.in.Moves, func(e Move) bool {
		return e.To.Directory == directory && (e.From.Name == "" || e.From.Name == o.Name) &&
			isBelow(chartOf(o.Source), e.Chart)
	})
}
