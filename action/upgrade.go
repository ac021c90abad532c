// SPDX-License-Identifier: Apache-2.0

package action

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/values"
	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/plan"
	"github.com/moonhelm/moonhelm/planfile"
	"github.com/moonhelm/moonhelm/release"
	"github.com/moonhelm/moonhelm/storage"
)

// Reuse selects how an upgrade uses the last values: those of the deployed revision, or of the
// newest one if none is deployed.
type Reuse string

// The values of Reuse.
const (
	// ReuseIfNone uses the last values only if the request has none.
	ReuseIfNone Reuse = ""
	// ReuseValues merges the request's values over the last ones, and both over the
	// defaults of the last chart.
	ReuseValues Reuse = "reuse"
	// ResetValues ignores the last values.
	ResetValues Reuse = "reset"
	// ResetThenReuse merges the request's values over the last ones, and both over the
	// defaults of the new chart.
	ResetThenReuse Reuse = "reset-then-reuse"
)

// Upgrade upgrades a release to another chart or other values.
type Upgrade struct{ *Config }

// An UpgradeRequest is the request of an upgrade.
type UpgradeRequest = DeployRequest

// upgradeOperation is one upgrade.
type upgradeOperation struct {
	*deployment
	req UpgradeRequest
}

func (u Upgrade) operation(req UpgradeRequest) *upgradeOperation {
	w := &upgradeOperation{deployment: newDeployment(u.Config, "upgrade", &req)}
	w.req = req
	w.op = w
	return w
}

// Plan takes the steps of Run that do not write, and returns the changes that Run would make.
// Without a cluster, lookup finds nothing, and the change has no Plan. Errors are those of Run
// before anything is written.
func (u Upgrade) Plan(ctx context.Context, req UpgradeRequest) (*Change, *Rendered, error) {
	w := u.operation(req)
	if err := requireReleases(w.config.Releases, w.doing); err != nil {
		return nil, nil, err
	}
	crds, err := w.runDryChart(ctx, req)
	if err != nil {
		return nil, nil, err
	}
	change, err := newChange(w.history.current(), w.release, w.plan, crds)
	change.Patched = w.rendered.patched
	if err == nil {
		change.Kept, err = w.keptDocument()
	}
	return change, w.rendered, err
}

// Run upgrades the release in the steps of [Install.Run], and returns the new revision. If it
// fails after the revision was recorded, it returns the record, marked failed, together with
// the error.
//
// Errors are those of [Install.Run] except [*NameInUseError]; [*NoReleaseError],
// [*RevisionsError], [*OvertakenError] without a Locker, and [*apply.ImmutableError].
func (u Upgrade) Run(ctx context.Context, req UpgradeRequest) (*release.Release, error) {
	return u.operation(req).deploy(ctx)
}

// prepare renders the chart with the values of the request and, depending on Reuse, of the
// current revision.
func (w *upgradeOperation) prepare(ctx context.Context) error {
	history := w.history
	if err := w.checkExists(); err != nil {
		return err
	}
	c, vals, err := w.reuseValues(history.current())
	if err != nil {
		return err
	}
	if err := w.reusePatches(history.current()); err != nil {
		return err
	}
	resolved, err := resolveValues(c, vals, w.config.Progress)
	if err != nil {
		return err
	}
	recorded := resolved.Chart.CopyTree() // scripts may change resolved.Chart
	if err := w.renderChart(ctx, w.req, resolved); err != nil {
		return err
	}
	w.release = w.newRelease(recorded, vals)
	w.release.Lists = resolved.Lists.Record(resolved.Values, vals)
	if err := errors.Join(w.recordOrigins(c, history.current()), w.recordPatches(w.req.PatchOptions)); err != nil {
		return err
	}
	return w.persist(w.rendered.Chart)
}

// checkExists returns a [*NoReleaseError] if there is no release to upgrade.
func (w *upgradeOperation) checkExists() error {
	if last := w.history.last; last == nil || last.Info.Status == release.Uninstalled {
		return &NoReleaseError{Name: w.req.Name, Namespace: w.req.Namespace, Uninstalled: last != nil}
	}
	return nil
}

func (w *upgradeOperation) newRelease(c *chart.Chart, vals map[string]any) *release.Release {
	now := w.config.now()
	rel := release.New(w.req.Name, w.req.Namespace, w.history.nextRevision(), c)
	rel.Config = vals
	rel.Labels = relabel(w.history.last.Labels, w.req.Labels) // of the last revision, whatever its status, as Helm does
	rel.Info = release.Info{
		FirstDeployed: w.history.firstDeployed(now),
		LastDeployed:  now,
		Status:        release.PendingUpgrade,
		Description:   "Preparing upgrade",
		Notes:         w.rendered.Notes,
	}
	return rel
}

// reuseValues returns the chart and the user's values to render, as Reuse selects.
func (w *upgradeOperation) reuseValues(last *release.Release) (*chart.Chart, map[string]any, error) {
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
		vals = values.ListsOf(w.req.Chart).Override(last.Config, vals)
	case ResetThenReuse:
		vals = values.ListsOf(w.req.Chart).Override(last.Config, vals)
	default:
		if len(vals) == 0 && len(last.Config) > 0 {
			vals = last.Config
		}
	}
	return c, vals, nil
}

// relabel returns the last labels with over merged over them. The value "null" deletes a
// label.
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

func (w *upgradeOperation) preEvent() event.Event {
	e := &event.PreUpgrade{Payload: w.payload}
	e.Release = w.release
	return e
}

