// SPDX-License-Identifier: Apache-2.0

package op

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/progress"
	"github.com/moonhelm/moonhelm/release"
	"github.com/moonhelm/moonhelm/render"
)

// Applier writes objects into a cluster. Objects without a namespace of their
// own go into the owner's.
type Applier interface {
	// Check refuses objects that exist and are not owner's, before anything is
	// written. With take, they are owner's from now on.
	Check(ctx context.Context, objects []*manifest.Object, owner Owner, take bool) error
	// Apply creates objects in the order given, those of one kind at once, and
	// brings those of owner's that exist up to date. All are marked as owner's.
	Apply(ctx context.Context, objects []*manifest.Object, owner Owner) error
	// CreateNamespace creates a namespace; one that exists is fine.
	CreateNamespace(ctx context.Context, name string) error
}

// CRDInstaller creates custom resource definitions.
type CRDInstaller interface {
	// MissingCRDs are those of crds that the cluster does not have.
	MissingCRDs(ctx context.Context, crds []*manifest.Object) ([]*manifest.Object, error)
	// InstallCRDs creates crds, waits until they are established, and forgets
	// what was known of the cluster's kinds.
	InstallCRDs(ctx context.Context, crds []*manifest.Object) error
}

// Waiter waits for objects.
type Waiter interface {
	// WaitReady returns when all objects are ready, jobs complete too where jobs
	// says so; an object that cannot become ready any more is an error.
	WaitReady(ctx context.Context, objects []*manifest.Object, namespace string, jobs bool) error
}

// InstallCluster is all that [Install] needs of a cluster.
type InstallCluster interface {
	Describer
	Applier
	CRDInstaller
	Waiter
}

// Install puts a chart into a cluster and records it as a release.
type Install struct {
	// Cluster is where to install. [Install.Plan] works without one: nothing
	// is looked up, and capabilities are the default's.
	Cluster  InstallCluster
	Releases Recorder         // may be nil for Plan: then no name is taken
	Events   *event.Bus       // nil runs no handlers
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
	// Replace allows the name of a release that was uninstalled or failed.
	Replace       bool
	TakeOwnership bool
	SkipCRDs      bool
	SkipSchema    bool
	SubchartNotes bool
	LookupHost    func(host string) string // nil: getHostByName gives ""

	// Wait waits until objects are ready, WaitJobs for jobs to complete too.
	Wait, WaitJobs bool
	// Timeout bounds each wait; 0 is five minutes.
	Timeout time.Duration
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
	release  *release.Release
	newCRDs  []*manifest.Object
	// replaced is the release whose name is used again, nil for none.
	replaced *release.Release
	// recorded tells that the cluster knows of the release.
	recorded bool
}

// Plan does all of an install that writes nothing: name, CRDs, rendering,
// validation, ownership, and what scripts do before an install. The release it
// returns is what Run would record.
func (in Install) Plan(ctx context.Context, req InstallRequest) (*release.Release, *Rendered, error) {
	w := &installing{Install: in, req: req}
	if err := w.plan(ctx, true); err != nil {
		return nil, nil, err
	}
	bus := in.Events.Fork()
	event.Respond(bus, event.ObjectValidation, w.validate)
	if err := bus.Emit(ctx, w.before()); err != nil {
		return nil, nil, err
	}
	w.release.Info.Description = "Dry run complete"
	return w.release, w.rendered, nil
}

// Run installs req.Chart. If Run fails once the release is recorded, the
// record stays, marked failed, so that uninstall can find what was left behind;
// it is returned together with the error.
func (in Install) Run(ctx context.Context, req InstallRequest) (*release.Release, error) {
	w := &installing{Install: in, req: req}
	if err := w.plan(ctx, false); err != nil {
		return nil, err
	}
	if err := w.run(ctx); err != nil {
		if !w.recorded {
			return nil, err
		}
		in.record(ctx, w.release, release.Failed, fmt.Sprintf("Release %q failed: %s", w.release.Name, err))
		return w.release, err
	}
	rel, description := w.release, req.Description
	if description == "" {
		description = "Install complete"
	}
	rel.Info.Status, rel.Info.Description = release.Deployed, description
	// All is done: an interrupt that comes now must not leave it pending.
	ctx, cancel := lastWord(ctx)
	defer cancel()
	if err := in.Releases.Update(ctx, rel); err != nil {
		return rel, fmt.Errorf("record release %s as deployed: %w", rel.Name, err)
	}
	return rel, nil
}

