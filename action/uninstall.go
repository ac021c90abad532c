// SPDX-License-Identifier: Apache-2.0

package action

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/moonhelm/moonhelm/engine"
	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/internal/linger"
	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/kube/apply"
	"github.com/moonhelm/moonhelm/kube/wait"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/plan"
	"github.com/moonhelm/moonhelm/planfile"
	"github.com/moonhelm/moonhelm/progress"
	"github.com/moonhelm/moonhelm/release"
	"github.com/moonhelm/moonhelm/storage"
	"github.com/moonhelm/moonhelm/storage/lock"
)

// A Deleter deletes objects.
type Deleter interface {
	// Delete deletes objects in order, those of one kind concurrently. It ignores objects
	// that do not exist, and reports objects without the owner's ownership labels as kept.
	Delete(ctx context.Context, objects []*manifest.Object, owner kube.Owner, cascade apply.Cascade) error
	CheckPermissions(ctx context.Context, verb string, objects []*manifest.Object, namespace string,
		also ...apply.Permission) error
	// WaitGone returns when all objects of the owner have been deleted.
	WaitGone(ctx context.Context, objects []*manifest.Object, owner kube.Owner) error
}

// Uninstall deletes a release's objects and its records.
type Uninstall struct{ *Config }

// An UninstallRequest is the request of an uninstall. Name is required.
type UninstallRequest struct {
	Name        string
	KeepHistory bool
	Description string        // replaces "Uninstallation complete" in the record
	Cascade     apply.Cascade // "" is CascadeBackground
	Wait        bool          // waits until the objects are deleted
	Timeout     time.Duration
	Timeouts    map[string]time.Duration // of groups, subcharts and objects, as in [WaitOptions]
	GiveUpAfter time.Duration            // of hooks, as in [WaitOptions]
	Watch       *wait.Watch              // reports logs and events of hooks, as in [WaitOptions]
	// NoHooks disables hooks, and TakeOwnership lets them replace objects that do not
	// belong to the release.
	NoHooks, TakeOwnership bool
}

// Uninstalled is the result of an uninstall.
type Uninstalled struct {
	Release *release.Release
	// Kept are the objects with the annotation helm.sh/resource-policy: keep.
	Kept []*manifest.Object
	// Deleted are the other objects, in the order of their deletion.
	Deleted []*manifest.Object
	// Definitions are the CRDs that the release has brought in crds/, which are not deleted. Those of
	// subcharts are known if Moonhelm has recorded the release.
	Definitions []string
}

// uninstallOperation is one uninstall.
type uninstallOperation struct {
	*Config
	req     UninstallRequest
	events  lifecycle
	hooks   hooks
	lock    lock.Lock
	history *history
	out     *Uninstalled
	// recorded reports whether the release is recorded as uninstalling, which happens
	// after the scripts of pre-delete have run.
	recorded bool
	// held is the plan that the uninstall must do exactly, or nil, and steps what it does with each
	// object.
	held  *planfile.Document
	steps *plan.Plan
}

// Plan returns what Run would delete and keep. It writes nothing. Errors:
// [*storage.NotFoundError], [*storage.UnreadableError], and those of the driver.
func (u Uninstall) Plan(ctx context.Context, req UninstallRequest) (*Uninstalled, error) {
	w := u.operation(req)
	err := w.makePlan(ctx)
	return w.out, err
}

func (u Uninstall) operation(req UninstallRequest) *uninstallOperation {
	return &uninstallOperation{Config: u.forOperation(), req: req}
}

