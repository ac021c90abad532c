// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/kube/apply"
	"github.com/moonhelm/moonhelm/kube/wait"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/plan"
	"github.com/moonhelm/moonhelm/progress"
	"github.com/moonhelm/moonhelm/release"
)

// Deployer is what writing a revision's objects needs of a cluster.
type Deployer interface {
	Changer
	Waiter
	Deleter
}

// makePlan plans the change to objects, which are those of the release from now on: the
// items of lists each by itself. It writes nothing.
func (d *deployment) makePlan(ctx context.Context, objects []*manifest.Object) error {
	var err error
	if d.objects, err = manifest.Flatten(objects); err != nil {
		return err
	}
	d.release.ApplyMethod = release.ApplyClientSide
	if d.write.serverSide(d.history.method()) {
		d.release.ApplyMethod = release.ApplyServerSide
	}
	if err := d.write.validate(d.history.method()); err != nil {
		return err
	}
	if d.config.Cluster == nil || d.preview.Recorded {
		return nil
	}
	if text := d.write.unheeded(d.history.method()); text != "" {
		d.config.warn(text)
	}
	if d.batches, err = ordered(d.release, d.objects, d.config.Progress); err != nil {
		return err
	}
	known := without(d.objects, d.crds.coming)
	d.partial = len(known) < len(d.objects)
	if err := d.compute(ctx, known, false); err != nil || !d.partial {
		return err
	}
	return d.planUndefined(known)
}

// compute plans the change to objects of known kinds. checked is set where they
// were checked before.
func (d *deployment) compute(ctx context.Context, known []*manifest.Object, checked bool) error {
	old, err := d.history.objects()
	if err != nil {
		return err
	}
	hooks, err := hookObjects(d.release)
	if err != nil {
		return err
	}
	running, err := objectsOf(d.release, d.running(d.hookEvents()...))
	if err != nil {
		return err
	}
	d.plan, err = d.config.Cluster.Plan(ctx, apply.Request{
		Owner:            d.owner(),
		New:              manifest.ApplyOrder(known),
		Hooks:            hooks,
		Running:          running,
		HooksFirst:       len(d.running(d.hookEvents()[:1]...)) > 0,
		Definitions:      d.crds.written(),
		Checked:          checked,
		Old:              old,
		PendingDeletions: d.history.pendingDeletions(),
		TakeOwnership:    d.write.TakeOwnership,
		ServerSide:       d.release.ApplyMethod == release.ApplyServerSide,
		Conflicts:        d.write.Conflicts,
		ReportConflicts:  d.write.ReportConflicts,
		ForceReplace:     d.write.ForceReplace,
		ServerDryRun:     d.serverDryRun,
		Permissions:      d.recording(),
	})
	if err != nil {
		return err
	}
	d.release.PendingDeletions = nil
	for _, s := range d.plan.Steps {
		if s.Action == plan.Delete {
			d.release.PendingDeletions = append(d.release.PendingDeletions, release.PendingDeletion(s.Ref))
		}
	}
	return nil
}

// recording are the permissions for what the deployment does to records.
func (d *deployment) recording() []apply.Permission {
	verbs := []string{"create", "update"}
	if d.keepHistory > 0 && len(d.history.revisions) >= d.keepHistory {
		verbs = append(verbs, "delete")
	}
	return recordPermissions(d.config.Releases, d.release.Namespace, verbs...)
}

func (d *deployment) owner() kube.Owner {
	return kube.Owner{Release: d.release.Name, Namespace: d.release.Namespace}
}

// apply writes the objects, and removes those that are not part of the release any more.
func (d *deployment) apply(ctx context.Context) error {
	again, err := d.hooked()
	if err != nil {
		return err
	}
	if d.partial || again {
		// Kinds that CRDs have defined meanwhile, and objects that hooks have put in
		// the place of others, can be planned only now.
		if err := d.compute(ctx, d.objects, true); err != nil {
			return err
		}
	}
	if err := d.writeObjects(ctx); err != nil {
		return err
	}
	var gone []plan.Step
	for _, s := range d.plan.Steps {
		if s.Action == plan.Delete || s.Action == plan.Keep {
			gone = append(gone, s)
		}
	}
	if len(gone) > 0 {
		if err := d.config.Cluster.Execute(ctx, d.plan, gone); err != nil {
			return err
		}
	}
	return nil
}

