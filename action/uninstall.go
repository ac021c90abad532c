// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/moonhelm/moonhelm/engine"
	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/internal/linger"
	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/kube/apply"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/progress"
	"github.com/moonhelm/moonhelm/release"
	"github.com/moonhelm/moonhelm/storage"
	"github.com/moonhelm/moonhelm/storage/lock"
)

// Deleter removes objects from a cluster.
type Deleter interface {
	// Delete removes objects in the order given, those of one kind at once.
	// Objects that are gone are fine; objects without the owner's marks are left
	// alone and reported as kept.
	Delete(ctx context.Context, objects []*manifest.Object, owner kube.Owner, cascade apply.Cascade) error
	CheckPermissions(ctx context.Context, verb string, objects []*manifest.Object, namespace string,
		also ...apply.Permission) error
	// WaitGone returns when none of the owner's objects exists any more.
	WaitGone(ctx context.Context, objects []*manifest.Object, owner kube.Owner) error
}

// Uninstall removes a release's objects and its record.
type Uninstall struct{ *Config }

// UninstallRequest says what to uninstall. Name is needed.
type UninstallRequest struct {
	Name        string
	KeepHistory bool
	Description string        // what the kept record says in place of "Uninstallation complete"
	Cascade     apply.Cascade // "" is CascadeBackground
	Wait        bool          // wait until the objects are gone
	Timeout     time.Duration
	// NoHooks runs no hooks, and TakeOwnership lets them replace objects that are not
	// the release's.
	NoHooks, TakeOwnership bool
}

// Uninstalled is what an uninstall did, or would do.
type Uninstalled struct {
	Release *release.Release
	// Kept are the objects that helm.sh/resource-policy keeps.
	Kept []*manifest.Object
	// Deleted are the others, in the order of their deletion.
	Deleted []*manifest.Object
}

// uninstalling is the work on one release.
type uninstalling struct {
	*Config
	req     UninstallRequest
	events  lifecycle
	hooks   hooks
	lock    lock.Lock
	history *history
	out     *Uninstalled
	// recorded reports whether the record says uninstalling: nothing is written
	// before the scripts of pre-delete have agreed.
	recorded bool
}

// Plan returns what Run would do and writes nothing.
func (u Uninstall) Plan(ctx context.Context, req UninstallRequest) (*Uninstalled, error) {
	w := u.work(req)
	err := w.makePlan(ctx)
	return w.out, err
}

func (u Uninstall) work(req UninstallRequest) *uninstalling {
	return &uninstalling{Config: u.forOperation(), req: req}
}

// makePlan reads the history, and finds out what there is to delete and to keep.
func (w *uninstalling) makePlan(ctx context.Context) error {
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
	if history.last == nil {
		_, err := w.Releases.Get(ctx, w.req.Name, 0) // says where it is not
		return err
	}
	for _, text := range history.warnings {
		w.Progress.Send(progress.Event{Kind: progress.Warning, Text: text})
	}
	if !w.req.KeepHistory {
		if err := deletable(ctx, w.Releases, w.req.Name, history.revisions); err != nil {
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
		case o.Empty: // comments only: no one created it
		case keeps(o):
			w.out.Kept = append(w.out.Kept, o)
		default:
			w.out.Deleted = append(w.out.Deleted, o)
		}
	}
	manifest.SortUninstall(w.out.Deleted)
	return nil
}

