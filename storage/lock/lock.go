// SPDX-License-Identifier: Apache-2.0

// Package lock prevents concurrent operations on one release, and takes over the locks of
// clients that have died.
//
//	locker := lock.New(client, records, "shop", lock.Options{}) // *kube.Client, *storage.Storage
//	ctx, held, err := locker.Lock(ctx, "web", "upgrade")        // ctx ends when the lock is lost
//	...
//	defer held.Unlock()
//	if err := lock.Check(ctx); err != nil { // before each write
//		return err
//	}
//
// The lock is a Lease of coordination.k8s.io in the namespace of the release's records,
// which is renewed while the operation is running. If the holder was killed or lost its
// connection, a waiting client on the same machine notices at once; other clients notice
// when the Lease has not changed for its duration by their own clock. Clocks of different
// machines are not compared.
//
// If the user lacks permissions for Leases, the API server does not serve them, or the
// namespace does not exist yet, Lock returns a Lock without a Lease. Then the creation of
// the next revision's record is the lock, because it succeeds for exactly one client, and
// heartbeats are written to that pending record ([Lock.Guard], [Lock.Abandoned]).
//
// If another client holds the lock, the error is a [*LockedError]; if the lock was lost, it
// is a [*LostError]. The package changes records only through [Records].
package lock

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/moonhelm/moonhelm/internal/linger"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/progress"
	"github.com/moonhelm/moonhelm/storage"
)

// Records reads and writes the heartbeats on the pending records of releases.
// [*storage.Storage] implements it.
type Records interface {
	// RenewHeartbeat makes holder the holder of a pending revision and returns the new
	// heartbeat. It returns [storage.ErrChanged] if the heartbeat is not the one in seen,
	// and [storage.ErrNotFound] if there is no record.
	RenewHeartbeat(ctx context.Context, name string, revision int, seen storage.Heartbeat,
		holder string) (storage.Heartbeat, error)
	// Heartbeat returns the heartbeat of a revision, or [storage.ErrNotFound] if there is
	// no record.
	Heartbeat(ctx context.Context, name string, revision int) (storage.Heartbeat, error)
}

var _ Records = (*storage.Storage)(nil)

// Lock is a release's lock, held by one operation. It is safe for concurrent use.
type Lock interface {
	// Holder returns the holder in the form in which it is written to the record of a
	// pending revision.
	Holder() string
	// Guard writes heartbeats to the pending record of a revision until Unlock.
	Guard(revision int)
	// Finish must be called before the operation writes the final state of the record,
	// or deletes it: from then on, a change of the record does not lose the lock.
	Finish()
	// Abandoned returns nil if the client that wrote the pending record of a revision has
	// died, and otherwise an error that names the client. It may wait for heartbeats.
	Abandoned(ctx context.Context, revision int) error
	// Unlock releases the lock, even if the contexts were cancelled.
	Unlock()
}

const (
	// leaseDuration is how long a lease is valid without being renewed.
	leaseDuration = 30 * time.Second
	// maxLeaseDuration is the maximum duration of other clients' leases: a forged lease must
	// not lock the release for years.
	maxLeaseDuration = 5 * time.Minute
	// renewEvery is the interval between renewals of a lease.
	renewEvery = 5 * time.Second
	// staleAfter is how long a holder continues without a successful heartbeat. It is less
	// than leaseDuration, so that the holder stops before another client takes over.
	staleAfter = 25 * time.Second
	// heartbeatEvery is the interval between heartbeats on a record, and abandonedAfter
	// the time without one after which the record counts as abandoned.
	heartbeatEvery = 10 * time.Second
	abandonedAfter = 30 * time.Second
	// abandonedAge is the age at which a pending record without heartbeats, such as Helm's,
	// counts as abandoned.
	abandonedAge = 15 * time.Minute
	// staleTimeout is the timeout of a heartbeat that is overdue: the operation waits for
	// it.
	staleTimeout = 5 * time.Second
	// maxHeartbeatAttempts is the maximum number of attempts to write one heartbeat to a record
	// that other clients change.
	maxHeartbeatAttempts = 4
	// unlockTimeout and maxGiveBacks limit the duration of Unlock and its attempts.
	unlockTimeout      = 5 * time.Second
	maxReleaseAttempts = 4
	// pollFirst and pollLast are the shortest and longest pause between reads of another
	// holder's lease.
	pollFirst = 200 * time.Millisecond
	pollLast  = time.Second

	defaultTimeout = 5 * time.Minute
)

