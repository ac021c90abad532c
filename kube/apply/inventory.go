// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/kube/internal/api"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/plan"
	"github.com/moonhelm/moonhelm/release"
)

// item is one object of the inventory.
type item struct {
	*api.Target // the desired object; if it is not wanted, the newest old one
	wanted      bool
	// old lists the object's manifests in earlier revisions, oldest first. deployed is set
	// if the first of these revisions has the object.
	old      []*api.Target
	deployed bool
	live     map[string]any
	// hook is the release's hook for the same object, or nil.
	hook *api.Target
}

// isFromHook reports whether the live object was created by p.hook.
func (p *item) isFromHook(owner kube.Owner) bool {
	return p.hook != nil && api.MetadataOf(p.live).IsFromHook(owner)
}

// inventory contains all objects of a change: the desired ones in the given order, then those
// to delete.
type inventory struct {
	items []*item
	index map[plan.Ref]*item // by [plan.Ref.Identity]
}

// newInventory returns the inventory of a request.
func (c *Applier) newInventory(ctx context.Context, r Request) (*inventory, error) {
	targets, err := c.api.Targets(ctx, r.New, r.Owner.Namespace)
	if err != nil {
		return nil, err
	}
	s := &inventory{index: map[plan.Ref]*item{}}
	duplicates := &DuplicateObjectError{}
	for _, t := range targets {
		p := &item{Target: t, wanted: true}
		s.items = append(s.items, p)
		if t.Name == "" {
			continue
		}
		if first := s.index[t.Ref().Identity()]; first != nil {
			duplicates.Objects = append(duplicates.Objects, DuplicateObject{t.String(), first.Source, t.Source})
			continue
		}
		s.index[t.Ref().Identity()] = p
	}
	if len(duplicates.Objects) > 0 {
		return nil, duplicates
	}
	var unserved []*api.Target
	for i, objects := range r.Old {
		missing, err := c.addOld(ctx, s, objects, i, r.Owner.Namespace)
		if err != nil {
			return nil, err
		}
		unserved = append(unserved, missing...)
	}
	if err := c.addPendingDeletions(ctx, s, r.PendingDeletions, r.Owner.Namespace); err != nil {
		return nil, err
	}
	if err := c.addHooks(ctx, s, r.Hooks, r.Owner.Namespace); err != nil {
		return nil, err
	}
	if unserved = s.matchByName(unserved, r.Owner.Namespace); len(unserved) > 0 {
		c.api.WarnNotServed(api.NoMatch(unserved))
	}
	s.sort()
	return s, nil
}

// addOld adds the objects of an old revision to s. It returns those whose kinds the cluster no
// longer serves.
func (c *Applier) addOld(ctx context.Context, s *inventory, objects []*manifest.Object, revision int,
	namespace string) ([]*api.Target, error) {
	all, err := api.ParseTargets(objects)
	if err != nil {
		return nil, err
	}
	// An object with an invalid name cannot exist.
	all = api.Filter(all, func(t *api.Target) bool { return t.CheckName() == nil })
	placed, missing, err := c.api.ResolveTargets(ctx, all, namespace)
	if err != nil {
		return nil, err
	}
	others, missing := c.api.ResolvePreferred(missing, namespace)
	for _, t := range append(placed, others...) {
		if t.Name == "" {
			s.dropGenerated(t)
			continue
		}
		p := s.index[t.Ref().Identity()]
		if p == nil {
			p = &item{Target: t}
			s.items, s.index[t.Ref().Identity()] = append(s.items, p), p
		}
		if !p.wanted {
			p.Target = t
		}
		p.old = append(p.old, t)
		p.deployed = p.deployed || revision == 0
	}
	return missing, nil
}

// dropGenerated removes a desired object with a generated name if an old revision contains the
// same manifest: otherwise each upgrade would create another object.
func (s *inventory) dropGenerated(old *api.Target) {
	s.items = slices.DeleteFunc(s.items, func(p *item) bool {
		return p.wanted && p.Name == "" && p.Kind == old.Kind && p.Namespace == old.Namespace &&
			reflect.DeepEqual(p.Object, old.Object)
	})
}

func (c *Applier) addPendingDeletions(ctx context.Context, s *inventory, pending []release.PendingDeletion,
	namespace string) error {
	var all []*api.Target
	for _, o := range pending {
		metadata := map[string]any{"name": o.Name}
		if o.Namespace != "" {
			metadata["namespace"] = o.Namespace
		}
		t := api.NewTarget("", map[string]any{"apiVersion": o.APIVersion, "kind": o.Kind, "metadata": metadata})
		if t.CheckName() == nil {
			all = append(all, t)
		}
	}
	placed, _, err := c.api.ResolveTargets(ctx, all, namespace)
	for _, t := range placed {
		if id := t.Ref().Identity(); s.index[id] == nil {
			p := &item{Target: t}
			s.items, s.index[id] = append(s.items, p), p
		}
	}
	return err
}

