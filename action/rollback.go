// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"fmt"
	"time"

	"github.com/moonhelm/moonhelm/engine"
	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/progress"
	"github.com/moonhelm/moonhelm/release"
	"github.com/moonhelm/moonhelm/storage/lock"
)

// RollbackCluster is all that [Rollback] needs of a cluster.
type RollbackCluster interface {
	Describer
	Deployer
}

// Rollback takes an earlier revision of a release up again, as a new revision.
// Nothing is rendered: the objects are those that the earlier one recorded.
type Rollback struct {
	Cluster  RollbackCluster
	Releases Storage
	Locker   Locker           // nil takes no lock: no other client may change the release; not used by Plan
	Events   *event.Bus       // nil runs no handlers
	Progress progress.Func    // nil reports nothing
	Now      func() time.Time // nil is time.Now
}

// RollbackRequest says what to roll back to. Name is needed.
type RollbackRequest struct {
	Name string
	// storage.Record is the one to take up again; 0 is the one before the newest, or
	// the only one, whose objects are put back as it recorded them.
	Revision    int
	Description string // what the record says in place of "Rollback to 3"

	Waiting
	Writing
	// Predict has Plan ask the server what would become of each object.
	Predict bool
	// Recorded has Plan leave the objects of the cluster unread, and tell nothing
	// of them.
	Recorded      bool
	CleanupOnFail bool
	// MaxHistory is how many revisions stay, 0 for any number.
	MaxHistory int
}

// rollingBack is the work on one release.
type rollingBack struct {
	Rollback
	req    RollbackRequest
	target *release.Release
	scene  event.Scene
	deployment
}

// Plan does all of a rollback that writes nothing, and tells what Run would do.
func (r Rollback) Plan(ctx context.Context, req RollbackRequest) (*Change, error) {
	w := &rollingBack{Rollback: r, req: req}
	if err := w.plan(ctx, nil, true); err != nil {
		return nil, err
	}
	bus := r.Events.Fork()
	event.Respond(bus, event.ObjectValidation, w.validate)
	if err := bus.Emit(ctx, &event.PreRollback{Scene: w.scene}); err != nil {
		return nil, err
	}
	w.release.Info.Description = "Dry run complete"
	from := w.past.deployed
	if from == nil && len(w.past.applied) > 0 {
		from = w.past.last
	}
	return newChange(from, w.release, w.deployment.plan, nil)
}

// Run rolls the release back. If it fails once the revision is recorded, the
// record stays, marked failed, and is returned together with the error.
func (r Rollback) Run(ctx context.Context, req RollbackRequest) (*release.Release, error) {
	if err := CheckName(req.Name); err != nil {
		return nil, err
	}
	ctx, lock, err := take(ctx, r.Locker, req.Name, "rollback")
	if err != nil {
		return nil, err
	}
	defer lock.Unlock()
	return r.run(ctx, lock, req)
}

// run is Run for somebody who has the lock.
func (r Rollback) run(ctx context.Context, lock lock.Lock, req RollbackRequest) (*release.Release, error) {
	w := &rollingBack{Rollback: r, req: req}
	if err := w.plan(ctx, lock, false); err != nil {
		return nil, err
	}
	r.Progress.Send(progress.Event{Kind: progress.Step, Text: fmt.Sprintf("rolling back to revision %d", w.target.Revision)})
	if err := untilLost(ctx, w.execute(ctx)); err != nil {
		if !w.recorded {
			return nil, err
		}
		w.fail(ctx, fmt.Sprintf("Rollback %q failed: %s", req.Name, err))
		if req.CleanupOnFail && !lost(ctx) {
			if cerr := w.removeCreated(ctx); cerr != nil {
				err = fmt.Errorf("%w\nremoving what it had created went wrong too: %w", err, cerr)
			}
		}
		return w.release, err
	}
	return w.release, w.succeed(ctx, orText(req.Description, fmt.Sprintf("Rollback to %d", w.target.Revision)))
}

