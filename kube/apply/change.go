// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"errors"
	"slices"

	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/kube/internal/api"
	"github.com/moonhelm/moonhelm/kube/wait"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/plan"
	"github.com/moonhelm/moonhelm/progress"
	"github.com/moonhelm/moonhelm/release"
)

// Request describes the desired objects of a release and those that may exist.
type Request struct {
	Owner kube.Owner
	// New lists the desired objects, in apply order.
	New []*manifest.Object
	// Old lists the objects of the revisions that may have been applied, oldest revision first:
	// the deployed one, then the failed ones.
	Old [][]*manifest.Object
	// PendingDeletions lists further objects that may exist. They are deleted unless they are
	// in New.
	PendingDeletions []release.PendingDeletion
	// Hooks lists the objects of the release's hooks. If an object of New was created by a
	// hook, it belongs to the owner, and the hook's manifest is its previous state.
	Hooks []*manifest.Object

	// Adopted lists those of New that are taken over if they exist and belong to no release.
	Adopted []*manifest.Object
	// Protected lists the CRDs of New that are updated only if the update loses no objects and none of
	// their fields, as with [Applier.PlanCRDs].
	Protected []*manifest.Object
	// Blocked lists those of New that can be created only once other objects are deleted: the
	// server is not asked whether it accepts them.
	Blocked []*manifest.Object

	// TakeOwnership adopts existing objects that do not belong to the owner.
	TakeOwnership bool
	// ServerSide uses server-side apply. Conflicts is the resolution of conflicts with other
	// field managers; "" is an error.
	ServerSide bool
	Conflicts  plan.Resolution
	// ReportConflicts makes Plan succeed despite unresolved conflicts, which are in the plan,
	// and missing permissions, which are reported as a warning.
	ReportConflicts bool
	// ForceReplace replaces live objects by PUT instead of merging, and deletes and recreates
	// those that cannot be updated, as the annotation helm.sh/replace does for one object.
	ForceReplace bool
	// ServerDryRun sends a dry run of each change, whose result becomes part of the plan.
	ServerDryRun bool
	// Running lists those of Hooks that the operation runs. HooksFirst is set if some of them
	// run before New is written.
	Running    []*manifest.Object
	HooksFirst bool
	// Definitions lists the CRDs that the caller writes before all other objects.
	Definitions []*manifest.Object
	// Restore, if not nil, makes the plan undo drift, and change nothing else: New must be the
	// objects of the only revision in Old. Conflicts is not used.
	Restore *plan.DriftOptions
	// Validated is set if the objects were already validated against their schemas.
	Validated bool
	// Permissions lists permissions that the operation needs in addition to those for the
	// objects.
	Permissions []Permission
}

// Plan reads the cluster and returns the plan that makes the objects of a release as r
// describes them. It writes nothing. Its errors are a [*kube.NoMatchError], [*ConflictError],
// [*PermissionError], [*ValidationError] or [*DuplicateObjectError], each of which lists all
// objects concerned; with r.ServerDryRun also the errors of the dry run. With r.ServerDryRun or
// r.ReportConflicts, missing permissions are a warning instead of an error.
func (c *Applier) Plan(ctx context.Context, r Request) (*plan.Plan, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	all := slices.Concat(r.New, r.Hooks)
	if err := errors.Join(wait.CheckReadiness(all), wait.CheckTimeouts(all)); err != nil {
		return nil, err
	}
	s, err := c.newInventory(ctx, r)
	if err != nil {
		return nil, err
	}
	if len(s.items) == 0 && len(r.Permissions) == 0 && len(r.Running) == 0 {
		return &plan.Plan{ServerSide: r.ServerSide, Conflicts: r.Conflicts, ForceReplace: r.ForceReplace}, nil
	}
	permissions := c.newReview(ctx, s.permissions("", r.Permissions))
	if err := c.readLive(ctx, s, r.ServerSide || r.Restore != nil); err != nil {
		return nil, err
	}
	if err := s.checkOwnership(r); err != nil {
		return nil, err
	}
	foreign := s.foreignReasons(r.Owner)
	items, terminating := s.planItems(r.Owner)
	o := plan.Options{
		ServerSide: r.ServerSide, Conflicts: r.Conflicts, ForceReplace: r.ForceReplace,
		ForeignReason: func(it plan.Item) string { return foreign[it.Ref.Identity()] },
	}
	p, err := c.compute(ctx, items, r.Restore, o)
	if err != nil {
		return nil, c.withValidation(ctx, items, r, err)
	}
	c.replaceTerminating(p, terminating)
	if err := c.checkTemplates(ctx, r.Protected, p.Steps); err != nil {
		return nil, err
	}
	invalid := c.startValidation(ctx, p, r)
	err = permissions.check(ctx, s.neededPermissions(p, r.Permissions))
	if invalid := invalid(); invalid != nil && (err != nil || !r.ServerDryRun) {
		return nil, invalid
	}
	var missing *PermissionError
	if (r.ServerDryRun || r.ReportConflicts) && errors.As(err, &missing) {
		// A user with read permissions only still gets the plan that was computed locally.
		c.api.Progress().Send(progress.Event{Kind: progress.Warning,
			Text: "you lack permissions for these changes, so the server-side dry run was skipped: " + missing.List()})
		return p, nil
	}
	if err == nil && r.ServerDryRun {
		invalid := invalid()
		err = errors.Join(invalid, c.dryRun(ctx, p, r, invalid))
	} else if err == nil {
		err = c.dryRunConflicts(ctx, p, r)
	}
	if err != nil {
		return nil, err
	}
	return p, nil
}

// compute returns the plan for items: that which undoes their drift if restore is not nil.
func (c *Applier) compute(ctx context.Context, items []plan.Item, restore *plan.DriftOptions,
	o plan.Options) (*plan.Plan, error) {
	if restore != nil {
		return c.restore(ctx, items, *restore, o)
	}
	p, err := plan.Compute(items, o)
	if err != nil {
		return nil, err
	}
	return c.considerAutoscalers(ctx, p, items, o)
}

// Labeled returns an object as it is sent to the server: in namespace, or "" if it is
// cluster-scoped, with the ownership labels of owner, and without annotations that are
// instructions to Moonhelm and not valid in Kubernetes. It returns nil for an empty document.
func Labeled(o *manifest.Object, namespace string, owner kube.Owner) (map[string]any, error) {
	object, err := o.Map()
	if err != nil || object == nil {
		return nil, err
	}
	t := api.NewTarget(o.Source, object)
	t.Namespace = namespace
	return t.Labeled(owner), nil
}

// replaceTerminating makes the plan recreate desired objects that are being deleted, after
// their deletion. It does not for objects that hold data, whose deletion may wait for their
// users indefinitely; it sends a warning instead.
func (c *Applier) replaceTerminating(p *plan.Plan, terminating map[plan.Ref]map[string]any) {
	for i := range p.Steps {
		s := &p.Steps[i]
		live := terminating[s.Ref.Identity()]
		if live == nil || s.New == nil {
			continue
		}
		if isPrecious(s.Item) {
			c.api.Progress().Send(progress.Event{Kind: progress.Warning, Text: s.String() +
				" is being deleted, which completes when nothing uses it any more"})
			continue
		}
		s.Action, s.Reason, s.Live = plan.Replace, "it is being deleted", live
	}
}
