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

// Runner is what running hooks needs of a cluster.
type Runner interface {
	// LiveHook reads the object that stands in o's place; nil where none does.
	LiveHook(ctx context.Context, o *manifest.Object, namespace string) (map[string]any, error)
	// CreateHook creates o in namespace, unless o names its own. A custom
	// resource definition that exists is left as it is.
	CreateHook(ctx context.Context, o *manifest.Object, namespace string) error
	// UpdateHook changes the object that stands in o's place to what o says.
	UpdateHook(ctx context.Context, o *manifest.Object, namespace string) error
	// DeleteHook deletes o and returns when it is gone; one that is not there is fine.
	DeleteHook(ctx context.Context, o *manifest.Object, namespace string) error
	// CheckRights returns an error that lists the rights that are missing to do
	// verb ("create") to the objects, and to the release's records what records
	// says. An object of a kind that is not there yet needs none.
	CheckRights(ctx context.Context, verb string, objects []*manifest.Object, namespace string, records ...string) error
	// Finish returns when a Job or Pod has succeeded, and an error when it
	// failed; any other kind is finished as soon as it exists.
	Finish(ctx context.Context, o *manifest.Object, namespace string) error
	// Logs reads what the containers of a Pod, or of all pods of a Job, have written.
	Logs(ctx context.Context, o *manifest.Object, namespace string) ([]Log, error)
}

// Responder answers lifecycle events by running the hooks of the event's
// release. Register it on a bus to run hooks; leave it out to run none.
type Responder struct {
	Cluster  Runner
	Progress progress.Func // nil reports nothing
	// Timeout bounds each hook; 0 is five minutes.
	Timeout time.Duration
	Now     func() time.Time // nil is time.Now
	// Ended is called when a hook has run, well or not (its LastRun tells), and
	// before any delete policy removes it. nil is fine. The context has time
	// left even where the hook's is over.
	Ended func(ctx context.Context, h *release.Hook, o *manifest.Object)
}

const defaultTimeout = 5 * time.Minute

// Register puts r on the bus for every event that annotations can name. Tests
// are no event: [Responder.Run] runs them.
func (r Responder) Register(b *event.Bus) {
	check[*event.PreInstall](r, b, release.PreInstall, release.PostInstall)
	check[*event.PreUpgrade](r, b, release.PreUpgrade, release.PostUpgrade)
	check[*event.PreRollback](r, b, release.PreRollback, release.PostRollback)
	check[*event.PreDelete](r, b, release.PreDelete, release.PostDelete)
	answer[*event.PreInstall](r, b, release.PreInstall)
	answer[*event.PostInstall](r, b, release.PostInstall)
	answer[*event.PreUpgrade](r, b, release.PreUpgrade)
	answer[*event.PostUpgrade](r, b, release.PostUpgrade)
	answer[*event.PreRollback](r, b, release.PreRollback)
	answer[*event.PostRollback](r, b, release.PostRollback)
	answer[*event.PreDelete](r, b, release.PreDelete)
	answer[*event.PostDelete](r, b, release.PostDelete)
}

// check refuses, before anything is written, hooks that the user may not create.
func check[E event.Event](r Responder, b *event.Bus, at ...release.HookEvent) {
	event.Respond(b, event.Rights, func(ctx context.Context, e E) error {
		scene := e.At()
		if scene.Operation != nil && scene.Operation.DryRun || scene.Release == nil {
			return nil
		}
		due := slices.DeleteFunc(slices.Clone(scene.Release.Hooks), func(h *release.Hook) bool { return !slices.ContainsFunc(at, h.On) })
		return r.CheckRights(ctx, scene.Release, due)
	})
}

