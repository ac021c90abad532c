// SPDX-License-Identifier: Apache-2.0

package action

import (
	"cmp"
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

// A NamespaceCreator creates namespaces.
type NamespaceCreator interface {
	// CreateNamespace creates a namespace. It does nothing if the namespace exists.
	CreateNamespace(ctx context.Context, name string) error
}

// A Waiter waits for objects.
type Waiter interface {
	// Await returns when all objects are ready, or an error as soon as one of them cannot
	// become ready any more.
	Await(ctx context.Context, r wait.Request) error
}

// Install installs a chart and records it as a release.
type Install struct{ *Config }

// An InstallRequest is the request of an install.
type InstallRequest = DeployRequest

// A DeployRequest is the request of an install or an upgrade. Chart and Name are required.
type DeployRequest struct {
	Chart  *chart.Chart
	Values map[string]any
	// ValueOrigins returns where Values come from, for the record.
	ValueOrigins OriginsFunc
	Name         string
	// Namespace is the namespace of the release, which must be that of Config.Releases; ""
	// means that namespace.
	Namespace   string
	Description string // replaces "Install complete" in the record
	// Labels are the labels of the record. An upgrade merges them over those of the last
	// revision; the value "null" deletes a label.
	Labels map[string]string

	// Reuse selects how an upgrade uses the values of the last revision.
	Reuse Reuse

	// CreateNamespace has an install create the namespace. Replace lets it reuse the name
	// of a release that failed, or was uninstalled with its history kept.
	CreateNamespace, Replace bool

	CRDs          CRDPolicy
	SkipSchema    bool
	SubchartNotes bool
	LookupHost    func(host string) string // implements getHostByName; nil returns ""
	Preview
	ValueCheck

	WaitOptions
	ApplyOptions
	// NoHooks disables hooks.
	NoHooks bool
	// ServerDryRun has Plan send each object to the API server as a dry run. Run ignores it.
	ServerDryRun bool
	// CleanupOnFail deletes the objects that a failed operation has created. Atomic undoes
	// the operation: it uninstalls a failed install, and rolls a failed upgrade back to the
	// last successful revision. Atomic implies Wait.
	CleanupOnFail bool
	Atomic        bool
	// UndoCancelled has CleanupOnFail and Atomic also undo an operation whose context has
	// ended. Run then returns after the undo, including its hooks and waits. Without it,
	// the objects of a canceled operation stay, and its record is marked failed.
	UndoCancelled bool
	// MaxHistory is the number of revisions to keep, or 0 for all.
	MaxHistory int
	TemplateHistory
	PatchOptions
}

const defaultTimeout = 5 * time.Minute

// cleanupTimeout limits the time for writing a record after the operation was canceled.
const cleanupTimeout = 30 * time.Second

// installOperation is one install.
type installOperation struct {
	*deployment
	req InstallRequest
}

func (in Install) operation(req InstallRequest) *installOperation {
	w := &installOperation{deployment: newDeployment(in.Config, "install", &req)}
	w.req = req
	w.op, w.newNamespace = w, req.CreateNamespace
	return w
}

// Plan takes the steps of Run that do not write: it renders, validates, and emits the events
// before an install. It returns the changes that Run would make. Without a cluster, lookup
// finds nothing, and capabilities are the default ones; without records, every name is free.
func (in Install) Plan(ctx context.Context, req InstallRequest) (*Change, *Rendered, error) {
	w := in.operation(req)
	crds, err := w.runDryChart(ctx, req)
	if err != nil {
		return nil, nil, err
	}
	change, err := newChange(nil, w.release, w.plan, crds)
	change.Patched = w.rendered.patched
	if err == nil {
		change.Kept, err = w.keptDocument()
	}
	return change, w.rendered, err
}

// Run installs req.Chart, which the caller has loaded, and returns the recorded release. These
// are its steps, with the functions that implement them:
//
//   - Lock the release (acquire).
//   - Merge values: the chart's, the user's, globals, import-values (resolveValues); check
//     that the name is free (checkName).
//   - Emit pre-render, render the templates, parse the result into objects, and emit
//     post-render (rendering.run).
//   - Emit pre-install to scripts and handlers; then validate all objects as scripts have left
//     them, check permissions, create the namespace and CRDs, record the release and run hooks
//     (execute).
//   - Apply the objects, and wait until they are ready if req.Wait is set.
//   - Emit post-install, and record the result (recordSuccess).
//
// If Run fails after the release was recorded, it returns the record, marked failed, together
// with the error, and uninstall can delete the remaining objects. Run continues a release
// whose install or uninstall was interrupted.
//
// Errors, to be found with errors.As, for they may be in an [*event.HandlerError]:
//
//   - of the request: [*ConfigError], [*RequestError], [*NamespaceError], [*ApplyOptionsError],
//     [ErrNoName], [*NameInUseError]
//   - of patches: [*patch.SyntaxError], [*patch.NoTargetError], [*patch.ApplyError]
//   - of the chart and its values: [*LibraryError], [*MissingDependenciesError],
//     [*KubeVersionError], [*schema.Error], [*engine.Error], [*manifest.SyntaxError]
//   - before anything is written: [*apply.ConflictError], [*apply.ValidationError],
//     [*apply.PermissionError], [*kube.NoMatchError], [*HookConflictError]
//   - of the lock: [*lock.LockedError], [*lock.LostError]
//   - after the release was recorded: [*kube.ObjectError], [*apply.FieldConflictError],
//     [*HookError], [*wait.FailedError], [*wait.PendingError]
//
// and those of the API, as [kube.Client.Call] returns them.
func (in Install) Run(ctx context.Context, req InstallRequest) (*release.Release, error) {
	return in.operation(req).deploy(ctx)
}

// prepare checks the name, and renders the chart.
func (w *installOperation) prepare(ctx context.Context) error {
	resolved, err := resolveValues(w.req.Chart, w.req.Values, w.config.Progress)
	if err != nil {
		return err
	}
	recorded := resolved.Chart.CopyTree() // scripts may change resolved.Chart
	if err := w.checkName(); err != nil {
		return err
	}
	if err := w.renderChart(ctx, w.req, resolved); err != nil {
		return err
	}
	w.release = w.newRelease(recorded)
	w.release.Lists = resolved.Lists.Record(resolved.Values, w.release.Config)
	if err := errors.Join(w.recordOrigins(), w.recordPatches(w.req.PatchOptions)); err != nil {
		return err
	}
	return w.persist(w.rendered.Chart)
}

// checkName returns a [*NameInUseError] if the name is in use.
func (w *installOperation) checkName() error {
	p := w.history
	if p.last == nil {
		return nil
	}
	switch st := p.last.Info.Status; {
	case w.req.Replace && (st == release.Uninstalled || st == release.Failed):
		return nil
	case (w.lock != nil || w.rebase) && p.deployed == nil && len(p.interrupted) > 0 &&
		p.interrupted[len(p.interrupted)-1] == p.last:
		return nil
	}
	return &NameInUseError{Name: w.req.Name, Status: p.last.Info.Status, Deployed: p.deployed != nil}
}

func (w *installOperation) newRelease(c *chart.Chart) *release.Release {
	now := w.config.now()
	rel := release.New(w.req.Name, w.req.Namespace, w.history.nextRevision(), c)
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

func (w *installOperation) preEvent() event.Event {
	e := &event.PreInstall{Payload: w.payload}
	e.Release = w.release
	return e
}

func (w *installOperation) postEvent() event.Event {
	e := &event.PostInstall{Payload: w.payload}
	e.Release = w.release
	return e
}

func (w *installOperation) confirmUndo(context.Context) error { return nil }

// recordPending creates the pending record, which reserves the name.
func (w *installOperation) recordPending(ctx context.Context) error {
	err := w.createRecord(ctx)
	if errors.Is(err, storage.ErrExists) && !w.recorded {
		return &NameInUseError{Name: w.req.Name}
	}
	if last := w.history.last; err == nil && last != nil && len(w.history.interrupted) == 0 {
		return w.supersede(ctx, last.Revision, "superseded by new release")
	}
	return err
}

func (w *installOperation) successDescription() string {
	return cmp.Or(w.req.Description, "Install complete")
}

func (w *installOperation) failureDescription(err error) string {
	return fmt.Sprintf("Release %q failed: %s", w.req.Name, summaryOf(err))
}

// afterFailure undoes a failed install if the request asks for it, and returns cause wrapped
// with the result.
func (w *installOperation) afterFailure(ctx context.Context, cause error) error {
	switch {
	case isLockLost(ctx): // the client that has the lock now decides what to undo
	case w.req.Atomic:
		w.config.step("uninstalling the failed release")
		undo := Uninstall{w.config}.operation(UninstallRequest{Name: w.req.Name, Wait: true, Timeout: w.req.Timeout})
		if _, err := undo.revert(w.undoContext(ctx), w.lock, w.hooks); err != nil {
			return fmt.Errorf("%w\nuninstalling it failed too: %w", cause, err)
		}
		setUndone(cause, UndoneAll)
		return fmt.Errorf("release %s failed, and has been uninstalled due to rollback-on-failure being set: %w", w.req.Name,
			cause)
	case w.req.CleanupOnFail:
		if err := w.removeCreated(ctx); err != nil {
			return fmt.Errorf("%w\ndeleting the objects that it had created failed too: %w", cause, err)
		}
		setUndone(cause, UndoneCreated)
	}
	return cause
}

// cleanupContext returns the context for writing the final record: ctx without its
// cancellation, but with a timeout.
func cleanupContext(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
}

// timeoutOrDefault returns d, or the default timeout if d is not positive.
func timeoutOrDefault(d time.Duration) time.Duration {
	if d <= 0 {
		return defaultTimeout
	}
	return d
}

// A NameInUseError is returned if a release of the name exists.
type NameInUseError struct {
	Name   string
	Status release.Status // "" if another client has just created the record
	// Deployed is set if a revision of the release is deployed, whatever the last one's status.
	Deployed bool
	// Renaming is set if the name is the new one of a rename.
	Renaming bool
}

func (e *NameInUseError) Error() string {
	if e.Status == "" {
		return fmt.Sprintf("cannot re-use a name that is still in use: release %q is being installed by another client",
			e.Name)
	}
	return fmt.Sprintf("cannot re-use a name that is still in use: release %q exists with status %s", e.Name, e.Status)
}
