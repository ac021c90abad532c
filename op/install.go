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
	"github.com/moonhelm/moonhelm/values"
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

// installed is where an install stands once it is planned.
type installed struct {
	resolved *values.Resolved
	release  *release.Release
	rendered *Rendered
	newCRDs  []*manifest.Object
	// replaced is the release whose name is used again, nil for none.
	replaced *release.Release
}

// Plan does all of an install that writes nothing: name, CRDs, rendering,
// validation, ownership. The release it returns is what Run would record.
func (in Install) Plan(ctx context.Context, req InstallRequest) (*release.Release, *Rendered, error) {
	p, err := in.plan(ctx, req)
	if err != nil {
		return nil, nil, err
	}
	p.release.Info.Description = "Dry run complete"
	return p.release, p.rendered, nil
}

// Run installs req.Chart. If Run fails once the release is recorded, the
// record stays, marked failed, so that uninstall can find what was left behind;
// it is returned together with the error.
func (in Install) Run(ctx context.Context, req InstallRequest) (*release.Release, error) {
	p, err := in.plan(ctx, req)
	if err != nil {
		return nil, err
	}
	if req.CreateNamespace {
		if err := in.Cluster.CreateNamespace(ctx, req.Namespace); err != nil {
			return nil, err
		}
	}
	if p, err = in.installCRDs(ctx, req, p); err != nil {
		return nil, err
	}
	rel := p.release
	if err := in.Releases.Create(ctx, rel); err != nil {
		if errors.Is(err, ErrRevisionExists) {
			return nil, &NameInUseError{Name: req.Name}
		}
		return nil, fmt.Errorf("record release %s: %w", req.Name, err)
	}
	if err := in.execute(ctx, req, p); err != nil {
		in.record(ctx, rel, release.Failed, fmt.Sprintf("Release %q failed: %s", rel.Name, err))
		return rel, err
	}
	description := req.Description
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

func (in Install) plan(ctx context.Context, req InstallRequest) (*installed, error) {
	if err := CheckName(req.Name); err != nil {
		return nil, err
	}
	resolved, err := resolve(req.Chart, req.Values, in.Progress)
	if err != nil {
		return nil, err
	}
	replaced, err := in.replaced(ctx, req)
	if err != nil {
		return nil, err
	}
	p := &installed{resolved: resolved, replaced: replaced}
	revision := 1
	if replaced != nil {
		revision = replaced.Revision + 1
	}
	caps, err := capabilities(ctx, in.describer(), "", nil)
	if err != nil {
		return nil, err
	}
	if in.Cluster != nil && !req.SkipCRDs {
		crds, err := parseCRDs(resolved.Chart)
		if err != nil {
			return nil, err
		}
		if p.newCRDs, err = in.Cluster.MissingCRDs(ctx, crds); err != nil {
			return nil, err
		}
		// Templates must see the kinds that are about to exist, and nothing
		// may be written before all is known to fit.
		caps.APIVersions = append(caps.APIVersions[:len(caps.APIVersions):len(caps.APIVersions)], served(p.newCRDs)...)
	}
	if err := in.render(ctx, req, p, caps, revision); err != nil {
		return nil, err
	}
	if in.Cluster != nil {
		owner := Owner{Release: req.Name, Namespace: req.Namespace}
		if err := in.Cluster.Check(ctx, p.rendered.Known(), owner, req.TakeOwnership); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// render fills p with what the chart comes to under the given capabilities.
func (in Install) render(ctx context.Context, req InstallRequest, p *installed, caps *render.Capabilities, revision int) error {
	rendered, err := rendering{
		events:       in.Events,
		resolved:     p.resolved,
		release:      render.Release{Name: req.Name, Namespace: req.Namespace, Service: releaseService, Revision: revision, IsInstall: true},
		capabilities: caps,
		lookup:       lookupIn(ctx, in.describer()),
		lookupHost:   req.LookupHost,
		skipSchema:   req.SkipSchema,
		subNotes:     req.SubchartNotes,
	}.run(ctx)
	if err != nil {
		return err
	}
	rendered.newCRDs = p.newCRDs
	p.rendered = rendered
	p.release = in.newRelease(req, revision, rendered)
	return nil
}

// installCRDs creates what is missing and renders again, now that the cluster
// serves the new kinds and can answer lookups of them.
func (in Install) installCRDs(ctx context.Context, req InstallRequest, p *installed) (*installed, error) {
	if len(p.newCRDs) == 0 {
		return p, nil
	}
	in.Progress.Send(progress.Event{Kind: progress.Step, Text: fmt.Sprintf("installing %d custom resource definitions", len(p.newCRDs))})
	wctx, cancel := context.WithTimeout(ctx, orDefault(req.Timeout))
	defer cancel()
	if err := in.Cluster.InstallCRDs(wctx, p.newCRDs); err != nil {
		return nil, err
	}
	caps, err := capabilities(ctx, in.Cluster, "", nil)
	if err != nil {
		return nil, err
	}
	again := &installed{resolved: p.resolved, replaced: p.replaced}
	if err := in.render(ctx, req, again, caps, p.release.Revision); err != nil {
		return nil, err
	}
	// Templates may have given other objects, now that lookup finds more.
	owner := Owner{Release: req.Name, Namespace: req.Namespace}
	if err := in.Cluster.Check(ctx, again.rendered.Objects, owner, req.TakeOwnership); err != nil {
		return nil, err
	}
	return again, nil
}

func (in Install) execute(ctx context.Context, req InstallRequest, p *installed) error {
	rel := p.release
	if old := p.replaced; old != nil {
		old.Info.Status, old.Info.Description = release.Superseded, "Superseded by new release"
		if err := in.Releases.Update(ctx, old); err != nil {
			return fmt.Errorf("record revision %d of release %s as superseded: %w", old.Revision, old.Name, err)
		}
	}
	if err := in.Events.Emit(ctx, &event.PreInstall{Release: rel}); err != nil {
		return err
	}
	owner := Owner{Release: req.Name, Namespace: req.Namespace}
	in.Progress.Send(progress.Event{Kind: progress.Step, Text: fmt.Sprintf("creating %d objects", len(p.rendered.Objects))})
	if err := in.Cluster.Apply(ctx, manifest.ApplyOrder(p.rendered.Objects), owner); err != nil {
		return err
	}
	if req.Wait {
		wctx, cancel := context.WithTimeout(ctx, orDefault(req.Timeout))
		defer cancel()
		if err := in.Cluster.WaitReady(wctx, p.rendered.Objects, req.Namespace, req.WaitJobs); err != nil {
			return err
		}
	}
	return in.Events.Emit(ctx, &event.PostInstall{Release: rel})
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
	rel.Manifest = manifest.Format(r.Objects)
	rel.Hooks = r.Hooks
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
