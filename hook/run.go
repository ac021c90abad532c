// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/progress"
	"github.com/moonhelm/moonhelm/release"
)

// Place says where an object lives, as the cluster knows its kind.
type Place struct {
	// Served reports whether the cluster has the object's kind; if not, it says
	// nothing else.
	Served bool
	// Namespace is "" for a kind of the whole cluster.
	Namespace string
	// Definition reports whether it is a custom resource definition, with which all
	// objects of a kind would go.
	Definition bool
}

// Runner is what running hooks needs of a cluster. Each object is a single one, not
// a list, and lives in namespace, unless it names its own.
type Runner interface {
	// PlaceHook finds out where o lives.
	PlaceHook(ctx context.Context, o *manifest.Object, namespace string) (Place, error)
	// LiveHook reads the object that stands in o's place; nil where none does.
	LiveHook(ctx context.Context, o *manifest.Object, namespace string) (map[string]any, error)
	// CreateHook creates o and returns the uid of what it has made. A custom
	// resource definition that exists is left as it is, and none is returned.
	CreateHook(ctx context.Context, o *manifest.Object, namespace string) (uid string, err error)
	// UpdateHook changes the object with that uid, which stands in o's place, to what
	// o says.
	UpdateHook(ctx context.Context, o *manifest.Object, namespace, uid string) error
	// DeleteHook deletes the object with that uid, which stands in o's place, and
	// returns when it is gone. One that is gone, or that another client has replaced,
	// is fine.
	DeleteHook(ctx context.Context, o *manifest.Object, namespace, uid string) error
	// CheckRights returns an error that lists the rights that are missing to do
	// verb ("create") to the objects, and to the release's records what records
	// says. An object of a kind that is not there yet needs none.
	CheckRights(ctx context.Context, verb string, objects []*manifest.Object, namespace string, records ...string) error
	// Finish returns when all Jobs and Pods among objects have succeeded, and an
	// error when one failed; any other kind is finished as soon as it exists.
	Finish(ctx context.Context, objects []*manifest.Object, namespace string) error
	// Logs reads what the containers of a Pod, or of all pods of a Job, have written.
	Logs(ctx context.Context, o *manifest.Object, namespace string) ([]Log, error)
}

// Records is what running hooks needs of the records of releases.
type Records interface {
	// Hooks returns the hooks that the newest records of a release hold.
	Hooks(ctx context.Context, namespace, name string) ([]*release.Hook, error)
	// Exists reports whether there is a record of the release.
	Exists(ctx context.Context, namespace, name string) (bool, error)
}

// Responder answers lifecycle events by running the hooks of the event's
// release. Register it on a bus to run hooks; leave it out to run none.
type Responder struct {
	Cluster  Runner
	Progress progress.Func // nil reports nothing
	// Timeout bounds each hook; 0 is five minutes.
	Timeout time.Duration
	Now     func() time.Time // nil is time.Now
	// TakeOwnership lets hooks replace objects that are not the release's.
	TakeOwnership bool
	// Records are asked where only they tell whose an object is; nil is none.
	Records Records
	// Confirm is asked before hooks of a record, which come from no chart that the
	// user has named, create objects outside the release's namespace. An error ends
	// the operation before anything is written. nil refuses, with an [*OutsideError].
	Confirm func(ctx context.Context, rel *release.Release, outside []Outside) error
	// Approved holds the hooks of the user's own chart, which need no confirmation
	// when the operation is undone; nil for none.
	Approved *Approved
	// Ended is called when a hook has run, well or not (its LastRun tells), and
	// before any delete policy removes it, once for each of its objects. nil is
	// fine. The context has time left even where the hook's is over.
	Ended func(ctx context.Context, h *release.Hook, o *manifest.Object)
}

const defaultTimeout = 5 * time.Minute

// Register puts r on the bus for every event that annotations can name. Tests
// are no event: [Responder.Check] and [Responder.Run] run them.
func (r Responder) Register(b *event.Bus) {
	check[*event.PreInstall](r, b, false, release.PreInstall, release.PostInstall)
	check[*event.PreUpgrade](r, b, false, release.PreUpgrade, release.PostUpgrade)
	check[*event.PreRollback](r, b, true, release.PreRollback, release.PostRollback)
	check[*event.PreDelete](r, b, true, release.PreDelete, release.PostDelete)
	answer[*event.PreInstall](r, b, release.PreInstall)
	answer[*event.PostInstall](r, b, release.PostInstall)
	answer[*event.PreUpgrade](r, b, release.PreUpgrade)
	answer[*event.PostUpgrade](r, b, release.PostUpgrade)
	answer[*event.PreRollback](r, b, release.PreRollback)
	answer[*event.PostRollback](r, b, release.PostRollback)
	answer[*event.PreDelete](r, b, release.PreDelete)
	answer[*event.PostDelete](r, b, release.PostDelete)
}

// check refuses, before anything is written, hooks that cannot run. Those that are
// stored come from a record.
func check[E event.Event](r Responder, b *event.Bus, stored bool, at ...release.HookEvent) {
	event.Respond(b, event.Rights, func(ctx context.Context, e E) error {
		scene := e.At()
		if scene.Operation != nil && scene.Operation.DryRun || scene.Release == nil {
			return nil
		}
		if !stored {
			r.Approved.add(scene.Release.Hooks)
		}
		due := slices.DeleteFunc(slices.Clone(scene.Release.Hooks), func(h *release.Hook) bool { return !slices.ContainsFunc(at, h.On) })
		return r.check(ctx, scene.Release, due, stored)
	})
}

// Check returns an error where hooks of a record cannot run: rights are missing, to
// create them or to do to the release's records what records says; objects that are
// not theirs stand in their place; or they would create objects outside the release's
// namespace, and that was not confirmed.
func (r Responder) Check(ctx context.Context, rel *release.Release, hooks []*release.Hook, records ...string) error {
	return r.check(ctx, rel, hooks, true, records...)
}

