// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/engine"
	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/progress"
	"github.com/moonhelm/moonhelm/release"
	"github.com/moonhelm/moonhelm/storage"
	"github.com/moonhelm/moonhelm/storage/lock"
)

// NamespaceCreator creates namespaces.
type NamespaceCreator interface {
	// CreateNamespace creates a namespace; one that exists is fine.
	CreateNamespace(ctx context.Context, name string) error
}

// Waiter waits for objects.
type Waiter interface {
	// Await returns when all objects are ready; an object that cannot become
	// ready any more is an error at once.
	Await(ctx context.Context, r kube.WaitRequest) error
}

// InstallCluster is all that [Install] needs of a cluster.
type InstallCluster interface {
	UpgradeCluster
	NamespaceCreator
}

// Install puts a chart into a cluster and records it as a release.
type Install struct {
	// Cluster is where to install. [Install.Plan] works without one: nothing
	// is looked up, and capabilities are the default's.
	Cluster  InstallCluster
	Releases Storage          // may be nil for Plan: then no name is taken
	Locker   Locker           // nil takes no lock: no other client may change the release; not used by Plan
	Events   *event.Bus       // nil runs no handlers
	Undo     *event.Bus       // answers the events of undoing a failed install; nil runs no handlers
	Progress progress.Func    // nil reports nothing
	Now      func() time.Time // nil is time.Now
}

// InstallRequest says what to install. Chart, Name and Namespace are needed.
type InstallRequest struct {
	Chart       *chart.Chart
	Values      map[string]any
	Name        string
	Namespace   string
	Description string            // what the record says in place of "Install complete"
	Labels      map[string]string // stand on the record

	CreateNamespace bool
	// ReuseName allows the name of a release that was uninstalled or failed.
	ReuseName     bool
	CRDs          CRDPolicy
	SkipSchema    bool
	SubchartNotes bool
	LookupHost    func(host string) string // nil: getHostByName gives ""
	Preview

	Waiting
	Writing
	// Predict has Plan ask the server what would become of each object.
	Predict bool
	// CleanupOnFail deletes what a failed install has created, Atomic uninstalls
	// it altogether.
	CleanupOnFail bool
	Atomic        bool
	// MaxHistory is how many revisions stay, 0 for any number; it matters where
	// the name had a history.
	MaxHistory int
}

const defaultTimeout = 5 * time.Minute

// cleanupTimeout is how long a record may take to be written once the
// operation itself has been cancelled.
const cleanupTimeout = 30 * time.Second

// installing is the work on one release.
type installing struct {
	Install
	req      InstallRequest
	rendered *Rendered
	crds     crdWork
	deployment
}

// Plan does all of an install that writes nothing: name, CRDs, rendering,
// validation, ownership, and what scripts do before an install. It tells what
// Run would do.
func (in Install) Plan(ctx context.Context, req InstallRequest) (*Change, *Rendered, error) {
	w := &installing{Install: in, req: req}
	if err := w.plan(ctx, nil, true); err != nil {
		return nil, nil, err
	}
	bus := in.Events.Fork()
	event.Respond(bus, event.ObjectValidation, w.validate)
	if err := bus.Emit(ctx, w.before()); err != nil {
		return nil, nil, err
	}
	w.release.Info.Description = "Dry run complete"
	crds, err := w.crds.foretell()
	if err != nil {
		return nil, nil, err
	}
	change, err := newChange(nil, w.release, w.deployment.plan, crds)
	return change, w.rendered, err
}

