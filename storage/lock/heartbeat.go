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

	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/storage"
)

// heartbeat shows others that the holder is at work, in one place: on its lease,
// or on the pending record of its revision.
type heartbeat struct {
	every time.Duration
	// send shows it once. It fails with a [*LostError] where the place is
	// another client's, and with errNoPlace where it is going. stale says that
	// others may have taken it over and given it back since the last one.
	send func(ctx context.Context, stale bool) error
	// life ends with stop.
	life context.Context
	stop context.CancelFunc

	sending sync.Mutex // one at a time

	mu sync.Mutex
	// last is when the last one that arrived was sent, by both clocks.
	last time.Time
}

func (k *releaseLock) newHeartbeat(every time.Duration, last time.Time,
	send func(context.Context, bool) error) *heartbeat {
	h := &heartbeat{every: every, send: send, last: last}
	h.life, h.stop = context.WithCancel(k.life)
	return h
}

// age is how long ago the last heartbeat was sent. The clock on the wall counts
// as well: the other one may stand still while a machine sleeps.
func (h *heartbeat) age() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	return max(now.Sub(h.last), now.Round(0).Sub(h.last.Round(0)))
}

func (h *heartbeat) stale() bool { return h.age() >= giveUp }

// show sends one heartbeat. A stale one gets a moment to arrive, another the
// time until it would be.
func (h *heartbeat) show(ctx context.Context) error {
	h.sending.Lock()
	defer h.sending.Unlock()
	sent, age := time.Now(), h.age()
	ctx, cancel := context.WithTimeout(ctx, max(giveUp-age, staleTimeout))
	defer cancel()
	err := h.send(ctx, age >= giveUp)
	if err == nil {
		h.mu.Lock()
		h.last = sent
		h.mu.Unlock()
	}
	return err
}

// beat keeps a heartbeat going until it is stopped, or until the lock is lost:
// another client has taken it, or may, because none has arrived for too long.
// err is how the last one ended.
func (k *releaseLock) beat(h *heartbeat, err error) {
	var trouble error
	for {
		var lost *LostError
		switch {
		case h.life.Err() != nil:
			return
		case errors.Is(err, errNoPlace):
			k.drop(h)
			return
		case errors.As(err, &lost):
			_ = k.lose(err)
			return
		case err == nil:
			trouble = nil
		case trouble == nil || !errors.Is(err, context.DeadlineExceeded):
			trouble = err // that time ran out says less
		}
		if err != nil && h.stale() {
			_ = k.lose(&LostError{Release: k.name, Err: trouble})
			return
		}
		if err == nil && !h.rest() || err != nil && !sleep(h.life, time.Second) {
			return
		}
		err = h.show(h.life)
	}
}

// drop goes on without a heartbeat whose place is going.
func (k *releaseLock) drop(h *heartbeat) {
	h.stop()
	k.mu.Lock()
	leased := h == k.renewal
	if h == k.record {
		k.record = nil
	}
	k.mu.Unlock()
	if leased {
		k.unlease()
	}
}

// rest returns when the next heartbeat is due, or false once it is stopped. A
// machine that was asleep must not go on as if it had not been.
func (h *heartbeat) rest() bool {
	for h.age() < h.every {
		if !sleep(h.life, min(time.Second, h.every)) {
			return false
		}
	}
	return true
}

// lockKey is the key of a [Lock] in its operation's context.
type lockKey struct{}

// Check returns nil while the operation that ctx belongs to may write, and a
// [*LostError] once its lock is lost. It also returns nil for a context that
// belongs to no lock.
//
// It is to be called before each write. A process that was stopped may run
// again before any of its timers do, and others may have taken its work over
// meanwhile: where the last heartbeat is too old, Check sends one first, and
// only its success lets the operation go on. Contexts that are derived from the
// operation's, without its cancellation too, belong to the same lock.
func Check(ctx context.Context) error {
	if k, _ := ctx.Value(lockKey{}).(*releaseLock); k != nil {
		return k.check()
	}
	return nil
}

func (k *releaseLock) check() error {
	k.mu.Lock()
	lost, beats := k.lost, []*heartbeat{k.renewal, k.record}
	k.mu.Unlock()
	if lost != nil {
		return lost
	}
	for _, h := range beats {
		if h == nil || !h.stale() {
			continue
		}
		var taken *LostError
		switch err := h.show(h.life); {
		case err == nil:
		case errors.Is(err, errNoPlace):
			k.drop(h)
		case errors.As(err, &taken):
			return k.lose(err)
		case h.stale():
			return k.lose(&LostError{Release: k.name, Err: err})
		}
	}
	// The heartbeat that was waited for may have found the loss, and a lock that is lost
	// has no lease to ask about.
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.lost
}

