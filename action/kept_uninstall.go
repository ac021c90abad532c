// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"strings"

	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/kube/apply"
	"github.com/moonhelm/moonhelm/kube/wait"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/plan"
	"github.com/moonhelm/moonhelm/planfile"
	"github.com/moonhelm/moonhelm/release"
)

// Change returns what Run would do with each object, and as [Change.Kept] a plan that [Apply] can
// apply later. It reads the objects and writes nothing. Errors are those of [Uninstall.Plan] and of
// reading the cluster.
func (u Uninstall) Change(ctx context.Context, req UninstallRequest) (*Change, error) {
	return u.operation(req).change(ctx)
}

func (w *uninstallOperation) change(ctx context.Context) (*Change, error) {
	if err := w.require("uninstall"); err != nil {
		return nil, err
	}
	if err := w.makePlan(ctx); err != nil {
		return nil, err
	}
	doc, err := w.document(ctx)
	if err != nil {
		return nil, err
	}
	rel := w.out.Release
	to := &release.Release{Name: rel.Name, Namespace: rel.Namespace, Revision: rel.Revision, Hooks: rel.Hooks}
	change, err := newChange(rel, to, w.steps, nil)
	if err != nil {
		return nil, err
	}
	change.Kept = doc
	return change, nil
}

// planHeld compares a plan with what the uninstall would do now, unless it is planned again.
func (u Uninstall) planHeld(ctx context.Context, doc *planfile.Document, rebase bool) (*Change, error) {
	w := u.operation(uninstallRequest(doc))
	change, err := w.change(ctx)
	if err != nil || rebase {
		return change, err
	}
	return change, newStaleError(doc, doc.Differences(change.Kept))
}

// runHeld uninstalls a release exactly as the plan says.
func (u Uninstall) runHeld(ctx context.Context, doc *planfile.Document, watch *wait.Watch) (*Uninstalled, error) {
	req := uninstallRequest(doc)
	req.Watch = watch
	w := u.operation(req)
	w.held = doc
	return w.lockAndRun(ctx)
}

func uninstallRequest(doc *planfile.Document) UninstallRequest {
	o := doc.Options
	return UninstallRequest{
		Name: doc.Release.Name, KeepHistory: o.KeepHistory, Description: o.Description, Cascade: apply.Cascade(o.Cascade),
		Wait: o.Wait, Timeout: o.Timeout, Timeouts: o.Timeouts, GiveUpAfter: o.GiveUpAfter, NoHooks: o.NoHooks,
		TakeOwnership: o.TakeOwnership,
	}
}

// checkHeld returns a [*StaleError] if the uninstall would do something else than the plan to hold
// to.
func (w *uninstallOperation) checkHeld(ctx context.Context) error {
	if w.held == nil {
		return nil
	}
	now, err := w.document(ctx)
	if err != nil {
		return err
	}
	w.steps.Exact = true
	return newStaleError(w.held, w.held.Differences(now))
}

// document sets the steps of the uninstall, and returns its plan.
func (w *uninstallOperation) document(ctx context.Context) (*planfile.Document, error) {
	rel := w.out.Release
	doc := newDocument(w.Config, planfile.Uninstall, rel, w.history)
	doc.Release.Target, doc.Options = 0, uninstallOptions(w.req)
	w.steps = &plan.Plan{}
	if rel.Info.Status == release.Uninstalled { // only its history is left
		return doc, nil
	}
	if err := w.planSteps(ctx); err != nil {
		return nil, err
	}
	digest := planfile.NewDigester(doc.Release)
	for _, s := range w.steps.Steps {
		doc.Objects = append(doc.Objects, planfile.NewObject(s, digest.Secret))
	}
	if w.req.NoHooks {
		return doc, nil
	}
	events := []release.HookEvent{release.PreDelete, release.PostDelete}
	var err error
	doc.Hooks, err = keptHooks(rel, hooksAt(rel, events...), events)
	return doc, err
}

// planSteps sets the steps: the objects that exist are deleted if they belong to the release, and
// those with the policy in the manifest are kept.
func (w *uninstallOperation) planSteps(ctx context.Context) error {
	rel := w.out.Release
	owner := kube.Owner{Release: rel.Name, Namespace: rel.Namespace}
	var err error
	w.steps, err = w.Cluster.Plan(ctx, apply.Request{
		Owner: owner, Old: [][]*manifest.Object{w.out.Deleted}, ReportConflicts: w.held == nil,
	})
	if err != nil {
		return err
	}
	w.steps.Cascade = string(w.req.Cascade)
	for i := range w.steps.Steps {
		// The annotation of the live object keeps an object that a chart drops; only that of the
		// manifest keeps one of a release that is uninstalled.
		s := &w.steps.Steps[i]
		live := liveObject{object: s.Live}
		if s.Action == plan.Keep && strings.HasPrefix(s.Reason, release.PolicyAnnotation) && live.isOwnedBy(owner) {
			s.Action, s.Reason, s.After = plan.Delete, "", nil
		}
	}
	for _, o := range w.out.Kept {
		w.steps.Steps = append(w.steps.Steps, plan.Step{
			Item:   plan.Item{Ref: refOf(o, rel.Namespace), Source: o.Source, Former: o},
			Action: plan.Keep, Reason: release.PolicyAnnotation + ": keep",
		})
	}
	return nil
}

// deleteBatch deletes objects: with a plan to hold to exactly those of its steps, by their UIDs.
func (w *uninstallOperation) deleteBatch(ctx context.Context, batch []*manifest.Object, owner kube.Owner,
	cascade apply.Cascade) error {
	if w.held == nil {
		return w.Cluster.Delete(ctx, batch, owner, cascade)
	}
	steps := map[plan.Ref]plan.Step{}
	for _, s := range w.steps.Steps {
		steps[s.Identity()] = s
	}
	var due []plan.Step
	for _, o := range batch {
		ref := refOf(o, owner.Namespace).Identity()
		s, ok := steps[ref]
		if !ok {
			ref.Namespace = "" // cluster-scoped, whatever namespace its manifest names
			s, ok = steps[ref]
		}
		if ok {
			due = append(due, s)
		}
	}
	return w.Cluster.Execute(ctx, w.steps, due)
}
