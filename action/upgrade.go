// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/values"
	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/plan"
	"github.com/moonhelm/moonhelm/release"
	"github.com/moonhelm/moonhelm/storage"
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

// Upgrade brings a release to another chart or other values.
type Upgrade struct{ *Config }

// UpgradeRequest says what to upgrade to.
type UpgradeRequest = DeployRequest

// upgrading is the work on one release.
type upgrading struct {
	*deployment
	req UpgradeRequest
}

func (u Upgrade) work(req UpgradeRequest) *upgrading {
	w := &upgrading{deployment: newDeployment(u.Config, "upgrade", &req)}
	w.req = req
	w.verb = w
	return w
}

// Plan does all of an upgrade that writes nothing, and returns what Run would do.
// Without a cluster nothing is looked up, and no objects are compared.
func (u Upgrade) Plan(ctx context.Context, req UpgradeRequest) (*Change, *Rendered, error) {
	w := u.work(req)
	if err := requireReleases(w.config.Releases, w.doing); err != nil {
		return nil, nil, err
	}
	crds, err := w.dryChart(ctx, req)
	if err != nil {
		return nil, nil, err
	}
	change, err := newChange(w.history.current(), w.release, w.plan, crds)
	return change, w.rendered, err
}

// Run upgrades the release, in the steps of an install, and returns the new revision. If
// it fails once the revision is recorded, the record stays, marked failed, and is
// returned together with the error.
func (u Upgrade) Run(ctx context.Context, req UpgradeRequest) (*release.Release, error) {
	return u.work(req).deploy(ctx)
}

// prepare renders the chart with the values that the request and the history come to.
func (w *upgrading) prepare(ctx context.Context) error {
	history := w.history
	if history.last == nil || history.last.Info.Status == release.Uninstalled {
		return &NoReleaseError{Name: w.req.Name, Namespace: w.req.Namespace, Uninstalled: history.last != nil}
	}
	c, vals, err := w.reuseValues(history.current())
	if err != nil {
		return err
	}
	resolved, err := resolveValues(c, vals, w.config.Progress)
	if err != nil {
		return err
	}
	recorded := copyTree(resolved.Chart) // scripts may change the other
	if err := w.renderChart(ctx, w.req, resolved, w.req.CRDs == CRDUpgrade); err != nil {
		return err
	}
	w.release = w.newRelease(recorded, vals)
	return w.persist(w.rendered.Chart)
}

func (w *upgrading) newRelease(c *chart.Chart, vals map[string]any) *release.Release {
	now := w.config.now()
	rel := release.New(w.req.Name, w.req.Namespace, w.history.next(), c)
	rel.Config = vals
	rel.Labels = relabel(w.history.last.Labels, w.req.Labels) // as Helm has it, whatever became of the last
	rel.Info = release.Info{
		FirstDeployed: w.history.firstDeployed(now),
		LastDeployed:  now,
		Status:        release.PendingUpgrade,
		Description:   "Preparing upgrade",
		Notes:         w.rendered.Notes,
	}
	return rel
}

// reuseValues returns the chart and the user's values that the request and the
// current revision come to.
func (w *upgrading) reuseValues(last *release.Release) (*chart.Chart, map[string]any, error) {
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

func (w *upgrading) before() event.Event {
	e := &event.PreUpgrade{Payload: w.payload}
	e.Release = w.release
	return e
}

func (w *upgrading) after() event.Event {
	e := &event.PostUpgrade{Payload: w.payload}
	e.Release = w.release
	return e
}

func (w *upgrading) recordPending(ctx context.Context) error { return w.create(ctx) }

func (w *upgrading) complete() string { return orText(w.req.Description, "Upgrade complete") }

func (w *upgrading) failed(err error) string {
	return fmt.Sprintf("Upgrade %q failed: %s", w.req.Name, err)
}

// confirmUndo finds out whether the revision that a failure would lead back to may be
// gone back to: it is too late to ask once the upgrade has failed.
func (w *upgrading) confirmUndo(ctx context.Context) error {
	target := w.history.good()
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

// confirmScripts asks for what the scripts of a record want: any client with permission to
// write Secrets in the namespace may have written them.
func (w *upgrading) confirmScripts(ctx context.Context, rel *release.Release) error {
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

// afterFailure does what the request wants done after a failure, and returns the
// error with what became of it.
func (w *upgrading) afterFailure(ctx context.Context, cause error) error {
	if lost(ctx) {
		return cause // another client may be at work: what is left to do is its
	}
	if w.req.CleanupOnFail {
		if err := w.removeCreated(ctx); err != nil {
			cause = fmt.Errorf("%w\nremoving what it had created went wrong too: %w", cause, err)
		}
	}
	if !w.req.Atomic {
		return cause
	}
	target := w.history.good()
	if target == 0 {
		return fmt.Errorf("upgrade of release %s failed, and there is no successful revision to roll back to: %w", w.req.Name,
			cause)
	}
	undo := Rollback{w.config}.work(RollbackRequest{
		Name: w.req.Name, Revision: target, WaitOptions: w.wait, ApplyOptions: w.req.ApplyOptions, NoHooks: w.req.NoHooks,
		MaxHistory: w.req.MaxHistory,
	})
	// What the cluster has is what the failed upgrade has made of it.
	undo.revert, undo.lock, undo.hooks = true, w.lock, w.hooks
	if _, err := undo.deploy(w.undoContext(ctx)); err != nil {
		return fmt.Errorf("release %s failed, and rolling back to revision %d went wrong too: %w\nwhat had failed first: %w",
			w.req.Name, target, err, cause)
	}
	return fmt.Errorf("release %s failed, and has been rolled back due to rollback-on-failure being "+
		"set, to revision %d: %w", w.req.Name, target, cause)
}

// A NoReleaseError is returned where there is nothing to upgrade.
type NoReleaseError struct {
	Name, Namespace string
	// Uninstalled reports whether there was one: its history is kept.
	Uninstalled bool
}

func (e *NoReleaseError) Error() string {
	if e.Uninstalled {
		return fmt.Sprintf("%q has no deployed releases: it was uninstalled, and its history is kept in namespace %q", e.Name,
			e.Namespace)
	}
	return fmt.Sprintf("%q has no deployed releases in namespace %q", e.Name, e.Namespace)
}

// Is makes the error an [storage.ErrNotFound].
func (e *NoReleaseError) Is(target error) bool {
	return target == storage.ErrNotFound && !e.Uninstalled
}

// lost reports whether an operation was stopped because its lock was lost.
func lost(ctx context.Context) bool {
	var e interface{ LockLost() bool }
	return errors.As(context.Cause(ctx), &e) && e.LockLost()
}

// orLockLost is the error of an operation. One that has done all it had to fails
// all the same where its lock was lost meanwhile: the client that has it counts it as
// failed. The reason of a cancelled context precedes a bare "context
// canceled".
func orLockLost(ctx context.Context, err error) error {
	if err == nil && lost(ctx) {
		return context.Cause(ctx)
	}
	if cause := context.Cause(ctx); cause != nil && errors.Is(err, context.Canceled) &&
		!errors.Is(cause, context.Canceled) {
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
	// Stored reports whether records are compared with each other, and nothing is
	// done.
	Stored bool
}