// plan finds the revision to take up again and prepares the new one.
func (w *rollingBack) plan(ctx context.Context, lock lock.Lock, dryRun bool) error {
	if err := CheckName(w.req.Name); err != nil {
		return err
	}
	past, err := readPast(ctx, w.Releases, lock, w.req.Name, w.Rollback.Progress)
	if err != nil {
		return err
	}
	if past.last == nil {
		_, err := w.Releases.Get(ctx, w.req.Name, 0) // says where it is not
		return err
	}
	if w.target, err = w.find(ctx, past); err != nil {
		return err
	}
	now := clock(w.Now)
	rel := w.target.Clone()
	rel.Revision = past.next()
	rel.Holder, rel.Orphans = "", nil
	rel.Info = release.Info{
		FirstDeployed:    past.firstDeployed(now),
		LastDeployed:     now,
		Status:           release.PendingRollback,
		Description:      orText(w.req.Description, fmt.Sprintf("Rollback to %d", w.target.Revision)),
		Notes:            w.target.Info.Notes,
		RollbackRevision: w.target.Revision,
	}
	w.deployment = deployment{
		cluster: w.Cluster, records: w.Releases, progress: w.Rollback.Progress, lock: lock, past: past,
		release: rel, wait: w.req.Waiting, write: w.req.Writing, predict: w.req.Predict && dryRun, keepHistory: w.req.MaxHistory,
	}
	w.runHooks(w.Events, release.PreRollback, release.PostRollback)
	w.preview.Recorded = w.req.Recorded && dryRun
	return w.stage(ctx, dryRun)
}

// find reads the revision to take up again.
func (w *rollingBack) find(ctx context.Context, past *past) (*release.Release, error) {
	number := w.req.Revision
	if number < 0 {
		return nil, fmt.Errorf("%d is no revision: they count from 1", number)
	}
	if number == 0 {
		number = past.newest().Revision
		if n := len(past.revisions); n > 1 {
			number = past.revisions[n-2].Revision
		}
	}
	target, err := w.Releases.Get(ctx, w.req.Name, number)
	if err == nil && w.req.Revision == 0 {
		w.doubt(target, past)
	}
	return target, err
}

// doubt warns where the revision before is one that failed: nobody has asked
// for that one by its number.
func (w *rollingBack) doubt(target *release.Release, past *past) {
	good := past.good()
	if target.Info.Status != release.Failed || good == 0 {
		return
	}
	w.Rollback.Progress.Send(progress.Event{Kind: progress.Warning, Text: fmt.Sprintf(
		"revision %d, the one before, has failed itself; the last that went well is %d: helm rollback %s %d", target.Revision, good, w.req.Name, good)})
}

// stage is what the events show: the stored objects, hooks among them, and the
// charts whose scripts are stored, which answer.
func (w *rollingBack) stage(ctx context.Context, dryRun bool) error {
	rel := w.release
	op := operation("rollback", dryRun, engine.Release{Name: rel.Name, Namespace: rel.Namespace, Revision: rel.Revision, Service: releaseService, IsUpgrade: true}, nil, lookupIn(ctx, w.Cluster))
	scripts, err := rel.Scripts()
	if err != nil {
		return err
	}
	w.scene = event.Scene{Operation: op, Chart: scripts, Release: rel}
	if w.scene.Objects, err = stored(rel); err != nil {
		return err
	}
	// Also where there are none: whoever ran another release's ends them.
	return w.Events.Emit(ctx, &event.ChartResolved{Scene: event.Scene{Operation: op, Chart: scripts}})
}

// stored are the objects of a record in install order, hooks among them.
func stored(rel *release.Release) ([]*manifest.Object, error) {
	objects, err := manifest.ParseManifest(rel.Manifest)
	if err != nil {
		return nil, fmt.Errorf("read the manifest of revision %d of release %s: %w", rel.Revision, rel.Name, err)
	}
	for _, h := range rel.Hooks {
		parsed, err := manifest.Parse(h.Path, h.Manifest)
		if err != nil {
			return nil, fmt.Errorf("read hook %s of revision %d of release %s: %w", h.Name, rel.Revision, rel.Name, err)
		}
		objects = append(objects, parsed...)
	}
	manifest.SortInstall(objects)
	return objects, nil
}

// validate makes the objects that scripts have left those of the new revision.
func (w *rollingBack) validate(ctx context.Context, e *event.PreRollback) error {
	var rendered Rendered
	rendered.sort(e.Objects)
	w.scene.Objects = rendered.scene.Objects
	w.release.Manifest = manifest.Format(rendered.Objects)
	w.release.Hooks = rendered.Hooks
	return w.prepare(ctx, rendered.Objects, nil)
}

func (w *rollingBack) execute(ctx context.Context) error {
	bus := w.Events.Fork()
	event.Respond(bus, event.ObjectValidation, w.validate)
	event.Respond(bus, event.Record, func(ctx context.Context, _ *event.PreRollback) error { return w.create(ctx) })
	if err := bus.Emit(ctx, &event.PreRollback{Scene: w.scene}); err != nil {
		return err
	}
	if err := w.apply(ctx); err != nil {
		return err
	}
	return w.Events.Emit(ctx, &event.PostRollback{Scene: w.scene})
}
