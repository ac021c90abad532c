// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/moonhelm/moonhelm/internal/linger"
	"github.com/moonhelm/moonhelm/kube/wait"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/progress"
	"github.com/moonhelm/moonhelm/release"
	"github.com/moonhelm/moonhelm/storage"
	"github.com/moonhelm/moonhelm/storage/lock"
)

// Rollout waits for the objects of a release, as an operation does that waits. It takes no lock and
// writes nothing, so it works while another client changes the release.
type Rollout struct{ *Config }

// A RolloutRequest is the request of a rollout. Name is required.
type RolloutRequest struct {
	Name string
	// WaitOptions say what ready means. Wait is implied, and Timeout is that of all; events are
	// reported also without a Watch.
	WaitOptions
}

// RolledOut is what a [Rollout] has seen.
type RolledOut struct {
	// Release is the revision whose objects were awaited, as its record was in the end.
	Release  *release.Release
	Timeline Timeline
}

// A RolloutError is returned if another client has ended the release's revision otherwise than
// successfully.
type RolloutError struct {
	Release  string
	Revision int
	// Status is the status of the record: failed, or one of those of an uninstall.
	Status      release.Status
	Description string // of the record
}

func (e *RolloutError) Error() string {
	text := fmt.Sprintf("rollout of %s: revision %d is recorded as %s", e.Release, e.Revision, e.Status)
	if e.Description != "" {
		text += ": " + oneLine(e.Description)
	}
	return text
}

// Hint names the commands that say more.
func (e *RolloutError) Hint() string {
	return fmt.Sprintf("helm history %[1]s lists the revisions; helm status %[1]s shows the objects", e.Release)
}

// rollout is one [Rollout].
type rollout struct {
	*Config
	req   RolloutRequest
	watch *watching
	begun time.Time
	out   *RolledOut
}

// Run waits until all objects of the newest revision are ready. While another client works on that
// revision, Run goes on until the client has ended, and if the client begins another revision, such
// as a rollback after a failure, Run goes on with that one. It returns what it has seen, with an
// error too once it has found the release.
//
// Errors: [*WaitError] with a [*wait.FailedError] or [*wait.PendingError], [*RolloutError],
// [*lock.AbandonedError] if the client has died, which a [*lock.Locker] as the Locker finds out,
// [*ConfigError], [ErrNoName], [*storage.NotFoundError], [*storage.UnreadableError].
func (r Rollout) Run(ctx context.Context, req RolloutRequest) (*RolledOut, error) {
	if err := requireReleases(r.Releases, "rollout"); err != nil {
		return nil, err
	}
	if r.Cluster == nil {
		return nil, &ConfigError{Operation: "rollout", Field: "Cluster"}
	}
	if err := CheckName(req.Name); err != nil {
		return nil, err
	}
	if req.Watch == nil {
		req.Watch = &wait.Watch{}
	}
	w := &rollout{Config: r.Config, req: req, watch: r.newWatching(req.WaitOptions), begun: r.now()}
	rel, err := w.Releases.Get(ctx, req.Name, 0)
	if err != nil {
		return nil, err
	}
	w.out = &RolledOut{Release: rel}
	ctx, cancel := context.WithTimeout(ctx, w.longest())
	defer cancel()
	err = w.run(ctx)
	w.out.Timeline = w.watch.timeline
	return w.out, w.waitError(ctx, err)
}

// longest returns the time after which the rollout ends in any case.
func (r *rollout) longest() time.Duration {
	timeout := timeoutOrDefault(r.req.Timeout)
	if objects, err := manifest.ParseManifest(r.out.Release.Manifest); err == nil { // else the wait returns the error
		_, timeout = r.watch.request(wait.Request{Objects: objects}, timeout, false)
	}
	return timeout
}

// run awaits revision after revision, until one that is not in progress is ready or has failed.
func (r *rollout) run(ctx context.Context) error {
	followed := false // whether the end of another client's operation was awaited
	for {
		rel := r.out.Release
		if err := r.checkStatus(rel, followed); err != nil {
			return err
		}
		objects, err := objectsToAwait(rel)
		if err != nil {
			return err
		}
		if err := checkTimeouts(r.req.Timeouts, objects); err != nil {
			return err
		}
		if !rel.Info.Status.Pending() {
			if !followed {
				r.step(fmt.Sprintf("revision %d of %s is %s", rel.Revision, rel.Name, rel.Info.Status))
			}
			return r.await(ctx, wait.Request{Objects: objects, Grace: r.req.grace()})
		}
		if err := r.follow(ctx, objects); err != nil {
			return err
		}
		followed = true
	}
}

// checkStatus returns an error if the revision does not roll out. A revision that had failed before
// the rollout began may become ready nevertheless.
func (r *rollout) checkStatus(rel *release.Release, followed bool) error {
	e := &RolloutError{Release: rel.Name, Revision: rel.Revision, Status: rel.Info.Status,
		Description: rel.Info.Description}
	switch {
	case rel.Info.Status == release.Uninstalled, rel.Info.Status == release.Uninstalling:
		return e
	case rel.Info.Status == release.Failed && followed:
		return e
	case rel.Info.Status == release.Failed:
		r.warn(strings.TrimPrefix(e.Error(), "rollout of "+rel.Name+": ") + "; waiting for its objects nevertheless")
	}
	return nil
}