// Options configures a [Locker].
type Options struct {
	// Timeout is the maximum time to wait for a holder that sends heartbeats; 0 means five
	// minutes. A holder without heartbeats is waited for until its lease has expired, whatever
	// the timeout: otherwise a short timeout would never get the lock of a client that has
	// died.
	Timeout time.Duration
	// Progress receives events about holders that are waited for or have died. It may be nil.
	Progress progress.Func
	// Who names this client to others; "" means user@host.
	Who string
}

// Locker locks the releases of one namespace. It is safe for concurrent use.
type Locker struct {
	api       storage.API
	records   Records
	namespace string
	options   Options
}

// New returns a locker. It makes no request.
func New(api storage.API, records Records, namespace string, o Options) *Locker {
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	return &Locker{api: api, records: records, namespace: namespace, options: o}
}

// WithRecords returns a copy of l for releases whose records are in records.
func (l *Locker) WithRecords(records Records) *Locker {
	out := *l
	out.records = records
	return &out
}

// In returns a copy of l for the releases of another namespace, whose records are in records.
func (l *Locker) In(namespace string, records Records) *Locker {
	out := *l
	out.namespace, out.records = namespace, records
	return &out
}

// Lock waits for the lock of a release until ctx ends or the timeout expires. doing is the
// operation ("upgrade"). The caller must call Unlock on the result. The returned context is
// cancelled when the lock is lost, with a [*LostError] as its cause; it must be passed to
// [Check] before each write. If another client keeps the lock, the error is a [*LockedError].
func (l *Locker) Lock(ctx context.Context, name, doing string) (context.Context, Lock, error) {
	if name == "" || strings.ContainsAny(name+l.namespace, "/%") || l.namespace == "" {
		return nil, nil, &NameError{Release: name, Namespace: l.namespace}
	}
	k := &releaseLock{locker: l, name: name, holder: l.self(doing), ready: make(chan struct{})}
	began := time.Now()
	held, err := (&turn{Locker: l, lock: k, began: began}).take(ctx)
	if err != nil {
		return nil, nil, err
	}
	ended := ctx.Err() != nil // ctx ended while the lease was being created
	ctx = k.begin(ctx, held)
	if ended {
		err := context.Cause(ctx)
		k.Unlock()
		return nil, nil, err
	}
	return ctx, k, nil
}

// turn is the wait for a lock.
type turn struct {
	*Locker
	lock  *releaseLock
	began time.Time

	reported string    // the holder in the last progress event
	sent     time.Time // of the last attempt to take the lease
	last     *lease    // the last lease of another holder
	// seen is the state of another holder's lease, since is when it was first seen, and
	// changed is set if there was another state before.
	seen    state
	since   time.Time
	changed bool
}

// state identifies a state of a lease.
type state struct{ uid, version string }

// taken is a lease that this client has acquired, at the earliest at the time at.
type taken struct {
	lease *lease
	at    time.Time
}

// take returns the acquired lease, or nil if there can be none.
func (t *turn) take(ctx context.Context) (*taken, error) {
	pause := pollFirst
	for free := true; ; {
		var err error
		if free {
			if got, err := t.create(ctx); got != nil || err != nil {
				return got.held(), err
			}
		}
		other, err := t.read(ctx, t.lock.name)
		switch {
		case apierrors.IsNotFound(err) && linger.Sleep(ctx, rand.N(pollFirst/4)) == nil:
			free = true
			continue
		case unavailable(err) && ctx.Err() == nil:
			return nil, nil
		case err != nil:
			return nil, t.waitError(ctx, err)
		}
		free, t.last = false, other
		if other.Spec.HolderIdentity == t.lock.holder.identity() {
			// The lease was created, but the response was lost.
			return &taken{other, t.sent}, nil
		}
		if why := t.expiry(other); why != "" {
			got, err := t.takeOver(ctx, other, why)
			if got != nil || err != nil {
				return got.held(), err
			}
			// Another client has taken it over.
			if linger.Sleep(ctx, pollFirst/2+rand.N(pollFirst)) != nil {
				return nil, t.waitError(ctx, context.Cause(ctx))
			}
			continue
		}
		if time.Since(t.began) >= t.options.Timeout && t.changed {
			return nil, t.lockedError(other)
		}
		t.reportHolder(other)
		if linger.Sleep(ctx, pause/2+rand.N(pause)) != nil {
			return nil, t.waitError(ctx, context.Cause(ctx))
		}
		pause = min(pause*3/2, pollLast)
	}
}

