// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/plan"
	"github.com/moonhelm/moonhelm/release"
	"github.com/moonhelm/moonhelm/storage/lock"
)

// operation has the methods in which an install, an upgrade and a rollback differ.
type operation interface {
	// prepare sets the new revision, d.release, and its objects, d.payload. It writes
	// nothing.
	prepare(ctx context.Context) error
	// preEvent and postEvent return the events of the operation.
	preEvent() event.Event
	postEvent() event.Event
	// confirmUndo asks for the confirmations that undoing the deployment would need.
	confirmUndo(ctx context.Context) error
	// recordPending writes the pending record.
	recordPending(ctx context.Context) error
	// failureDescription returns the description of a revision that failed with err.
	failureDescription(err error) string
	// afterFailure undoes a failed deployment if the request asks for it, and returns
	// cause wrapped with the result.
	afterFailure(ctx context.Context, cause error) error
	// successDescription returns the description of a deployed revision.
	successDescription() string
}

// deployment creates one new revision of a release.
type deployment struct {
	config *Config
	op     operation
	name   string // of the release
	// doing is the name of the operation for the lock and the events: "upgrade".
	doing  string
	dryRun bool
	// revert is set if the deployment undoes another one, which holds the lock.
	revert bool
	// invalid is the error of an invalid request, or nil.
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
	// moves is what has become of objects that the charts have moved.
	moves *plan.Moves
	// undone are the moves that a rollback undoes.
	undone []plan.MovedObject

	objects []*manifest.Object
	// newNamespace creates the namespace if it does not exist.
	newNamespace bool
	wait         WaitOptions
	applyOptions ApplyOptions
	noHooks      bool
	serverDryRun bool
	preview      Preview
	// maxHistory is the number of revisions to keep, or 0 for all.
	maxHistory int
	// undo undoes a failed deployment, and undoCancelled a canceled one too.
	undo, undoCancelled bool

	// restore makes the plan undo drift, and nothing else; nil for all operations but a repair.
	restore *restoring
	plan    *plan.Plan
	// batches are the objects in the order that the charts ask for, or nil.
	batches [][]*manifest.Object
	// unwritten is the number of batches that are not written yet, while a batch before them is awaited.
	unwritten int
	// batch names the batch that is awaited, if there are several.
	batch string
	// partial reports whether the plan lacks objects whose CRDs are not written yet.
	partial bool
	// recorded reports whether the revision has been recorded.
	recorded bool
	// begun is when the operation had the lock.
	begun time.Time
	// watch is what the waits have in common.
	watch *watching
	keeping
}

// deploy creates a new revision of a release. An install, an upgrade and a rollback take
// these steps, in this order; they differ in how they prepare the revision. Once the
// revision is recorded, deploy returns it together with an error.
func (d *deployment) deploy(ctx context.Context) (*release.Release, error) {
	if err := d.config.require(d.doing); err != nil {
		return nil, err
	}
	return resuming(ctx, d.config, d.attempt, nil)
}

// attempt is deploy, unless a transfer of the release's objects was interrupted.
func (d *deployment) attempt(ctx context.Context) (*release.Release, error) {
	ctx, err := d.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer d.end()
	err = runSteps(ctx, d.readHistory, d.op.prepare)
	if err != nil {
		return nil, err
	}
	err = orLockLost(ctx, d.execute(ctx))
	d.watch.send(d.config.Progress, d.what())
	d.locate(err)
	if err == nil {
		err = d.recordSuccess(ctx, d.op.successDescription())
		if d.release.Info.Status == release.Deployed || isRecordTaken(err) {
			return d.release, err
		}
	}
	if !d.recorded {
		return nil, err
	}
	err = d.waitError(d.config.interrupted(ctx, d.begun, err))
	if d.undo && !d.undoCancelled && ctx.Err() != nil && !isLockLost(ctx) {
		const stays = "it was canceled, and the objects that it has written stay: "
		d.recordFailure(ctx, d.op.failureDescription(errors.New(stays+summaryOf(err))))
		return d.release, fmt.Errorf(stays+"%w", err)
	}
	d.recordFailure(ctx, d.op.failureDescription(err))
	return d.release, d.op.afterFailure(ctx, err)
}

