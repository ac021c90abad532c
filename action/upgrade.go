// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/values"
	"github.com/moonhelm/moonhelm/engine"
	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/plan"
	"github.com/moonhelm/moonhelm/progress"
	"github.com/moonhelm/moonhelm/release"
	"github.com/moonhelm/moonhelm/storage"
	"github.com/moonhelm/moonhelm/storage/lock"
)

// Reuse says what an upgrade does with the last values: those of the revision
// that is deployed, or of the newest where none is.
type Reuse string

// The ways to reuse values.
const (
	// ReuseIfNone takes the last values where no new ones are given, and else
	// the new ones alone.
	ReuseIfNone Reuse = ""
	// ReuseValues lays new values over the last ones, and those over the
	// defaults of the last chart.
	ReuseValues Reuse = "reuse"
	// ResetValues forgets the last values.
	ResetValues Reuse = "reset"
	// ResetThenReuse lays new values over the last ones, and those over the
	// defaults of the new chart.
	ResetThenReuse Reuse = "reset-then-reuse"
)

// UpgradeCluster is all that [Upgrade] needs of a cluster.
type UpgradeCluster interface {
	Describer
	Deployer
	CRDInstaller
}

// Upgrade brings a release to another chart or other values.
type Upgrade struct {
	// Cluster is where the release is. [Upgrade.Plan] works without one: then
	// nothing is looked up, and no objects are compared.
	Cluster  UpgradeCluster
	Releases Storage
	Locker   Locker     // nil takes no lock: no other client may change the release; not used by Plan
	Events   *event.Bus // nil runs no handlers
	Undo     *event.Bus // answers the events of undoing a failed upgrade; nil runs no handlers
	// ConfirmUndo is called with the revision that a failed upgrade would go back to,
	// before anything is written; an error ends the upgrade. nil confirms nothing.
	ConfirmUndo func(ctx context.Context, rel *release.Release) error
	Progress    progress.Func    // nil reports nothing
	Now         func() time.Time // nil is time.Now
}

// UpgradeRequest says what to upgrade to. Chart, Name and Namespace are needed.
type UpgradeRequest struct {
	Chart       *chart.Chart
	Values      map[string]any
	Reuse       Reuse
	Name        string
	Namespace   string
	Description string // what the record says in place of "Upgrade complete"
	// Labels are laid over those of the last revision; the value "null" takes
	// one away.
	Labels map[string]string

	CRDs          CRDPolicy
	SkipSchema    bool
	SubchartNotes bool
	LookupHost    func(host string) string // nil: getHostByName gives ""
	Preview

	Waiting
	Writing
	// Predict has Plan ask the server what would become of each object.
	Predict bool
	// CleanupOnFail deletes what a failed upgrade has created, Atomic rolls it
	// back to the last revision that went well.
	CleanupOnFail bool
	Atomic        bool
	// MaxHistory is how many revisions stay, 0 for any number.
	MaxHistory int
}

// upgrading is the work on one release.
type upgrading struct {
	Upgrade
	req      UpgradeRequest
	rendered *Rendered
	crds     crdWork
	deployment
}

// Plan does all of an upgrade that writes nothing, and tells what Run would do.
func (u Upgrade) Plan(ctx context.Context, req UpgradeRequest) (*Change, *Rendered, error) {
	w := &upgrading{Upgrade: u, req: req}
	if err := w.plan(ctx, nil, true); err != nil {
		return nil, nil, err
	}
	bus := u.Events.Fork()
	event.Respond(bus, event.ObjectValidation, w.validate)
	if err := bus.Emit(ctx, w.before()); err != nil {
		return nil, nil, err
	}
	w.release.Info.Description = "Dry run complete"
	change, err := w.change()
	return change, w.rendered, err
}

// Run upgrades the release. If it fails once the revision is recorded, the
// record stays, marked failed, and is returned together with the error.
func (u Upgrade) Run(ctx context.Context, req UpgradeRequest) (*release.Release, error) {
	if err := CheckName(req.Name); err != nil {
		return nil, err
	}
	ctx, lock, err := take(ctx, u.Locker, req.Name, "upgrade")
	if err != nil {
		return nil, err
	}
	defer lock.Unlock()
	w := &upgrading{Upgrade: u, req: req}
	if err := w.plan(ctx, lock, false); err != nil {
		return nil, err
	}
	if err := untilLost(ctx, w.run(ctx)); err != nil {
		if !w.recorded {
			return nil, err
		}
		w.fail(ctx, fmt.Sprintf("Upgrade %q failed: %s", req.Name, err))
		return w.release, w.recover(ctx, lock, err)
	}
	return w.release, w.succeed(ctx, orText(req.Description, "Upgrade complete"))
}

