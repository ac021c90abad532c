// SPDX-License-Identifier: Apache-2.0

package action

import (
	"maps"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/plan"
)

// planUndefined adds to the plan the objects of kinds that are yet to be defined,
// which no cluster can be asked about: they are created, or go on under another
// version of their kind. Without it a plan would say of the latter that they
// are deleted.
func (d *deployment) planUndefined(known []*manifest.Object) error {
	var written []plan.Step
	for _, o := range d.objects {
		if slices.Contains(known, o) {
			continue
		}
		object, err := d.marked(o)
		if err != nil {
			return err
		}
		it := plan.Item{
			Ref: plan.Ref{APIVersion: o.APIVersion, Kind: o.Kind, Namespace: orText(o.Namespace, d.release.Namespace),
				Name: o.Name},
			Source: o.Source, New: object, Object: o,
		}
		if i := slices.IndexFunc(d.plan.Steps,
			func(s plan.Step) bool { return s.New == nil && sameKind(s.Ref, it.Ref) }); i >= 0 {
			it.Old, it.Live = d.plan.Steps[i].Old, d.plan.Steps[i].Live
			d.plan.Steps = slices.Delete(d.plan.Steps, i, i+1)
		}
		p, err := plan.Compute([]plan.Item{it}, plan.Options{ServerSide: d.plan.ServerSide})
		if err != nil {
			return err
		}
		written = append(written, p.Steps...)
	}
	at := slices.IndexFunc(d.plan.Steps, func(s plan.Step) bool { return s.New == nil })
	if at < 0 {
		at = len(d.plan.Steps)
	}
	d.plan.Steps = slices.Insert(d.plan.Steps, at, written...)
	return nil
}

// sameKind reports whether two references are to one object, whatever the version
// of its kind.
func sameKind(a, b plan.Ref) bool {
	ga, _, _ := strings.Cut(a.APIVersion, "/")
	gb, _, _ := strings.Cut(b.APIVersion, "/")
	return ga == gb && a.Kind == b.Kind && a.Name == b.Name && (a.Namespace == b.Namespace || a.Namespace == "")
}

// marked is an object with the ownership labels that it will have.
func (d *deployment) marked(o *manifest.Object) (map[string]any, error) {
	object, err := o.Map()
	if err != nil {
		return nil, err
	}
	object = maps.Clone(object)
	meta, ok := object["metadata"].(map[string]any)
	if !ok {
		return object, nil // the server says what is wrong with it
	}
	meta = maps.Clone(meta)
	object["metadata"] = meta
	with := func(field string, marks map[string]any) {
		have, ok := meta[field].(map[string]any)
		if !ok && meta[field] != nil {
			return
		}
		if have = maps.Clone(have); have == nil {
			have = map[string]any{}
		}
		maps.Copy(have, marks)
		meta[field] = have
	}
	with("labels", map[string]any{"app.kubernetes.io/managed-by": "Helm"})
	with("annotations", map[string]any{
		"meta.helm.sh/release-name": d.release.Name, "meta.helm.sh/release-namespace": d.release.Namespace,
	})
	return object, nil
}