// makePlan reads the history, and sets the objects to delete and to keep.
func (w *uninstallOperation) makePlan(ctx context.Context) error {
	if err := requireReleases(w.Releases, "uninstall"); err != nil {
		return err
	}
	if err := CheckName(w.req.Name); err != nil {
		return err
	}
	history, err := loadHistory(ctx, w.Releases, w.lock, w.req.Name, nil)
	if err != nil {
		return err
	}
	if w.lock != nil {
		if err := history.unfinished(w.namespace()); err != nil {
			return err
		}
	}
	if history.last == nil {
		_, err := w.Releases.Get(ctx, w.req.Name, 0) // returns storage.ErrNotFound with the namespace
		return err
	}
	for _, text := range history.warnings {
		w.Progress.Send(progress.Event{Kind: progress.Warning, Text: text})
	}
	if !w.req.KeepHistory {
		if err := checkDeletable(ctx, w.Releases, w.req.Name, history.revisions); err != nil {
			return err
		}
	}
	w.history, w.out = history, &Uninstalled{Release: history.last}
	if history.last.Info.Status == release.Uninstalled {
		return nil
	}
	objects, err := inventory(history)
	if err != nil {
		return err
	}
	for _, o := range objects {
		switch {
		case o.Empty: // comments only
		case isKept(o):
			w.out.Kept = append(w.out.Kept, o)
		default:
			w.out.Deleted = append(w.out.Deleted, o)
		}
	}
	manifest.SortUninstall(w.out.Deleted)
	w.out.Definitions = definitionNames(history.last)
	return nil
}

// checkDeletable returns an error if a client of an unsupported version has written one of the
// revisions. It ignores records that cannot be read.
func checkDeletable(ctx context.Context, records Storage, name string, revisions []storage.Record) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for _, r := range revisions {
		group.Go(func() error {
			err := r.Unsupported()
			if err == nil {
				_, err = records.Get(ctx, name, r.Revision)
			}
			if errors.Is(err, release.ErrUnsupported) {
				return err
			}
			return nil
		})
	}
	return group.Wait()
}

// inventory returns all objects that a release may have in the cluster, without duplicates:
// those of the newest revision, those of older applied revisions, and pending deletions.
func inventory(h *history) ([]*manifest.Object, error) {
	revisions, err := h.objects()
	if err != nil {
		return nil, err
	}
	seen := map[plan.Ref]bool{}
	var out []*manifest.Object
	add := func(o *manifest.Object) {
		k := refOf(o, h.last.Namespace).Identity()
		if o.Name == "" || !seen[k] {
			seen[k] = true
			out = append(out, o)
		}
	}
	for i := len(revisions) - 1; i >= 0; i-- {
		for _, o := range revisions[i] {
			add(o)
		}
	}
	kept := map[string]bool{}
	for _, m := range movesOf(h.last) {
		kept[m.From.Name] = m.IsNowDefinition()
	}
	out = slices.DeleteFunc(out, func(o *manifest.Object) bool { return isDefinition(o) && kept[o.Name] })
	for _, o := range h.pendingDeletions() {
		if left, err := pendingObject(o); err == nil { // no object can have an unparsable name
			add(left)
		}
	}
	return out, nil
}

// pendingObject returns an object with the name of a pending deletion.
func pendingObject(o release.PendingDeletion) (*manifest.Object, error) {
	text, err := json.Marshal(map[string]any{
		"apiVersion": o.APIVersion, "kind": o.Kind, "metadata": map[string]any{"name": o.Name, "namespace": o.Namespace},
	})
	if err != nil {
		return nil, err
	}
	objects, err := manifest.Parse("", string(text))
	if err != nil {
		return nil, err
	}
	return objects[0], nil
}

// Run uninstalls the release. If the release is already uninstalled and its history was kept,
// Run deletes the history. If Run fails, the record stays, so that it can be run again.
//
// Errors: [*ConfigError], [ErrNoName], [*storage.NotFoundError], [*AlreadyUninstalledError] if
// KeepHistory is set, [*TimeoutNameError], [*OutsideError], [*lock.LockedError], [*lock.LostError], [*HookError],
// [*kube.ObjectError], and with Wait [*wait.PendingError].
func (u Uninstall) Run(ctx context.Context, req UninstallRequest) (*Uninstalled, error) {
	return u.operation(req).lockAndRun(ctx)
}