// plan renders, and prepares the revision. Nothing is written.
func (w *upgrading) plan(ctx context.Context, lock lock.Lock, dryRun bool) error {
	if err := CheckName(w.req.Name); err != nil {
		return err
	}
	past, err := readPast(ctx, w.Releases, lock, w.req.Name, w.Upgrade.Progress)
	if err != nil {
		return err
	}
	if past.last == nil || past.last.Info.Status == release.Uninstalled {
		return &NoReleaseError{Name: w.req.Name, Namespace: w.req.Namespace, Uninstalled: past.last != nil}
	}
	c, vals, err := w.values(past.current())
	if err != nil {
		return err
	}
	resolved, err := settle(c, vals, w.Upgrade.Progress)
	if err != nil {
		return err
	}
	recorded := copyTree(resolved.Chart) // scripts may change the other
	w.rendered, err = w.crds.render(ctx, w.Cluster, w.req.CRDs == CRDUpgrade, true, rendering{
		events:     w.Events,
		report:     w.Upgrade.Progress,
		command:    "upgrade",
		dryRun:     dryRun,
		resolved:   resolved,
		release:    engine.Release{Name: w.req.Name, Namespace: w.req.Namespace, Service: releaseService, Revision: past.next(), IsUpgrade: true},
		lookupHost: w.req.LookupHost,
		skipSchema: w.req.SkipSchema,
		subNotes:   w.req.SubchartNotes,
		preview:    w.req.Preview.when(dryRun),
	})
	if err != nil {
		return err
	}
	now := clock(w.Now)
	rel := release.New(w.req.Name, w.req.Namespace, past.next(), recorded)
	rel.Config = vals
	rel.Labels = relabel(past.last.Labels, w.req.Labels) // as Helm has it, whatever became of the last
	rel.Info = release.Info{
		FirstDeployed: past.firstDeployed(now),
		LastDeployed:  now,
		Status:        release.PendingUpgrade,
		Description:   "Preparing upgrade",
		Notes:         w.rendered.Notes,
	}
	w.deployment = deployment{
		records: w.Releases, progress: w.Upgrade.Progress, lock: lock, past: past,
		release: rel, wait: w.req.Waiting, write: w.req.Writing, predict: w.req.Predict && dryRun, keepHistory: w.req.MaxHistory,
	}
	if w.Cluster != nil {
		w.deployment.cluster = w.Cluster
	}
	w.runHooks(w.Events, release.PreUpgrade, release.PostUpgrade)
	w.preview = w.req.Preview.when(dryRun)
	w.definitions = w.crds.written()
	return w.deployment.remember(w.rendered.Chart)
}

// values are the chart and the user's values that the request and the current
// revision come to.
func (w *upgrading) values(last *release.Release) (*chart.Chart, map[string]any, error) {
	c, vals := w.req.Chart, w.req.Values
	switch w.req.Reuse {
	case ResetValues:
	case ReuseValues:
		old, err := last.Chart()
		if err != nil {
			return nil, nil, err
		}
		if old != nil {
			c = c.Shallow()
			c.Values = old.Values
			c.SetDependencies(w.req.Chart.Dependencies()...)
		}
		vals = values.Override(last.Config, vals)
	case ResetThenReuse:
		vals = values.Override(last.Config, vals)
	default:
		if len(vals) == 0 && len(last.Config) > 0 {
			vals = last.Config
		}
	}
	return c, vals, nil
}

// relabel lays labels over those of the last revision.
func relabel(last, over map[string]string) map[string]string {
	out := maps.Clone(last)
	if out == nil {
		out = map[string]string{}
	}
	for k, v := range over {
		if v == "null" {
			delete(out, k)
			continue
		}
		out[k] = v
	}
	return out
}

// before is the event that ends the planning.
func (w *upgrading) before() *event.PreUpgrade {
	e := &event.PreUpgrade{Scene: w.rendered.scene}
	e.Release = w.release
	return e
}

// validate makes the objects that scripts have left those of the release, and
// plans what becomes of them.
func (w *upgrading) validate(ctx context.Context, e *event.PreUpgrade) error {
	w.rendered.sort(e.Objects)
	w.release.Manifest = manifest.Format(w.rendered.Objects)
	w.release.Hooks = w.rendered.Hooks
	return w.prepare(ctx, w.rendered.Objects, w.rendered.coming)
}

func (w *upgrading) run(ctx context.Context) error {
	bus := w.Events.Fork()
	event.Respond(bus, event.ObjectValidation, w.validate)
	event.Respond(bus, event.Rights, func(ctx context.Context, _ *event.PreUpgrade) error { return w.confirmUndo(ctx) })
	event.Respond(bus, event.CRDs, func(ctx context.Context, _ *event.PreUpgrade) error {
		return w.crds.write(ctx, w.Cluster, w.Upgrade.Progress, w.req.Timeout)
	})
	event.Respond(bus, event.Record, func(ctx context.Context, _ *event.PreUpgrade) error { return w.create(ctx) })
	if err := bus.Emit(ctx, w.before()); err != nil {
		return err
	}
	if err := w.apply(ctx); err != nil {
		return err
	}
	after := &event.PostUpgrade{Scene: w.rendered.scene}
	after.Release = w.release
	return w.Events.Emit(ctx, after)
}