// waitError returns err as a [*WaitError] if a wait has failed or the operation was interrupted.
func (d *deployment) waitError(err error) error {
	if !isWaitFailure(err) {
		return err
	}
	return &WaitError{
		Operation: d.doing, Release: d.release.Name, Revision: d.release.Revision,
		Target: d.release.Info.RollbackRevision, Deployed: d.history.lastSuccessful(), Err: err,
		Unwritten: d.unwritten, Readiness: d.unwritten > 0 && d.wait.ReadinessTimeout > 0, Batch: d.batch,
	}
}

// what names the operation for the user: "upgrade of web to revision 3".
func (d *deployment) what() string {
	e := &WaitError{Operation: d.doing, Release: d.name}
	if d.release != nil {
		e.Revision, e.Target = d.release.Revision, d.release.Info.RollbackRevision
	}
	return e.what()
}

// undoContext returns the context for undoing a failed deployment: ctx, or a context without
// its cancellation if ctx has ended and canceled deployments are to be undone.
func (d *deployment) undoContext(ctx context.Context) context.Context {
	if d.undoCancelled && ctx.Err() != nil {
		return context.WithoutCancel(ctx)
	}
	return ctx
}

// execute records the prepared revision and applies its objects. The core handles the event
// after the scripts and handlers, so that it validates the objects as they have left them.
func (d *deployment) execute(ctx context.Context) error {
	before := d.op.preEvent()
	d.keepRendered()
	err := runSteps(ctx,
		d.events.emitStep(before),
		d.events.handleStep(before, event.ObjectValidation, d.validate(before)),
		d.checkHeld(), d.warnOfTaken,
		d.events.handleStep(before, event.Permissions, d.checkHooks()),
		d.events.handleStep(before, event.Namespace, d.createNamespace()),
		d.events.handleStep(before, event.CRDs, d.writeCRDs()),
		d.events.handleStep(before, event.Record, d.op.recordPending),
		d.runHooks(before),
		d.events.handleStep(before, event.ObjectChanges, d.apply),
		d.events.handleStep(before, event.Readiness, d.waitStep()),
	)
	if err != nil {
		return err
	}
	after := d.op.postEvent()
	return runSteps(ctx, d.events.emitStep(after), d.runHooks(after))
}

// runDry takes the steps of deploy up to the first that writes.
func (d *deployment) runDry(ctx context.Context) error {
	if err := d.check(); err != nil {
		return err
	}
	d.dryRun = true
	d.events, d.hooks = d.config.begin(), d.config.newHooks(d.noHooks, d.wait, d.applyOptions.TakeOwnership)
	defer d.events.end()
	if err := runSteps(ctx, d.readHistory, d.op.prepare); err != nil {
		return err
	}
	before := d.op.preEvent()
	d.keepRendered()
	err := runSteps(ctx,
		d.events.emitStep(before),
		d.events.handleStep(before, event.ObjectValidation, d.validate(before)),
		d.checkHeld(), d.warnOfTaken,
	)
	d.locate(err)
	d.release.Info.Description = "Dry run complete"
	return err
}

// locate sets the lines of templates in the errors of err about the fields of objects.
func (d *deployment) locate(err error) {
	switch {
	case err == nil:
	case d.rendered != nil:
		d.rendered.Locate(err)
	case d.release != nil: // a rollback: its record has the templates
		if c, readErr := d.release.Chart(); readErr == nil {
			newTemplates(c, nil).locate(err)
		}
	}
}

// check returns an error if the request or the name is invalid.
func (d *deployment) check() error {
	if d.invalid != nil {
		return d.invalid
	}
	return CheckName(d.name)
}

// step is one step of a sequence.
type step = func(context.Context) error

// runSteps runs steps until one fails. It skips nil steps.
func runSteps(ctx context.Context, steps ...step) error {
	for _, run := range steps {
		if run == nil {
			continue
		}
		if err := run(ctx); err != nil {
			return err
		}
	}
	return nil
}

// emitStep returns the step that emits e to scripts and handlers.
func (l lifecycle) emitStep(e event.Event) step {
	return func(ctx context.Context) error { return l.Emit(ctx, e) }
}

// handleStep returns the step in which the core handles e with handle, or nil if handle is
// nil.
func (l lifecycle) handleStep(e event.Event, handler event.CoreHandler, handle step) step {
	if handle == nil {
		return nil
	}
	return func(ctx context.Context) error { return l.HandleCore(ctx, e, handler, handle) }
}