// awaitAll waits for all objects, where that is asked for.
func (d *deployment) awaitAll() step {
	if !d.wait.Wait {
		return nil
	}
	return func(ctx context.Context) error { return d.await(ctx, d.objects) }
}

// hooked reports whether hooks of the release make objects that the plan is about.
func (d *deployment) hooked() (bool, error) {
	hooks, err := hookObjects(d.release)
	if err != nil || len(hooks) == 0 {
		return false, err
	}
	names := make(map[string]bool, len(hooks))
	for _, o := range hooks {
		names[o.String()] = o.Name != ""
	}
	return slices.ContainsFunc(d.plan.Steps, func(s plan.Step) bool { return names[s.String()] }), nil
}

// writeObjects executes what creates and updates, batch by batch where the
// charts ask for an order.
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
	d.config.Progress.Send(progress.Event{Kind: progress.Step, Text: tally(d.plan)})
	d.tellConflicts()
	for i, batch := range batches {
		var due []plan.Step
		for _, o := range manifest.ApplyOrder(batch) {
			due = append(due, steps[o]...)
		}
		if err := d.config.Cluster.Execute(ctx, d.plan, due); err != nil {
			return err
		}
		if i == len(batches)-1 {
			break // what comes last is awaited only where that is asked for
		}
		d.config.Progress.Send(progress.Event{Kind: progress.Step,
			Text: fmt.Sprintf("waiting until part %d of %d is ready, on which the next depends", i+1, len(batches))})
		if err := d.await(ctx, batch); err != nil {
			return err
		}
	}
	return nil
}

// tellConflicts names the fields that other managers keep, and those that are taken
// from them: but for what an object's own annotation says.
func (d *deployment) tellConflicts() {
	for _, s := range d.plan.Steps {
		for _, c := range s.Conflicts {
			kind := progress.Warning
			if strings.HasPrefix(c.Reason, "annotation ") {
				kind = progress.Step
			}
			d.config.Progress.Send(progress.Event{Kind: kind, Text: s.String() + ": " + c.Sentence() + ": " + c.Outcome()})
		}
	}
}

// tally says in a line what a plan comes to.
func tally(p *plan.Plan) string {
	count := map[plan.Action]int{}
	for _, s := range p.Steps {
		count[s.Action]++
	}
	var parts []string
	for i, a := range []plan.Action{plan.Create, plan.Update, plan.Replace, plan.Delete, plan.Keep, plan.Unchanged} {
		if n := count[a]; n > 0 {
			parts = append(parts,
				fmt.Sprintf("%d %s", n, []string{"to create", "to change", "to replace", "to delete", "kept", "unchanged"}[i]))
		}
	}
	if len(parts) == 0 {
		return "no objects"
	}
	return "objects: " + strings.Join(parts, ", ")
}

func (d *deployment) await(ctx context.Context, objects []*manifest.Object) error {
	ctx, cancel := context.WithTimeout(ctx, orDefault(d.wait.Timeout))
	defer cancel()
	return d.config.Cluster.Await(ctx,
		wait.Request{Objects: objects, Namespace: d.release.Namespace, Jobs: d.wait.Jobs, Legacy: d.wait.Legacy})
}

// ordered parts objects into the batches that the charts of a release ask for.
func ordered(rel *release.Release, objects []*manifest.Object, report progress.Func) ([][]*manifest.Object, error) {
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

// removeCreated deletes what this deployment has created, after it failed.
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
	d.config.Progress.Send(progress.Event{Kind: progress.Step, Text: "deleting what it has created"})
	manifest.SortUninstall(created)
	ctx, cancel := context.WithTimeout(d.undoContext(ctx), orDefault(d.wait.Timeout))
	defer cancel()
	return d.config.Cluster.Delete(ctx, created, d.owner(), apply.Background)
}