// lockAndRun runs the operation under the lock of the release.
func (w *uninstallOperation) lockAndRun(ctx context.Context) (*Uninstalled, error) {
	req := w.req
	if err := CheckName(req.Name); err != nil {
		return nil, err
	}
	if err := w.require("uninstall"); err != nil {
		return nil, err
	}
	return resuming(ctx, w.Config, w.attempt, nil)
}

// attempt is Run, unless a transfer of the release's objects was interrupted.
func (w *uninstallOperation) attempt(ctx context.Context) (*Uninstalled, error) {
	req := w.req
	ctx, held, err := w.Config.acquireLock(ctx, req.Name, "uninstall")
	if err != nil {
		return nil, err
	}
	defer held.Unlock()
	limits := WaitOptions{Timeout: req.Timeout, Timeouts: req.Timeouts, GiveUpAfter: req.GiveUpAfter}
	w.lock, w.hooks = held, w.newHooks(req.NoHooks, limits, req.TakeOwnership)
	limits.Watch = req.Watch
	watch := w.newWatching(limits)
	if r, ok := w.hooks.(*hookRunner); ok {
		r.watch = watch
	}
	defer watch.send(w.Progress, "uninstall of "+req.Name)
	w.events = w.begin()
	defer w.events.end()
	return w.run(ctx)
}

// revert uninstalls a release whose install has failed, and holds the lock held.
func (w *uninstallOperation) revert(ctx context.Context, held lock.Lock, hooks hooks) (*Uninstalled, error) {
	w.lock, w.hooks, w.events = held, hooks, w.begin()
	defer w.events.end()
	return w.run(ctx)
}

func (w *uninstallOperation) run(ctx context.Context) (*Uninstalled, error) {
	if err := w.makePlan(ctx); err != nil {
		return nil, err
	}
	if err := w.checkHeld(ctx); err != nil {
		return nil, err
	}
	rel := w.out.Release
	if rel.Info.Status == release.Uninstalled {
		if w.req.KeepHistory {
			return nil, &AlreadyUninstalledError{Name: rel.Name}
		}
		w.lock.Finish()
		return w.out, w.purge(ctx, rel.Name)
	}
	if err := w.checkTimeouts(); err != nil {
		return nil, err
	}
	begun := w.now()
	if err := orLockLost(ctx, w.execute(ctx)); err != nil {
		if !w.recorded {
			return nil, err
		}
		err = w.interrupted(ctx, begun, err)
		if isWaitFailure(err) {
			err = &WaitError{Operation: "uninstall", Release: rel.Name, Revision: rel.Revision, Err: err}
		}
		w.recordFailure(ctx, err)
		return w.out, err
	}
	w.lock.Finish()
	// The objects are deleted: an interrupt must not leave a record that has them.
	last, cancel := cleanupContext(ctx)
	defer cancel()
	err := w.recordUninstalled(last)
	if err != nil {
		w.recordFailure(ctx, err)
	} else if w.req.KeepHistory {
		err = w.closeHistory(last)
	}
	return w.out, err
}

// recordUninstalled deletes the history, or records the release as uninstalled.
func (w *uninstallOperation) recordUninstalled(ctx context.Context) error {
	rel := w.out.Release
	uninstalled := func() {
		rel.Info.Status = release.Uninstalled
		rel.Info.Description = cmp.Or(w.req.Description, "Uninstallation complete")
		rel.Holder, rel.PendingDeletions = "", nil
	}
	if !w.req.KeepHistory {
		err := w.purge(ctx, rel.Name)
		if err == nil {
			uninstalled()
		}
		return err
	}
	err := w.updateFinal(ctx, rel, uninstalled)
	if err != nil {
		return fmt.Errorf("record release %s as uninstalled: %w", rel.Name, err)
	}
	return nil
}

// closeHistory records interrupted revisions as failed, and deployed ones as superseded.
func (w *uninstallOperation) closeHistory(ctx context.Context) error {
	rel := w.out.Release
	w.history.interrupted = slices.DeleteFunc(w.history.interrupted, func(r *release.Release) bool { return r == rel })
	if err := w.history.failInterrupted(ctx, w.Releases); err != nil {
		return err
	}
	d := deployment{config: w.Config, history: w.history, release: rel}
	return d.supersedeOthers(ctx)
}

