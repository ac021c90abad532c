// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/moonhelm/moonhelm/engine"
	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/kube/apply"
	"github.com/moonhelm/moonhelm/kube/wait"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/plan"
)

// fakeCluster is a cluster in memory. It plans changes with package plan, like a real one.
type fakeCluster struct {
	*callLog
	HookCluster
	LiveReader
	DriftReader
	OwnershipChanger
	caps     engine.Capabilities
	missing  map[string]bool // names of CRDs that do not exist
	outdated map[string]bool // names of CRDs that differ from the charts'
	objects  map[string]map[string]any

	mu   sync.Mutex
	live map[string]map[string]any // by "Kind/name"
}

func newFakeCluster(d *callLog) *fakeCluster {
	return &fakeCluster{
		callLog: d, caps: *engine.DefaultCapabilities(),
		missing: map[string]bool{}, outdated: map[string]bool{}, live: map[string]map[string]any{},
	}
}

func (c *fakeCluster) Capabilities(ctx context.Context) (*engine.Capabilities, error) {
	return &c.caps, c.step(ctx, "capabilities")
}

func (c *fakeCluster) Lookup(ctx context.Context, _, kind, _, name string) (map[string]any, error) {
	return c.objects[kind+"/"+name], c.step(ctx, "lookup %s/%s", kind, name)
}

func (c *fakeCluster) Plan(ctx context.Context, r apply.Request) (*plan.Plan, error) {
	how := ""
	for _, f := range []struct {
		on   bool
		text string
	}{
		{r.TakeOwnership, ", taking"}, {r.ServerSide, ", server-side"}, {r.Conflicts == plan.Take, ", forcing"},
		{r.ForceReplace, ", replacing"}, {r.ServerDryRun, ", predicting"},
	} {
		if f.on {
			how += f.text
		}
	}
	if err := c.step(ctx, "plan %s for %s/%s%s", names(r.New), r.Owner.Namespace, r.Owner.Release, how); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var items []plan.Item
	wanted := map[string]int{}
	for _, o := range r.New {
		if o.Empty {
			continue
		}
		m, err := o.Map()
		if err != nil {
			return nil, err
		}
		wanted[o.String()] = len(items)
		items = append(items, plan.Item{Ref: refOf(o, r.Owner.Namespace), Source: o.Source, New: m, Object: o, Live: c.live[o.String()]})
	}
	gone := map[string]*manifest.Object{}
	was := map[string][]map[string]any{}
	for _, objects := range r.Old {
		for _, o := range objects {
			if o.Empty {
				continue
			}
			m, err := o.Map()
			if err != nil {
				return nil, err
			}
			was[o.String()] = append(was[o.String()], m)
			if _, ok := wanted[o.String()]; !ok {
				gone[o.String()] = o
			}
		}
	}
	for _, left := range r.PendingDeletions {
		o, err := pendingObject(left)
		if err != nil {
			return nil, err
		}
		if _, ok := wanted[o.String()]; !ok && gone[o.String()] == nil {
			gone[o.String()] = o
		}
	}
	old := slices.Collect(maps.Values(gone))
	manifest.SortUninstall(old)
	for _, o := range old {
		items = append(items, plan.Item{Ref: refOf(o, r.Owner.Namespace), Source: o.Source, Live: c.live[o.String()]})
	}
	for i := range items {
		items[i].Old = was[items[i].String()]
	}
	return plan.Compute(items, plan.Options{ServerSide: r.ServerSide, Conflicts: r.Conflicts, ForceReplace: r.ForceReplace})
}

// Execute logs the objects that it writes, and no others.
func (c *fakeCluster) Execute(ctx context.Context, p *plan.Plan, steps []plan.Step) error {
	if p == nil {
		return errors.New("steps of no plan")
	}
	var written, deleted []string
	for _, s := range steps {
		switch s.Action {
		case plan.Create, plan.Update, plan.Replace:
			written = append(written, s.String())
		case plan.Delete:
			deleted = append(deleted, s.String())
		}
	}
	if len(written) > 0 {
		if err := c.step(ctx, "apply [%s]", strings.Join(written, " ")); err != nil {
			return err
		}
	}
	if len(deleted) > 0 {
		if err := c.step(ctx, "delete [%s]", strings.Join(deleted, " ")); err != nil {
			return err
		}
	}
	for _, s := range steps {
		switch s.Action {
		case plan.Create, plan.Update, plan.Replace:
			c.set(s.String(), s.After)
		case plan.Delete:
			c.set(s.String(), nil)
		}
	}
	return nil
}

// set writes one object. A client may be killed before.
func (c *fakeCluster) set(name string, object map[string]any) {
	c.moment("set " + name)
	c.mu.Lock()
	defer c.mu.Unlock()
	if object == nil {
		delete(c.live, name)
		return
	}
	c.live[name] = object
}