// confirmUndo finds out whether the revision that a failure would lead back to may be
// gone back to: it is too late to ask once the upgrade has failed.
func (w *upgrading) confirmUndo(ctx context.Context) error {
	target := w.past.good()
	if !w.req.Atomic || target == 0 || w.ConfirmUndo == nil {
		return nil
	}
	rel, err := w.Releases.Get(ctx, w.req.Name, target)
	if err != nil {
		return err
	}
	return w.ConfirmUndo(ctx, rel)
}

// recover does what the request wants done after a failure, and returns the
// error with what became of it.
func (w *upgrading) recover(ctx context.Context, lock lock.Lock, cause error) error {
	if lost(ctx) {
		return cause // somebody else may be at work: whatever is left to do is theirs
	}
	if w.req.CleanupOnFail {
		if err := w.removeCreated(ctx); err != nil {
			cause = fmt.Errorf("%w\nremoving what it had created went wrong too: %w", cause, err)
		}
	}
	if !w.req.Atomic {
		return cause
	}
	target := w.past.good()
	if target == 0 {
		return fmt.Errorf("upgrade of release %s failed, and there is no revision that went well to roll back to: %w", w.req.Name, cause)
	}
	verb := Rollback{Cluster: w.Cluster, Releases: w.Releases, Events: w.Undo, Progress: w.Upgrade.Progress, Now: w.Now}
	req := RollbackRequest{
		Name: w.req.Name, Revision: target, Waiting: w.req.Waiting, Writing: w.req.Writing, MaxHistory: w.req.MaxHistory,
	}
	// What the cluster has is what the failed upgrade has made of it.
	if _, err := verb.run(afterwards(ctx), lock, req); err != nil {
		return fmt.Errorf("release %s failed, and rolling back to revision %d went wrong too: %w\nwhat had failed first: %w", w.req.Name, target, err, cause)
	}
	return fmt.Errorf("release %s failed, and has been rolled back due to rollback-on-failure being set, to revision %d: %w", w.req.Name, target, cause)
}

// change is what the upgrade comes to.
func (w *upgrading) change() (*Change, error) {
	return newChange(w.past.current(), w.release, w.deployment.plan, w.crds.plan)
}

// NoReleaseError tells that there is nothing to upgrade.
type NoReleaseError struct {
	Name, Namespace string
	// Uninstalled tells that there was: its history is kept.
	Uninstalled bool
}

func (e *NoReleaseError) Error() string {
	if e.Uninstalled {
		return fmt.Sprintf("%q has no deployed releases: it was uninstalled, and its history is kept in namespace %q", e.Name, e.Namespace)
	}
	return fmt.Sprintf("%q has no deployed releases in namespace %q", e.Name, e.Namespace)
}

// Is makes the error an [storage.ErrNotFound].
func (e *NoReleaseError) Is(target error) bool {
	return target == storage.ErrNotFound && !e.Uninstalled
}

// lost tells whether an operation was stopped because its lock was lost.
func lost(ctx context.Context) bool {
	var e interface{ LockLost() bool }
	return errors.As(context.Cause(ctx), &e) && e.LockLost()
}

// afterwards is the context for what is to be done after a failure: where the
// user has interrupted, that must not end it too.
func afterwards(ctx context.Context) context.Context {
	if ctx.Err() == nil {
		return ctx
	}
	return context.WithoutCancel(ctx)
}

// untilLost is the error of an operation. One that has done all it had to fails
// all the same where its lock was lost meanwhile: whoever has it counts it as
// failed. The reason of a cancelled context stands before a bare "context
// canceled".
func untilLost(ctx context.Context, err error) error {
	if err == nil && lost(ctx) {
		return context.Cause(ctx)
	}
	if cause := context.Cause(ctx); cause != nil && errors.Is(err, context.Canceled) && !errors.Is(cause, context.Canceled) {
		return fmt.Errorf("%w: %w", cause, err)
	}
	return err
}

func orText(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

func clock(now func() time.Time) time.Time {
	if now == nil {
		return time.Now()
	}
	return now()
}

// Change is what an operation does, or would do, to a release.
type Change struct {
	// From is the revision that the release is at, nil for a new release.
	From *release.Release
	// To is the revision that it comes to.
	To *release.Release
	// Plan is what becomes of the objects, nil where no cluster was asked.
	Plan *plan.Plan
	// CRDs is what becomes of the definitions of crds/, nil for nothing.
	CRDs *plan.Plan
	// Hooks are what the release's hooks come to, compared by their text.
	Hooks []plan.Step
	// Stored tells that records are compared with each other, and nothing is
	// done.
	Stored bool
}
