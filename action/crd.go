// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/plan"
	"github.com/moonhelm/moonhelm/progress"
)

// A CRDPolicy selects what an operation does with the CRDs in crds/.
type CRDPolicy string

// The policies.
const (
	// CRDDefault leaves the choice to each chart: to its annotation [CRDAnnotation], or that of
	// the nearest chart above it that has one. Without an annotation it is CRDCreate.
	CRDDefault CRDPolicy = ""
	// CRDCreate has an install create missing CRDs. Existing ones are not updated, and an
	// upgrade ignores crds/, as Helm's documentation of charts specifies.
	CRDCreate CRDPolicy = "create"
	// CRDUpgrade has an install and an upgrade create and update CRDs.
	CRDUpgrade CRDPolicy = "upgrade"
	// CRDSkip ignores crds/.
	CRDSkip CRDPolicy = "skip"
)

// CRDAnnotation is the annotation of Chart.yaml with the policy for the CRDs in crds/ of the chart
// and of its subcharts. A policy of the request other than [CRDDefault] wins.
const CRDAnnotation = chart.AnnotationCRDs

// A CRDInstaller creates and updates CRDs.
type CRDInstaller interface {
	// MissingCRDs returns those of crds that do not exist in the cluster.
	MissingCRDs(ctx context.Context, crds []*manifest.Object) ([]*manifest.Object, error)
	// InstallCRDs creates crds, waits until they are established, and invalidates the
	// discovery cache.
	InstallCRDs(ctx context.Context, crds []*manifest.Object) error
	// PlanCRDs returns the changes that bring crds up to date. It returns an error if
	// they would lose stored custom resources, or if a CRD belongs to a release other than
	// owner; a zero owner is not checked. It writes nothing.
	PlanCRDs(ctx context.Context, owner kube.Owner, crds []*manifest.Object) (*plan.Plan, error)
	// CompareCRDs returns the differences between crds and the cluster's.
	CompareCRDs(ctx context.Context, crds []*manifest.Object) (*plan.Plan, error)
	// ExecuteCRDs executes the plan, and then waits as InstallCRDs does.
	ExecuteCRDs(ctx context.Context, p *plan.Plan) error
}

// crdWork plans and makes an operation's changes to CRDs.
type crdWork struct {
	// policy is that of the request. owner is not checked if it is zero.
	policy  CRDPolicy
	owner   kube.Owner
	install bool
	dryRun  bool

	definitions []definition
	// planned are the CRDs that write creates or updates: those of plan, or those that are
	// missing.
	planned []*manifest.Object
	plan    *plan.Plan // nil if existing CRDs are not updated
	// left are the differences of the CRDs that stay as they are, in a dry run.
	left *plan.Plan
	// upcoming contains the API versions and kinds that the cluster will serve once the
	// CRDs are written, in the form of .Capabilities.APIVersions.
	upcoming map[string]bool
}

// definition is an object in crds/ of a chart.
type definition struct {
	*manifest.Object
	chart  *chart.Chart
	policy CRDPolicy
}

// read plans the changes to the CRDs of a chart.
func (w *crdWork) read(ctx context.Context, cluster CRDInstaller, c *chart.Chart) (err error) {
	if w.definitions, err = definitionsOf(c, w.policy); err != nil {
		return err
	}
	return w.planDefinitions(ctx, cluster)
}

