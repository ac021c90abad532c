// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/kube/internal/api"
	"github.com/moonhelm/moonhelm/kube/wait"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/plan"
	"github.com/moonhelm/moonhelm/progress"
	"github.com/moonhelm/moonhelm/release"
)

// Request says what the objects of a release shall be, and what they may
// be now.
type Request struct {
	Owner kube.Owner
	// New are the objects that the release shall have, in apply order.
	New []*manifest.Object
	// Old are the objects of the revisions that may have been applied, oldest
	// revision first: the one that was deployed, then those that failed.
	Old [][]*manifest.Object
	// PendingDeletions may be there as well: they are deleted unless New has them.
	PendingDeletions []release.PendingDeletion
	// Hooks are the objects of the release's hooks. One of New that a hook has put
	// there is the owner's: what the hook says of it counts as its last form.
	Hooks []*manifest.Object

	// TakeOwnership takes over objects that exist and are not the owner's.
	TakeOwnership bool
	// ServerSide leaves merging to the API server. Conflicts says what then becomes
	// of fields that other managers have set to other values, "" to fail.
	ServerSide bool
	Conflicts  plan.Resolution
	// ReportConflicts has the plan say what is in the way, instead of failing: conflicts
	// that nothing resolves, and, by a warning, permissions that are missing.
	ReportConflicts bool
	// ForceReplace puts new objects in the place of live ones instead of merging, and
	// deletes and creates again what cannot be updated, as the annotation
	// helm.sh/replace has it for one object.
	ForceReplace bool
	// ServerDryRun asks the server what would become of each object that changes.
	ServerDryRun bool
	// Running are those of Hooks that the operation creates, and HooksFirst is set
	// where some of them run before New is written.
	Running    []*manifest.Object
	HooksFirst bool
	// Definitions are written before all others, by the caller.
	Definitions []*manifest.Object
	// Checked is set where objects were held against their kinds' schemas before.
	Checked bool
	// Permissions are those that the operation needs besides those for the objects.
	Permissions []Permission
}

// Plan reads the cluster and returns the plan that brings a release's objects to what
// r says. It writes nothing. It refuses what is known to fail: a
// [*kube.NoMatchError], a [*ConflictError], a [*PermissionError], a [*DuplicateObjectError], each
// with all it finds; with r.ServerDryRun also what the server would refuse, while
// missing permissions are a warning, as they are with r.ReportConflicts.
func (c *Applier) Plan(ctx context.Context, r Request) (*plan.Plan, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := wait.CheckReadiness(slices.Concat(r.New, r.Hooks)); err != nil {
		return nil, err
	}
	s, err := c.stock(ctx, r)
	if err != nil {
		return nil, err
	}
	if len(s.parts) == 0 && len(r.Permissions) == 0 && len(r.Running) == 0 {
		return &plan.Plan{ServerSide: r.ServerSide, Conflicts: r.Conflicts, ForceReplace: r.ForceReplace}, nil
	}
	permissions := c.newReview(ctx, s.permissions("", r.Permissions))
	if err := c.survey(ctx, s, r.ServerSide); err != nil {
		return nil, err
	}
	if err := s.conflicts(r); err != nil {
		return nil, err
	}
	foreign := s.foreign(r.Owner)
	items, going := s.items(r.Owner)
	o := plan.Options{
		ServerSide: r.ServerSide, Conflicts: r.Conflicts, ForceReplace: r.ForceReplace,
		ForeignReason: func(it plan.Item) string { return foreign[identityOf(it.Ref)] },
	}
	p, err := plan.Compute(items, o)
	if err == nil {
		p, err = c.scaled(ctx, p, items, o)
	}
	if err != nil {
		return nil, c.invalidOr(ctx, items, r, err)
	}
	c.outlive(p, going)
	invalid := c.validating(ctx, p, r)
	err = permissions.check(ctx, s.needed(p, r.Permissions))
	if invalid := invalid(); invalid != nil && (err != nil || !r.ServerDryRun) {
		return nil, invalid
	}
	var missing *PermissionError
	if (r.ServerDryRun || r.ReportConflicts) && errors.As(err, &missing) {
		// Whoever may only look still learns what would become of the objects.
		c.api.Progress().Send(progress.Event{Kind: progress.Warning,
			Text: "you could not do this, and the server was not asked what it would come to: " + missing.List()})
		return p, nil
	}
	if err == nil && r.ServerDryRun {
		err = errors.Join(invalid(), c.predict(ctx, p, r))
	} else if err == nil {
		err = c.contested(ctx, p, r)
	}
	if err != nil {
		return nil, err
	}
	return p, nil
}