// addHooks sets the hook of the desired objects that are also objects of hooks.
func (c *Applier) addHooks(ctx context.Context, s *inventory, hooks []*manifest.Object, namespace string) error {
	all, err := api.ParseTargets(hooks)
	if err != nil {
		return err
	}
	named := map[string]bool{}
	for _, p := range s.items {
		named[p.Short()] = named[p.Short()] || p.wanted
	}
	all = api.Filter(all, func(t *api.Target) bool { return t.Name != "" && named[t.Short()] && t.CheckName() == nil })
	placed, _, err := c.api.ResolveTargets(ctx, all, namespace)
	for _, t := range placed {
		if p := s.index[t.Ref().Identity()]; p != nil && p.wanted {
			p.hook = t
		}
	}
	return err
}

// matchByName matches old objects whose kinds are no longer served with the desired object of
// the same kind name, name and namespace in another version or group, if there is exactly one.
// It returns the objects without a match.
func (s *inventory) matchByName(unserved []*api.Target, namespace string) []*api.Target {
	return api.Filter(unserved, func(t *api.Target) bool {
		var same []*item
		for _, p := range s.items {
			at := t.Namespace
			if at == "" && p.Namespace != "" {
				at = namespace
			}
			if p.wanted && p.Kind == t.Kind && p.Name == t.Name && t.Name != "" && p.Namespace == at {
				same = append(same, p)
			}
		}
		if len(same) != 1 {
			return true
		}
		same[0].old = append(same[0].old, t)
		same[0].deployed = true
		return false
	})
}

// sort sorts the objects to delete into the order of deletion.
func (s *inventory) sort() {
	cut := slices.IndexFunc(s.items, func(p *item) bool { return !p.wanted })
	if cut < 0 {
		return
	}
	byObject := map[*manifest.Object]*item{}
	var order []*manifest.Object
	for _, p := range s.items[cut:] {
		o := &manifest.Object{APIVersion: p.Key().APIVersion, Kind: p.Kind, Name: p.Name, Namespace: p.Namespace}
		order, byObject[o] = append(order, o), p
	}
	manifest.SortUninstall(order)
	for i, o := range order {
		s.items[cut+i] = byObject[o]
	}
}

// readLive reads the live state of all objects. Of those without an old revision, which mostly
// do not exist, it reads the metadata first.
func (c *Applier) readLive(ctx context.Context, s *inventory, managers bool) error {
	byTarget := make(map[*api.Target]*item, len(s.items))
	var known, fresh []*api.Target
	for _, p := range s.items {
		byTarget[p.Target] = p
		if p.wanted && len(p.old) == 0 {
			fresh = append(fresh, p.Target)
		} else {
			known = append(known, p.Target)
		}
	}
	read := func(ctx context.Context, targets []*api.Target) error {
		live, err := c.api.ReadAll(ctx, targets, managers)
		for t, object := range live {
			byTarget[t].live = object
		}
		return err
	}
	group, reading := errgroup.WithContext(ctx)
	group.Go(func() error { return read(reading, known) })
	group.Go(func() error {
		there, err := c.api.ReadMetadata(reading, fresh)
		if err != nil {
			return err
		}
		return read(reading, api.Filter(fresh, func(t *api.Target) bool { return there[t] != nil }))
	})
	if err := group.Wait(); err != nil {
		return err
	}
	s.mergeSameUID()
	if managers {
		c.completeAll(ctx, s)
	}
	return nil
}

// completeAll calls completeManagers for all live objects that are to be applied.
func (c *Applier) completeAll(ctx context.Context, s *inventory) {
	var group errgroup.Group
	group.SetLimit(kube.Parallel)
	for _, p := range s.items {
		if p.wanted && p.live != nil {
			group.Go(func() error {
				c.completeManagers(ctx, p.Target, p.live)
				return nil
			})
		}
	}
	_ = group.Wait() // the functions return nil
}

// mergeSameUID merges an object to delete into a desired object with the same UID: it is the
// same object in another API group.
func (s *inventory) mergeSameUID() {
	wanted := map[string]*item{}
	for _, p := range s.items {
		if uid := api.String(p.live, "metadata", "uid"); p.wanted && uid != "" {
			wanted[uid] = p
		}
	}
	s.items = slices.DeleteFunc(s.items, func(p *item) bool {
		to := wanted[api.String(p.live, "metadata", "uid")]
		if p.wanted || p.live == nil || to == nil {
			return false
		}
		to.old = append(slices.Clone(p.old), to.old...)
		to.deployed = to.deployed || p.deployed
		return true
	})
}