func (w *installing) plan(ctx context.Context, dryRun bool) error {
	if err := CheckName(w.req.Name); err != nil {
		return err
	}
	resolved, err := settle(w.req.Chart, w.req.Values, w.Progress)
	if err != nil {
		return err
	}
	if w.replaced, err = w.Install.replaced(ctx, w.req); err != nil {
		return err
	}
	revision := 1
	if w.replaced != nil {
		revision = w.replaced.Revision + 1
	}
	caps, err := capabilities(ctx, w.describer(), "", nil)
	if err != nil {
		return err
	}
	lookup := lookupIn(ctx, w.describer())
	if w.Cluster != nil && !w.req.SkipCRDs {
		crds, err := parseCRDs(resolved.Chart)
		if err != nil {
			return err
		}
		if w.newCRDs, err = w.Cluster.MissingCRDs(ctx, crds); err != nil {
			return err
		}
		// Templates must see the kinds that are about to exist, and nothing
		// may be written before all is known to fit.
		caps.APIVersions = append(caps.APIVersions[:len(caps.APIVersions):len(caps.APIVersions)], served(w.newCRDs)...)
		lookup = lookupBefore(w.newCRDs, lookup)
	}
	w.rendered, err = rendering{
		events:       w.Events,
		command:      "install",
		dryRun:       dryRun,
		resolved:     resolved,
		release:      render.Release{Name: w.req.Name, Namespace: w.req.Namespace, Service: releaseService, Revision: revision, IsInstall: true},
		capabilities: caps,
		lookup:       lookup,
		lookupHost:   w.req.LookupHost,
		skipSchema:   w.req.SkipSchema,
		subNotes:     w.req.SubchartNotes,
	}.run(ctx)
	if err != nil {
		return err
	}
	w.rendered.newCRDs = w.newCRDs
	w.release = w.newRelease(w.req, revision, w.rendered)
	return w.release.SetScripts(w.rendered.Chart)
}

// before is the event that ends the planning: scripts may change objects for
// the last time, then the responders take over.
func (w *installing) before() *event.PreInstall {
	e := &event.PreInstall{Scene: w.rendered.scene}
	e.Release = w.release
	return e
}

// validate makes the objects that scripts have left those of the release, and
// refuses those that are somebody else's. Nothing has been written.
func (w *installing) validate(ctx context.Context, e *event.PreInstall) error {
	if err := w.rendered.sort(e.Objects); err != nil {
		return err
	}
	w.release.Manifest = manifest.Format(w.rendered.Objects)
	w.release.Hooks = w.rendered.Hooks
	if w.Cluster == nil {
		return nil
	}
	return w.Cluster.Check(ctx, w.rendered.Known(), w.owner(), w.req.TakeOwnership)
}

func (w *installing) owner() Owner {
	return Owner{Release: w.req.Name, Namespace: w.req.Namespace}
}

// prepare creates what the objects need to stand on: the namespace and CRDs.
func (w *installing) prepare(ctx context.Context, _ *event.PreInstall) error {
	if w.req.CreateNamespace {
		if err := w.Cluster.CreateNamespace(ctx, w.req.Namespace); err != nil {
			return err
		}
	}
	if len(w.newCRDs) == 0 {
		return nil
	}
	w.Progress.Send(progress.Event{Kind: progress.Step, Text: fmt.Sprintf("installing %d custom resource definitions", len(w.newCRDs))})
	ctx, cancel := context.WithTimeout(ctx, orDefault(w.req.Timeout))
	defer cancel()
	return w.Cluster.InstallCRDs(ctx, w.newCRDs)
}