// contents returns the objects in the cluster: "ConfigMap/a=1 Service/web", where 1 is the
// value in the data of an object of [configMaps].
func (c *fakeCluster) contents() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []string
	for name, o := range c.live {
		if data, ok := o["data"].(map[string]any); ok {
			name += "=" + fmt.Sprint(data["v"])
		}
		out = append(out, name)
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

func (c *fakeCluster) CreateNamespace(ctx context.Context, name string) error {
	return c.step(ctx, "namespace %s", name)
}

func (c *fakeCluster) MissingCRDs(ctx context.Context, crds []*manifest.Object) ([]*manifest.Object, error) {
	var out []*manifest.Object
	for _, o := range crds {
		if c.missing[o.Name] {
			out = append(out, o)
		}
	}
	return out, c.step(ctx, "missing %s", names(crds))
}

func (c *fakeCluster) InstallCRDs(ctx context.Context, crds []*manifest.Object) error {
	if err := c.step(ctx, "crds %s", names(crds)); err != nil {
		return err
	}
	c.serve(crds)
	return nil
}

func (c *fakeCluster) serve(crds []*manifest.Object) {
	for _, v := range servedVersions(crds) {
		if !slices.Contains(c.caps.APIVersions, v) {
			c.caps.APIVersions = append(slices.Clone(c.caps.APIVersions), v)
		}
	}
	clear(c.missing)
	clear(c.outdated)
}

func (c *fakeCluster) PlanCRDs(ctx context.Context, _ kube.Owner, crds []*manifest.Object) (*plan.Plan, error) {
	return c.compareCRDs(crds), c.step(ctx, "plan-crds %s", names(crds))
}

func (c *fakeCluster) CompareCRDs(ctx context.Context, crds []*manifest.Object) (*plan.Plan, error) {
	return c.compareCRDs(crds), c.step(ctx, "compare-crds %s", names(crds))
}

func (c *fakeCluster) compareCRDs(crds []*manifest.Object) *plan.Plan {
	p := &plan.Plan{}
	for _, o := range crds {
		s := plan.Step{Item: plan.Item{Ref: refOf(o, ""), Object: o}, Action: plan.Unchanged}
		if c.missing[o.Name] {
			s.Action = plan.Create
		} else if c.outdated[o.Name] {
			s.Action = plan.Update
		}
		p.Steps = append(p.Steps, s)
	}
	return p
}

func (c *fakeCluster) ExecuteCRDs(ctx context.Context, p *plan.Plan) error {
	var crds []*manifest.Object
	for _, s := range p.Steps {
		if s.Action != plan.Unchanged {
			crds = append(crds, s.Object)
		}
	}
	if err := c.step(ctx, "upgrade-crds %s", names(crds)); err != nil {
		return err
	}
	c.serve(crds)
	return nil
}

func (c *fakeCluster) Await(ctx context.Context, r wait.Request) error {
	if _, ok := ctx.Deadline(); !ok {
		return errors.New("a wait without an end")
	}
	return c.step(ctx, "wait %s%s%s", names(r.Objects),
		map[bool]string{true: ", jobs too"}[r.Jobs], map[bool]string{true: ", as Helm 3"}[r.Legacy])
}

func (c *fakeCluster) CheckPermissions(ctx context.Context, verb string, objects []*manifest.Object, _ string, also ...apply.Permission) error {
	if len(also) > 0 {
		return c.step(ctx, "permissions %s %s; records: %s", verb, names(objects), verbsOf(also))
	}
	return c.step(ctx, "permissions %s %s", verb, names(objects))
}

func (c *fakeCluster) Delete(ctx context.Context, objects []*manifest.Object, _ kube.Owner, cascade apply.Cascade) error {
	if err := c.step(ctx, "delete %s, %s", names(objects), cascade); err != nil {
		return err
	}
	for _, o := range objects {
		c.set(o.String(), nil)
	}
	return nil
}

func (c *fakeCluster) WaitGone(ctx context.Context, objects []*manifest.Object, _ kube.Owner) error {
	if _, ok := ctx.Deadline(); !ok {
		return errors.New("a wait without an end")
	}
	return c.step(ctx, "wait-deleted %s", names(objects))
}

func names(objects []*manifest.Object) string {
	var out []string
	for _, o := range objects {
		out = append(out, o.String())
	}
	return "[" + strings.Join(out, " ") + "]"
}

// verbsOf returns the verbs of permissions, separated by spaces.
func verbsOf(permissions []apply.Permission) string {
	var out []string
	for _, r := range permissions {
		out = append(out, r.Verb)
	}
	return strings.Join(out, " ")
}
