// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"

	"github.com/moonhelm/moonhelm/manifest"
)

// exclusive is a recreated object that may exclude the old one.
type exclusive struct {
	index int // in Moved
	was   *manifest.Object
	is    Ref
}

// findExclusive finds the recreated objects that cannot exist beside the old ones. It needs the objects
// with the names that stay.
func (m *mover) findExclusive() error {
	if len(m.exclusive) == 0 {
		return nil
	}
	flat, err := manifest.Flatten(m.out.Objects)
	if err != nil {
		return err
	}
	final := make(map[Ref]*manifest.Object, len(flat))
	for _, o := range flat {
		final[m.id(o)] = o
	}
	for _, x := range m.exclusive {
		before, err := x.was.Map()
		if err != nil {
			return err
		}
		after, err := final[x.is].Map()
		if err != nil {
			return err
		}
		m.out.Moved[x.index].DeleteFirst = exclusion(before, after, m.isShared)
	}
	return nil
}

// LostBy returns what is lost if an object of a kind is deleted and created under another name,
// or "".
func LostBy(kind string, object map[string]any) string {
	switch kind {
	case "PersistentVolumeClaim", "PersistentVolume":
		return "the volume stays with the old name or is deleted"
	case "Namespace":
		return "everything in the namespace is deleted"
	case crdKind:
		return "all objects of the kind are deleted"
	case "StatefulSet":
		spec, _ := object["spec"].(map[string]any)
		if claims, _ := spec["volumeClaimTemplates"].([]any); len(claims) > 0 {
			return "the claims of its pods stay with the old name"
		}
	}
	return ""
}

// isShared reports whether several pods on different nodes can use a claim of the release.
func (m *mover) isShared(claim string) bool {
	for _, all := range []map[Ref]*manifest.Object{m.current, m.old} {
		for id, o := range all {
			if id.Kind != "PersistentVolumeClaim" || id.Name != claim {
				continue
			}
			object, err := o.Map()
			if err != nil {
				return false
			}
			spec, _ := object["spec"].(map[string]any)
			modes, _ := spec["accessModes"].([]any)
			return slices.Contains(modes, any("ReadWriteMany")) || slices.Contains(modes, any("ReadOnlyMany"))
		}
	}
	return false
}