// Guard keeps a heartbeat on the pending record of a revision until Unlock, or
// until Guard is called for another. The first comes after a while: an operation
// that is quick pays nothing. A record that another client has taken, changed or
// deleted loses the lock, and so does one that no heartbeat reaches.
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
	written := k.asked // the record is not older than that
	if k.asked = (time.Time{}); written.IsZero() {
		written = time.Now()
	}
	w := &watched{lock: k, revision: revision}
	h := k.newHeartbeat(beatEvery, written, w.show)
	w.heartbeat, k.record, k.finishing = h, h, false
	k.others.Go(func() { k.beat(h, nil) })
}

// Finish says that the operation is about to write the last state of the record
// that it guards, or to delete it: to find it changed is not a loss from then on.
func (k *releaseLock) Finish() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.finishing = true
}

// watched is the pending record of a revision that a lock guards.
type watched struct {
	lock      *releaseLock
	heartbeat *heartbeat
	revision  int
	seen      storage.Heartbeat // the last one; its Token is "" before the first
}

// show shows a heartbeat on the record, if it is still the holder's.
func (w *watched) show(ctx context.Context, stale bool) error {
	k := w.lock
	if w.seen.Token == "" {
		now, err := k.locker.records.Heartbeat(ctx, k.name, w.revision)
		if err = w.missing(ctx, stale, err); err != nil {
			return err
		}
		if !w.mine(now) || now.Holder == "" && stale {
			return w.taken(now, stale)
		}
		w.seen = now
	}
	for tries := 1; ; tries++ {
		next, err := k.locker.records.RenewHeartbeat(ctx, k.name, w.revision, w.seen, k.text())
		if err == nil {
			w.seen = next
			return nil
		}
		if !errors.Is(err, storage.ErrChanged) || tries > maxBeats {
			return w.missing(ctx, stale, err)
		}
		// An answer that never came, our own update, or another client's.
		now, err := k.locker.records.Heartbeat(ctx, k.name, w.revision)
		if err = w.missing(ctx, stale, err); err != nil {
			return err
		}
		if !w.mine(now) {
			return w.taken(now, stale)
		}
		w.seen = now
		if tries > 1 && !sleep(ctx, backoff(tries)) {
			return context.Cause(ctx)
		}
	}
}

// mine reports whether a record is as the holder of the lock has left it. Where
// holders are not kept, any change is another client's.
func (w *watched) mine(now storage.Heartbeat) bool {
	if !now.Status.InProgress() {
		return false
	}
	if now.Holder == "" {
		return w.seen.Holder == "" && (w.seen.Token == "" || w.seen.Token == now.Token)
	}
	h, ok := ParseHolder(now.Holder)
	return ok && h.ID == w.lock.holder.ID
}

// taken is the error of a record that is not the holder's any more.
func (w *watched) taken(now storage.Heartbeat, stale bool) error {
	if w.finished(stale) {
		return errNoPlace
	}
	if h, ok := ParseHolder(now.Holder); ok && h.ID != w.lock.holder.ID && now.Status.InProgress() {
		return &LostError{Release: w.lock.name, By: h.Name()}
	}
	return &LostError{Release: w.lock.name, Err: &takenError{fmt.Sprintf("another client has changed "+
		"revision %d, which is %s now", w.revision, term.SafeLine(string(now.Status)))}}
}

// missing makes a loss of the error of a record that is not there, and leaves
// other errors as they are.
func (w *watched) missing(ctx context.Context, stale bool, err error) error {
	switch {
	case !errors.Is(err, storage.ErrNotFound):
		return err
	case w.finished(stale), w.lock.locker.going(ctx):
		return errNoPlace
	}
	return &LostError{Release: w.lock.name, Err: &takenError{fmt.Sprintf("another client has deleted "+
		"the record of revision %d", w.revision)}}
}

// finished reports whether the record needs no heartbeat any more. Where others
// may have taken it over, it is not for its holder to say.
func (w *watched) finished(stale bool) bool {
	k := w.lock
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.finishing || stale {
		return false
	}
	w.heartbeat.stop()
	return true
}

// going reports whether the namespace is being deleted, or is gone: no one can
// begin anything there.
func (l *Locker) going(ctx context.Context) bool {
	body, err := l.api.Call(ctx, http.MethodGet, "/api/v1/namespaces/"+l.namespace, nil, nil, nil)
	if err != nil {
		return apierrors.IsNotFound(err)
	}
	return deleting(body)
}

// backoff is the pause before a write is tried again that others have been
// quicker with.
func backoff(tries int) time.Duration { return min(pollFirst<<min(tries, 10), 5*pollLast) }