func (w *upgradeOperation) postEvent() event.Event {
	e := &event.PostUpgrade{Payload: w.payload}
	e.Release = w.release
	return e
}

func (w *upgradeOperation) recordPending(ctx context.Context) error { return w.createRecord(ctx) }

func (w *upgradeOperation) successDescription() string {
	return cmp.Or(w.req.Description, "Upgrade complete")
}

func (w *upgradeOperation) failureDescription(err error) string {
	return fmt.Sprintf("Upgrade %q failed: %s", w.req.Name, summaryOf(err))
}

// confirmUndo asks for the confirmations that a rollback to the last successful revision would
// need: after a failure of the upgrade it is too late to ask.
func (w *upgradeOperation) confirmUndo(ctx context.Context) error {
	target := w.history.lastSuccessful()
	if !w.req.Atomic || target == 0 {
		return nil
	}
	rel, err := w.config.Releases.Get(ctx, w.req.Name, target)
	if err != nil {
		return err
	}
	if err := w.hooks.confirmRollback(ctx, rel); err != nil {
		return err
	}
	return w.confirmScripts(ctx, rel)
}

// confirmScripts asks for the permissions that the scripts of a record declare: any client
// with permission to write Secrets in the namespace may have written them.
func (w *upgradeOperation) confirmScripts(ctx context.Context, rel *release.Release) error {
	if w.config.Scripts == nil {
		return nil
	}
	scripts, err := rel.Scripts()
	if err != nil {
		return err
	}
	runner := w.config.Scripts()
	defer runner.Close()
	return runner.Confirm(ctx, scripts)
}

// afterFailure undoes a failed upgrade if the request asks for it, and returns cause wrapped
// with the result.
func (w *upgradeOperation) afterFailure(ctx context.Context, cause error) error {
	if isLockLost(ctx) {
		return cause // the client that has the lock now decides what to undo
	}
	if w.req.CleanupOnFail {
		if err := w.removeCreated(ctx); err != nil {
			cause = fmt.Errorf("%w\ndeleting the objects that it had created failed too: %w", cause, err)
		} else {
			setUndone(cause, UndoneCreated)
		}
	}
	if !w.req.Atomic {
		return cause
	}
	target := w.history.lastSuccessful()
	if target == 0 {
		return fmt.Errorf("upgrade of release %s failed, and there is no successful revision to roll back to: %w", w.req.Name,
			cause)
	}
	undo := Rollback{w.config}.operation(RollbackRequest{
		Name: w.req.Name, Revision: target, WaitOptions: w.wait, ApplyOptions: w.req.ApplyOptions, NoHooks: w.req.NoHooks,
		MaxHistory: w.req.MaxHistory,
	})
	undo.revert, undo.lock, undo.hooks = true, w.lock, w.hooks
	if _, err := undo.deploy(w.undoContext(ctx)); err != nil {
		return fmt.Errorf("release %s failed, and rolling back to revision %d failed too: %w\nthe first failure was: %w",
			w.req.Name, target, err, cause)
	}
	setUndone(cause, UndoneAll)
	return fmt.Errorf("release %s failed, and has been rolled back due to rollback-on-failure being "+
		"set, to revision %d: %w", w.req.Name, target, cause)
}

// A NoReleaseError is returned if there is no release to upgrade.
type NoReleaseError struct {
	Name, Namespace string
	// Uninstalled is set if the release was uninstalled and its history kept.
	Uninstalled bool
}

func (e *NoReleaseError) Error() string {
	if e.Uninstalled {
		return fmt.Sprintf("%q has no deployed releases: it was uninstalled, and its history is kept in namespace %q", e.Name,
			e.Namespace)
	}
	return fmt.Sprintf("%q has no deployed releases in namespace %q", e.Name, e.Namespace)
}

// Is reports whether target is [storage.ErrNotFound], unless Uninstalled is set.
func (e *NoReleaseError) Is(target error) bool {
	return target == storage.ErrNotFound && !e.Uninstalled
}

// isLockLost reports whether ctx was canceled because the lock was lost.
func isLockLost(ctx context.Context) bool {
	var e interface{ LockLost() bool }
	return errors.As(context.Cause(ctx), &e) && e.LockLost()
}

// orLockLost returns the error of an operation. If the lock was lost, a completed operation
// fails too: the client that has the lock now counts it as failed. The cause of a canceled
// context precedes a bare "context canceled".
func orLockLost(ctx context.Context, err error) error {
	if err == nil && isLockLost(ctx) {
		return context.Cause(ctx)
	}
	if cause := context.Cause(ctx); cause != nil && errors.Is(err, context.Canceled) &&
		!errors.Is(cause, context.Canceled) {
		return fmt.Errorf("%w: %w", cause, err)
	}
	return err
}

// A Change is the difference between two revisions of a release.
type Change struct {
	// From is the current revision, or nil for a new release.
	From *release.Release
	// To is the new revision.
	To *release.Release
	// Plan is the plan for the objects, or nil if no cluster was read.
	Plan *plan.Plan
	// CRDs is the plan for the CRDs of crds/, or nil if they do not change.
	CRDs *plan.Plan
	// Hooks are the changes to the release's hooks, compared by text.
	Hooks []plan.Step
	// Patched are the changes of rendered objects that patches have made; nil for records.
	Patched []Patched
	// Stored reports whether two records were compared, instead of an operation planned.
	Stored bool
	// Kept is the plan for [Apply], or nil if the request does not ask for it ([Preview.Keep]).
	Kept *planfile.Document
}
