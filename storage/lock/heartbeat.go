// SPDX-License-Identifier: Apache-2.0

package lock

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/moonhelm/moonhelm/internal/linger"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/storage"
)

// heartbeat sends heartbeats of the holder: renewals of its lease, or updates of the pending
// record.
type heartbeat struct {
	every time.Duration
	// send sends one heartbeat. It returns a [*LostError] if another client holds the
	// lock, and errNotLockable if no client can take it. stale is set if the last heartbeat
	// is so old that another client may have taken and released the lock since.
	send func(ctx context.Context, stale bool) error
	// life is cancelled by stop.
	life context.Context
	stop context.CancelFunc

	sending sync.Mutex // one at a time

	mu sync.Mutex
	// last is when the last successful heartbeat was sent, by the wall clock and the
	// monotonic clock.
	last time.Time
}

func (k *releaseLock) newHeartbeat(every time.Duration, last time.Time,
	send func(context.Context, bool) error) *heartbeat {
	h := &heartbeat{every: every, send: send, last: last}
	h.life, h.stop = context.WithCancel(k.life)
	return h
}

// age returns the time since the last heartbeat. It is the longer one by the two clocks,
// because the monotonic clock may stop while the machine is suspended.
func (h *heartbeat) age() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	return max(now.Sub(h.last), now.Round(0).Sub(h.last.Round(0)))
}

func (h *heartbeat) isStale() bool { return h.age() >= staleAfter }

// sendOnce sends one heartbeat. The timeout is the time until it would be stale, or staleTimeout if
// it is stale already.
func (h *heartbeat) sendOnce(ctx context.Context) error {
	h.sending.Lock()
	defer h.sending.Unlock()
	sent, age := time.Now(), h.age()
	ctx, cancel := context.WithTimeout(ctx, max(staleAfter-age, staleTimeout))
	defer cancel()
	err := h.send(ctx, age >= staleAfter)
	if err == nil {
		h.mu.Lock()
		h.last = sent
		h.mu.Unlock()
	}
	return err
}

// runHeartbeat sends heartbeats until h is stopped or the lock is lost: because another client has
// taken it, or because no heartbeat has succeeded for too long. err is the result of the
// previous heartbeat.
func (k *releaseLock) runHeartbeat(h *heartbeat, err error) {
	var trouble error
	for {
		var lost *LostError
		switch {
		case h.life.Err() != nil:
			return
		case errors.Is(err, errNotLockable):
			k.stopHeartbeat(h)
			return
		case errors.As(err, &lost):
			_ = k.lose(err)
			return
		case err == nil:
			trouble = nil
		case trouble == nil || !errors.Is(err, context.DeadlineExceeded):
			trouble = err // an earlier error is more useful than a timeout
		}
		if err != nil && h.isStale() {
			_ = k.lose(&LostError{Release: k.name, Err: trouble})
			return
		}
		if err == nil && !h.waitDue() || err != nil && linger.Sleep(h.life, time.Second) != nil {
			return
		}
		err = h.sendOnce(h.life)
	}
}

// stopHeartbeat stops a heartbeat that has returned errNotLockable.
func (k *releaseLock) stopHeartbeat(h *heartbeat) {
	h.stop()
	k.mu.Lock()
	leased := h == k.renewal
	if h == k.record {
		k.record = nil
	}
	k.mu.Unlock()
	if leased {
		k.dropLease()
	}
}

// waitDue waits until the next heartbeat is due. It returns false if h is stopped. It polls,
// because timers do not run while the machine is suspended.
func (h *heartbeat) waitDue() bool {
	for h.age() < h.every {
		if linger.Sleep(h.life, min(time.Second, h.every)) != nil {
			return false
		}
	}
	return true
}

// lockKey is the context key of the [Lock] of an operation.
type lockKey struct{}

// Check returns nil if the operation of ctx may write, and a [*LostError] if its lock is lost.
// It returns nil if ctx belongs to no lock.
//
// Call it before each write. When a suspended process resumes, it may run before its timers do,
// after another client has taken over its lock. So if the last heartbeat is too old, Check
// sends one and returns an error unless that succeeds. Contexts that are derived from the
// operation's belong to the same lock, even without its cancellation. If the operation has locked
// several releases, one inside the context of the other, Check checks all locks.
func Check(ctx context.Context) error {
	k, _ := ctx.Value(lockKey{}).(*releaseLock)
	for ; k != nil; k = k.outer {
		if err := k.check(); err != nil {
			return err
		}
	}
	return nil
}

func (k *releaseLock) check() error {
	k.mu.Lock()
	lost, heartbeats := k.lost, []*heartbeat{k.renewal, k.record}
	k.mu.Unlock()
	if lost != nil {
		return lost
	}
	for _, h := range heartbeats {
		if h == nil || !h.isStale() {
			continue
		}
		var taken *LostError
		switch err := h.sendOnce(h.life); {
		case err == nil:
		case errors.Is(err, errNotLockable):
			k.stopHeartbeat(h)
		case errors.As(err, &taken):
			return k.lose(err)
		case h.isStale():
			return k.lose(&LostError{Release: k.name, Err: err})
		}
	}
	// A concurrent heartbeat may have found that the lock is lost, which removes the
	// heartbeats that were checked above.
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.lost
}