// part is what one object has to do with a change.
type part struct {
	*api.Target // the new object, or the newest old one of those that shall go
	wanted      bool
	// old are the object's forms of before, oldest first; deployed reports that
	// the first revision has it.
	old      []*api.Target
	deployed bool
	live     map[string]any
	// hook is the hook of the release that makes the same object, nil for none.
	hook *api.Target
}

// byHook reports whether the object that is there was made by a hook of the owner
// that makes the same object.
func (p *part) byHook(owner kube.Owner) bool {
	return p.hook != nil && api.MetadataOf(p.live).MadeByHook(owner)
}

// stock is all that takes part in a change: what shall be, in the order given,
// then what shall go.
type stock struct {
	parts []*part
	index map[identity]*part
}

// identity is what makes two objects the same, whatever their version.
type identity struct{ group, kind, namespace, name string }

func identityOf(r plan.Ref) identity {
	return identity{kube.GroupOf(r.APIVersion), r.Kind, r.Namespace, r.Name}
}

// stock gathers the objects of a request.
func (c *Applier) stock(ctx context.Context, r Request) (*stock, error) {
	targets, err := c.api.Targets(ctx, r.New, r.Owner.Namespace)
	if err != nil {
		return nil, err
	}
	s := &stock{index: map[identity]*part{}}
	twice := &DuplicateObjectError{}
	for _, t := range targets {
		p := &part{Target: t, wanted: true}
		s.parts = append(s.parts, p)
		if t.Name == "" {
			continue
		}
		if first := s.index[identityOf(t.Ref())]; first != nil {
			twice.Objects = append(twice.Objects, DuplicateObject{t.String(), first.Source, t.Source})
			continue
		}
		s.index[identityOf(t.Ref())] = p
	}
	if len(twice.Objects) > 0 {
		return nil, twice
	}
	var gone []*api.Target
	for i, objects := range r.Old {
		missing, err := c.before(ctx, s, objects, i, r.Owner.Namespace)
		if err != nil {
			return nil, err
		}
		gone = append(gone, missing...)
	}
	if err := c.pendingDeletions(ctx, s, r.PendingDeletions, r.Owner.Namespace); err != nil {
		return nil, err
	}
	if err := c.hooks(ctx, s, r.Hooks, r.Owner.Namespace); err != nil {
		return nil, err
	}
	if gone = s.rename(gone, r.Owner.Namespace); len(gone) > 0 {
		c.api.ReportGone(api.NoMatch(gone))
	}
	s.sort()
	return s, nil
}

// before adds the objects of an old revision, and returns those of kinds that
// are not served any more.
func (c *Applier) before(ctx context.Context, s *stock, objects []*manifest.Object, revision int,
	namespace string) ([]*api.Target, error) {
	all, err := api.Unplaced(objects)
	if err != nil {
		return nil, err
	}
	// What has no name that the API would take was never there.
	all = api.Filter(all, func(t *api.Target) bool { return t.CheckName() == nil })
	placed, missing, err := c.api.Place(ctx, all, namespace)
	if err != nil {
		return nil, err
	}
	others, missing := c.api.Elsewhere(missing, namespace)
	for _, t := range append(placed, others...) {
		if t.Name == "" {
			s.generated(t)
			continue
		}
		p := s.index[identityOf(t.Ref())]
		if p == nil {
			p = &part{Target: t}
			s.parts, s.index[identityOf(t.Ref())] = append(s.parts, p), p
		}
		if !p.wanted {
			p.Target = t
		}
		p.old = append(p.old, t)
		p.deployed = p.deployed || revision == 0
	}
	return missing, nil
}

// generated strikes out a new object that the server is to name where an old
// revision has made the very same: each upgrade would make one more.
func (s *stock) generated(old *api.Target) {
	s.parts = slices.DeleteFunc(s.parts, func(p *part) bool {
		return p.wanted && p.Name == "" && p.Kind == old.Kind && p.Namespace == old.Namespace &&
			reflect.DeepEqual(p.Object, old.Object)
	})
}