// planDefinitions plans the changes to the definitions.
func (w *crdWork) planDefinitions(ctx context.Context, cluster CRDInstaller) (err error) {
	if len(w.definitions) == 0 {
		return nil
	}
	var left []*manifest.Object
	create, upgrade := byPolicy(w.definitions, CRDCreate), byPolicy(w.definitions, CRDUpgrade)
	if w.install && len(create) > 0 {
		if w.planned, err = cluster.MissingCRDs(ctx, create); err != nil {
			return err
		}
	}
	for _, d := range w.definitions {
		if d.policy != CRDUpgrade && !slices.Contains(w.planned, d.Object) {
			left = append(left, d.Object)
		}
	}
	if len(upgrade) > 0 {
		w.planned = append(upgrade, w.planned...)
		if w.plan, err = cluster.PlanCRDs(ctx, w.owner, w.planned); err != nil {
			return err
		}
	}
	if w.dryRun && len(left) > 0 {
		w.left, err = cluster.CompareCRDs(ctx, left)
		if _, forbidden := errors.AsType[*kube.ForbiddenError](err); forbidden {
			return nil // the operation itself does not read them
		}
	}
	return err
}

func byPolicy(definitions []definition, policy CRDPolicy) []*manifest.Object {
	var out []*manifest.Object
	for _, d := range definitions {
		if d.policy == policy {
			out = append(out, d.Object)
		}
	}
	return out
}

// addUpcoming returns the API versions and kinds that the cluster serves, with those that it
// will serve added.
func (w *crdWork) addUpcoming(versions []string) []string {
	if len(w.planned) == 0 {
		return versions
	}
	w.upcoming = map[string]bool{}
	out := slices.Clone(versions)
	for _, v := range servedVersions(w.planned) {
		if !slices.Contains(out, v) {
			out = append(out, v)
			w.upcoming[v] = true
		}
	}
	return out
}

// preview returns the changes that write will make, and the CRDs that it leaves alone, with the
// reason, or nil if there are none.
func (w *crdWork) preview() (*plan.Plan, error) {
	out := &plan.Plan{}
	if w.plan != nil {
		out.Steps = slices.Clone(w.plan.Steps)
	} else if len(w.planned) > 0 {
		steps, err := plan.Compare(nil, w.planned, "")
		if err != nil {
			return nil, err
		}
		out.Steps = steps
	}
	if w.left != nil {
		for _, s := range w.left.Steps {
			verb := "an upgrade"
			if w.install {
				verb = "an install"
			}
			out.Steps = append(out.Steps, leftAlone(s, w.policyOf(s.Object), verb))
		}
	}
	if len(out.Steps) == 0 {
		return nil, nil
	}
	return out, nil
}

func (w *crdWork) policyOf(o *manifest.Object) CRDPolicy {
	for _, d := range w.definitions {
		if d.Object == o {
			return d.policy
		}
	}
	return CRDCreate
}

// leftAlone returns the step for a CRD that the operation does not write, with the reason.
func leftAlone(s plan.Step, policy CRDPolicy, verb string) plan.Step {
	if s.Action == plan.Unchanged {
		return s
	}
	what := "differs from the chart's"
	if s.Action == plan.Create {
		what = "is missing in the cluster"
	}
	switch {
	case policy == CRDSkip:
		s.Reason = "the definition " + what + ", and crds/ is skipped"
	case s.Action == plan.Create:
		s.Reason = "the definition " + what + ", and " + verb + " creates none: helm upgrade --crds upgrade does"
	default:
		s.Reason = "the definition " + what + ", and " + verb + " changes none: helm upgrade --crds upgrade does"
	}
	s.Action, s.After, s.Patch = plan.Keep, s.Live, nil
	return s
}