// Guard implements [Lock]. It stops the heartbeats of an earlier call. The first heartbeat is
// sent after an interval, so that short operations send none. The lock is lost if another
// client takes, changes or deletes the record, or if no heartbeat succeeds.
func (k *releaseLock) Guard(revision int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.record != nil {
		k.record.stop()
		k.record = nil
	}
	if k.ended || k.lost != nil || k.locker.records == nil {
		return
	}
	written := k.asked // the record was written later
	if k.asked = (time.Time{}); written.IsZero() {
		written = time.Now()
	}
	w := &guardedRecord{lock: k, revision: revision}
	h := k.newHeartbeat(heartbeatEvery, written, w.sendHeartbeat)
	w.heartbeat, k.record, k.finishing = h, h, false
	k.goroutines.Go(func() { k.runHeartbeat(h, nil) })
}

// Finish implements [Lock].
func (k *releaseLock) Finish() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.finishing = true
}

// guardedRecord is the pending record that a lock guards.
type guardedRecord struct {
	lock      *releaseLock
	heartbeat *heartbeat
	revision  int
	seen      storage.Heartbeat // the last heartbeat; Token is "" before the first
}

// sendHeartbeat writes a heartbeat to the record if the lock still holds it.
func (w *guardedRecord) sendHeartbeat(ctx context.Context, stale bool) error {
	k := w.lock
	if w.seen.Token == "" {
		current, err := k.locker.records.Heartbeat(ctx, k.name, w.revision)
		if err = w.missingError(ctx, stale, err); err != nil {
			return err
		}
		if !w.isHeld(current) || current.Holder == "" && stale {
			return w.changedError(current, stale)
		}
		w.seen = current
	}
	for tries := 1; ; tries++ {
		next, err := k.locker.records.RenewHeartbeat(ctx, k.name, w.revision, w.seen, k.text())
		if err == nil {
			w.seen = next
			return nil
		}
		if !errors.Is(err, storage.ErrChanged) || tries > maxHeartbeatAttempts {
			return w.missingError(ctx, stale, err)
		}
		// The cause is a heartbeat whose response was lost, an update by this operation,
		// or another client's.
		current, err := k.locker.records.Heartbeat(ctx, k.name, w.revision)
		if err = w.missingError(ctx, stale, err); err != nil {
			return err
		}
		if !w.isHeld(current) {
			return w.changedError(current, stale)
		}
		w.seen = current
		if tries > 1 && linger.Sleep(ctx, backoff(tries)) != nil {
			return context.Cause(ctx)
		}
	}
}

// isHeld reports whether the lock still holds the record. If the storage has no holders, any
// change of the token means that it does not.
func (w *guardedRecord) isHeld(current storage.Heartbeat) bool {
	if !current.Status.InProgress() {
		return false
	}
	if current.Holder == "" {
		return w.seen.Holder == "" && (w.seen.Token == "" || w.seen.Token == current.Token)
	}
	h, ok := ParseHolder(current.Holder)
	return ok && h.ID == w.lock.holder.ID
}

// changedError returns the error for a record that another client has changed.
func (w *guardedRecord) changedError(current storage.Heartbeat, stale bool) error {
	if w.isFinished(stale) {
		return errNotLockable
	}
	if h, ok := ParseHolder(current.Holder); ok && h.ID != w.lock.holder.ID && current.Status.InProgress() {
		return &LostError{Release: w.lock.name, By: h.Name()}
	}
	return &LostError{Release: w.lock.name, Err: &takenError{fmt.Sprintf("another client has changed "+
		"revision %d, which is %s now", w.revision, term.SafeLine(string(current.Status)))}}
}

// missingError returns a [*LostError] if err is that the record does not exist, and err otherwise.
func (w *guardedRecord) missingError(ctx context.Context, stale bool, err error) error {
	switch {
	case !errors.Is(err, storage.ErrNotFound):
		return err
	case w.isFinished(stale), w.lock.locker.going(ctx):
		return errNotLockable
	}
	return &LostError{Release: w.lock.name, Err: &takenError{fmt.Sprintf("another client has deleted "+
		"the record of revision %d", w.revision)}}
}

// isFinished reports whether the record needs no more heartbeats because Finish was called, and
// stops them. If stale is set, it returns false: another client may have taken the record.
func (w *guardedRecord) isFinished(stale bool) bool {
	k := w.lock
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.finishing || stale {
		return false
	}
	w.heartbeat.stop()
	return true
}

// going reports whether the namespace is being deleted or does not exist, so that no client can
// take a lock in it.
func (l *Locker) going(ctx context.Context) bool {
	body, err := l.api.Call(ctx, http.MethodGet, "/api/v1/namespaces/"+l.namespace, nil, nil, nil)
	if err != nil {
		return apierrors.IsNotFound(err)
	}
	return deleting(body)
}

// backoff returns the pause before a conflicting write is retried.
func backoff(tries int) time.Duration { return min(pollFirst<<min(tries, 10), 5*pollLast) }