// checkOwnership returns a [*ConflictError] if desired objects exist and do not belong to the
// owner.
func (s *inventory) checkOwnership(r Request) error {
	if r.TakeOwnership {
		return nil
	}
	e := &ConflictError{Owner: r.Owner}
	for _, p := range s.items {
		if !p.wanted || p.live == nil || p.isFromHook(r.Owner) {
			continue
		}
		m := api.MetadataOf(p.live)
		if slices.Contains(r.Adopted, p.From) && m.Annotations[release.NameAnnotation] == "" {
			continue
		}
		if !p.deployed || m.HasOtherOwner(r.Owner) {
			if why := m.Foreign(r.Owner); why != "" {
				e.Conflicts = append(e.Conflicts, Conflict{Object: p.String(), Reason: why})
			}
		}
	}
	if len(e.Conflicts) > 0 {
		return e
	}
	return nil
}

// foreignReasons returns, for each object to delete, why it does not belong to the owner. Only
// the ownership labels of the live object count, because a record may name any object.
func (s *inventory) foreignReasons(owner kube.Owner) map[plan.Ref]string {
	out := map[plan.Ref]string{}
	for _, p := range s.items {
		if p.wanted || p.live == nil {
			continue
		}
		m := api.MetadataOf(p.live)
		out[p.Ref().Identity()] = m.Foreign(owner)
		if m.IsFromHook(owner) {
			out[p.Ref().Identity()] = "it is a hook of the release now"
		}
	}
	return out
}

// planItems returns the items of package plan, and the live state of desired objects that are
// being deleted.
func (s *inventory) planItems(owner kube.Owner) (items []plan.Item, terminating map[plan.Ref]map[string]any) {
	items, terminating = make([]plan.Item, len(s.items)), map[plan.Ref]map[string]any{}
	for i, p := range s.items {
		it := plan.Item{Ref: p.Ref(), Source: p.Source, Live: p.live}
		if p.wanted {
			it.New, it.Object = p.Labeled(owner), p.From
		}
		for _, t := range p.old {
			if p.wanted && reflect.DeepEqual(t.Object, p.Object) {
				it.Old = append(it.Old, it.New) // share the map: most objects of an upgrade are unchanged
				continue
			}
			old := t.InNamespace(p.Namespace).Labeled(owner)
			old["apiVersion"] = it.APIVersion // the version in which live was read
			it.Old = append(it.Old, old)
		}
		if p.isFromHook(owner) {
			it.Old = append(it.Old, p.hookManifest(owner))
		}
		if p.wanted && api.String(p.live, "metadata", "deletionTimestamp") != "" {
			terminating[p.Ref().Identity()] = p.live
			if !isPrecious(it) {
				it.Live = nil
			}
		}
		items[i] = it
	}
	return items, terminating
}

// hookManifest returns the manifest with which p.hook created the object.
func (p *item) hookManifest(owner kube.Owner) map[string]any {
	object := p.hook.InNamespace(p.Namespace).Labeled(owner)
	object["apiVersion"] = p.Resource.APIVersion
	meta := object["metadata"].(map[string]any)
	meta["annotations"] = api.WithPairs(meta["annotations"], release.HookOfAnnotation,
		api.String(p.live, "metadata", "annotations", release.HookOfAnnotation))
	return object
}

// permissions returns the permissions for verb on each object, and those in also.
func (s *inventory) permissions(verb string, also []Permission) []Permission {
	out := slices.Clone(also)
	for _, p := range s.items {
		out = append(out, permissionFor(verb, p.Target))
	}
	return out
}

// neededPermissions returns the permissions that executing p needs, and those in also.
func (s *inventory) neededPermissions(p *plan.Plan, also []Permission) []Permission {
	places := make(map[plan.Ref]*api.Target, len(s.items))
	for _, q := range s.items {
		places[q.Ref().Identity()] = q.Target
	}
	out := slices.Clone(also)
	for _, step := range p.Steps {
		t := places[step.Ref.Identity()]
		if t == nil {
			continue
		}
		for _, verb := range verbs(step, p.ServerSide) {
			out = append(out, permissionFor(verb, t))
		}
	}
	return out
}

func verbs(s plan.Step, serverSide bool) []string {
	switch s.Action {
	case plan.Create:
		if serverSide && s.Name != "" {
			return []string{"create", "patch"}
		}
		return []string{"create"}
	case plan.Update:
		if s.Type == plan.Put {
			return []string{"update"}
		}
		return []string{"patch"}
	case plan.Replace:
		return []string{"delete", "create"}
	case plan.Delete:
		return []string{"delete"}
	}
	return nil
}

// A DuplicateObject is an object that two templates define.
type DuplicateObject struct{ Object, First, Second string }

// A DuplicateObjectError is returned if a release contains an object more than once.
type DuplicateObjectError struct{ Objects []DuplicateObject }

func (e *DuplicateObjectError) Error() string {
	lines := make([]string, len(e.Objects))
	for i, o := range e.Objects {
		lines[i] = fmt.Sprintf("%s is defined twice, by %s and by %s: a release can contain an object only once",
			o.Object, o.First, o.Second)
		if o.First == o.Second {
			lines[i] = fmt.Sprintf("%s is defined twice by %s: a release can contain an object only once", o.Object, o.First)
		}
	}
	return strings.Join(lines, "\n")
}
