// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/plan"
	"github.com/moonhelm/moonhelm/progress"
)

// CRDPolicy says what becomes of the custom resource definitions in crds/.
type CRDPolicy string

// The policies.
const (
	// CRDCreate has an install create those that the cluster lacks, and leaves
	// all others alone, as the charts document has it.
	CRDCreate CRDPolicy = ""
	// CRDUpgrade creates and updates them, at an upgrade too.
	CRDUpgrade CRDPolicy = "upgrade"
	// CRDSkip leaves them alone.
	CRDSkip CRDPolicy = "skip"
)

// CRDInstaller writes custom resource definitions.
type CRDInstaller interface {
	// MissingCRDs are those of crds that the cluster does not have.
	MissingCRDs(ctx context.Context, crds []*manifest.Object) ([]*manifest.Object, error)
	// InstallCRDs creates crds, waits until they are established, and forgets
	// what was known of the cluster's kinds.
	InstallCRDs(ctx context.Context, crds []*manifest.Object) error
	// PlanCRDs returns what it takes to bring crds up to date; it refuses what
	// would lose stored objects. Nothing is written.
	PlanCRDs(ctx context.Context, crds []*manifest.Object) (*plan.Plan, error)
	// ExecuteCRDs does it, and waits as InstallCRDs does.
	ExecuteCRDs(ctx context.Context, p *plan.Plan) error
}

// crdWork is what an operation does to custom resource definitions.
type crdWork struct {
	all     []*manifest.Object
	missing []*manifest.Object
	plan    *plan.Plan // nil where existing ones are left alone
	// coming is what the cluster will serve and does not serve yet, as
	// capabilities say it.
	coming map[string]bool
}

// read finds out what there is to do for the definitions of a chart.
func (w *crdWork) read(ctx context.Context, cluster CRDInstaller, c *chart.Chart, upgrade bool) (err error) {
	if w.all, err = parseCRDs(c); err != nil || len(w.all) == 0 {
		return err
	}
	if w.missing, err = cluster.MissingCRDs(ctx, w.all); err != nil || !upgrade {
		return err
	}
	w.plan, err = cluster.PlanCRDs(ctx, w.all)
	return err
}

// serve adds what the cluster will serve to what it serves now.
func (w *crdWork) serve(versions []string) []string {
	crds := w.missing
	if w.plan != nil {
		crds = w.all
	}
	if len(crds) == 0 {
		return versions
	}
	w.coming = map[string]bool{}
	out := slices.Clone(versions)
	for _, v := range served(crds) {
		if !slices.Contains(out, v) {
			out = append(out, v)
			w.coming[v] = true
		}
	}
	return out
}

// preview is what write will do, nil for nothing.
func (w *crdWork) preview() (*plan.Plan, error) {
	if w.plan != nil || len(w.missing) == 0 {
		return w.plan, nil
	}
	steps, err := plan.Compare(nil, w.missing, "")
	return &plan.Plan{Steps: steps}, err
}

// written are the definitions that write brings into the cluster.
func (w *crdWork) written() []*manifest.Object {
	if w.plan != nil {
		return w.all
	}
	return w.missing
}

// render renders r's chart for the cluster as it is, nil for none, or, where
// read says so, as it will be once the chart's definitions are written:
// templates must see the kinds that are about to exist, and nothing may be
// written before all is known to fit.
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
		caps.APIVersions = w.serve(caps.APIVersions)
		r.lookup = lookupBefore(w.coming, r.lookup)
	}
	return r.run(ctx)
}

// needed reports whether write has anything to do.
func (w *crdWork) needed() bool {
	if w.plan != nil {
		return w.plan.Changes() > 0
	}
	return len(w.missing) > 0
}

// write brings the definitions into the cluster.
func (w *crdWork) write(ctx context.Context, cluster CRDInstaller, report progress.Func, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, orDefault(timeout))
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

// parseCRDs reads the crds/ directories of c and of all charts below it. They are
// never templates.
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

// served lists what capabilities say once crds are established:
// "group/version" and "group/version/Kind" of every served version.
func served(crds []*manifest.Object) []string {
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

// without leaves out the objects of kinds that are yet to be defined.
func without(objects []*manifest.Object, coming map[string]bool) []*manifest.Object {
	if len(coming) == 0 {
		return objects
	}
	var out []*manifest.Object
	for _, o := range objects {
		if !coming[o.APIVersion+"/"+o.Kind] {
			out = append(out, o)
		}
	}
	return out
}

// lookupBefore answers for kinds that are yet to be defined: they are there, and
// there is nothing of them yet. Everything else is left to lookup.
func lookupBefore(coming map[string]bool, lookup lookupFunc) lookupFunc {
	if len(coming) == 0 || lookup == nil {
		return lookup
	}
	return func(apiVersion, kind, namespace, name string) (map[string]any, error) {
		switch {
		case !coming[apiVersion+"/"+kind]:
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
