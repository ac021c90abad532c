// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/kube/wait"
	"github.com/moonhelm/moonhelm/release"
	"github.com/moonhelm/moonhelm/storage"
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
	Await(ctx context.Context, r wait.Request) error
}

// Install puts a chart into a cluster and records it as a release.
type Install struct{ *Config }

// InstallRequest says what to install.
type InstallRequest = DeployRequest

// DeployRequest says what to install, or to upgrade to. Chart and Name are needed.
type DeployRequest struct {
	Chart  *chart.Chart
	Values map[string]any
	Name   string
	// Namespace is the release's, which must be that of Config.Releases; "" is that one.
	Namespace   string
	Description string // what the record says in place of "Install complete"
	// Labels are on the record. An upgrade lays them over those of the last
	// revision; the value "null" takes one away.
	Labels map[string]string

	// Reuse says what an upgrade does with the last values.
	Reuse Reuse

	// CreateNamespace has an install create the namespace. Replace lets it take the name
	// of a release that failed, or was uninstalled with its history kept.
	CreateNamespace, Replace bool

	CRDs          CRDPolicy
	SkipSchema    bool
	SubchartNotes bool
	LookupHost    func(host string) string // nil: getHostByName gives ""
	Preview

	WaitOptions
	ApplyOptions
	// NoHooks runs no hooks.
	NoHooks bool
	// ServerDryRun has Plan ask the API server what would become of each object, and
	// what it would refuse. Run takes no notice of it.
	ServerDryRun bool
	// CleanupOnFail deletes what a failed operation has created. Atomic undoes it
	// altogether: a failed install is uninstalled, a failed upgrade rolled back to the
	// last successful revision. Atomic implies Wait.
	CleanupOnFail bool
	Atomic        bool
	// UndoCancelled has CleanupOnFail and Atomic undo an operation whose context has ended
	// too. Run then takes as long as the undo does, with its hooks and waits. Otherwise
	// what a cancelled operation has written stays, and its record says so.
	UndoCancelled bool
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
	*deployment
	req InstallRequest
}

func (in Install) work(req InstallRequest) *installing {
	w := &installing{deployment: newDeployment(in.Config, "install", &req)}
	w.req = req
	w.verb, w.newNamespace = w, req.CreateNamespace
	return w
}

// Plan does all of an install that writes nothing: name, CRDs, rendering,
// validation, ownership, and what scripts do before an install. It returns what
// Run would do. Without a cluster nothing is looked up, and capabilities are the
// default's; without records no name is taken.
func (in Install) Plan(ctx context.Context, req InstallRequest) (*Change, *Rendered, error) {
	w := in.work(req)
	crds, err := w.dryChart(ctx, req)
	if err != nil {
		return nil, nil, err
	}
	change, err := newChange(nil, w.release, w.plan, crds)
	return change, w.rendered, err
}

// Run installs req.Chart, and returns the recorded release. These are its steps, in the words
// of the events document, with the functions that take them; loading the chart is the
// caller's:
//
//   - the release is locked (acquire);
//   - merge values: the chart's, the user's, globals, import-values (resolveValues), for a
//     name that is free (checkName);
//   - emit pre-render, render the templates, parse the result into objects, emit post-render
//     (rendering.run);
//   - call pre-install: scripts and handlers answer it; then the core validates all objects,
//     as scripts have left them (ADR 4 says why not before), checks permissions, creates the
//     namespace and CRDs, records the release and runs hooks;
//   - install the manifests, and wait until they are ready where that is asked for;
//   - emit post-install, and record how it ended (execute, succeed).
//
// If Run fails once the release is recorded, the record stays, marked failed, so that
// uninstall can find what was left behind; it is returned together with the error. A
// release whose install or uninstall was interrupted is gone on with.
func (in Install) Run(ctx context.Context, req InstallRequest) (*release.Release, error) {
	return in.work(req).deploy(ctx)
}

