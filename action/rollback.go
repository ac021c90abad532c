// SPDX-License-Identifier: Apache-2.0

package action

import (
	"cmp"
	"context"
	"fmt"

	"github.com/moonhelm/moonhelm/engine"
	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/plan"
	"github.com/moonhelm/moonhelm/release"
)

// Rollback creates a new revision with the objects that an earlier revision recorded. It
// renders no templates.
type Rollback struct{ *Config }

// A RollbackRequest is the request of a rollback. Name is required.
type RollbackRequest struct {
	Name string
	// Revision is the revision to roll back to. 0 means the one before the newest, or, if
	// there is only one, that revision, whose recorded objects are applied again.
	Revision    int
	Description string // replaces "Rollback to 3" in the record

	WaitOptions
	ApplyOptions
	// NoHooks disables hooks.
	NoHooks bool
	// ServerDryRun has Plan send each object to the API server as a dry run. Run ignores
	// it.
	ServerDryRun bool
	// Recorded has Plan not read the live objects: [Change.Plan] is nil.
	Recorded bool
	// Keep has Plan make a plan that [Apply] can apply later: [Change.Kept].
	Keep bool
	// CleanupOnFail deletes the objects that a failed rollback has created, and
	// UndoCancelled those of a canceled one too, as in a [DeployRequest].
	CleanupOnFail bool
	UndoCancelled bool
	// MaxHistory is the number of revisions to keep, or 0 for all.
	MaxHistory int
}

// rollbackOperation is one rollback.
type rollbackOperation struct {
	*deployment
	req    RollbackRequest
	target *release.Release
}

func (r Rollback) operation(req RollbackRequest) *rollbackOperation {
	w := &rollbackOperation{req: req, deployment: &deployment{
		config: r.forOperation(), name: req.Name, doing: "rollback",
		wait: req.WaitOptions, applyOptions: req.ApplyOptions, noHooks: req.NoHooks, maxHistory: req.MaxHistory,
		undo: req.CleanupOnFail, undoCancelled: req.UndoCancelled,
		keeping: keeping{keep: req.Keep, options: rollbackOptions(req)},
	}}
	w.op = w
	return w
}

// Plan takes the steps of Run that do not write, and returns the changes that Run would make.
// Errors are those of Run before anything is written.
func (r Rollback) Plan(ctx context.Context, req RollbackRequest) (*Change, error) {
	w := r.operation(req)
	if err := requireReleases(w.config.Releases, w.doing); err != nil {
		return nil, err
	}
	w.serverDryRun, w.preview.Recorded = req.ServerDryRun, req.Recorded
	if err := w.runDry(ctx); err != nil {
		return nil, err
	}
	from := w.history.deployed
	if from == nil && len(w.history.applied) > 0 {
		from = w.history.last
	}
	var crds *plan.Plan
	if w.config.Cluster != nil && !req.Recorded {
		c, err := w.target.Chart()
		if err != nil {
			return nil, err
		}
		if crds, err = leftBy(ctx, w.config.Cluster, c, "a rollback"); err != nil {
			return nil, err
		}
	}
	change, err := newChange(from, w.release, w.plan, crds)
	if err == nil {
		change.Kept, err = w.keptDocument()
	}
	return change, err
}

// Run rolls the release back, and returns the new revision. If it fails after the revision was
// recorded, it returns the record, marked failed, together with the error.
//
// Errors are those of [Upgrade.Run] except those of the chart and its values; a
// [*storage.NotFoundError] if there is no such revision, and an [*OutsideError].
func (r Rollback) Run(ctx context.Context, req RollbackRequest) (*release.Release, error) {
	return r.operation(req).deploy(ctx)
}