// acquire locks the release, unless the deployment undoes one that holds the lock, and starts
// the events. The returned context ends when the lock is lost.
func (d *deployment) acquire(ctx context.Context) (context.Context, error) {
	if err := d.check(); err != nil {
		return nil, err
	}
	if !d.revert {
		var err error
		if ctx, d.lock, err = d.config.acquireLock(ctx, d.name, d.doing); err != nil {
			return nil, err
		}
		d.hooks = d.config.newHooks(d.noHooks, d.wait, d.applyOptions.TakeOwnership)
	}
	d.events, d.begun, d.watch = d.config.begin(), d.config.now(), d.config.newWatching(d.wait)
	if r, ok := d.hooks.(*hookRunner); ok {
		r.watch = d.watch
	}
	return ctx, nil
}

// end closes the script runner, and unlocks the release.
func (d *deployment) end() {
	d.events.end()
	if !d.revert {
		d.lock.Unlock()
	}
}

// readHistory reads the history of the release.
func (d *deployment) readHistory(ctx context.Context) (err error) {
	if d.config.Releases == nil {
		d.history = &history{name: d.name}
		return nil
	}
	d.history, err = loadHistory(ctx, d.config.Releases, d.lock, d.name, d.config.Progress)
	if err == nil && d.lock != nil {
		err = d.history.unfinished(d.config.namespace())
	}
	return err
}

// validate returns the step that sets the objects of the revision from the payload of pre,
// as scripts have left them, and plans their changes.
func (d *deployment) validate(pre event.Event) step {
	return func(ctx context.Context) error {
		moved, err := d.applyMoves(pre.Data().Objects)
		if err != nil {
			return err
		}
		all, hooks, objects := splitHooks(moved)
		d.payload.Objects = all
		d.release.Manifest, d.release.Hooks = manifest.Format(objects), hooks
		return d.makePlan(ctx, objects)
	}
}

// checkHooks returns the step that checks whether the hooks can run, including those of a
// rollback after a failure.
func (d *deployment) checkHooks() step {
	if !d.hooks.enabled() {
		return nil
	}
	return func(ctx context.Context) error {
		stored := d.doing == "rollback"
		if err := d.hooks.check(ctx, d.release, hooksAt(d.release, d.hookEvents()...), stored); err != nil {
			return err
		}
		return d.op.confirmUndo(ctx)
	}
}

// hookEvents returns the events of the operation's hooks.
func (d *deployment) hookEvents() []release.HookEvent {
	return []release.HookEvent{release.HookEvent("pre-" + d.doing), release.HookEvent("post-" + d.doing)}
}

// hooksToRun returns the hooks of the release for the events, or nil if hooks are disabled.
func (d *deployment) hooksToRun(events ...release.HookEvent) []*release.Hook {
	if !d.hooks.enabled() {
		return nil
	}
	return hooksAt(d.release, events...)
}

// hooksAt returns the hooks of a release for the events.
func hooksAt(rel *release.Release, events ...release.HookEvent) []*release.Hook {
	var out []*release.Hook
	for _, h := range rel.Hooks {
		if slices.ContainsFunc(events, h.On) {
			out = append(out, h)
		}
	}
	return out
}

// createNamespace returns the step that creates the namespace, or nil.
func (d *deployment) createNamespace() step {
	if !d.newNamespace {
		return nil
	}
	return func(ctx context.Context) error {
		return d.config.Cluster.CreateNamespace(ctx, d.release.Namespace)
	}
}

// writeCRDs returns the step that creates and updates the charts' CRDs, or nil.
func (d *deployment) writeCRDs() step {
	if !d.crds.needed() {
		return nil
	}
	return func(ctx context.Context) error {
		return d.crds.write(ctx, d.config.Cluster, d.config.Progress, d.wait.Timeout)
	}
}

// runHooks returns the step that runs the hooks for e.
func (d *deployment) runHooks(e event.Event) step {
	return runHooks(d.events, d.hooks, e, func() *release.Release { return d.release })
}

// runHooks returns the step in which the core handles e with a release's hooks for it. Without
// such hooks the handling is not traced.
func runHooks(events lifecycle, runner hooks, e event.Event, releaseOf func() *release.Release) step {
	if !runner.enabled() {
		return nil
	}
	return func(ctx context.Context) error {
		rel, on := releaseOf(), release.HookEvent(e.Name())
		run := func(ctx context.Context) error { return runner.run(ctx, rel, rel.Hooks, on) }
		if len(hooksAt(rel, on)) == 0 {
			return run(ctx)
		}
		return events.HandleCore(ctx, e, event.AnnotationHooks, run)
	}
}