// prepare checks the name, and renders the chart for it.
func (w *installing) prepare(ctx context.Context) error {
	resolved, err := resolveValues(w.req.Chart, w.req.Values, w.config.Progress)
	if err != nil {
		return err
	}
	recorded := copyTree(resolved.Chart) // scripts may change the other
	if err := w.checkName(); err != nil {
		return err
	}
	if err := w.renderChart(ctx, w.req, resolved, w.req.CRDs != CRDSkip); err != nil {
		return err
	}
	w.release = w.newRelease(recorded)
	return w.persist(w.rendered.Chart)
}

// checkName refuses a name that is taken.
func (w *installing) checkName() error {
	p := w.history
	if p.last == nil {
		return nil
	}
	switch st := p.last.Info.Status; {
	case w.req.Replace && (st == release.Uninstalled || st == release.Failed):
		return nil
	case w.lock != nil && p.deployed == nil && len(p.unfinished) > 0 && p.unfinished[len(p.unfinished)-1] == p.last:
		return nil
	}
	return &NameInUseError{Name: w.req.Name, Status: p.last.Info.Status}
}

func (w *installing) newRelease(c *chart.Chart) *release.Release {
	now := w.config.now()
	rel := release.New(w.req.Name, w.req.Namespace, w.history.next(), c)
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

func (w *installing) before() event.Event {
	e := &event.PreInstall{Payload: w.payload}
	e.Release = w.release
	return e
}

func (w *installing) after() event.Event {
	e := &event.PostInstall{Payload: w.payload}
	e.Release = w.release
	return e
}

func (w *installing) confirmUndo(context.Context) error { return nil }

// recordPending writes the record. Creating it is what takes the name.
func (w *installing) recordPending(ctx context.Context) error {
	err := w.create(ctx)
	if errors.Is(err, storage.ErrExists) && !w.recorded {
		return &NameInUseError{Name: w.req.Name}
	}
	if last := w.history.last; err == nil && last != nil && len(w.history.unfinished) == 0 {
		return w.supersede(ctx, last.Revision, "superseded by new release")
	}
	return err
}

func (w *installing) complete() string { return orText(w.req.Description, "Install complete") }

func (w *installing) failed(err error) string {
	return fmt.Sprintf("Release %q failed: %s", w.req.Name, err)
}

// afterFailure does what the request wants done after a failure, and returns the
// error with what became of it.
func (w *installing) afterFailure(ctx context.Context, cause error) error {
	switch {
	case lost(ctx): // another client may be at work: what is left to do is its
	case w.req.Atomic:
		w.config.step("uninstalling what has failed")
		undo := Uninstall{w.config}.work(UninstallRequest{Name: w.req.Name, Wait: true, Timeout: w.req.Timeout})
		if _, err := undo.revert(w.undoContext(ctx), w.lock, w.hooks); err != nil {
			return fmt.Errorf("%w\nuninstalling it again went wrong too: %w", cause, err)
		}
		return fmt.Errorf("release %s failed, and has been uninstalled due to rollback-on-failure being set: %w", w.req.Name,
			cause)
	case w.req.CleanupOnFail:
		if err := w.removeCreated(ctx); err != nil {
			return fmt.Errorf("%w\nremoving what it had created went wrong too: %w", cause, err)
		}
	}
	return cause
}

// cleanupContext is the context in which a record is written once everything else
// has happened: ctx without its cancellation, for a bounded time.
func cleanupContext(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
}

func orDefault(d time.Duration) time.Duration {
	if d <= 0 {
		return defaultTimeout
	}
	return d
}

// A NameInUseError is returned for the name of a release that exists.
type NameInUseError struct {
	Name   string
	Status release.Status // "" where another install won the race
}

func (e *NameInUseError) Error() string {
	if e.Status == "" {
		return fmt.Sprintf("cannot re-use a name that is still in use: release %q is being installed by another client",
			e.Name)
	}
	return fmt.Sprintf("cannot re-use a name that is still in use: release %q exists with status %s", e.Name, e.Status)
}