// execute takes all steps before the final state is recorded.
func (w *uninstallOperation) execute(ctx context.Context) error {
	rel := w.out.Release
	payload, err := w.payload(ctx, rel)
	if err != nil {
		return err
	}
	before := &event.PreDelete{Payload: payload}
	err = runSteps(ctx,
		w.events.emitStep(before),
		w.events.handleStep(before, event.ObjectValidation, w.checkPermissions),
		w.events.handleStep(before, event.Permissions, w.checkHooks()),
		w.events.handleStep(before, event.Record, w.recordPending),
		w.runHooks(before),
		w.events.handleStep(before, event.ObjectChanges, w.remove),
	)
	if err != nil {
		return err
	}
	after := &event.PostDelete{Payload: payload}
	return runSteps(ctx, w.events.emitStep(after), w.runHooks(after))
}

// runHooks returns the step that runs the hooks for e.
func (w *uninstallOperation) runHooks(e event.Event) step {
	return runHooks(w.events, w.hooks, e, func() *release.Release { return w.out.Release })
}

func (w *uninstallOperation) checkPermissions(ctx context.Context) error {
	records := []string{"update", "delete"}
	if w.req.KeepHistory {
		records = records[:1]
	}
	namespace := w.out.Release.Namespace
	return w.Cluster.CheckPermissions(ctx, "delete", w.out.Deleted, namespace,
		recordPermissions(w.Releases, namespace, records...)...)
}

// checkHooks returns the step that checks whether the hooks can run.
func (w *uninstallOperation) checkHooks() step {
	if !w.hooks.enabled() {
		return nil
	}
	return func(ctx context.Context) error {
		rel := w.out.Release
		return w.hooks.check(ctx, rel, hooksAt(rel, release.PreDelete, release.PostDelete), true)
	}
}

// recordPending records that the release is being uninstalled.
func (w *uninstallOperation) recordPending(ctx context.Context) error {
	rel := w.out.Release
	rel.Info.Status = release.Uninstalling
	rel.Info.Deleted = w.now()
	rel.Info.Description = "Deletion in progress (or silently failed)"
	rel.Holder = w.lock.Holder()
	ctx, cancel := linger.Context(ctx)
	defer cancel()
	if err := w.Releases.Update(ctx, rel); err != nil {
		return fmt.Errorf("record release %s as uninstalling: %w", rel.Name, err)
	}
	w.recorded = true
	w.lock.Guard(rel.Revision)
	return nil
}

// remove deletes the objects, in the reverse of the order that the charts ask for.
func (w *uninstallOperation) remove(ctx context.Context) error {
	rel := w.out.Release
	owner := kube.Owner{Release: rel.Name, Namespace: rel.Namespace}
	cascade := w.req.Cascade
	if cascade == "" {
		cascade = apply.Background
	}
	batches, err := splitBatches(rel, w.out.Deleted, w.Progress)
	if err != nil {
		// An invalid order in the record must not prevent uninstalling.
		w.Progress.Send(progress.Event{Kind: progress.Warning, Text: err.Error()})
		batches = nil
	}
	if len(batches) == 0 {
		batches = [][]*manifest.Object{w.out.Deleted}
	}
	for i := len(batches) - 1; i >= 0; i-- {
		batch := batches[i]
		manifest.SortUninstall(batch)
		if err := w.deleteBatch(ctx, batch, owner, cascade); err != nil {
			return err
		}
		if i == 0 && !w.req.Wait {
			break
		}
		if err := w.awaitDeletion(ctx, batch, owner); err != nil {
			return err
		}
	}
	return nil
}

