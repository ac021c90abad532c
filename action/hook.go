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
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/progress"
	"github.com/moonhelm/moonhelm/release"
)

// HookCluster is what running hooks needs of a cluster. Each object is a single one, not
// a list, and lives in namespace, unless it names its own.
type HookCluster interface {
	// PlaceHook finds out where o lives.
	PlaceHook(ctx context.Context, o *manifest.Object, namespace string) (apply.HookPlace, error)
	// LiveHook reads the object that is in o's place; nil where none does.
	LiveHook(ctx context.Context, o *manifest.Object, namespace string) (map[string]any, error)
	// CreateHook creates o and returns the uid of what it has made. A custom
	// resource definition that exists is left as it is, and none is returned.
	CreateHook(ctx context.Context, o *manifest.Object, namespace string) (uid string, err error)
	// UpdateHook changes the object with that uid, which is in o's place, to what
	// o says.
	UpdateHook(ctx context.Context, o *manifest.Object, namespace, uid string) error
	// DeleteHook asks for the deletion of the object with that uid, which is in o's
	// place. One that is gone, or that another client has replaced, is fine.
	DeleteHook(ctx context.Context, o *manifest.Object, namespace, uid string) error
	// WaitHookGone returns when the object with that uid, which was deleted, is gone.
	WaitHookGone(ctx context.Context, o *manifest.Object, namespace, uid string) error
	CheckPermissions(ctx context.Context, verb string, objects []*manifest.Object, namespace string,
		also ...apply.Permission) error
	// Finish returns when all Jobs and Pods among objects have succeeded, and an
	// error when one failed; any other kind is finished as soon as it exists.
	Finish(ctx context.Context, objects []*manifest.Object, namespace string) error
	// Logs reads what the containers of a Pod, or of all pods of a Job, have written.
	Logs(ctx context.Context, o *manifest.Object, namespace string) ([]status.Log, error)
}

// hooks runs the hooks of a release.
type hooks interface {
	// enabled reports whether hooks run at all.
	enabled() bool
	// check returns an error, before anything is written, where hooks of rel cannot
	// run: permissions are missing, to create them or to do to the release's records
	// what records says; objects that are not theirs are in their place; or, where
	// stored is set, they come from a record, would create objects outside the
	// release's namespace, and that was not confirmed.
	check(ctx context.Context, rel *release.Release, hooks []*release.Hook, stored bool, records ...string) error
	// confirmRollback asks, before an operation that may end with a rollback to rel,
	// what that rollback would ask.
	confirmRollback(ctx context.Context, rel *release.Release) error
	// run runs those of all that name ev, as hooks of rel, by weight, then name, one
	// after the other, and notes in each how it went. The first that fails ends it,
	// with a [*HookError].
	run(ctx context.Context, rel *release.Release, all []*release.Hook, ev release.HookEvent) error
}

// noHooks runs none.
type noHooks struct{}

func (noHooks) enabled() bool { return false }
func (noHooks) check(context.Context, *release.Release, []*release.Hook, bool, ...string) error {
	return nil
}
func (noHooks) confirmRollback(context.Context, *release.Release) error { return nil }
func (noHooks) run(context.Context, *release.Release, []*release.Hook, release.HookEvent) error {
	return nil
}

// hookRunner runs hooks on a cluster.
type hookRunner struct {
	*Config
	timeout time.Duration // of each hook
	// takeOwnership lets hooks replace objects that are not the release's.
	takeOwnership bool
	// approved holds the hooks of the user's own chart, and those that were confirmed.
	approved *approvedHooks
	// ended is called when a hook has run, well or not (its LastRun tells), and
	// before any delete policy removes it, once for each of its objects. nil is
	// fine. The context has time left even where the hook's is over.
	ended func(ctx context.Context, h *release.Hook, o *manifest.Object)
}

