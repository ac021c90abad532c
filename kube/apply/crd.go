// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"
	"strings"
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
// replaced. It writes nothing. Its errors are those of a server-side dry run, and a
// [*StoredVersionError] if a version would be dropped in which objects may be stored.
func (c *Applier) PlanCRDs(ctx context.Context, crds []*manifest.Object) (*plan.Plan, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := c.newInventory(ctx, Request{New: distinctObjects(crds)})
	if err != nil {
		return nil, err
	}
	permissions := c.newReview(ctx, nil)
	if err := c.readLive(ctx, s, false); err != nil {
		return nil, err
	}
	refused := &StoredVersionError{}
	for _, p := range s.items {
		if lost := lostVersions(p.Object, p.live); len(lost) > 0 {
			refused.Definitions = append(refused.Definitions, StoredVersions{Name: p.Name, Source: p.Source, Versions: lost})
		}
	}
	if len(refused.Definitions) > 0 {
		return nil, refused
	}
	items, _ := s.planItems(kube.Owner{})
	p, err := plan.Compute(items, plan.Options{})
	if err != nil {
		return nil, err
	}
	if err := permissions.check(ctx, s.neededPermissions(p, nil)); err != nil {
		return nil, err
	}
	return p, c.dryRun(ctx, p, Request{}, nil)
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

// StoredVersions lists the versions that a new CRD drops.
type StoredVersions struct {
	Name     string // "PLURAL.GROUP"
	Source   string
	Versions []string
}

// A StoredVersionError is returned if CRDs would lose versions in which the cluster may have
// stored objects.
type StoredVersionError struct{ Definitions []StoredVersions }

func (e *StoredVersionError) Error() string {
	lines := make([]string, len(e.Definitions))
	for i, d := range e.Definitions {
		lines[i] = fmt.Sprintf("the new definition of %s (%s) drops version %s, in which objects may be stored: "+
			"migrate them and remove the version from status.storedVersions first, or keep the version with served: false",
			d.Name, d.Source, strings.Join(d.Versions, ", "))
	}
	return strings.Join(lines, "\n")
}

// lostVersions returns the stored versions of a live CRD that a new one does not have.
func lostVersions(crd, live map[string]any) []string {
	state, _ := live["status"].(map[string]any)
	stored, _ := state["storedVersions"].([]any)
	spec, _ := crd["spec"].(map[string]any)
	versions, _ := spec["versions"].([]any)
	has := map[any]bool{}
	for _, v := range versions {
		m, _ := v.(map[string]any)
		has[m["name"]] = true
	}
	var lost []string
	for _, v := range stored {
		if name, ok := v.(string); ok && !has[v] {
			lost = append(lost, name)
		}
	}
	return lost
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