// Run installs req.Chart. If Run fails once the release is recorded, the
// record stays, marked failed, so that uninstall can find what was left behind;
// it is returned together with the error. A release that somebody began to
// install or uninstall, and who is gone, is gone on with.
func (in Install) Run(ctx context.Context, req InstallRequest) (*release.Release, error) {
	if err := CheckName(req.Name); err != nil {
		return nil, err
	}
	ctx, lock, err := take(ctx, in.Locker, req.Name, "install")
	if err != nil {
		return nil, err
	}
	defer lock.Unlock()
	w := &installing{Install: in, req: req}
	if err := w.plan(ctx, lock, false); err != nil {
		return nil, err
	}
	if err := untilLost(ctx, w.run(ctx)); err != nil {
		if !w.recorded {
			return nil, err
		}
		w.fail(ctx, fmt.Sprintf("Release %q failed: %s", req.Name, err))
		return w.release, w.recover(ctx, lock, err)
	}
	return w.release, w.succeed(ctx, orText(req.Description, "Install complete"))
}

func (w *installing) plan(ctx context.Context, lock lock.Lock, dryRun bool) error {
	if err := CheckName(w.req.Name); err != nil {
		return err
	}
	resolved, err := settle(w.req.Chart, w.req.Values, w.Install.Progress)
	if err != nil {
		return err
	}
	recorded := copyTree(resolved.Chart) // scripts may change the other
	past, err := w.Install.history(ctx, lock, w.req)
	if err != nil {
		return err
	}
	var cluster UpgradeCluster // an untyped nil where there is none
	if w.Cluster != nil {
		cluster = w.Cluster
	}
	w.rendered, err = w.crds.render(ctx, cluster, w.req.CRDs != CRDSkip, w.req.CRDs == CRDUpgrade, rendering{
		events:     w.Events,
		report:     w.Install.Progress,
		command:    "install",
		dryRun:     dryRun,
		resolved:   resolved,
		release:    engine.Release{Name: w.req.Name, Namespace: w.req.Namespace, Service: releaseService, Revision: past.next(), IsInstall: true},
		lookupHost: w.req.LookupHost,
		skipSchema: w.req.SkipSchema,
		subNotes:   w.req.SubchartNotes,
		preview:    w.req.Preview.when(dryRun),
	})
	if err != nil {
		return err
	}
	w.deployment = deployment{
		records: w.Releases, progress: w.Install.Progress, lock: lock, past: past,
		release: w.newRelease(recorded, past.next()), wait: w.req.Waiting, write: w.req.Writing, predict: w.req.Predict && dryRun, keepHistory: w.req.MaxHistory,
	}
	if w.Cluster != nil {
		w.deployment.cluster = w.Cluster
	}
	w.runHooks(w.Events, release.PreInstall, release.PostInstall)
	w.preview = w.req.Preview.when(dryRun)
	w.definitions = w.crds.written()
	return w.deployment.remember(w.rendered.Chart)
}

// history is that of the name, which must be one that may be used.
func (in Install) history(ctx context.Context, lock lock.Lock, req InstallRequest) (*past, error) {
	if in.Releases == nil {
		return &past{name: req.Name}, nil
	}
	p, err := readPast(ctx, in.Releases, lock, req.Name, in.Progress)
	if err != nil || p.last == nil {
		return p, err
	}
	switch st := p.last.Info.Status; {
	case req.ReuseName && (st == release.Uninstalled || st == release.Failed):
		return p, nil
	case lock != nil && p.deployed == nil && len(p.unfinished) > 0 && p.unfinished[len(p.unfinished)-1] == p.last:
		return p, nil
	}
	return nil, &NameInUseError{Name: req.Name, Status: p.last.Info.Status}
}

func (w *installing) newRelease(c *chart.Chart, revision int) *release.Release {
	now := clock(w.Now)
	rel := release.New(w.req.Name, w.req.Namespace, revision, c)
	rel.Config = w.req.Values
	rel.Labels = w.req.Labels
	rel.Info = release.Info{
		FirstDeployed: now,
		LastDeployed:  now,
		Status:        release.PendingInstall,
		Description:   "Initial install underway",
		Notes:         w.rendered.Notes,
	}
	return rel
}

