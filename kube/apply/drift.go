// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/kube/internal/api"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/plan"
)

// DriftRequest describes what is installed of a release.
type DriftRequest struct {
	Owner kube.Owner
	// Installed lists the objects of the deployed revision.
	Installed []*manifest.Object
	// Failed lists those of the later, failed revisions, oldest first. A field with the value of
	// one of them has not drifted.
	Failed [][]*manifest.Object
}

// FindDrift returns the differences of the live objects of releases from what is installed, one
// slice for each request, in the order of its objects. It reads the objects of all releases with few
// requests, and writes nothing. An object whose kind the cluster does not serve is missing. Objects
// with generated names are left out.
func (c *Applier) FindDrift(ctx context.Context, requests []DriftRequest, o plan.DriftOptions) ([][]plan.ObjectDrift,
	error) {
	checks := make([][]*driftCheck, len(requests))
	first := map[plan.Ref]*api.Target{} // two releases may have installed the same object
	var all []*api.Target
	for i, r := range requests {
		var err error
		if checks[i], err = c.driftChecks(ctx, r); err != nil {
			return nil, err
		}
		for _, d := range checks[i] {
			if d.target.Resource != nil && first[d.item.Ref] == nil {
				first[d.item.Ref] = d.target
				all = append(all, d.target)
			}
		}
	}
	live, err := c.api.ReadAcross(ctx, all, true)
	if err != nil {
		return nil, err
	}
	for _, d := range slices.Concat(checks...) {
		d.item.Live = live[first[d.item.Ref]]
	}
	return c.compareDrift(ctx, checks, o)
}

// driftCheck is one object that is checked for drift.
type driftCheck struct {
	target *api.Target
	item   plan.Item
	drift  plan.ObjectDrift
}

func (d *driftCheck) run(o plan.DriftOptions) { d.drift = plan.FindDrift(d.item, o) }

// driftChecks returns the checks of a release, without the live objects.
func (c *Applier) driftChecks(ctx context.Context, r DriftRequest) ([]*driftCheck, error) {
	placed, err := c.placeInstalled(ctx, r.Installed, r.Owner.Namespace)
	if err != nil {
		return nil, err
	}
	out := make([]*driftCheck, 0, len(placed))
	index := make(map[plan.Ref]*driftCheck, len(placed))
	for _, t := range placed {
		d := &driftCheck{target: t, item: plan.Item{Ref: refOf(t), Source: t.Source}}
		d.item.Old = []map[string]any{d.manifest(t, r.Owner)}
		out, index[d.item.Ref.Identity()] = append(out, d), d
	}
	for _, objects := range slices.Backward(r.Failed) {
		failed, err := c.placeInstalled(ctx, objects, r.Owner.Namespace)
		if err != nil {
			return nil, err
		}
		for _, t := range failed {
			if d := index[refOf(t).Identity()]; d != nil { // the installed manifest stays the last
				d.item.Old = append([]map[string]any{d.manifest(t, r.Owner)}, d.item.Old...)
			}
		}
	}
	return out, nil
}

// placeInstalled returns the named objects, without a resource those that the cluster does not serve.
func (c *Applier) placeInstalled(ctx context.Context, objects []*manifest.Object, namespace string) ([]*api.Target,
	error) {
	all, err := api.ParseTargets(objects)
	if err != nil {
		return nil, err
	}
	all = api.Filter(all, func(t *api.Target) bool { return t.Name != "" && t.CheckName() == nil })
	_, missing, err := c.api.ResolveTargets(ctx, all, namespace)
	if err == nil {
		c.api.ResolvePreferred(missing, namespace)
	}
	return all, err
}

// refOf returns the reference of a target, which may have no resource.
func refOf(t *api.Target) plan.Ref {
	if t.Resource == nil {
		return plan.Ref{APIVersion: t.Key().APIVersion, Kind: t.Kind, Namespace: t.Namespace, Name: t.Name}
	}
	return t.Ref()
}

// manifest returns the manifest of a target as it was applied, in the version in which the object is
// read.
func (d *driftCheck) manifest(t *api.Target, owner kube.Owner) map[string]any {
	object := t.InNamespace(d.target.Namespace).Labeled(owner)
	object["apiVersion"] = d.item.APIVersion
	return object
}

// compareDrift compares all objects. It reads the autoscalers of a namespace if a number of replicas
// has drifted there.
func (c *Applier) compareDrift(ctx context.Context, checks [][]*driftCheck, o plan.DriftOptions) ([][]plan.ObjectDrift,
	error) {
	flat := slices.Concat(checks...)
	if err := runAll(ctx, flat, o); err != nil {
		return nil, err
	}
	var scaled []*driftCheck
	for _, d := range flat {
		if hasReplicasDrift(d.drift) {
			scaled = append(scaled, d)
		}
	}
	if len(scaled) > 0 {
		o.Autoscaled = c.autoscalersFor(ctx, scaled)
		if err := runAll(ctx, scaled, o); err != nil {
			return nil, err
		}
	}
	c.allowUnknown(ctx, flat)
	out := make([][]plan.ObjectDrift, len(checks))
	for i, of := range checks {
		out[i] = make([]plan.ObjectDrift, len(of))
		for j, d := range of {
			out[i][j] = d.drift
		}
	}
	return out, nil
}

// runAll compares objects on all processors.
func runAll(ctx context.Context, checks []*driftCheck, o plan.DriftOptions) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	const chunk = 64
	for part := range slices.Chunk(checks, chunk) {
		group.Go(func() error {
			for _, d := range part {
				d.run(o)
			}
			return ctx.Err()
		})
	}
	return group.Wait()
}

func hasReplicasDrift(d plan.ObjectDrift) bool {
	return slices.ContainsFunc(d.Drift(), func(f plan.DriftedField) bool { return f.Path == "spec.replicas" })
}

// autoscalersFor returns the autoscalers in the namespaces of objects. If they cannot be read, the
// replicas that they set are drift.
func (c *Applier) autoscalersFor(ctx context.Context, checks []*driftCheck) plan.Autoscaled {
	found, searched := plan.Autoscaled{}, map[string]bool{}
	for _, d := range checks {
		if !searched[d.item.Namespace] {
			searched[d.item.Namespace] = true
			c.autoscalers(ctx, d.item.Namespace, found)
		}
	}
	return found
}

// restore returns the plan that undoes the drift of items, and leaves those without drift unchanged.
func (c *Applier) restore(ctx context.Context, items []plan.Item, drift plan.DriftOptions, o plan.Options) (*plan.Plan,
	error) {
	checks := make([]*driftCheck, len(items))
	for i, item := range items {
		checks[i] = &driftCheck{item: item}
	}
	if _, err := c.compareDrift(ctx, [][]*driftCheck{checks}, drift); err != nil {
		return nil, err
	}
	o.Conflicts = plan.Take
	var drifted []plan.Item
	steps, index := make([]plan.Step, len(items)), make(map[plan.Ref]int, len(items))
	for i, d := range checks {
		index[d.item.Ref], steps[i] = i, plan.Step{Item: d.item, Action: plan.Unchanged, After: d.item.Live}
		if item, ok := plan.Restore(d.item, d.drift); ok {
			drifted = append(drifted, item)
		}
	}
	p, err := plan.Compute(drifted, o)
	if err != nil {
		return nil, err
	}
	for _, s := range p.Steps {
		steps[index[s.Ref]] = s
	}
	p.Steps = steps
	return p, nil
}
