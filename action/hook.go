// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/moonhelm/moonhelm/internal/linger"
	"github.com/moonhelm/moonhelm/kube/apply"
	"github.com/moonhelm/moonhelm/kube/status"
	"github.com/moonhelm/moonhelm/kube/wait"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/progress"
	"github.com/moonhelm/moonhelm/release"
)

// HookCluster is the cluster access for running hooks. Each object is a single object, not a
// List; its default namespace is namespace.
type HookCluster interface {
	// PlaceHook returns the resource and the namespace of o.
	PlaceHook(ctx context.Context, o *manifest.Object, namespace string) (apply.HookPlace, error)
	// LiveHook returns the live object of o, or nil if it does not exist.
	LiveHook(ctx context.Context, o *manifest.Object, namespace string) (map[string]any, error)
	// CreateHook creates o and returns its uid. It does not change an existing CRD, and
	// returns "" for it.
	CreateHook(ctx context.Context, o *manifest.Object, namespace string) (uid string, err error)
	// UpdateHook updates the live object of o, which has the given uid, to o.
	UpdateHook(ctx context.Context, o *manifest.Object, namespace, uid string) error
	// DeleteHook deletes the live object of o if it has the given uid. It does nothing if
	// the object was deleted or replaced.
	DeleteHook(ctx context.Context, o *manifest.Object, namespace, uid string) error
	// WaitHookGone returns when the object with the given uid has been deleted.
	WaitHookGone(ctx context.Context, o *manifest.Object, namespace, uid string) error
	CheckPermissions(ctx context.Context, verb string, objects []*manifest.Object, namespace string,
		also ...apply.Permission) error
	// Finish returns when all Jobs and Pods among r.Objects have succeeded, or an error when
	// one has failed. It does not wait for objects of other kinds.
	Finish(ctx context.Context, r wait.Request) error
	// Logs returns the logs of the containers of a Pod, or of all Pods of a Job.
	Logs(ctx context.Context, o *manifest.Object, namespace string) ([]status.Log, error)
}

// hooks runs the hooks of a release.
type hooks interface {
	// enabled reports whether hooks run at all.
	enabled() bool
	// check returns an error if hooks of rel cannot run: if permissions are missing, to
	// create the hooks or to use the verbs records on the release's records; if existing
	// objects conflict with them; or if, with stored set, recorded hooks would create
	// objects outside the release's namespace without confirmation. It writes nothing.
	check(ctx context.Context, rel *release.Release, hooks []*release.Hook, stored bool, records ...string) error
	// confirmRollback asks for the confirmations that a later rollback to rel would need.
	confirmRollback(ctx context.Context, rel *release.Release) error
	// run runs those of all that have the event ev, sorted by weight and name, one after
	// the other, and sets their LastRun. It stops at the first failure with a
	// [*HookError].
	run(ctx context.Context, rel *release.Release, all []*release.Hook, ev release.HookEvent) error
}

// noHooks runs no hooks.
type noHooks struct{}

func (noHooks) enabled() bool { return false }
func (noHooks) check(context.Context, *release.Release, []*release.Hook, bool, ...string) error {
	return nil
}
func (noHooks) confirmRollback(context.Context, *release.Release) error { return nil }
func (noHooks) run(context.Context, *release.Release, []*release.Hook, release.HookEvent) error {
	return nil
}

// hookRunner runs hooks in a cluster.
type hookRunner struct {
	*Config
	timeout time.Duration // of each hook
	grace   wait.Grace
	watch   *watching // nil reports no logs, and hooks have no timeouts of their own
	// takeOwnership lets hooks replace objects that are not the release's.
	takeOwnership bool
	// approved contains the hooks of the user's chart, and the confirmed ones.
	approved *approvedHooks
	// onFinished, if it is set, is called for each object of a hook that has finished,
	// before a delete policy deletes it. The hook's LastRun has the result. Its context
	// has not ended even if the hook timed out.
	onFinished func(ctx context.Context, h *release.Hook, o *manifest.Object)
}

