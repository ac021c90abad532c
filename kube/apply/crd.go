// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/moonhelm/moonhelm/internal/linger"
	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/kube/internal/api"
	"github.com/moonhelm/moonhelm/kube/wait"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/plan"
	"github.com/moonhelm/moonhelm/progress"
)

// MissingCRDs returns the CRDs in crds that do not exist in the cluster.
func (c *Applier) MissingCRDs(ctx context.Context, crds []*manifest.Object) ([]*manifest.Object, error) {
	var targets []*api.Target
	from := map[*api.Target]*manifest.Object{}
	for _, o := range crds {
		ts, err := c.api.Targets(ctx, []*manifest.Object{o}, "")
		if err != nil {
			return nil, err
		}
		for _, t := range ts {
			from[t] = o
		}
		targets = append(targets, ts...)
	}
	live, err := c.api.ReadMetadata(ctx, targets)
	if err != nil {
		return nil, err
	}
	var missing []*manifest.Object
	for _, t := range targets {
		o := from[t]
		if live[t] == nil && (len(missing) == 0 || missing[len(missing)-1] != o) {
			missing = append(missing, o)
		}
	}
	return missing, nil
}

// InstallCRDs creates crds, waits until they are established and served, and invalidates the
// discovery cache. It does not change existing CRDs. CRDs have no ownership labels, because
// they remain when the release is uninstalled.
func (c *Applier) InstallCRDs(ctx context.Context, crds []*manifest.Object) error {
	targets, err := c.api.Targets(ctx, crds, "")
	if err != nil {
		return err
	}
	err = api.ForEach(ctx, targets, func(ctx context.Context, t *api.Target) error {
		body, err := t.Body(kube.Owner{})
		if err != nil {
			return err
		}
		err = c.create(ctx, t, body)
		if apierrors.IsAlreadyExists(err) {
			return nil
		}
		if err == nil {
			c.api.Progress().Send(progress.Event{Kind: progress.Created, Object: t.Short()})
		}
		return t.Fail("create", err)
	})
	if err != nil {
		return err
	}
	return c.waitCRDs(ctx, api.Filter(targets, func(t *api.Target) bool { return t.Kind == api.CRDKind }))
}

// PlanCRDs returns the plan that creates the missing ones of crds and updates the others:
// fields that the manifests set are changed, other fields are kept, and the list of versions is
// replaced. It writes nothing. It returns a [*DefinitionError] if the change would lose stored
// objects or versions of them that are in use, and, unless owner is zero, for a CRD that has
// another release's ownership labels. Its other errors are those of a server-side dry run.
func (c *Applier) PlanCRDs(ctx context.Context, owner kube.Owner, crds []*manifest.Object) (*plan.Plan, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	permissions := c.newReview(ctx, nil)
	s, p, err := c.compareCRDs(ctx, crds)
	if err != nil {
		return nil, err
	}
	if err := permissions.check(ctx, s.neededPermissions(p, nil)); err != nil {
		return nil, err
	}
	if err := c.checkDefinitions(ctx, owner, p.Steps); err != nil {
		return nil, err
	}
	return p, c.dryRun(ctx, p, Request{}, nil)
}

// CompareCRDs returns the plan of [Applier.PlanCRDs] without its checks: the differences between
// crds and the CRDs of the cluster.
func (c *Applier) CompareCRDs(ctx context.Context, crds []*manifest.Object) (*plan.Plan, error) {
	_, p, err := c.compareCRDs(ctx, crds)
	return p, err
}

func (c *Applier) compareCRDs(ctx context.Context, crds []*manifest.Object) (*inventory, *plan.Plan, error) {
	s, err := c.newInventory(ctx, Request{New: distinctObjects(crds)})
	if err != nil {
		return nil, nil, err
	}
	if err := c.readLive(ctx, s, false); err != nil {
		return nil, nil, err
	}
	items, _ := s.planItems(kube.Owner{})
	p, err := plan.Compute(items, plan.Options{})
	return s, p, err
}

// distinctObjects removes duplicates: a chart that is in the dependency tree twice contributes
// its CRDs twice.
func distinctObjects(objects []*manifest.Object) []*manifest.Object {
	seen := map[string]bool{}
	var out []*manifest.Object
	for _, o := range objects {
		if !seen[o.String()] || o.Name == "" {
			out = append(out, o)
		}
		seen[o.String()] = true
	}
	return out
}

// ExecuteCRDs executes a plan of [Applier.PlanCRDs], waits until the CRDs are established and
// served, and invalidates the discovery cache.
func (c *Applier) ExecuteCRDs(ctx context.Context, p *plan.Plan) error {
	if err := c.Execute(ctx, p, p.Steps); err != nil || p.Changes() == 0 {
		return err
	}
	var written []*api.Target
	for _, s := range p.Steps {
		if s.Action != plan.Unchanged && s.Kind == api.CRDKind {
			written = append(written, api.NewTarget(s.Source, s.New))
		}
	}
	written, _, err := c.api.ResolveTargets(ctx, written, "")
	if err != nil {
		return err
	}
	return c.waitCRDs(ctx, written)
}

// waitCRDs waits until CRDs are established and served.
func (c *Applier) waitCRDs(ctx context.Context, defined []*api.Target) error {
	if c.api.IsDryRun() {
		return nil
	}
	if err := c.wait.Established(ctx, defined); err != nil {
		return err
	}
	return c.waitServed(ctx, defined)
}

// waitServed waits until discovery returns the kinds that crds define, which happens shortly
// after they are established.
func (c *Applier) waitServed(ctx context.Context, crds []*api.Target) error {
	var wanted []kube.Kind
	for _, t := range crds {
		wanted = append(wanted, definedKinds(t.Object)...)
	}
	begun := time.Now()
	for delay := 20 * time.Millisecond; ; delay = min(2*delay, time.Second) {
		c.api.InvalidateDiscovery()
		found, err := c.api.Resolve(ctx, wanted)
		if err != nil {
			return err
		}
		missing := notServed(crds, found)
		if len(missing) == 0 {
			c.api.InvalidateDiscovery()
			return nil
		}
		if err := linger.Sleep(ctx, delay); err != nil {
			return &wait.PendingError{Problems: missing, Total: len(crds), After: time.Since(begun), Err: err}
		}
	}
}

// notServed returns the CRDs that define a kind for which found has no resource.
func notServed(crds []*api.Target, found map[kube.Kind]*kube.Resource) []wait.Problem {
	var out []wait.Problem
	for _, t := range crds {
		for _, k := range definedKinds(t.Object) {
			if found[k] == nil {
				out = append(out, wait.Problem{Kind: t.Kind, Name: t.Name,
					Missing: fmt.Sprintf("%s in %s to be served", k.Kind, k.APIVersion)})
				break
			}
		}
	}
	return out
}

// definedKinds returns the kinds that a CRD defines, one for each served version.
func definedKinds(crd map[string]any) []kube.Kind {
	spec, _ := crd["spec"].(map[string]any)
	names, _ := spec["names"].(map[string]any)
	group, _ := spec["group"].(string)
	kind, _ := names["kind"].(string)
	versions, _ := spec["versions"].([]any)
	var out []kube.Kind
	for _, v := range versions {
		m, _ := v.(map[string]any)
		name, _ := m["name"].(string)
		if served, _ := m["served"].(bool); served && name != "" {
			out = append(out, kube.Kind{APIVersion: group + "/" + name, Kind: kind})
		}
	}
	return out
}
