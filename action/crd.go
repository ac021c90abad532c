// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/plan"
	"github.com/moonhelm/moonhelm/progress"
)

// A CRDPolicy selects what an operation does with the CRDs in crds/.
type CRDPolicy string

// The policies.
const (
	// CRDCreate has an install create missing CRDs. Existing ones are not updated, and an
	// upgrade ignores crds/, as Helm's documentation of charts specifies.
	CRDCreate CRDPolicy = ""
	// CRDUpgrade has an install and an upgrade create and update CRDs.
	CRDUpgrade CRDPolicy = "upgrade"
	// CRDSkip ignores crds/.
	CRDSkip CRDPolicy = "skip"
)

// A CRDInstaller creates and updates CRDs.
type CRDInstaller interface {
	// MissingCRDs returns those of crds that do not exist in the cluster.
	MissingCRDs(ctx context.Context, crds []*manifest.Object) ([]*manifest.Object, error)
	// InstallCRDs creates crds, waits until they are established, and invalidates the
	// discovery cache.
	InstallCRDs(ctx context.Context, crds []*manifest.Object) error
	// PlanCRDs returns the changes that bring crds up to date. It returns an error if
	// they would lose stored custom resources. It writes nothing.
	PlanCRDs(ctx context.Context, crds []*manifest.Object) (*plan.Plan, error)
	// ExecuteCRDs executes the plan, and then waits as InstallCRDs does.
	ExecuteCRDs(ctx context.Context, p *plan.Plan) error
}

// crdWork plans and makes an operation's changes to CRDs.
type crdWork struct {
	all     []*manifest.Object
	missing []*manifest.Object
	plan    *plan.Plan // nil if existing CRDs are not updated
	// upcoming contains the API versions and kinds that the cluster will serve once the
	// CRDs are written, in the form of .Capabilities.APIVersions.
	upcoming map[string]bool
}

// read plans the changes to the CRDs of a chart.
func (w *crdWork) read(ctx context.Context, cluster CRDInstaller, c *chart.Chart, upgrade bool) error {
	all, err := parseCRDs(c)
	if err != nil {
		return err
	}
	return w.readObjects(ctx, cluster, all, upgrade)
}

// readObjects is read for definitions that were parsed.
func (w *crdWork) readObjects(ctx context.Context, cluster CRDInstaller, all []*manifest.Object, upgrade bool) (err error) {
	if w.all = all; len(all) == 0 {
		return nil
	}
	if w.missing, err = cluster.MissingCRDs(ctx, w.all); err != nil || !upgrade {
		return err
	}
	w.plan, err = cluster.PlanCRDs(ctx, w.all)
	return err
}

// addUpcoming returns the API versions and kinds that the cluster serves, with those that it
// will serve added.
func (w *crdWork) addUpcoming(versions []string) []string {
	crds := w.missing
	if w.plan != nil {
		crds = w.all
	}
	if len(crds) == 0 {
		return versions
	}
	w.upcoming = map[string]bool{}
	out := slices.Clone(versions)
	for _, v := range servedVersions(crds) {
		if !slices.Contains(out, v) {
			out = append(out, v)
			w.upcoming[v] = true
		}
	}
	return out
}

// preview returns the changes that write will make, or nil if there are none.
func (w *crdWork) preview() (*plan.Plan, error) {
	if w.plan != nil || len(w.missing) == 0 {
		return w.plan, nil
	}
	steps, err := plan.Compare(nil, w.missing, "")
	return &plan.Plan{Steps: steps}, err
}

// toWrite returns the CRDs that exist in the cluster after write.
func (w *crdWork) toWrite() []*manifest.Object {
	if w.plan != nil {
		return w.all
	}
	return w.missing
}

// render renders r's chart for a cluster, which may be nil. If read is set, templates see
// the cluster as it will be once the chart's CRDs are written: the CRDs can be written only
// after the objects have been validated.
func (w *crdWork) render(ctx context.Context, cluster Cluster, read, upgrade bool, r rendering) (*Rendered, error) {
	caps, err := capabilities(ctx, cluster, r.preview.KubeVersion, r.preview.APIVersions)
	if err != nil {
		return nil, err
	}
	r.capabilities = caps
	if !r.preview.NoLookup {
		r.lookup = lookupIn(ctx, cluster)
	}
	if cluster != nil && read && !r.preview.Recorded {
		if err := w.read(ctx, cluster, r.resolved.Chart, upgrade); err != nil {
			return nil, err
		}
		caps.APIVersions = w.addUpcoming(caps.APIVersions)
		r.lookup = lookupWithUpcoming(w.upcoming, r.lookup)
	}
	return r.run(ctx)
}