// newHooks returns the hooks of an operation, which last no longer than w says. off disables them.
func (c *Config) newHooks(off bool, w WaitOptions, takeOwnership bool) hooks {
	switch {
	case off:
		return noHooks{}
	case c.hooks != nil:
		return c.hooks
	case c.Cluster == nil:
		return noHooks{}
	}
	return &hookRunner{Config: c, timeout: timeoutOrDefault(w.Timeout), grace: w.grace(), takeOwnership: takeOwnership,
		approved: &approvedHooks{}}
}

func (r *hookRunner) enabled() bool { return true }

func (r *hookRunner) check(ctx context.Context, rel *release.Release, hooks []*release.Hook, stored bool,
	records ...string) error {
	if !stored {
		r.approved.add(rel.Hooks)
	}
	if err := r.checkPermissions(ctx, rel, hooks, records...); err != nil {
		return err
	}
	if err := r.checkConflicts(ctx, rel, hooks); err != nil || !stored {
		return err
	}
	return r.confirm(ctx, rel, hooks)
}

// checkPermissions returns an error that lists the missing permissions to create hooks of a
// release, and to use the verbs records on its records.
func (r *hookRunner) checkPermissions(ctx context.Context, rel *release.Release, hooks []*release.Hook,
	records ...string) error {
	var objects []*manifest.Object
	for _, item := range allHookItems(hooks) {
		objects = append(objects, item.Object)
	}
	if len(objects) == 0 {
		return nil
	}
	return r.Cluster.CheckPermissions(ctx, "create", objects, rel.Namespace,
		recordPermissions(r.Releases, rel.Namespace, records...)...)
}

// A HookError is returned if a hook fails.
type HookError struct {
	Hook  *release.Hook
	Event release.HookEvent
	Err   error
}

func (e *HookError) Error() string { return e.sentence(e.Err.Error()) }

// Summary returns the error in one short line, for the description of a record.
func (e *HookError) Summary() string { return e.sentence(summaryOf(e.Err)) }

func (e *HookError) sentence(reason string) string {
	return fmt.Sprintf("%s: %s: %s", e.failed(), e.name(), reason)
}

// failed returns Helm's words for the event.
func (e *HookError) failed() string {
	if e.Event == release.PreInstall || e.Event == release.PostInstall {
		return fmt.Sprintf("failed %s", e.Event)
	}
	return fmt.Sprintf("%s hooks failed", e.Event)
}

// name returns the hook with its event and template.
func (e *HookError) name() string {
	return fmt.Sprintf("%s hook %s/%s (%s)", e.Event, e.Hook.Kind, e.Hook.Name, e.Hook.Path)
}

func (e *HookError) Unwrap() error { return e.Err }

func (r *hookRunner) run(ctx context.Context, rel *release.Release, all []*release.Hook, ev release.HookEvent) error {
	var due []*release.Hook
	for _, h := range all {
		if h.On(ev) {
			due = append(due, h)
		}
	}
	release.SortHooks(due)
	// Hooks that succeeded are deleted only after all have run, or one has failed: a later
	// hook may need the objects of an earlier one.
	var done []finishedHook
	for _, h := range due {
		all, err := r.runOne(ctx, rel, h, ev)
		if err != nil {
			if _, derr := r.removeSucceeded(ctx, rel, done); derr != nil {
				err = errors.Join(err, derr)
			}
			return &HookError{Hook: h, Event: ev, Err: err}
		}
		done = append(done, finishedHook{h, all})
	}
	if h, err := r.removeSucceeded(ctx, rel, done); err != nil {
		return &HookError{Hook: h, Event: ev, Err: err}
	}
	return nil
}

// finishedHook is a hook that has succeeded, with its objects.
type finishedHook struct {
	*release.Hook
	items []*hookItem
}

// removeSucceeded deletes the hooks with the policy hook-succeeded, the last first: later
// hooks may need earlier ones. It returns the first hook that it cannot delete, and the error.
func (r *hookRunner) removeSucceeded(ctx context.Context, rel *release.Release, hooks []finishedHook) (*release.Hook,
	error) {
	for _, h := range slices.Backward(hooks) {
		if h.Deletes(release.HookSucceeded) {
			if err := r.remove(ctx, rel, h.items); err != nil {
				return h.Hook, err
			}
		}
	}
	return nil, nil
}

