// SPDX-License-Identifier: Apache-2.0

package action

import (
	"maps"
	"slices"

	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/plan"
)

// planUpcoming adds to the plan the objects whose CRDs are not written yet, and which the
// cluster cannot plan. It creates them, or, if the plan deletes the same object in another API
// version, updates it instead.
func (d *deployment) planUpcoming(known []*manifest.Object) error {
	var upcoming []plan.Step
	for _, o := range d.objects {
		if slices.Contains(known, o) {
			continue
		}
		object, err := d.withOwnership(o)
		if err != nil {
			return err
		}
		item := plan.Item{
			Ref: refOf(o, d.release.Namespace), Source: o.Source, New: object, Object: o,
		}
		if d.crds.isClusterScoped(o) {
			item.Namespace = ""
		}
		if i := slices.IndexFunc(d.plan.Steps,
			func(s plan.Step) bool { return s.New == nil && sameKind(s.Ref, item.Ref) }); i >= 0 {
			item.Old, item.Live = d.plan.Steps[i].Old, d.plan.Steps[i].Live
			d.plan.Steps = slices.Delete(d.plan.Steps, i, i+1)
		}
		p, err := plan.Compute([]plan.Item{item}, plan.Options{ServerSide: d.plan.ServerSide})
		if err != nil {
			return err
		}
		upcoming = append(upcoming, p.Steps...)
	}
	index := slices.IndexFunc(d.plan.Steps, func(s plan.Step) bool { return s.New == nil })
	if index < 0 {
		index = len(d.plan.Steps)
	}
	d.plan.Steps = slices.Insert(d.plan.Steps, index, upcoming...)
	return nil
}

// sameKind reports whether two references are to one object, ignoring the API version.
func sameKind(a, b plan.Ref) bool {
	a, b = a.Identity(), b.Identity()
	if a.Namespace == "" {
		b.Namespace = ""
	}
	return a == b
}

// refOf returns a reference to an object, which is in namespace if its manifest names none.
func refOf(o *manifest.Object, namespace string) plan.Ref {
	return plan.Ref{APIVersion: o.APIVersion, Kind: o.Kind, Namespace: orText(o.Namespace, namespace), Name: o.Name}
}

// withOwnership returns an object with its ownership labels and annotations.
func (d *deployment) withOwnership(o *manifest.Object) (map[string]any, error) {
	object, err := o.Map()
	if err != nil {
		return nil, err
	}
	object = maps.Clone(object)
	meta, ok := object["metadata"].(map[string]any)
	if !ok {
		return object, nil // the server returns the error for invalid metadata
	}
	meta = maps.Clone(meta)
	object["metadata"] = meta
	set := func(field string, values map[string]any) {
		have, ok := meta[field].(map[string]any)
		if !ok && meta[field] != nil {
			return
		}
		if have = maps.Clone(have); have == nil {
			have = map[string]any{}
		}
		maps.Copy(have, values)
		meta[field] = have
	}
	set("labels", map[string]any{"app.kubernetes.io/managed-by": "Helm"})
	set("annotations", map[string]any{
		"meta.helm.sh/release-name": d.release.Name, "meta.helm.sh/release-namespace": d.release.Namespace,
	})
	return object, nil
}
