// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"fmt"

	"github.com/moonhelm/moonhelm/engine"
	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/release"
)

// Rollback takes an earlier revision of a release up again, as a new revision.
// Nothing is rendered: the objects are those that the earlier one recorded.
type Rollback struct{ *Config }

// RollbackRequest says what to roll back to. Name is needed.
type RollbackRequest struct {
	Name string
	// Revision is the one to take up again; 0 is the one before the newest, or
	// the only one, whose objects are put back as it recorded them.
	Revision    int
	Description string // what the record says in place of "Rollback to 3"

	WaitOptions
	ApplyOptions
	// NoHooks runs no hooks.
	NoHooks bool
	// ServerDryRun has Plan ask the API server what would become of each object, and
	// what it would refuse. Run takes no notice of it.
	ServerDryRun bool
	// Recorded has Plan leave the objects of the cluster unread, and tell nothing
	// of them.
	Recorded bool
	// CleanupOnFail deletes what a failed rollback has created, and UndoCancelled has it do
	// so for one whose context has ended too, as in a [DeployRequest].
	CleanupOnFail bool
	UndoCancelled bool
	// MaxHistory is how many revisions stay, 0 for any number.
	MaxHistory int
}

// rollingBack is the work on one release.
type rollingBack struct {
	*deployment
	req    RollbackRequest
	target *release.Release
}

func (r Rollback) work(req RollbackRequest) *rollingBack {
	w := &rollingBack{req: req, deployment: &deployment{
		config: r.forOperation(), name: req.Name, doing: "rollback",
		wait: req.WaitOptions, write: req.ApplyOptions, noHooks: req.NoHooks, keepHistory: req.MaxHistory,
		undo: req.CleanupOnFail, undoCancelled: req.UndoCancelled,
	}}
	w.verb = w
	return w
}

// Plan does all of a rollback that writes nothing, and returns what Run would do.
func (r Rollback) Plan(ctx context.Context, req RollbackRequest) (*Change, error) {
	w := r.work(req)
	if err := requireReleases(w.config.Releases, w.doing); err != nil {
		return nil, err
	}
	w.serverDryRun, w.preview.Recorded = req.ServerDryRun, req.Recorded
	if err := w.dry(ctx); err != nil {
		return nil, err
	}
	from := w.history.deployed
	if from == nil && len(w.history.applied) > 0 {
		from = w.history.last
	}
	return newChange(from, w.release, w.plan, nil)
}

// Run rolls the release back, and returns the new revision. If it fails once the
// revision is recorded, the record stays, marked failed, and is returned together with
// the error.
func (r Rollback) Run(ctx context.Context, req RollbackRequest) (*release.Release, error) {
	return r.work(req).deploy(ctx)
}

// prepare finds the revision to take up again and makes the new one of it.
func (w *rollingBack) prepare(ctx context.Context) (err error) {
	history := w.history
	if history.last == nil {
		_, err := w.config.Releases.Get(ctx, w.req.Name, 0) // says where it is not
		return err
	}
	if w.target, err = w.find(ctx, history); err != nil {
		return err
	}
	now := w.config.now()
	rel := w.target.Clone()
	rel.Revision = history.next()
	rel.Holder, rel.PendingDeletions = "", nil
	rel.Info = release.Info{
		FirstDeployed:    history.firstDeployed(now),
		LastDeployed:     now,
		Status:           release.PendingRollback,
		Description:      orText(w.req.Description, fmt.Sprintf("Rollback to %d", w.target.Revision)),
		Notes:            w.target.Info.Notes,
		RollbackRevision: w.target.Revision,
	}
	w.release = rel
	if err := w.stage(ctx); err != nil {
		return err
	}
	if !w.dryRun {
		w.config.step(fmt.Sprintf("rolling back to revision %d", w.target.Revision))
	}
	return nil
}

// find reads the revision to take up again.
func (w *rollingBack) find(ctx context.Context, history *history) (*release.Release, error) {
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
	if err == nil && w.req.Revision == 0 {
		w.doubt(target, history)
	}
	return target, err
}

// doubt warns where the revision before is one that failed: no one has asked
// for that one by its number.
func (w *rollingBack) doubt(target *release.Release, history *history) {
	good := history.good()
	if target.Info.Status != release.Failed || good == 0 {
		return
	}
	w.config.warn(fmt.Sprintf(
		"revision %d, the one before, has failed itself; the last that went well is %d: helm rollback %s %d", target.Revision,
		good, w.req.Name, good))
}

// stage is what the events show: the stored objects, hooks among them, and the
// charts whose scripts are stored, which answer.
func (w *rollingBack) stage(ctx context.Context) error {
	rel := w.release
	op := operation("rollback", w.dryRun,
		engine.Release{Name: rel.Name, Namespace: rel.Namespace, Revision: rel.Revision, Service: releaseService,
			IsUpgrade: true}, nil, lookupIn(ctx, w.config.Cluster))
	scripts, err := rel.Scripts()
	if err != nil {
		return err
	}
	w.payload = event.Payload{Operation: op, Chart: scripts, Release: rel}
	if w.payload.Objects, err = stored(rel); err != nil {
		return err
	}
	// Also where there are none: a source that ran another release's ends them.
	return emitResolved(ctx, w.events.Bus, &event.ChartResolved{Payload: event.Payload{Operation: op, Chart: scripts}})
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

func (w *rollingBack) before() event.Event { return &event.PreRollback{Payload: w.payload} }

func (w *rollingBack) after() event.Event { return &event.PostRollback{Payload: w.payload} }

func (w *rollingBack) confirmUndo(context.Context) error { return nil }

func (w *rollingBack) recordPending(ctx context.Context) error { return w.create(ctx) }

func (w *rollingBack) complete() string {
	return orText(w.req.Description, fmt.Sprintf("Rollback to %d", w.target.Revision))
}

func (w *rollingBack) failed(err error) string {
	return fmt.Sprintf("Rollback %q failed: %s", w.req.Name, err)
}

func (w *rollingBack) afterFailure(ctx context.Context, cause error) error {
	if !w.req.CleanupOnFail || lost(ctx) {
		return cause
	}
	if err := w.removeCreated(ctx); err != nil {
		return fmt.Errorf("%w\nremoving what it had created went wrong too: %w", cause, err)
	}
	return cause
}