func (w *uninstallOperation) awaitDeletion(ctx context.Context, objects []*manifest.Object, owner kube.Owner) error {
	w.Progress.Send(progress.Event{Kind: progress.Step, Text: "waiting until the objects are deleted"})
	byTimeout := map[time.Duration][]*manifest.Object{}
	for _, o := range objects {
		own, _ := namedTimeout(w.req.Timeouts, o)
		timeout := cmp.Or(own, timeoutOrDefault(w.req.Timeout))
		byTimeout[timeout] = append(byTimeout[timeout], o)
	}
	group, ctx := errgroup.WithContext(ctx)
	for timeout, some := range byTimeout {
		group.Go(func() error {
			ctx, cancel := context.WithTimeout(ctx, timeout)
			defer cancel()
			return w.Cluster.WaitGone(ctx, some, owner)
		})
	}
	return group.Wait()
}

// checkTimeouts returns an error if the request has a timeout for a name that no object has.
func (w *uninstallOperation) checkTimeouts() error {
	if len(w.req.Timeouts) == 0 {
		return nil
	}
	rel := w.out.Release
	hooks, err := objectsOf(rel, hooksAt(rel, release.PreDelete, release.PostDelete))
	if err != nil {
		return err
	}
	return checkTimeouts(w.req.Timeouts, slices.Concat(w.out.Deleted, w.out.Kept, hooks))
}

// payload starts the scripts of the recorded charts, and returns the payload of the events:
// the release, and no chart.
func (w *uninstallOperation) payload(ctx context.Context, rel *release.Release) (event.Payload, error) {
	op := newOperation("uninstall", false,
		engine.Release{Name: rel.Name, Namespace: rel.Namespace, Revision: rel.Revision}, nil, lookupIn(ctx, w.Cluster))
	scripts, err := rel.Scripts()
	if err != nil {
		return event.Payload{}, err
	}
	// Without scripts too: the event stops scripts of another release.
	if err := emitResolved(ctx, w.events.Bus,
		&event.ChartResolved{Payload: event.Payload{Operation: op, Chart: scripts}}); err != nil {
		return event.Payload{}, err
	}
	return event.Payload{Operation: op, Release: rel}, nil
}

func (w *uninstallOperation) recordFailure(ctx context.Context, cause error) {
	if isLockLost(ctx) {
		return // the client that has the lock now records the failure
	}
	ctx, cancel := cleanupContext(ctx)
	defer cancel()
	rel := w.out.Release
	w.lock.Finish()
	err := w.updateFinal(ctx, rel, func() {
		rel.Info.Status, rel.Holder = release.Failed, ""
		rel.Info.Description = "Uninstallation failed: " + summaryOf(cause)
	})
	if err != nil {
		w.Progress.Send(progress.Event{Kind: progress.Warning,
			Text: fmt.Sprintf("release %s could not be recorded as failed: %s", rel.Name, err)})
	}
}

// purge deletes all revisions of a release, oldest first, so that an interrupted purge leaves the
// newest, which has the objects to uninstall.
func (c *Config) purge(ctx context.Context, name string) error {
	var revisions []storage.Record
	err := retryOnce(ctx, func() (err error) { revisions, err = c.Releases.Revisions(ctx, name); return err })
	if errors.Is(err, storage.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list the history of release %s: %w", name, err)
	}
	for _, n := range revisions {
		err := retryOnce(ctx, func() error { return c.Releases.Delete(ctx, name, n.Revision, n.Version) })
		if err != nil && !errors.Is(err, storage.ErrNotFound) {
			return fmt.Errorf("delete revision %d of release %s: %w", n.Revision, name, err)
		}
	}
	return nil
}

// isKept reports whether uninstall keeps o, because o or the List that contained it has the
// annotation [release.PolicyAnnotation].
func isKept(o *manifest.Object) bool {
	return o.List != nil && isKept(o.List) || release.IsKeepPolicy(o.Annotations[release.PolicyAnnotation])
}

// An AlreadyUninstalledError is returned if the release is uninstalled and only its history is
// left.
type AlreadyUninstalledError struct{ Name string }

func (e *AlreadyUninstalledError) Error() string {
	return fmt.Sprintf("the release named %q is already deleted; its history is still kept", e.Name)
}