// newHooks returns what runs hooks as an operation wants it.
func (c *Config) newHooks(off bool, timeout time.Duration, takeOwnership bool) hooks {
	switch {
	case off:
		return noHooks{}
	case c.hooks != nil:
		return c.hooks
	case c.Cluster == nil:
		return noHooks{}
	}
	return &hookRunner{Config: c, timeout: orDefault(timeout), takeOwnership: takeOwnership, approved: &approvedHooks{}}
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

// checkPermissions returns an error that lists the permissions that are missing to create
// hooks of a release, and to do to its records what records says.
func (r *hookRunner) checkPermissions(ctx context.Context, rel *release.Release, hooks []*release.Hook,
	records ...string) error {
	var objects []*manifest.Object
	for _, it := range allHookItems(hooks) {
		objects = append(objects, it.Object)
	}
	if len(objects) == 0 {
		return nil
	}
	return r.Cluster.CheckPermissions(ctx, "create", objects, rel.Namespace,
		recordPermissions(r.Releases, rel.Namespace, records...)...)
}

// A HookError is returned when a hook stops an operation, and names the hook.
type HookError struct {
	Hook  *release.Hook
	Event release.HookEvent
	Err   error
}

func (e *HookError) Error() string {
	failed := fmt.Sprintf("%s hooks failed", e.Event)
	if e.Event == release.PreInstall || e.Event == release.PostInstall {
		failed = fmt.Sprintf("failed %s", e.Event)
	}
	return fmt.Sprintf("%s: %s hook %s/%s (%s): %s", failed, e.Event, e.Hook.Kind, e.Hook.Name, e.Hook.Path, e.Err)
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
	// Hooks that succeeded are removed only once all have run, or one has
	// failed: a later one may need what an earlier one made.
	var done []finishedHook
	for _, h := range due {
		all, err := r.one(ctx, rel, h, ev)
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

// removeSucceeded removes those of hooks whose policy asks for it, the last
// first: it may need the earlier ones to go. It returns the first that could not
// be removed.
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

// one runs a hook, and returns its objects, also with an error.
func (r *hookRunner) one(ctx context.Context, rel *release.Release, h *release.Hook, ev release.HookEvent) ([]*hookItem,
	error) {
	all, err := hookItems(h)
	if err != nil {
		return nil, err
	}
	operation := ctx
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	r.Progress.Send(progress.Event{Kind: progress.HookRun, Object: h.Kind + "/" + h.Name, Text: string(ev)})
	if err := r.makeRoom(ctx, rel, h, all); err != nil {
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
		r.finished(operation, rel, h, all)
	}
	if err != nil && h.Deletes(release.HookFailed) {
		// The hook's own failure is the news, but what could not be cleaned up must be told too.
		if derr := r.remove(operation, rel, all); derr != nil {
			err = errors.Join(err, derr)
		}
	}
	return all, err
}

// write brings the objects of a hook into the cluster, and notes which of them it
// has made.
func (r *hookRunner) write(ctx context.Context, rel *release.Release, all []*hookItem) error {
	for _, it := range all {
		o, err := markedHook(it.Object, rel)
		if err != nil {
			return err
		}
		if it.how == hookUpdate {
			if err := r.Cluster.UpdateHook(ctx, o, rel.Namespace, it.live.uid()); err != nil {
				return err
			}
			continue
		}
		uid, err := r.Cluster.CreateHook(ctx, o, rel.Namespace)
		if err != nil {
			return err
		}
		it.uid = uid
	}
	return nil
}

func (r *hookRunner) finish(ctx context.Context, rel *release.Release, all []*hookItem) error {
	objects := make([]*manifest.Object, len(all))
	for i, it := range all {
		objects[i] = it.Object
	}
	return r.Cluster.Finish(ctx, objects, rel.Namespace)
}

// remove deletes, as a delete policy says, what this run has made, the last first.
// Custom resource definitions stay: all objects of their kind would go with them.
func (r *hookRunner) remove(ctx context.Context, rel *release.Release, all []*hookItem) error {
	var errs []error
	for _, it := range slices.Backward(all) {
		if it.uid == "" || it.place.Definition {
			continue
		}
		if err := r.removeItem(ctx, rel, it); err != nil {
			errs = append(errs, fmt.Errorf("delete it by its delete policy: %w", err))
		}
	}
	return errors.Join(errs...)
}

// removeItem deletes what it has made, and waits until that is gone, unless ctx has ended.
func (r *hookRunner) removeItem(ctx context.Context, rel *release.Release, it *hookItem) error {
	deleting, done := cleanupOfHook(ctx, r.timeout)
	defer done()
	if err := r.Cluster.DeleteHook(deleting, it.Object, rel.Namespace, it.uid); err != nil || ctx.Err() != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	return r.Cluster.WaitHookGone(ctx, it.Object, rel.Namespace, it.uid)
}

// cleanupOfHook is the context in which something is done once a hook has ended: a time of
// its own, whatever the hook's, of which little is left once ctx, the operation's, has ended.
func cleanupOfHook(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	if ctx.Err() != nil {
		return context.WithTimeout(context.WithoutCancel(ctx), linger.GracePeriod)
	}
	longer, stop := linger.Context(ctx)
	longer, cancel := context.WithTimeout(longer, timeout)
	return longer, func() { cancel(); stop() }
}