// create writes the record. Creating it is what takes the name.
func (w *installing) create(ctx context.Context, _ *event.PreInstall) error {
	if err := w.Releases.Create(ctx, w.release); err != nil {
		if errors.Is(err, ErrRevisionExists) {
			return &NameInUseError{Name: w.req.Name}
		}
		return fmt.Errorf("record release %s: %w", w.req.Name, err)
	}
	w.recorded = true
	old := w.replaced
	if old == nil {
		return nil
	}
	old.Info.Status, old.Info.Description = release.Superseded, "Superseded by new release"
	if err := w.Releases.Update(ctx, old); err != nil {
		return fmt.Errorf("record revision %d of release %s as superseded: %w", old.Revision, old.Name, err)
	}
	return nil
}

func (w *installing) run(ctx context.Context) error {
	bus := w.Events.Fork()
	event.Respond(bus, event.ObjectValidation, w.validate)
	event.Respond(bus, event.CRDs, w.prepare)
	event.Respond(bus, event.Record, w.create)
	if err := bus.Emit(ctx, w.before()); err != nil {
		return err
	}
	objects := w.rendered.Objects
	w.Progress.Send(progress.Event{Kind: progress.Step, Text: fmt.Sprintf("creating %d objects", len(objects))})
	if err := w.Cluster.Apply(ctx, manifest.ApplyOrder(objects), w.owner()); err != nil {
		return err
	}
	if w.req.Wait {
		wctx, cancel := context.WithTimeout(ctx, orDefault(w.req.Timeout))
		defer cancel()
		if err := w.Cluster.WaitReady(wctx, objects, w.req.Namespace, w.req.WaitJobs); err != nil {
			return err
		}
	}
	after := &event.PostInstall{Scene: w.rendered.scene}
	after.Release = w.release
	return w.Events.Emit(ctx, after)
}

// replaced finds the release of that name, which must be one that may be
// replaced; nil where the name is free.
func (in Install) replaced(ctx context.Context, req InstallRequest) (*release.Release, error) {
	if in.Releases == nil {
		return nil, nil
	}
	last, err := in.Releases.Revision(ctx, req.Name, 0)
	switch {
	case errors.Is(err, ErrReleaseNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	}
	if st := last.Info.Status; req.Replace && (st == release.Uninstalled || st == release.Failed) {
		return last, nil
	}
	return nil, &NameInUseError{Name: req.Name, Status: last.Info.Status}
}

func (in Install) newRelease(req InstallRequest, revision int, r *Rendered) *release.Release {
	now := in.now()
	rel := release.New(req.Name, req.Namespace, revision, req.Chart)
	rel.Config = req.Values
	rel.Labels = req.Labels
	rel.ApplyMethod = release.ApplyClientSide
	rel.Info = release.Info{
		FirstDeployed: now,
		LastDeployed:  now,
		Status:        release.PendingInstall,
		Description:   "Initial install underway",
		Notes:         r.Notes,
	}
	return rel
}

// record writes the last word on a release even where the operation was
// cancelled: a record that stays pending would be a lie.
func (in Install) record(ctx context.Context, rel *release.Release, status release.Status, description string) {
	ctx, cancel := lastWord(ctx)
	defer cancel()
	rel.Info.Status, rel.Info.Description = status, description
	if err := in.Releases.Update(ctx, rel); err != nil {
		in.Progress.Send(progress.Event{Kind: progress.Warning, Text: fmt.Sprintf("release %s could not be recorded as %s: %s", rel.Name, status, err)})
	}
}

// lastWord is the context in which a record is written once everything else
// has happened: ctx without its cancellation, for a bounded time.
func lastWord(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
}

func (in Install) describer() Describer {
	if in.Cluster == nil {
		return nil
	}
	return in.Cluster
}

func (in Install) now() time.Time {
	if in.Now == nil {
		return time.Now()
	}
	return in.Now()
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
		return fmt.Sprintf("cannot reuse a name that is still in use: release %q is being installed by somebody else", e.Name)
	}
	return fmt.Sprintf("cannot reuse a name that is still in use: release %q exists with status %s", e.Name, e.Status)
}