// runOne runs one hook. It returns the hook's objects, even with an error.
func (r *hookRunner) runOne(ctx context.Context, rel *release.Release, h *release.Hook, ev release.HookEvent) (
	[]*hookItem, error) {
	all, err := hookItems(h)
	if err != nil {
		return nil, err
	}
	operation := ctx
	ctx, cancel := context.WithTimeout(ctx, r.watch.hookTimeout(h, all, r.timeout))
	defer cancel()
	r.Progress.Send(progress.Event{Kind: progress.HookRun, Object: h.Kind + "/" + h.Name, Text: string(ev)})
	if err := r.clearExisting(ctx, rel, h, all); err != nil {
		return nil, err
	}
	h.LastRun = release.Run{StartedAt: r.now(), Phase: release.PhaseRunning}
	err = r.write(ctx, rel, all)
	written := err == nil
	if written {
		err = r.finish(ctx, rel, all)
	}
	h.LastRun.CompletedAt, h.LastRun.Phase = r.now(), release.PhaseSucceeded
	if err != nil {
		h.LastRun.Phase = release.PhaseFailed
	}
	if written {
		r.reportFinished(operation, rel, h, all)
	}
	if err != nil && h.Deletes(release.HookFailed) {
		if derr := r.remove(operation, rel, all); derr != nil {
			err = errors.Join(err, derr)
		}
	}
	return all, err
}

// write creates or updates the objects of a hook, and stores the uids of those it creates.
func (r *hookRunner) write(ctx context.Context, rel *release.Release, all []*hookItem) error {
	for _, item := range all {
		o, err := annotateHook(item.Object, rel)
		if err != nil {
			return err
		}
		if item.write == hookUpdate {
			if err := r.Cluster.UpdateHook(ctx, o, rel.Namespace, item.live.uid()); err != nil {
				return err
			}
			continue
		}
		uid, err := r.Cluster.CreateHook(ctx, o, rel.Namespace)
		if err != nil {
			return err
		}
		item.uid = uid
	}
	return nil
}

func (r *hookRunner) finish(ctx context.Context, rel *release.Release, all []*hookItem) error {
	req := wait.Request{Objects: hookObjectsOf(all), Namespace: rel.Namespace, Grace: r.grace}
	req, _ = r.watch.request(req, r.timeout, true)
	return r.Cluster.Finish(ctx, req)
}

// remove deletes the objects that this run has created, the last first. It keeps CRDs: with a
// CRD, all its custom resources would be deleted.
func (r *hookRunner) remove(ctx context.Context, rel *release.Release, all []*hookItem) error {
	var errs []error
	for _, item := range slices.Backward(all) {
		if item.uid == "" || item.place.Definition {
			continue
		}
		if err := r.removeItem(ctx, rel, item); err != nil {
			errs = append(errs, fmt.Errorf("delete it by its delete policy: %w", err))
		}
	}
	return errors.Join(errs...)
}

// removeItem deletes an object that this run has created, and waits for the deletion unless
// ctx has ended.
func (r *hookRunner) removeItem(ctx context.Context, rel *release.Release, item *hookItem) error {
	deleting, done := hookCleanupContext(ctx, r.timeout)
	defer done()
	if err := r.Cluster.DeleteHook(deleting, item.Object, rel.Namespace, item.uid); err != nil || ctx.Err() != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	return r.Cluster.WaitHookGone(ctx, item.Object, rel.Namespace, item.uid)
}

// hookCleanupContext returns the context for work after a hook has ended. It has its own
// timeout, which is short once ctx, the operation's context, has ended.
func hookCleanupContext(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	if ctx.Err() != nil {
		return context.WithTimeout(context.WithoutCancel(ctx), linger.GracePeriod)
	}
	longer, stop := linger.Context(ctx)
	longer, cancel := context.WithTimeout(longer, timeout)
	return longer, func() { cancel(); stop() }
}