// before is the event that ends the planning: scripts may change objects for
// the last time, then the responders take over.
func (w *installing) before() *event.PreInstall {
	e := &event.PreInstall{Scene: w.rendered.scene}
	e.Release = w.release
	return e
}

// validate makes the objects that scripts have left those of the release, and
// plans what becomes of them. Nothing has been written.
func (w *installing) validate(ctx context.Context, e *event.PreInstall) error {
	w.rendered.sort(e.Objects)
	w.release.Manifest = manifest.Format(w.rendered.Objects)
	w.release.Hooks = w.rendered.Hooks
	return w.prepare(ctx, w.rendered.Objects, w.rendered.coming)
}

// prerequisites creates what the objects need to stand on: the namespace and CRDs.
func (w *installing) prerequisites(ctx context.Context, _ *event.PreInstall) error {
	if w.req.CreateNamespace {
		if err := w.Cluster.CreateNamespace(ctx, w.req.Namespace); err != nil {
			return err
		}
	}
	return w.crds.write(ctx, w.Cluster, w.Install.Progress, w.req.Timeout)
}

// record writes the record. Creating it is what takes the name.
func (w *installing) record(ctx context.Context, _ *event.PreInstall) error {
	err := w.create(ctx)
	if errors.Is(err, storage.ErrExists) && !w.recorded {
		return &NameInUseError{Name: w.req.Name}
	}
	if last := w.past.last; err == nil && last != nil && len(w.past.unfinished) == 0 {
		return w.supersede(ctx, last.Revision, "superseded by new release")
	}
	return err
}

func (w *installing) run(ctx context.Context) error {
	bus := w.Events.Fork()
	event.Respond(bus, event.ObjectValidation, w.validate)
	event.Respond(bus, event.CRDs, w.prerequisites)
	event.Respond(bus, event.Record, w.record)
	if err := bus.Emit(ctx, w.before()); err != nil {
		return err
	}
	if err := w.apply(ctx); err != nil {
		return err
	}
	after := &event.PostInstall{Scene: w.rendered.scene}
	after.Release = w.release
	return w.Events.Emit(ctx, after)
}

// recover does what the request wants done after a failure, and returns the
// error with what became of it.
func (w *installing) recover(ctx context.Context, lock lock.Lock, cause error) error {
	switch {
	case lost(ctx): // somebody else may be at work: whatever is left to do is theirs
	case w.req.Atomic:
		w.Install.Progress.Send(progress.Event{Kind: progress.Step, Text: "uninstalling what has failed"})
		verb := Uninstall{Cluster: w.Cluster, Releases: w.Releases, Events: w.Undo, Progress: w.Install.Progress, Now: w.Now}
		if _, err := verb.run(afterwards(ctx), lock, UninstallRequest{Name: w.req.Name, Wait: true, Timeout: w.req.Timeout}); err != nil {
			return fmt.Errorf("%w\nuninstalling it again went wrong too: %w", cause, err)
		}
		return fmt.Errorf("release %s failed, and has been uninstalled due to rollback-on-failure being set: %w", w.req.Name, cause)
	case w.req.CleanupOnFail:
		if err := w.removeCreated(ctx); err != nil {
			return fmt.Errorf("%w\nremoving what it had created went wrong too: %w", cause, err)
		}
	}
	return cause
}

// lastWord is the context in which a record is written once everything else
// has happened: ctx without its cancellation, for a bounded time.
func lastWord(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
}

func orDefault(d time.Duration) time.Duration {
	if d <= 0 {
		return defaultTimeout
	}
	return d
}

// NameInUseError tells that a release of that name exists.
type NameInUseError struct {
	Name   string
	Status release.Status // "" where another install won the race
}

func (e *NameInUseError) Error() string {
	if e.Status == "" {
		return fmt.Sprintf("cannot re-use a name that is still in use: release %q is being installed by somebody else", e.Name)
	}
	return fmt.Sprintf("cannot re-use a name that is still in use: release %q exists with status %s", e.Name, e.Status)
}