// CheckRights returns an error that lists the rights that are missing to create
// hooks of a release, and to do to its records what records says.
func (r Responder) CheckRights(ctx context.Context, rel *release.Release, hooks []*release.Hook, records ...string) error {
	var objects []*manifest.Object
	for _, h := range hooks {
		if o, err := object(h); err == nil { // running it tells what is wrong
			objects = append(objects, o)
		}
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

// FailedError tells which hook stopped an operation.
type FailedError struct {
	Hook  *release.Hook
	Event release.HookEvent
	Err   error
}

func (e *FailedError) Error() string {
	return fmt.Sprintf("%s hook %s/%s (%s): %s", e.Event, e.Hook.Kind, e.Hook.Name, e.Hook.Path, e.Err)
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
	Order(due)
	// Hooks that succeeded are removed only once all have run, or one has
	// failed: a later one may need what an earlier one made.
	for i, h := range due {
		if err := r.one(ctx, rel, h, ev); err != nil {
			// Each removal is bounded by itself; an interrupt must not leave them.
			if _, derr := r.removeSucceeded(context.WithoutCancel(ctx), rel, due[:i]); derr != nil {
				err = errors.Join(err, derr)
			}
			return &FailedError{Hook: h, Event: ev, Err: err}
		}
	}
	if h, err := r.removeSucceeded(ctx, rel, due); err != nil {
		return &FailedError{Hook: h, Event: ev, Err: err}
	}
	return nil
}

// removeSucceeded removes those of hooks whose policy asks for it, the last
// first: it may need the earlier ones to go. It returns the first that could not
// be removed.
func (r Responder) removeSucceeded(ctx context.Context, rel *release.Release, hooks []*release.Hook) (*release.Hook, error) {
	for _, h := range slices.Backward(hooks) {
		if deletes(h, release.HookSucceeded) {
			if err := r.remove(ctx, rel, h); err != nil {
				return h, err
			}
		}
	}
	return nil, nil
}

// deletes tells whether h has the delete policy p. Custom resource definitions
// are never deleted by a policy: all objects of their kind would go with them.
func deletes(h *release.Hook, p release.DeletePolicy) bool {
	return h.Kind != kindCRD && h.Deletes(p)
}

const kindCRD = "CustomResourceDefinition"

func (r Responder) one(ctx context.Context, rel *release.Release, h *release.Hook, ev release.HookEvent) error {
	o, err := object(h)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, r.timeout())
	defer cancel()
	r.Progress.Send(progress.Event{Kind: progress.HookRun, Object: h.Kind + "/" + h.Name, Text: string(ev)})
	put, err := r.makeRoom(ctx, rel, h, o)
	if err != nil {
		return err
	}
	h.LastRun = release.Run{StartedAt: r.now(), Phase: release.PhaseRunning}
	ours, err := marked(o, rel)
	if err == nil {
		err = put(ctx, ours, rel.Namespace)
	}
	made := err == nil
	if made {
		err = r.Cluster.Finish(ctx, o, rel.Namespace)
	}
	h.LastRun.CompletedAt, h.LastRun.Phase = r.now(), release.PhaseSucceeded
	if err != nil {
		h.LastRun.Phase = release.PhaseFailed
	}
	if made {
		r.ended(ctx, rel, h, o)
	}
	if err != nil && deletes(h, release.HookFailed) {
		// The hook's own failure is the news, but what could not be cleaned up must be told too.
		if derr := r.remove(context.WithoutCancel(ctx), rel, h); derr != nil {
			err = errors.Join(err, derr)
		}
	}
	return err
}

func (r Responder) remove(ctx context.Context, rel *release.Release, h *release.Hook) error {
	o, err := object(h)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, r.timeout())
	defer cancel()
	if err := r.Cluster.DeleteHook(ctx, o, rel.Namespace); err != nil {
		return fmt.Errorf("delete it by its delete policy: %w", err)
	}
	return nil
}

// object reads the hook's manifest back; it holds one document.
func object(h *release.Hook) (*manifest.Object, error) {
	objs, err := manifest.Parse(h.Path, h.Manifest)
	if err != nil {
		return nil, err
	}
	if len(objs) != 1 {
		return nil, fmt.Errorf("the hook's manifest holds %d objects, not one", len(objs))
	}
	return objs[0], nil
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
