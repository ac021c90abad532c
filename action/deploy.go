// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"fmt"
	"slices"

	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/plan"
	"github.com/moonhelm/moonhelm/release"
	"github.com/moonhelm/moonhelm/storage/lock"
)

// verb is what an install, an upgrade and a rollback do differently.
type verb interface {
	// prepare makes the new revision, d.release, and its objects, d.payload. Nothing is
	// written.
	prepare(ctx context.Context) error
	// before and after are the events of the verb.
	before() event.Event
	after() event.Event
	// confirmUndo asks what undoing the deployment, where it fails, would ask about hooks.
	confirmUndo(ctx context.Context) error
	// recordPending writes the pending record.
	recordPending(ctx context.Context) error
	// failed is what the record of a deployment says that ended with err.
	failed(err error) string
	// afterFailure does what the request wants done after a failure, and returns the
	// error with what became of it.
	afterFailure(ctx context.Context, cause error) error
	// complete is what the record says once all is done.
	complete() string
}

// deployment is the work on one new revision of a release.
type deployment struct {
	config *Config
	verb   verb
	name   string // of the release
	// doing is what the lock and the events call it: "upgrade".
	doing  string
	dryRun bool
	// revert is set where the deployment undoes another one, which has the lock.
	revert bool
	// invalid is what is wrong with the request, nil for nothing.
	invalid error

	events  lifecycle
	hooks   hooks
	lock    lock.Lock // nil for a dry run
	history *history
	release *release.Release
	// rendered is the chart as rendered; nil for a rollback, which renders nothing.
	rendered *Rendered
	payload  event.Payload
	crds     crdWork

	objects []*manifest.Object
	// newNamespace has the namespace created.
	newNamespace bool
	wait         WaitOptions
	write        ApplyOptions
	noHooks      bool
	serverDryRun bool
	preview      Preview
	// keepHistory is how many revisions may stay, 0 for any number.
	keepHistory int
	// undo reports whether a failure is to be undone, and undoCancelled whether one that a
	// cancellation has caused is too.
	undo, undoCancelled bool

	plan *plan.Plan
	// batches are the objects in the order that the charts ask for, nil for none.
	batches [][]*manifest.Object
	// partial reports whether the plan lacks objects of kinds that are yet to be
	// defined.
	partial bool
	// recorded reports whether the records know of the revision.
	recorded bool
}

// deploy brings a release to a new revision. An install, an upgrade and a rollback take
// these steps, in this order; they differ in how they prepare the revision. An error
// comes together with the revision once that is recorded.
func (d *deployment) deploy(ctx context.Context) (*release.Release, error) {
	if err := d.config.require(d.doing); err != nil {
		return nil, err
	}
	ctx, err := d.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer d.end()
	err = inOrder(ctx, d.readHistory, d.verb.prepare)
	if err != nil {
		return nil, err
	}
	err = orLockLost(ctx, d.execute(ctx))
	if err == nil {
		err = d.succeed(ctx, d.verb.complete())
		if d.release.Info.Status == release.Deployed || notOurs(err) {
			return d.release, err
		}
	}
	if !d.recorded {
		return nil, err
	}
	if d.undo && !d.undoCancelled && ctx.Err() != nil && !lost(ctx) {
		err = fmt.Errorf("it was cancelled, and what it has written stays: %w", err)
		d.fail(ctx, d.verb.failed(err))
		return d.release, err
	}
	d.fail(ctx, d.verb.failed(err))
	return d.release, d.verb.afterFailure(ctx, err)
}

// undoContext is the context in which a failed deployment is undone: ctx, or one that does
// not end where ctx has ended and the deployment is to be undone all the same.
func (d *deployment) undoContext(ctx context.Context) context.Context {
	if d.undoCancelled && ctx.Err() != nil {
		return context.WithoutCancel(ctx)
	}
	return ctx
}

// execute brings the prepared revision into the records and the cluster. The steps of
// the core answer the event behind the scripts and handlers, which so have the last
// word on objects and none on whether these are valid.
func (d *deployment) execute(ctx context.Context) error {
	before := d.verb.before()
	err := inOrder(ctx,
		d.events.emit(before),
		d.events.respond(before, event.ObjectValidation, d.validate(before)),
		d.events.respond(before, event.Permissions, d.checkHooks()),
		d.events.respond(before, event.Namespace, d.createNamespace()),
		d.events.respond(before, event.CRDs, d.writeCRDs()),
		d.events.respond(before, event.Record, d.verb.recordPending),
		d.runHooks(before),
		d.events.respond(before, event.ObjectChanges, d.apply),
		d.events.respond(before, event.Readiness, d.waitStep()),
	)
	if err != nil {
		return err
	}
	after := d.verb.after()
	return inOrder(ctx, d.events.emit(after), d.runHooks(after))
}

// dry does what deploy does, up to where that would write.
func (d *deployment) dry(ctx context.Context) error {
	if err := d.check(); err != nil {
		return err
	}
	d.dryRun = true
	d.events, d.hooks = d.config.begin(), d.config.newHooks(d.noHooks, d.wait.Timeout, d.write.TakeOwnership)
	defer d.events.end()
	if err := inOrder(ctx, d.readHistory, d.verb.prepare); err != nil {
		return err
	}
	before := d.verb.before()
	err := inOrder(ctx, d.events.emit(before), d.events.respond(before, event.ObjectValidation, d.validate(before)))
	d.release.Info.Description = "Dry run complete"
	return err
}