// deletable refuses to delete a history in which a client of another generation has
// written a revision. One that is damaged may go.
func deletable(ctx context.Context, records Storage, name string, revisions []storage.Record) error {
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

// inventory are all objects that a release may have in the cluster, each once:
// those of the newest revision, and what others have left behind.
func inventory(p *history) ([]*manifest.Object, error) {
	revisions, err := p.objects()
	if err != nil {
		return nil, err
	}
	type key struct{ group, kind, namespace, name string }
	seen := map[key]bool{}
	var out []*manifest.Object
	add := func(o *manifest.Object) {
		group, _, ok := strings.Cut(o.APIVersion, "/")
		if !ok {
			group = "" // the version of the core's
		}
		k := key{group, o.Kind, orText(o.Namespace, p.last.Namespace), o.Name}
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
	for _, o := range p.pendingDeletions() {
		if left, err := pendingObject(o); err == nil { // no object has a name that cannot be read
			add(left)
		}
	}
	return out, nil
}

// pendingObject returns an object of which only the name is known any more.
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

// Run uninstalls the release. A release that was uninstalled with its history
// kept loses its history. If Run fails half-way, the record stays, so that it
// can be run again.
func (u Uninstall) Run(ctx context.Context, req UninstallRequest) (*Uninstalled, error) {
	if err := CheckName(req.Name); err != nil {
		return nil, err
	}
	w := u.work(req)
	if err := w.require("uninstall"); err != nil {
		return nil, err
	}
	ctx, held, err := w.Config.acquireLock(ctx, req.Name, "uninstall")
	if err != nil {
		return nil, err
	}
	defer held.Unlock()
	w.lock, w.hooks = held, w.newHooks(req.NoHooks, req.Timeout, req.TakeOwnership)
	w.events = w.begin()
	defer w.events.end()
	return w.run(ctx)
}

// revert uninstalls a release whose install has failed, which has the lock.
func (w *uninstalling) revert(ctx context.Context, held lock.Lock, hooks hooks) (*Uninstalled, error) {
	w.lock, w.hooks, w.events = held, hooks, w.begin()
	defer w.events.end()
	return w.run(ctx)
}

func (w *uninstalling) run(ctx context.Context) (*Uninstalled, error) {
	if err := w.makePlan(ctx); err != nil {
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
	if err := orLockLost(ctx, w.execute(ctx)); err != nil {
		if !w.recorded {
			return nil, err
		}
		w.fail(ctx, err)
		return w.out, err
	}
	w.lock.Finish()
	// The objects are gone: an interrupt that comes now must not leave a record
	// that says otherwise.
	last, cancel := cleanupContext(ctx)
	defer cancel()
	err := w.recordGone(last)
	if err != nil {
		w.fail(ctx, err)
	} else if w.req.KeepHistory {
		err = w.closeHistory(last)
	}
	return w.out, err
}

// recordGone deletes the history, or records that the release is uninstalled.
func (w *uninstalling) recordGone(ctx context.Context) error {
	rel := w.out.Release
	if !w.req.KeepHistory {
		return w.purge(ctx, rel.Name)
	}
	err := w.updateLast(ctx, rel, func() {
		rel.Info.Status = release.Uninstalled
		rel.Info.Description = orText(w.req.Description, "Uninstallation complete")
		rel.Holder, rel.PendingDeletions = "", nil
	})
	if err != nil {
		return fmt.Errorf("record release %s as uninstalled: %w", rel.Name, err)
	}
	return nil
}

// closeHistory records that nothing of the other revisions is there any more.
func (w *uninstalling) closeHistory(ctx context.Context) error {
	rel := w.out.Release
	w.history.unfinished = slices.DeleteFunc(w.history.unfinished, func(r *release.Release) bool { return r == rel })
	if err := w.history.failUnfinished(ctx, w.Releases); err != nil {
		return err
	}
	d := deployment{config: w.Config, history: w.history, release: rel}
	return d.supersedeOthers(ctx)
}

// execute does all that comes before the record's last word.
func (w *uninstalling) execute(ctx context.Context) error {
	rel := w.out.Release
	payload, err := w.payload(ctx, rel)
	if err != nil {
		return err
	}
	before := &event.PreDelete{Payload: payload}
	err = inOrder(ctx,
		w.events.emit(before),
		w.events.respond(before, event.ObjectValidation, w.checkPermissions),
		w.events.respond(before, event.Permissions, w.checkHooks()),
		w.events.respond(before, event.Record, w.recordPending),
		w.runHooks(before),
		w.events.respond(before, event.ObjectChanges, w.remove),
	)
	if err != nil {
		return err
	}
	after := &event.PostDelete{Payload: payload}
	return inOrder(ctx, w.events.emit(after), w.runHooks(after))
}

// runHooks runs the hooks that name e.
func (w *uninstalling) runHooks(e event.Event) step {
	return runHooks(w.events, w.hooks, e, func() *release.Release { return w.out.Release })
}

func (w *uninstalling) checkPermissions(ctx context.Context) error {
	records := []string{"update", "delete"}
	if w.req.KeepHistory {
		records = records[:1]
	}
	namespace := w.out.Release.Namespace
	return w.Cluster.CheckPermissions(ctx, "delete", w.out.Deleted, namespace,
		recordPermissions(w.Releases, namespace, records...)...)
}

// checkHooks refuses hooks that could not run.
func (w *uninstalling) checkHooks() step {
	if !w.hooks.enabled() {
		return nil
	}
	return func(ctx context.Context) error {
		rel := w.out.Release
		return w.hooks.check(ctx, rel, hooksAt(rel, release.PreDelete, release.PostDelete), true)
	}
}

// recordPending records that the release is being uninstalled.
func (w *uninstalling) recordPending(ctx context.Context) error {
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

// remove deletes the objects, in the reverse of the order that the charts ask
// for where they do.
func (w *uninstalling) remove(ctx context.Context) error {
	rel := w.out.Release
	owner := kube.Owner{Release: rel.Name, Namespace: rel.Namespace}
	cascade := w.req.Cascade
	if cascade == "" {
		cascade = apply.Background
	}
	batches, err := splitBatches(rel, w.out.Deleted, w.Progress)
	if err != nil {
		// A release must be removable whatever its record says.
		w.Progress.Send(progress.Event{Kind: progress.Warning, Text: err.Error()})
		batches = nil
	}
	if len(batches) == 0 {
		batches = [][]*manifest.Object{w.out.Deleted}
	}
	for i := len(batches) - 1; i >= 0; i-- {
		batch := batches[i]
		manifest.SortUninstall(batch)
		if err := w.Cluster.Delete(ctx, batch, owner, cascade); err != nil {
			return err
		}
		if i == 0 && !w.req.Wait {
			break
		}
		if err := w.awaitGone(ctx, batch, owner); err != nil {
			return err
		}
	}
	return nil
}

func (w *uninstalling) awaitGone(ctx context.Context, objects []*manifest.Object, owner kube.Owner) error {
	w.Progress.Send(progress.Event{Kind: progress.Step, Text: "waiting until the objects are gone"})
	ctx, cancel := context.WithTimeout(ctx, orDefault(w.req.Timeout))
	defer cancel()
	return w.Cluster.WaitGone(ctx, objects, owner)
}

// payload is what the events of an uninstall show: the release, and no chart. The
// scripts that answer are those of the chart in the record.
func (w *uninstalling) payload(ctx context.Context, rel *release.Release) (event.Payload, error) {
	op := operation("uninstall", false, engine.Release{Name: rel.Name, Namespace: rel.Namespace, Revision: rel.Revision},
		nil, lookupIn(ctx, w.Cluster))
	scripts, err := rel.Scripts()
	if err != nil {
		return event.Payload{}, err
	}
	// Also where there are none: a source that ran another release's ends them.
	if err := emitResolved(ctx, w.events.Bus,
		&event.ChartResolved{Payload: event.Payload{Operation: op, Chart: scripts}}); err != nil {
		return event.Payload{}, err
	}
	return event.Payload{Operation: op, Release: rel}, nil
}

func (w *uninstalling) fail(ctx context.Context, cause error) {
	if lost(ctx) {
		return // without the lock the record is another client's to write
	}
	ctx, cancel := cleanupContext(ctx)
	defer cancel()
	rel := w.out.Release
	w.lock.Finish()
	err := w.updateLast(ctx, rel, func() {
		rel.Info.Status, rel.Holder = release.Failed, ""
		rel.Info.Description = "Uninstallation failed: " + cause.Error()
	})
	if err != nil {
		w.Progress.Send(progress.Event{Kind: progress.Warning,
			Text: fmt.Sprintf("release %s could not be recorded as failed: %s", rel.Name, err)})
	}
}

// purge removes every revision, oldest first, so that an interrupted purge
// leaves the newest, which says what to uninstall.
func (w *uninstalling) purge(ctx context.Context, name string) error {
	var revisions []storage.Record
	err := twice(ctx, func() (err error) { revisions, err = w.Releases.Revisions(ctx, name); return err })
	if errors.Is(err, storage.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list the history of release %s: %w", name, err)
	}
	for _, n := range revisions {
		err := twice(ctx, func() error { return w.Releases.Delete(ctx, name, n.Revision, n.Version) })
		if err != nil && !errors.Is(err, storage.ErrNotFound) {
			return fmt.Errorf("delete revision %d of release %s: %w", n.Revision, name, err)
		}
	}
	return nil
}

// keepPolicy is the annotation that makes uninstall leave an object alone.
const keepPolicy = "helm.sh/resource-policy"

// keeps reports whether uninstall leaves o alone: o says so, or the list that it
// is an item of.
func keeps(o *manifest.Object) bool {
	return o.List != nil && keeps(o.List) || strings.EqualFold(strings.TrimSpace(o.Annotations[keepPolicy]), "keep")
}

// An AlreadyUninstalledError is returned where nothing is left of a release but its history.
type AlreadyUninstalledError struct{ Name string }

func (e *AlreadyUninstalledError) Error() string {
	return fmt.Sprintf("the release named %q is already deleted; its history is still kept", e.Name)
}
