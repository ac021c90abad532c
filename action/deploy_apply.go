// SPDX-License-Identifier: Apache-2.0

package action

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/kube/apply"
	"github.com/moonhelm/moonhelm/kube/wait"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/plan"
	"github.com/moonhelm/moonhelm/progress"
	"github.com/moonhelm/moonhelm/release"
)

// Deployer is the cluster access that applying a revision needs.
type Deployer interface {
	Changer
	Waiter
	Deleter
}

// makePlan sets the objects of the release, with List objects flattened to their items, the
// apply method, the batches and the plan. It validates, warns, and writes nothing.
func (d *deployment) makePlan(ctx context.Context, objects []*manifest.Object) error {
	var err error
	if d.objects, err = manifest.Flatten(objects); err != nil {
		return err
	}
	d.release.ApplyMethod = release.ApplyClientSide
	if d.applyOptions.serverSide(d.history.applyMethod()) {
		d.release.ApplyMethod = release.ApplyServerSide
	}
	if err := d.applyOptions.validate(d.history.applyMethod()); err != nil {
		return err
	}
	if d.config.Cluster == nil || d.preview.Recorded {
		return nil
	}
	if text := d.applyOptions.ineffectiveConflicts(d.history.applyMethod()); text != "" {
		d.config.warn(text)
	}
	if err := d.checkTimeouts(); err != nil {
		return err
	}
	if d.batches, err = splitBatches(d.release, d.objects, d.config.Progress); err != nil {
		return err
	}
	known := withoutUpcoming(d.objects, d.crds.upcoming)
	d.partial = len(known) < len(d.objects)
	if err := d.computePlan(ctx, known, false); err != nil || !d.partial {
		return err
	}
	return d.planUpcoming(known)
}

// checkTimeouts returns an error if the request has a timeout for a name that no object has.
func (d *deployment) checkTimeouts() error {
	if len(d.wait.Timeouts) == 0 {
		return nil
	}
	hooks, err := hookObjects(d.release)
	if err != nil {
		return err
	}
	return checkTimeouts(d.wait.Timeouts, slices.Concat(d.objects, hooks))
}

// computePlan sets the plan for objects of known kinds, and the pending deletions of the
// release. validated skips the validation of the objects, which an earlier plan has done.
func (d *deployment) computePlan(ctx context.Context, known []*manifest.Object, validated bool) error {
	old, err := d.history.objects()
	if err != nil {
		return err
	}
	old, pending := d.withoutDefinitions(old)
	hooks, err := hookObjects(d.release)
	if err != nil {
		return err
	}
	events := d.hookEvents()
	toRun, err := objectsOf(d.release, d.hooksToRun(events...))
	if err != nil {
		return err
	}
	req := apply.Request{
		Owner:            d.owner(),
		New:              manifest.ApplyOrder(known),
		Hooks:            hooks,
		Running:          toRun,
		HooksFirst:       len(d.hooksToRun(events[0])) > 0, // before the objects
		Definitions:      d.crds.planned,
		Validated:        validated,
		Old:              old,
		PendingDeletions: pending,
		Adopted:          d.moves.Adopted,
		Protected:        d.protectedDefinitions(),
		Blocked:          d.moves.Blocked(known),
		TakeOwnership:    d.applyOptions.TakeOwnership,
		ServerSide:       d.release.ApplyMethod == release.ApplyServerSide,
		Conflicts:        d.applyOptions.Conflicts,
		ReportConflicts:  d.applyOptions.ReportConflicts,
		ForceReplace:     d.applyOptions.ForceReplace,
		ServerDryRun:     d.serverDryRun,
		Permissions:      d.recordPermissions(),
	}
	d.restore.prepare(&req)
	if d.plan, err = d.config.Cluster.Plan(ctx, req); err != nil {
		return d.asStale(ctx, req, err)
	}
	d.plan.Exact = d.held != nil
	d.markMoved()
	d.release.PendingDeletions = nil
	for _, s := range d.plan.Steps {
		if s.Action == plan.Delete {
			d.release.PendingDeletions = append(d.release.PendingDeletions, release.PendingDeletion(s.Ref))
		}
	}
	return nil
}

// restoring is the part of a plan that undoes drift.
type restoring struct {
	drift   plan.DriftOptions
	inPlace bool // records nothing
}

// prepare makes r the request for a plan that undoes drift, unless s is nil.
func (s *restoring) prepare(r *apply.Request) {
	if s == nil {
		return
	}
	// The objects were validated when they were installed. Those of interrupted repairs are the same.
	r.Restore, r.Validated, r.Old = &s.drift, true, r.Old[:1]
	if s.inPlace {
		r.Permissions = nil
	}
}

// recordPermissions returns the permissions that writing the release's records needs.
func (d *deployment) recordPermissions() []apply.Permission {
	verbs := []string{"create", "update"}
	if d.maxHistory > 0 && len(d.history.revisions) >= d.maxHistory {
		verbs = append(verbs, "delete")
	}
	return recordPermissions(d.config.Releases, d.release.Namespace, verbs...)
}

func (d *deployment) owner() kube.Owner {
	return kube.Owner{Release: d.release.Name, Namespace: d.release.Namespace}
}

// apply writes the objects, and deletes those that the release does not contain any more.
func (d *deployment) apply(ctx context.Context) error {
	replaced, err := d.hooksMayReplace()
	if err != nil {
		return err
	}
	if d.partial || replaced {
		// Since the first plan, CRDs may have been installed, and hooks may have
		// replaced objects.
		if err := runSteps(ctx,
			func(ctx context.Context) error { return d.computePlan(ctx, d.objects, true) }, d.recheckHeld); err != nil {
			return err
		}
	}
	return runSteps(ctx, d.writeObjects, d.awaitMoved, d.removeObjects)
}