// check returns what is wrong with the request, before anything is read or written.
func (d *deployment) check() error {
	if d.invalid != nil {
		return d.invalid
	}
	return CheckName(d.name)
}

// step is one step of a sequence.
type step = func(context.Context) error

// inOrder takes steps until one fails. A step that is nil is left out.
func inOrder(ctx context.Context, steps ...step) error {
	for _, take := range steps {
		if take == nil {
			continue
		}
		if err := take(ctx); err != nil {
			return err
		}
	}
	return nil
}

// emit has scripts and handlers answer e.
func (l lifecycle) emit(e event.Event) step {
	return func(ctx context.Context) error { return l.Emit(ctx, e) }
}

// respond has the core answer e with a step of its own, nil for none.
func (l lifecycle) respond(e event.Event, who event.CoreHandler, answer step) step {
	if answer == nil {
		return nil
	}
	return func(ctx context.Context) error { return l.HandleCore(ctx, e, who, answer) }
}

// acquire takes the lock of the release, unless the deployment undoes one that has it.
// The context ends when the lock is lost.
func (d *deployment) acquire(ctx context.Context) (context.Context, error) {
	if err := d.check(); err != nil {
		return nil, err
	}
	if !d.revert {
		var err error
		if ctx, d.lock, err = d.config.acquireLock(ctx, d.name, d.doing); err != nil {
			return nil, err
		}
		d.hooks = d.config.newHooks(d.noHooks, d.wait.Timeout, d.write.TakeOwnership)
	}
	d.events = d.config.begin()
	return ctx, nil
}

// end ends the scripts, and unlocks the release.
func (d *deployment) end() {
	d.events.end()
	if !d.revert {
		d.lock.Unlock()
	}
}

// readHistory reads what has become of the release so far.
func (d *deployment) readHistory(ctx context.Context) (err error) {
	if d.config.Releases == nil {
		d.history = &history{name: d.name}
		return nil
	}
	d.history, err = loadHistory(ctx, d.config.Releases, d.lock, d.name, d.config.Progress)
	return err
}

// validate makes the objects that scripts have left those of the revision, and plans
// what becomes of them. Nothing has been written.
func (d *deployment) validate(before event.Event) step {
	return func(ctx context.Context) error {
		all, hooks, objects := split(before.Data().Objects)
		d.payload.Objects = all
		d.release.Manifest, d.release.Hooks = manifest.Format(objects), hooks
		return d.makePlan(ctx, objects)
	}
}

// checkHooks refuses hooks that could not run, those of a rollback that a failure would
// lead to among them.
func (d *deployment) checkHooks() step {
	if !d.hooks.enabled() {
		return nil
	}
	return func(ctx context.Context) error {
		stored := d.doing == "rollback"
		if err := d.hooks.check(ctx, d.release, hooksAt(d.release, d.hookEvents()...), stored); err != nil {
			return err
		}
		return d.verb.confirmUndo(ctx)
	}
}

// hookEvents are the events before and after which hooks run.
func (d *deployment) hookEvents() []release.HookEvent {
	return []release.HookEvent{release.HookEvent("pre-" + d.doing), release.HookEvent("post-" + d.doing)}
}

// running are the hooks of the release that run at one of the events.
func (d *deployment) running(events ...release.HookEvent) []*release.Hook {
	if !d.hooks.enabled() {
		return nil
	}
	return hooksAt(d.release, events...)
}

// hooksAt are the hooks of a release that name one of the events.
func hooksAt(rel *release.Release, events ...release.HookEvent) []*release.Hook {
	var out []*release.Hook
	for _, h := range rel.Hooks {
		if slices.ContainsFunc(events, h.On) {
			out = append(out, h)
		}
	}
	return out
}

// createNamespace creates the namespace, where that is asked for.
func (d *deployment) createNamespace() step {
	if !d.newNamespace {
		return nil
	}
	return func(ctx context.Context) error {
		return d.config.Cluster.CreateNamespace(ctx, d.release.Namespace)
	}
}

// writeCRDs writes the definitions of the charts that are missing or out of date.
func (d *deployment) writeCRDs() step {
	if !d.crds.needed() {
		return nil
	}
	return func(ctx context.Context) error {
		return d.crds.write(ctx, d.config.Cluster, d.config.Progress, d.wait.Timeout)
	}
}

// runHooks runs the hooks that name e.
func (d *deployment) runHooks(e event.Event) step {
	return runHooks(d.events, d.hooks, e, func() *release.Release { return d.release })
}

// runHooks has the core answer e with the hooks of a release that name it. Where there are
// none by then, nothing shows.
func runHooks(events lifecycle, runner hooks, e event.Event, of func() *release.Release) step {
	if !runner.enabled() {
		return nil
	}
	return func(ctx context.Context) error {
		rel, on := of(), release.HookEvent(e.Name())
		run := func(ctx context.Context) error { return runner.run(ctx, rel, rel.Hooks, on) }
		if len(hooksAt(rel, on)) == 0 {
			return run(ctx)
		}
		return events.HandleCore(ctx, e, event.AnnotationHooks, run)
	}
}