// prepare reads the target revision, and sets the new revision to a copy of it.
func (w *rollbackOperation) prepare(ctx context.Context) (err error) {
	history := w.history
	if history.last == nil {
		_, err := w.config.Releases.Get(ctx, w.req.Name, 0) // returns storage.ErrNotFound with the namespace
		return err
	}
	if w.target, err = w.findTarget(ctx, history); err != nil {
		return err
	}
	w.undone = history.movesSince(ctx, w.config.Releases, w.target.Revision)
	now := w.config.now()
	rel := w.target.Clone()
	rel.Revision = history.nextRevision()
	rel.Holder, rel.PendingDeletions, rel.Transfer = "", nil, nil
	rel.Info = release.Info{
		FirstDeployed:    history.firstDeployed(now),
		LastDeployed:     now,
		Status:           release.PendingRollback,
		Description:      cmp.Or(w.req.Description, fmt.Sprintf("Rollback to %d", w.target.Revision)),
		Notes:            w.target.Info.Notes,
		RollbackRevision: w.target.Revision,
	}
	if err := restoredOrigins(rel, w.target.Revision); err != nil {
		return err
	}
	w.release = rel
	if err := w.preparePayload(ctx); err != nil {
		return err
	}
	if !w.dryRun {
		w.config.step(fmt.Sprintf("rolling back to revision %d", w.target.Revision))
	}
	return nil
}

// findTarget reads the target revision.
func (w *rollbackOperation) findTarget(ctx context.Context, history *history) (*release.Release, error) {
	number := w.req.Revision
	if number < 0 {
		return nil, fmt.Errorf("%d is not a valid revision: revisions are numbered from 1", number)
	}
	if number == 0 {
		number = history.newest().Revision
		if n := len(history.revisions); n > 1 {
			number = history.revisions[n-2].Revision
		}
	}
	target, err := w.config.Releases.Get(ctx, w.req.Name, number)
	if err == nil {
		w.warnOfFailedTarget(target, history)
	}
	return target, err
}

// warnOfFailedTarget warns if the target is a failed revision.
func (w *rollbackOperation) warnOfFailedTarget(target *release.Release, history *history) {
	if target.Info.Status != release.Failed {
		return
	}
	which := ""
	if w.req.Revision == 0 {
		which = ", the previous one,"
	}
	text := fmt.Sprintf("revision %d%s has failed", target.Revision, which)
	if good := history.lastSuccessful(); good > 0 {
		text += fmt.Sprintf("; the last successful one is %d: helm rollback %s %d", good, w.req.Name, good)
	}
	w.config.warn(text)
}

// preparePayload sets the payload of the events: the recorded objects, including hooks, and
// the charts whose recorded scripts run.
func (w *rollbackOperation) preparePayload(ctx context.Context) error {
	rel := w.release
	op := newOperation("rollback", w.dryRun,
		engine.Release{Name: rel.Name, Namespace: rel.Namespace, Revision: rel.Revision, Service: releaseService,
			IsUpgrade: true}, nil, lookupIn(ctx, w.config.Cluster))
	scripts, err := rel.Scripts()
	if err != nil {
		return err
	}
	w.payload = event.Payload{Operation: op, Chart: scripts, Release: rel}
	if w.payload.Objects, err = storedObjects(rel); err != nil {
		return err
	}
	// Without scripts too: the event stops scripts of another release.
	return emitResolved(ctx, w.events.Bus, &event.ChartResolved{Payload: event.Payload{Operation: op, Chart: scripts}})
}

// storedObjects returns the objects of a record in install order, including hooks.
func storedObjects(rel *release.Release) ([]*manifest.Object, error) {
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

func (w *rollbackOperation) preEvent() event.Event { return &event.PreRollback{Payload: w.payload} }

func (w *rollbackOperation) postEvent() event.Event { return &event.PostRollback{Payload: w.payload} }

func (w *rollbackOperation) confirmUndo(context.Context) error { return nil }

func (w *rollbackOperation) recordPending(ctx context.Context) error { return w.createRecord(ctx) }

func (w *rollbackOperation) successDescription() string {
	return cmp.Or(w.req.Description, fmt.Sprintf("Rollback to %d", w.target.Revision))
}

func (w *rollbackOperation) failureDescription(err error) string {
	return fmt.Sprintf("Rollback %q failed: %s", w.req.Name, summaryOf(err))
}

func (w *rollbackOperation) afterFailure(ctx context.Context, cause error) error {
	if !w.req.CleanupOnFail || isLockLost(ctx) {
		return cause
	}
	if err := w.removeCreated(ctx); err != nil {
		return fmt.Errorf("%w\ndeleting the objects that it had created failed too: %w", cause, err)
	}
	setUndone(cause, UndoneCreated)
	return cause
}