func (r Responder) check(ctx context.Context, rel *release.Release, hooks []*release.Hook, stored bool, records ...string) error {
	if err := r.checkRights(ctx, rel, hooks, records...); err != nil {
		return err
	}
	if err := r.checkConflicts(ctx, rel, hooks); err != nil || !stored {
		return err
	}
	return r.confirm(ctx, rel, hooks)
}

// checkRights returns an error that lists the rights that are missing to create
// hooks of a release, and to do to its records what records says.
func (r Responder) checkRights(ctx context.Context, rel *release.Release, hooks []*release.Hook, records ...string) error {
	var objects []*manifest.Object
	for _, it := range allItems(hooks) {
		objects = append(objects, it.Object)
	}
	if len(objects) == 0 {
		return nil
	}
	return r.Cluster.CheckRights(ctx, "create", objects, rel.Namespace, records...)
}

// answer runs the hooks that name at when an event of type E is emitted.
func answer[E event.Event](r Responder, b *event.Bus, at release.HookEvent) {
	event.Respond(b, event.AnnotationHooks, func(ctx context.Context, e E) error {
		scene := e.At()
		if scene.Operation != nil && scene.Operation.DryRun || scene.Release == nil {
			return nil
		}
		return r.Run(ctx, scene.Release, scene.Release.Hooks, at)
	})
}

// A FailedError is returned when a hook stops an operation, and names the hook.
type FailedError struct {
	Hook  *release.Hook
	Event release.HookEvent
	Err   error
}

func (e *FailedError) Error() string {
	failed := fmt.Sprintf("%s hooks failed", e.Event)
	if e.Event == release.PreInstall || e.Event == release.PostInstall {
		failed = fmt.Sprintf("failed %s", e.Event)
	}
	return fmt.Sprintf("%s: %s hook %s/%s (%s): %s", failed, e.Event, e.Hook.Kind, e.Hook.Name, e.Hook.Path, e.Err)
}

func (e *FailedError) Unwrap() error { return e.Err }

// Run runs those of hooks that answer ev, as hooks of rel, by weight, then name,
// one after the other, and notes in each how it went. The first that fails ends
// it, with a [*FailedError].
func (r Responder) Run(ctx context.Context, rel *release.Release, hooks []*release.Hook, ev release.HookEvent) error {
	var due []*release.Hook
	for _, h := range hooks {
		if h.On(ev) {
			due = append(due, h)
		}
	}
	release.SortHooks(due)
	// Hooks that succeeded are removed only once all have run, or one has
	// failed: a later one may need what an earlier one made.
	var done []ran
	for _, h := range due {
		all, err := r.one(ctx, rel, h, ev)
		if err != nil {
			// Each removal is bounded by itself; an interrupt must not leave them.
			if _, derr := r.removeSucceeded(context.WithoutCancel(ctx), rel, done); derr != nil {
				err = errors.Join(err, derr)
			}
			return &FailedError{Hook: h, Event: ev, Err: err}
		}
		done = append(done, ran{h, all})
	}
	if h, err := r.removeSucceeded(ctx, rel, done); err != nil {
		return &FailedError{Hook: h, Event: ev, Err: err}
	}
	return nil
}

// ran is a hook that has succeeded, with its objects.
type ran struct {
	*release.Hook
	items []*item
}

// removeSucceeded removes those of hooks whose policy asks for it, the last
// first: it may need the earlier ones to go. It returns the first that could not
// be removed.
func (r Responder) removeSucceeded(ctx context.Context, rel *release.Release, hooks []ran) (*release.Hook, error) {
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
func (r Responder) one(ctx context.Context, rel *release.Release, h *release.Hook, ev release.HookEvent) ([]*item, error) {
	all, err := items(h)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, r.timeout())
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
		r.ended(ctx, rel, h, all)
	}
	if err != nil && h.Deletes(release.HookFailed) {
		// The hook's own failure is the news, but what could not be cleaned up must be told too.
		if derr := r.remove(context.WithoutCancel(ctx), rel, all); derr != nil {
			err = errors.Join(err, derr)
		}
	}
	return all, err
}

// write brings the objects of a hook into the cluster, and notes which of them it
// has made.
func (r Responder) write(ctx context.Context, rel *release.Release, all []*item) error {
	for _, it := range all {
		o, err := marked(it.Object, rel)
		if err != nil {
			return err
		}
		if it.how == update {
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

func (r Responder) finish(ctx context.Context, rel *release.Release, all []*item) error {
	objects := make([]*manifest.Object, len(all))
	for i, it := range all {
		objects[i] = it.Object
	}
	return r.Cluster.Finish(ctx, objects, rel.Namespace)
}

// remove deletes, as a delete policy says, what this run has made, the last first.
// Custom resource definitions stay: all objects of their kind would go with them.
func (r Responder) remove(ctx context.Context, rel *release.Release, all []*item) error {
	ctx, cancel := context.WithTimeout(ctx, r.timeout())
	defer cancel()
	var errs []error
	for _, it := range slices.Backward(all) {
		if it.uid == "" || it.place.Definition {
			continue
		}
		if err := r.Cluster.DeleteHook(ctx, it.Object, rel.Namespace, it.uid); err != nil {
			errs = append(errs, fmt.Errorf("delete it by its delete policy: %w", err))
		}
	}
	return errors.Join(errs...)
}

func (r Responder) timeout() time.Duration {
	if r.Timeout <= 0 {
		return defaultTimeout
	}
	return r.Timeout
}

func (r Responder) now() time.Time {
	if r.Now == nil {
		return time.Now()
	}
	return r.Now()
}