// waitStep returns the step that waits for all objects, or nil if the request does not wait.
func (d *deployment) waitStep() step {
	if !d.wait.Wait {
		return nil
	}
	return func(ctx context.Context) error { return d.await(ctx, d.objects, d.wait.Timeout) }
}

// hooksMayReplace reports whether a hook has the kind and name of an object of the plan.
func (d *deployment) hooksMayReplace() (bool, error) {
	hooks, err := hookObjects(d.release)
	if err != nil || len(hooks) == 0 {
		return false, err
	}
	names := make(map[string]bool, len(hooks))
	for _, o := range hooks {
		names[o.String()] = o.Name != "" // a generateName is a new name each time
	}
	return slices.ContainsFunc(d.plan.Steps, func(s plan.Step) bool { return names[s.String()] }), nil
}

// writeObjects executes the steps that create, update and replace objects, in the batches
// that the charts ask for. It waits for each batch but the last.
func (d *deployment) writeObjects(ctx context.Context) error {
	batches := d.batches
	if len(batches) == 0 {
		batches = [][]*manifest.Object{d.objects}
	}
	steps := map[*manifest.Object][]plan.Step{}
	for _, s := range d.plan.Steps {
		if s.Object != nil {
			steps[s.Object] = append(steps[s.Object], s)
		}
	}
	d.config.Progress.Send(progress.Event{Kind: progress.Step, Text: summary(d.plan)})
	if d.restore == nil { // the drift itself says whose fields are taken back
		d.reportConflicts()
	}
	for i, batch := range batches {
		var due []plan.Step
		for _, o := range manifest.ApplyOrder(batch) {
			due = append(due, steps[o]...)
		}
		if err := d.deleteMoved(ctx, batch); err != nil {
			return err
		}
		if err := d.config.Cluster.Execute(ctx, d.plan, due); err != nil {
			return err
		}
		if len(batches) > 1 {
			d.batch = batchName(i+1, len(batches), batch)
		}
		if i == len(batches)-1 {
			break
		}
		d.config.Progress.Send(progress.Event{Kind: progress.Step,
			Text: fmt.Sprintf("waiting for %s to become ready", d.batch)})
		d.unwritten = len(batches) - 1 - i
		if err := d.await(ctx, batch, cmp.Or(d.wait.ReadinessTimeout, d.wait.Timeout)); err != nil {
			return err
		}
		d.unwritten = 0
	}
	return nil
}

// reportConflicts reports the fields in conflict with other field managers: as a warning,
// unless an annotation of the object selects the outcome.
func (d *deployment) reportConflicts() {
	for _, s := range d.plan.Steps {
		for _, c := range s.Conflicts {
			kind := progress.Warning
			if c.Annotated {
				kind = progress.Step
			}
			d.config.Progress.Send(progress.Event{Kind: kind, Text: s.String() + ": " + c.Sentence() + ": " + c.Outcome()})
		}
	}
}

// summary returns what a plan changes, in a line: "objects: 2 to create, 1 unchanged".
func summary(p *plan.Plan) string {
	count := map[plan.Action]int{}
	for _, s := range p.Steps {
		count[s.Action]++
	}
	var parts []string
	for _, kind := range []struct {
		action plan.Action
		label  string
	}{
		{plan.Create, "to create"}, {plan.Update, "to update"}, {plan.Replace, "to replace"},
		{plan.Delete, "to delete"}, {plan.Keep, "kept"}, {plan.Unchanged, "unchanged"},
	} {
		if n := count[kind.action]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, kind.label))
		}
	}
	if len(parts) == 0 {
		return "no objects"
	}
	return "objects: " + strings.Join(parts, ", ")
}

func (d *deployment) await(ctx context.Context, objects []*manifest.Object, timeout time.Duration) error {
	r, timeout := d.watch.request(wait.Request{
		Objects: objects, Namespace: d.release.Namespace, Jobs: d.wait.Jobs, Legacy: d.wait.Legacy, Grace: d.wait.grace(),
	}, timeoutOrDefault(timeout), false)
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return d.config.Cluster.Await(ctx, r)
}

// splitBatches splits objects into the batches that the charts of a release ask for. It
// reports warnings about the order.
func splitBatches(rel *release.Release, objects []*manifest.Object, report progress.Func) ([][]*manifest.Object,
	error) {
	var order *plan.Order
	if rel.Order != nil {
		order = &plan.Order{}
		if err := json.Unmarshal(rel.Order, order); err != nil {
			return nil, fmt.Errorf("read the order of objects of release %s: %w", rel.Name, err)
		}
	}
	batches, warnings, err := order.Batches(objects)
	for _, w := range warnings {
		report.Send(progress.Event{Kind: progress.Warning, Text: w})
	}
	return batches, err
}

// removeCreated deletes the objects that a failed deployment was to create. The cluster
// deletes only those that exist and have the release's ownership labels.
func (d *deployment) removeCreated(ctx context.Context) error {
	if d.plan == nil {
		return nil
	}
	var created []*manifest.Object
	for _, s := range d.plan.Steps {
		if s.Action == plan.Create && s.Object != nil {
			created = append(created, s.Object)
		}
	}
	if len(created) == 0 {
		return nil
	}
	d.config.Progress.Send(progress.Event{Kind: progress.Step,
		Text: "the deployment failed: deleting the objects that it has created"})
	manifest.SortUninstall(created)
	ctx, cancel := context.WithTimeout(d.undoContext(ctx), timeoutOrDefault(d.wait.Timeout))
	defer cancel()
	return d.config.Cluster.Delete(ctx, created, d.owner(), apply.Background)
}