// leftBy returns the definitions in crds/ of a recorded chart, which an operation does not write, as
// they differ from those in the cluster; nil if there are none or they may not be read.
func leftBy(ctx context.Context, cluster CRDInstaller, c *chart.Chart, verb string) (*plan.Plan, error) {
	if c == nil {
		return nil, nil
	}
	definitions, err := parseCRDs(c)
	if err != nil || len(definitions) == 0 {
		return nil, err
	}
	p, err := cluster.CompareCRDs(ctx, definitions)
	if _, forbidden := errors.AsType[*kube.ForbiddenError](err); forbidden {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for i, s := range p.Steps {
		p.Steps[i] = leftAlone(s, CRDCreate, verb)
	}
	return p, nil
}

// render renders r's chart for a cluster, which may be nil. Templates see the cluster as it will
// be once the chart's CRDs are written: the CRDs can be written only after the objects have been
// validated.
func (w *crdWork) render(ctx context.Context, cluster Cluster, r rendering) (*Rendered, error) {
	caps, err := capabilities(ctx, cluster, r.preview.KubeVersion, r.preview.APIVersions)
	if err != nil {
		return nil, err
	}
	r.capabilities = caps
	if !r.preview.NoLookup {
		r.lookup = lookupIn(ctx, cluster)
	}
	if cluster != nil && !r.preview.Recorded {
		if err := w.read(ctx, cluster, r.resolved.Chart); err != nil {
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
	return len(w.planned) > 0
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
	case w.plan == nil && len(w.planned) > 0:
		report.Send(progress.Event{Kind: progress.Step,
			Text: fmt.Sprintf("installing %d custom resource definitions", len(w.planned))})
		return cluster.InstallCRDs(ctx, w.planned)
	}
	return nil
}

// parseCRDs parses the files in crds/ of c and all its subcharts. They are not templates.
func parseCRDs(c *chart.Chart) ([]*manifest.Object, error) {
	definitions, err := definitionsOf(c, CRDDefault)
	var out []*manifest.Object
	for _, d := range definitions {
		out = append(out, d.Object)
	}
	return out, err
}

// definitionsOf parses the files in crds/ of c and all its subcharts. policy, unless it is
// CRDDefault, takes the place of the charts' own.
func definitionsOf(c *chart.Chart, policy CRDPolicy) ([]definition, error) {
	var out []definition
	for _, f := range c.CRDs() {
		objs, err := manifest.Parse(f.Source, string(f.Data))
		if err == nil {
			objs, err = manifest.Flatten(objs)
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", f.Source, err)
		}
		d := definition{chart: f.Chart, policy: policy}
		if policy == CRDDefault {
			if d.policy, err = chartPolicy(f.Chart); err != nil {
				return nil, err
			}
		}
		for _, d.Object = range objs {
			out = append(out, d)
		}
	}
	return out, nil
}

// chartPolicy returns the policy that a chart asks for.
func chartPolicy(c *chart.Chart) (CRDPolicy, error) {
	for ; c != nil; c = c.Parent() {
		if c.Metadata == nil {
			continue
		}
		policy, err := c.Metadata.CRDPolicy()
		if policy != "" || err != nil {
			return CRDPolicy(policy), err
		}
	}
	return CRDCreate, nil
}

// protectedDefinitions returns the CRDs among the objects whose charts ask for upgrades of definitions, or
// all of them if the request does.
func (d *deployment) protectedDefinitions() []*manifest.Object {
	var out []*manifest.Object
	for _, o := range d.objects {
		if isDefinition(o) && d.definitionPolicy(o) == CRDUpgrade {
			out = append(out, o)
		}
	}
	return out
}

// definitionPolicy returns the policy for a CRD among the objects: that of the request, or of the chart whose
// template it is from.
func (d *deployment) definitionPolicy(o *manifest.Object) CRDPolicy {
	root := d.chart()
	if d.crds.policy != CRDDefault || root == nil {
		return d.crds.policy
	}
	of := root
	root.Walk(func(c *chart.Chart) {
		if strings.HasPrefix(o.Source, c.FullPath()+"/") && len(c.FullPath()) > len(of.FullPath()) {
			of = c
		}
	})
	policy, err := chartPolicy(of)
	if err != nil {
		return CRDUpgrade // an invalid one must not lose objects
	}
	return policy
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
	for _, crd := range w.planned {
		m, err := crd.Map()
		if err != nil {
			continue
		}
		spec, _ := m["spec"].(map[string]any)
		names, _ := spec["names"].(map[string]any)
		if spec["group"] == manifest.Group(o.APIVersion) && names["kind"] == o.Kind {
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
