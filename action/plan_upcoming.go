// SPDX-License-Identifier: Apache-2.0

package action

import (
	"cmp"
	"slices"

	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/kube/apply"
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
		item := plan.Item{Ref: refOf(o, d.release.Namespace), Source: o.Source, Object: o}
		if d.crds.isClusterScoped(o) {
			item.Namespace = ""
		}
		var err error
		owner := kube.Owner{Release: d.release.Name, Namespace: d.release.Namespace}
		if item.New, err = apply.Labeled(o, item.Namespace, owner); err != nil {
			return err
		}
		if i := slices.IndexFunc(d.plan.Steps,
			func(s plan.Step) bool { return s.New == nil && sameObject(s.Ref, item.Ref) }); i >= 0 {
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

// sameObject reports whether two references are to one object, ignoring the API version and, if a
// has none, the namespace.
func sameObject(a, b plan.Ref) bool {
	a, b = a.Identity(), b.Identity()
	if a.Namespace == "" {
		b.Namespace = ""
	}
	return a == b
}

// refOf returns a reference to an object, which is in namespace if its manifest names none.
func refOf(o *manifest.Object, namespace string) plan.Ref {
	return plan.Ref{APIVersion: o.APIVersion, Kind: o.Kind, Namespace: cmp.Or(o.Namespace, namespace), Name: o.Name}
}