// objectsToAwait returns the objects in the manifest of a record.
func objectsToAwait(rel *release.Release) ([]*manifest.Object, error) {
	objects, err := manifest.ParseManifest(rel.Manifest)
	if err == nil {
		objects, err = manifest.Flatten(objects)
	}
	if err != nil {
		return nil, fmt.Errorf("read the manifest of release %s: %w", rel.Name, err)
	}
	return objects, nil
}

// await waits for objects of the release.
func (r *rollout) await(ctx context.Context, req wait.Request) error {
	req.Namespace, req.Jobs, req.Legacy = r.out.Release.Namespace, r.req.Jobs, r.req.Legacy
	left := timeoutOrDefault(r.req.Timeout) - r.now().Sub(r.begun)
	req, _ = r.watch.request(req, max(left, time.Nanosecond), false)
	if req.Hold {
		req.Limits = nil
	} else if len(req.Limits) == 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, left)
		defer cancel()
	}
	return r.Cluster.Await(ctx, req)
}

// follow shows the objects, and the hooks, until the record of the revision is not pending any more,
// or there is a newer one. It sets the release to the newest.
func (r *rollout) follow(ctx context.Context, objects []*manifest.Object) error {
	rel := r.out.Release
	r.step(fmt.Sprintf("revision %d of %s is %s: watching its objects", rel.Revision, rel.Name, rel.Info.Status))
	doing := strings.TrimPrefix(string(rel.Info.Status), "pending-")
	hooks, err := objectsOf(rel, hooksAt(rel, release.HookEvent("pre-"+doing), release.HookEvent("post-"+doing)))
	if err != nil {
		return err
	}
	var jobs []*manifest.Object
	for _, o := range hooks {
		if runsToCompletion(o.Kind) {
			jobs = append(jobs, o)
		}
	}
	until, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	held := make(chan error, 1)
	go func() {
		held <- r.await(until, wait.Request{Objects: objects, Beside: jobs, Hold: true,
			Grace: wait.Grace{Start: -1, Crash: -1, Condition: -1}})
	}()
	next, err := r.recordChange(ctx, rel)
	cancel(wait.ErrHoldOver)
	<-held // it shows the objects; the next wait reports whether they are ready
	if err != nil {
		r.Progress.Send(progress.Event{Kind: progress.Settled, Text: "a summary follows"})
		return err
	}
	r.out.Release = next
	if next.Revision != rel.Revision {
		r.step(fmt.Sprintf("revision %d of %s has begun", next.Revision, rel.Name))
	} else {
		r.step(fmt.Sprintf("revision %d of %s is %s", next.Revision, rel.Name, next.Info.Status))
	}
	return nil
}

const (
	// lookEvery is the time between two looks at the records.
	lookEvery = time.Second
	// maxFailedLooks is the number of them that may fail one after the other.
	maxFailedLooks = 30
	// undoLooks is the number of looks at a failed revision in which its client may begin to undo it.
	undoLooks = 3
)

// recordChange returns the newest revision when it is another than rel, or rel is not pending. If rel
// has failed, its client may be about to undo it.
func (r *rollout) recordChange(ctx context.Context, rel *release.Release) (*release.Release, error) {
	dead := r.watcher(rel)
	for failed, undo := 0, 0; ; {
		var abandoned *lock.AbandonedError
		if err := dead(ctx); errors.As(err, &abandoned) {
			return nil, fmt.Errorf("rollout of %s: %w", rel.Name, err)
		}
		if err := linger.Sleep(ctx, lookEvery); err != nil {
			return nil, &wait.PendingError{After: r.now().Sub(r.begun), Err: err, Problems: []wait.Problem{{
				Kind: "Revision", Name: fmt.Sprint(rel.Revision), Missing: "still " + string(rel.Info.Status) + r.holder(rel)}}}
		}
		records, err := r.Releases.Revisions(ctx, rel.Name)
		if err != nil {
			if failed++; failed > maxFailedLooks {
				return nil, err
			}
			continue
		}
		failed = 0
		if len(records) == 0 {
			return nil, &RolloutError{Release: rel.Name, Revision: rel.Revision, Status: release.Uninstalled}
		}
		last := records[len(records)-1]
		if last.Revision == rel.Revision && last.Status == release.Failed && undo < undoLooks {
			undo++
			continue
		}
		if last.Revision != rel.Revision || !last.Status.Pending() {
			next, err := r.Releases.Get(ctx, rel.Name, last.Revision)
			if err == nil || !errors.Is(err, storage.ErrNotFound) {
				return next, err
			}
		}
	}
}

// watcher returns a function that returns a [*lock.AbandonedError] once the client that works on a
// revision has died, as far as the Locker knows.
func (r *rollout) watcher(rel *release.Release) func(context.Context) error {
	if l, ok := r.Locker.(interface {
		Watch(name string, revision int) *lock.Watcher
	}); ok {
		return l.Watch(rel.Name, rel.Revision).Check
	}
	return func(context.Context) error { return nil }
}

// holder says who works on a pending revision, if that is known.
func (r *rollout) holder(rel *release.Release) string {
	if rel.Holder == "" {
		return ""
	}
	return ", by " + rel.Holder
}

// waitError returns err as a [*WaitError] if the wait has failed.
func (r *rollout) waitError(ctx context.Context, err error) error {
	err = r.interrupted(ctx, r.begun, err)
	if !isWaitFailure(err) {
		return err
	}
	return &WaitError{Operation: "rollout", Release: r.out.Release.Name, Revision: r.out.Release.Revision, Err: err}
}