// none means that there can be no lease.
var none = &taken{}

// held returns nil for none, and t otherwise.
func (t *taken) held() *taken {
	if t == none {
		return nil
	}
	return t
}

// create creates the lease. It returns nil if another client has it.
func (t *turn) create(ctx context.Context) (*taken, error) {
	t.sent = time.Now()
	writing, cancel := linger.Context(ctx) // a created lease must be deleted again
	defer cancel()
	made, err := t.post(writing, t.lock.name, newLease(t.namespace, t.lock.name, t.lock.holder))
	switch {
	case err == nil:
		return &taken{made, t.sent}, nil
	case apierrors.IsAlreadyExists(err), apierrors.IsConflict(err):
		return nil, nil
	case unavailable(err):
		return none, nil
	}
	return nil, t.waitError(ctx, err)
}

// expiry returns the reason why the holder of a lease no longer holds it, or "" if it may still
// do so.
func (t *turn) expiry(other *lease) string {
	current := other.state()
	if current != t.seen {
		t.changed = t.changed || t.seen != (state{})
		t.seen, t.since = current, time.Now()
	}
	switch h, known := other.holder(); {
	case other.Spec.HolderIdentity == "":
		return "given back"
	case known && h.gone():
		return "gone"
	case time.Since(t.since) >= other.duration():
		return "silent"
	}
	return ""
}

// takeOver takes over the lease of a holder that has died. It returns nil if another client has
// done so.
func (t *turn) takeOver(ctx context.Context, other *lease, why string) (*taken, error) {
	next := newLease(t.namespace, t.lock.name, t.lock.holder)
	next.Metadata.UID, next.Metadata.ResourceVersion = other.Metadata.UID, other.Metadata.ResourceVersion
	next.Spec.LeaseTransitions = other.Spec.LeaseTransitions + 1
	t.sent = time.Now()
	writing, cancel := linger.Context(ctx)
	defer cancel()
	made, err := t.put(writing, t.lock.name, next)
	switch {
	case err == nil:
		if why != "given back" {
			h, _ := other.holder()
			t.warn("%s by %s was abandoned; continuing", h.what(), h.Name())
		}
		return &taken{made, t.sent}, nil
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return nil, nil
	case unavailable(err):
		return none, nil
	}
	return nil, t.waitError(ctx, err)
}

func (t *turn) reportHolder(other *lease) {
	if other.Spec.HolderIdentity == t.reported {
		return
	}
	t.reported = other.Spec.HolderIdentity
	h, _ := other.holder()
	t.step("waiting for %s, who has been %s %q since %s", h.Name(), gerund(h.Doing), t.lock.name, clock(h.Since))
}

func (t *turn) lockedError(other *lease) *LockedError {
	h, _ := other.holder()
	return &LockedError{Release: t.lock.name, Holder: h.Name(), Doing: h.Doing, Since: h.Since}
}

// waitError returns the error of a wait that failed with err. If ctx has ended, that is a
// [*LockedError] with the current holder.
func (t *turn) waitError(ctx context.Context, err error) error {
	switch {
	case t.last != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return t.lockedError(t.last)
	case t.last != nil && ctx.Err() != nil:
		e := t.lockedError(t.last)
		e.Ended = context.Cause(ctx)
		return e
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return fmt.Errorf("lock release %s: %w", t.lock.name, err)
}

func (l *Locker) step(format string, args ...any) {
	l.options.Progress.Send(progress.Event{Kind: progress.Step, Text: term.SafeLine(fmt.Sprintf(format, args...))})
}

func (l *Locker) warn(format string, args ...any) {
	l.options.Progress.Send(progress.Event{Kind: progress.Warning, Text: term.SafeLine(fmt.Sprintf(format, args...))})
}
