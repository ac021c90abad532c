// SPDX-License-Identifier: Apache-2.0

package lock

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/release"
	"github.com/moonhelm/moonhelm/storage"
)

// A Watcher finds out whether the client that works on a pending revision has died. It takes no lock and
// writes nothing.
type Watcher struct {
	locker   *Locker
	name     string
	revision int
	lease    still[state]
	beat     still[storage.Heartbeat]
}

// Watch returns a Watcher of a pending revision of a release. It makes no request.
func (l *Locker) Watch(name string, revision int) *Watcher {
	return &Watcher{locker: l, name: name, revision: revision}
}

// still measures for how long a value has not changed.
type still[T comparable] struct {
	value T
	since time.Time
}

// look returns for how long value has been seen without a change.
func (s *still[T]) look(value T) time.Duration {
	if s.since.IsZero() || s.value != value {
		s.value, s.since = value, time.Now()
	}
	return time.Since(s.since)
}

// Check returns an [*AbandonedError] if the client has died, and nil if it is, or may be, still running,
// or has ended. A client on this machine, and one that has lost its lease, are found at once; another one
// when Check has been called for half a minute without a heartbeat. Other errors are those of reading.
func (w *Watcher) Check(ctx context.Context) error {
	// The lease is read first: a client that ends writes the record before it releases the lease.
	held, err := w.locker.read(ctx, w.name)
	if err != nil && !unavailable(err) { // which a lease that does not exist is, too
		return err
	}
	readable := err == nil || apierrors.IsNotFound(err)
	beat, err := w.locker.records.Heartbeat(ctx, w.name, w.revision)
	if err != nil || !beat.Status.InProgress() {
		return err
	}
	silent := w.beat.look(beat)
	h, known := ParseHolder(beat.Holder)
	why := ""
	switch {
	case beat.Holder == "": // of Helm, or of a client that has ended
		if time.Since(beat.Changed) >= abandonedAge {
			why = fmt.Sprintf("its record has not changed since %s", clock(beat.Changed))
		}
	case known && h.gone():
		why = "its process has ended"
	case known && h.Guard == ByLease && readable:
		why = w.lost(h, held)
	case silent >= abandonedAfter:
		why = fmt.Sprintf("it has sent no heartbeat for %s", abandonedAfter)
	}
	if why == "" {
		return nil
	}
	return &AbandonedError{Release: w.name, Revision: w.revision, Status: beat.Status, Holder: h.Name(), Doing: h.Doing,
		Since: h.Since, Reason: why}
}

// lost returns why the holder of a record does not hold the lease any more, or "". held is nil if there is
// none.
func (w *Watcher) lost(h Holder, held *lease) string {
	if held == nil {
		return "its lock is gone"
	}
	other, known := held.holder()
	switch {
	case held.Spec.HolderIdentity == "":
		return "its lock is gone"
	case known && other.ID != h.ID:
		return "" // which takes the record over
	case w.lease.look(held.state()) >= held.duration():
		return fmt.Sprintf("it has not renewed its lock for %s", held.duration())
	}
	return ""
}

// An AbandonedError is returned if the client that works on a pending revision has died.
type AbandonedError struct {
	Release  string
	Revision int
	Status   release.Status
	Holder   string // names the client: "alice@laptop (pid 12)"
	Doing    string // the operation, or "" if it is not known
	Since    time.Time
	Reason   string // "its lock is gone"
}

func (e *AbandonedError) Error() string {
	return fmt.Sprintf("revision %d of release %s is %s, and %s, who has been %s it since %s, is not at work any more: %s",
		e.Revision, e.Release, e.Status, term.SafeLine(e.Holder), gerund(term.SafeLine(e.Doing)), clock(e.Since), e.Reason)
}

// Hint says how to go on.
func (e *AbandonedError) Hint() string {
	switch e.Status {
	case release.PendingInstall:
		return fmt.Sprintf("helm upgrade --install %[1]s goes on from what is there; helm uninstall %[1]s removes it",
			e.Release)
	case release.Uninstalling:
		return fmt.Sprintf("helm uninstall %s goes on", e.Release)
	}
	return fmt.Sprintf("the next helm upgrade of %[1]s goes on from what is there; helm rollback %[1]s returns to the "+
		"revision before", e.Release)
}