func (c *Applier) pendingDeletions(ctx context.Context, s *stock, pending []release.PendingDeletion,
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
	placed, _, err := c.api.Place(ctx, all, namespace)
	for _, t := range placed {
		if id := identityOf(t.Ref()); s.index[id] == nil {
			p := &part{Target: t}
			s.parts, s.index[id] = append(s.parts, p), p
		}
	}
	return err
}

// hooks notes which new objects are objects of hooks as well.
func (c *Applier) hooks(ctx context.Context, s *stock, hooks []*manifest.Object, namespace string) error {
	all, err := api.Unplaced(hooks)
	if err != nil {
		return err
	}
	named := map[string]bool{}
	for _, p := range s.parts {
		named[p.Short()] = named[p.Short()] || p.wanted
	}
	all = api.Filter(all, func(t *api.Target) bool { return t.Name != "" && named[t.Short()] && t.CheckName() == nil })
	placed, _, err := c.api.Place(ctx, all, namespace)
	for _, t := range placed {
		if p := s.index[identityOf(t.Ref())]; p != nil && p.wanted {
			p.hook = t
		}
	}
	return err
}

// rename finds for old objects of kinds that are not served any more the one
// new object that is the same under another version or group; it returns those
// that have none.
func (s *stock) rename(gone []*api.Target, namespace string) []*api.Target {
	return api.Filter(gone, func(t *api.Target) bool {
		var same []*part
		for _, p := range s.parts {
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

// sort puts what shall go into the order of its deletion.
func (s *stock) sort() {
	cut := slices.IndexFunc(s.parts, func(p *part) bool { return !p.wanted })
	if cut < 0 {
		return
	}
	parts := map[*manifest.Object]*part{}
	var order []*manifest.Object
	for _, p := range s.parts[cut:] {
		o := &manifest.Object{APIVersion: p.Key().APIVersion, Kind: p.Kind, Name: p.Name, Namespace: p.Namespace}
		order, parts[o] = append(order, o), p
	}
	manifest.SortUninstall(order)
	for i, o := range order {
		s.parts[cut+i] = parts[o]
	}
}

// survey reads what is there: all of those that a revision had, and of those
// that are new first whether there is anything at all.
func (c *Applier) survey(ctx context.Context, s *stock, managers bool) error {
	byTarget := make(map[*api.Target]*part, len(s.parts))
	var known, fresh []*api.Target
	for _, p := range s.parts {
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
	s.unite()
	if managers {
		c.completeAll(ctx, s)
	}
	return nil
}

// completeAll completes the managers of all objects that are to be applied.
func (c *Applier) completeAll(ctx context.Context, s *stock) {
	var group errgroup.Group
	group.SetLimit(kube.Parallel)
	for _, p := range s.parts {
		if p.wanted && p.live != nil {
			group.Go(func() error {
				c.completeManagers(ctx, p.Target, p.live)
				return nil
			})
		}
	}
	_ = group.Wait() // nothing fails
}

// unite finds what shall go and is, under another group, an object that shall
// be: it is what that one was before.
func (s *stock) unite() {
	wanted := map[string]*part{}
	for _, p := range s.parts {
		if uid := api.String(p.live, "metadata", "uid"); p.wanted && uid != "" {
			wanted[uid] = p
		}
	}
	s.parts = slices.DeleteFunc(s.parts, func(p *part) bool {
		to := wanted[api.String(p.live, "metadata", "uid")]
		if p.wanted || p.live == nil || to == nil {
			return false
		}
		to.old = append(slices.Clone(p.old), to.old...)
		to.deployed = to.deployed || p.deployed
		return true
	})
}

// conflicts refuses objects that exist and are not the owner's.
func (s *stock) conflicts(r Request) error {
	if r.TakeOwnership {
		return nil
	}
	e := &ConflictError{Owner: r.Owner}
	for _, p := range s.parts {
		if !p.wanted || p.live == nil || p.byHook(r.Owner) {
			continue
		}
		if m := api.MetadataOf(p.live); !p.deployed || m.OfAnother(r.Owner) {
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

// foreign tells of those that shall go why they are not the owner's to delete:
// only marks on the object itself tell, for a record may name anything.
func (s *stock) foreign(owner kube.Owner) map[identity]string {
	out := map[identity]string{}
	for _, p := range s.parts {
		if p.wanted || p.live == nil {
			continue
		}
		m := api.MetadataOf(p.live)
		out[identityOf(p.Ref())] = m.Foreign(owner)
		if m.MadeByHook(owner) {
			out[identityOf(p.Ref())] = "it is a hook of the release now"
		}
	}
	return out
}

// items are the parts as package plan wants them; going are the live objects of
// those that are being deleted.
func (s *stock) items(owner kube.Owner) (items []plan.Item, going map[identity]map[string]any) {
	items, going = make([]plan.Item, len(s.parts)), map[identity]map[string]any{}
	for i, p := range s.parts {
		it := plan.Item{Ref: p.Ref(), Source: p.Source, Live: p.live}
		if p.wanted {
			it.New, it.Object = p.Marked(owner), p.From
		}
		for _, t := range p.old {
			if p.wanted && reflect.DeepEqual(t.Object, p.Object) {
				it.Old = append(it.Old, it.New) // one map for both: most objects of an upgrade
				continue
			}
			old := t.Moved(p.Namespace).Marked(owner)
			old["apiVersion"] = it.APIVersion // live is read in this one
			it.Old = append(it.Old, old)
		}
		if p.byHook(owner) {
			it.Old = append(it.Old, p.lastOfHook(owner))
		}
		if p.wanted && api.String(p.live, "metadata", "deletionTimestamp") != "" {
			going[identityOf(p.Ref())] = p.live
			if !precious(it) {
				it.Live = nil
			}
		}
		items[i] = it
	}
	return items, going
}

// lastOfHook is the object as a hook of the owner has made it.
func (p *part) lastOfHook(owner kube.Owner) map[string]any {
	object := p.hook.Moved(p.Namespace).Marked(owner)
	object["apiVersion"] = p.Resource.APIVersion
	meta := object["metadata"].(map[string]any)
	meta["annotations"] = api.WithPairs(meta["annotations"], release.HookOfAnnotation,
		api.String(p.live, "metadata", "annotations", release.HookOfAnnotation))
	return object
}

// outlive has objects that are being deleted, and shall be there, created once
// they are gone. What holds data may be kept from going by who uses it, and
// no one waits for that.
func (c *Applier) outlive(p *plan.Plan, going map[identity]map[string]any) {
	for i := range p.Steps {
		s := &p.Steps[i]
		live := going[identityOf(s.Ref)]
		if live == nil || s.New == nil {
			continue
		}
		if precious(s.Item) {
			c.api.Progress().Send(progress.Event{Kind: progress.Warning, Text: s.String() +
				" is being deleted, and will be gone once nothing uses it any more"})
			continue
		}
		s.Action, s.Reason, s.Live = plan.Replace, "it is being deleted", live
	}
}

// permissions are those for verb on each object, and the ones given.
func (s *stock) permissions(verb string, also []Permission) []Permission {
	out := slices.Clone(also)
	for _, p := range s.parts {
		out = append(out, permissionFor(verb, p.Target))
	}
	return out
}

// needed are the permissions that a plan takes to execute.
func (s *stock) needed(p *plan.Plan, also []Permission) []Permission {
	places := make(map[identity]*api.Target, len(s.parts))
	for _, q := range s.parts {
		places[identityOf(q.Ref())] = q.Target
	}
	out := slices.Clone(also)
	for _, step := range p.Steps {
		t := places[identityOf(step.Ref)]
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

// A DuplicateObject is one object that two templates make.
type DuplicateObject struct{ Object, First, Second string }

// A DuplicateObjectError is returned for objects that a release has twice.
type DuplicateObjectError struct{ Objects []DuplicateObject }

func (e *DuplicateObjectError) Error() string {
	lines := make([]string, len(e.Objects))
	for i, o := range e.Objects {
		lines[i] = fmt.Sprintf("%s is made twice, by %s and by %s: one release can have an object once", o.Object, o.First,
			o.Second)
		if o.First == o.Second {
			lines[i] = fmt.Sprintf("%s is made twice by %s: one release can have an object once", o.Object, o.First)
		}
	}
	return strings.Join(lines, "\n")
}