// needed reports whether write will change anything.
func (w *crdWork) needed() bool {
	if w.plan != nil {
		return w.plan.Changes() > 0
	}
	return len(w.missing) > 0
}

// write creates and updates the CRDs.
func (w *crdWork) write(ctx context.Context, cluster CRDInstaller, report progress.Func, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeoutOrDefault(timeout))
	defer cancel()
	switch {
	case w.plan != nil && w.plan.Changes() > 0:
		report.Send(progress.Event{Kind: progress.Step,
			Text: fmt.Sprintf("writing %d custom resource definitions", w.plan.Changes())})
		for _, s := range w.plan.Steps {
			if s.Action != plan.Unchanged {
				report.Send(progress.Event{Kind: progress.Log, Object: s.String(), Text: "is " + string(s.Action) + "d"})
			}
		}
		return cluster.ExecuteCRDs(ctx, w.plan)
	case w.plan == nil && len(w.missing) > 0:
		report.Send(progress.Event{Kind: progress.Step,
			Text: fmt.Sprintf("installing %d custom resource definitions", len(w.missing))})
		return cluster.InstallCRDs(ctx, w.missing)
	}
	return nil
}

// parseCRDs parses the files in crds/ of c and all its subcharts. They are not templates.
func parseCRDs(c *chart.Chart) ([]*manifest.Object, error) {
	var out []*manifest.Object
	for _, f := range c.CRDs() {
		objs, err := manifest.Parse(f.Source, string(f.Data))
		if err == nil {
			objs, err = manifest.Flatten(objs)
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", f.Source, err)
		}
		out = append(out, objs...)
	}
	return out, nil
}

// servedVersions returns "group/version" and "group/version/Kind" of every version that
// crds serve, the form of .Capabilities.APIVersions.
func servedVersions(crds []*manifest.Object) []string {
	var out []string
	for _, o := range crds {
		if o.Kind != "CustomResourceDefinition" {
			continue
		}
		m, err := o.Map()
		if err != nil {
			continue
		}
		spec, _ := m["spec"].(map[string]any)
		group, _ := spec["group"].(string)
		names, _ := spec["names"].(map[string]any)
		kind, _ := names["kind"].(string)
		versions, _ := spec["versions"].([]any)
		for _, v := range versions {
			vm, _ := v.(map[string]any)
			name, _ := vm["name"].(string)
			if on, _ := vm["served"].(bool); !on || name == "" || group == "" {
				continue
			}
			out = append(out, group+"/"+name, group+"/"+name+"/"+kind)
		}
	}
	return out
}

// isClusterScoped reports whether a definition that is to be written makes the kind of o one of the
// whole cluster.
func (w *crdWork) isClusterScoped(o *manifest.Object) bool {
	for _, crd := range w.toWrite() {
		m, err := crd.Map()
		if err != nil {
			continue
		}
		spec, _ := m["spec"].(map[string]any)
		names, _ := spec["names"].(map[string]any)
		group, _, _ := strings.Cut(o.APIVersion, "/")
		if spec["group"] == group && names["kind"] == o.Kind {
			return spec["scope"] == "Cluster"
		}
	}
	return false
}

// withoutUpcoming returns objects without those whose kinds the cluster does not serve yet.
func withoutUpcoming(objects []*manifest.Object, upcoming map[string]bool) []*manifest.Object {
	if len(upcoming) == 0 {
		return objects
	}
	var out []*manifest.Object
	for _, o := range objects {
		if !upcoming[o.APIVersion+"/"+o.Kind] {
			out = append(out, o)
		}
	}
	return out
}

// lookupWithUpcoming returns a lookup function that finds no objects of kinds that the
// cluster does not serve yet, instead of failing. It calls lookup for other kinds.
func lookupWithUpcoming(upcoming map[string]bool, lookup lookupFunc) lookupFunc {
	if len(upcoming) == 0 || lookup == nil {
		return lookup
	}
	return func(apiVersion, kind, namespace, name string) (map[string]any, error) {
		switch {
		case !upcoming[apiVersion+"/"+kind]:
			return lookup(apiVersion, kind, namespace, name)
		case name != "":
			return map[string]any{}, nil
		}
		return map[string]any{
			"apiVersion": apiVersion, "kind": kind + "List",
			"metadata": map[string]any{"resourceVersion": ""}, "items": []any{},
		}, nil
	}
}
