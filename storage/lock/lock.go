// SPDX-License-Identifier: Apache-2.0

// Package lock keeps two operations from changing one release at once, and takes over the
// locks of clients that are gone.
//
//	locker := lock.New(client, records, "shop", lock.Options{}) // *kube.Client, *storage.Storage
//	ctx, held, err := locker.Lock(ctx, "web", "upgrade")        // ctx ends when the lock is lost
//	...
//	defer held.Unlock()
//	if err := lock.Check(ctx); err != nil { // before each write
//		return err
//	}
//
// The lock is a Lease of coordination.k8s.io beside the release's records, renewed while
// the operation runs. A holder that was killed or cut off is noticed: at once on the machine
// that it ran on, elsewhere when its Lease has not changed for the time that the Lease says
// it is valid, measured by the clock of the client that waits. Clocks of two machines are
// never compared.
//
// Where the user has no permission for Leases, the API server has none, or the namespace
// does not exist yet, Lock returns a Lock without a Lease. Then the creation of the next
// revision's record decides (exactly one succeeds), and heartbeats are written to that
// pending record ([Lock.Guard], [Lock.Abandoned]).
//
// A lock that another client keeps is a [*LockedError], one that was lost a [*LostError].
// The package writes no records but by [Records].
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

// Records are the heartbeats on the pending records of releases. [*storage.Storage]
// is one.
type Records interface {
	// RenewHeartbeat makes holder the one who is at work on a pending revision, and returns
	// the new state. [storage.ErrChanged] is returned where the record is not as
	// seen any more, and [storage.ErrNotFound] where it does not exist.
	RenewHeartbeat(ctx context.Context, name string, revision int, seen storage.Heartbeat,
		holder string) (storage.Heartbeat, error)
	// Heartbeat reads the heartbeat of a revision. [storage.ErrNotFound] is returned
	// where it has no record.
	Heartbeat(ctx context.Context, name string, revision int) (storage.Heartbeat, error)
}

var _ Records = (*storage.Storage)(nil)

// Lock is a release's lock, held by one operation. Its methods may be called from several
// goroutines.
type Lock interface {
	// Holder returns a text that names the holder, for the record of a pending
	// revision.
	Holder() string
	// Guard sends heartbeats on the pending record of that revision until Unlock.
	Guard(revision int)
	// Finish says that the operation is about to write the last state of the record
	// that it guards, or to delete it.
	Finish()
	// Abandoned returns nil when the client that wrote the pending record of that
	// revision is gone, and otherwise an error that says who is at work. It may take
	// a while: where only heartbeats can tell, it watches for them.
	Abandoned(ctx context.Context, revision int) error
	// Unlock gives the lock back, even where everything else was cancelled.
	Unlock()
}

const (
	// leaseDuration is how long a lease is good for without being renewed.
	leaseDuration = 30 * time.Second
	// longestLease is how long anybody's lease is taken to be good for, whatever
	// it says: a forged one would lock the release for years.
	longestLease = 5 * time.Minute
	// renewEvery is how often a holder shows that it is alive.
	renewEvery = 5 * time.Second
	// giveUp is after how long without success a holder knows that others may
	// soon take the lease for abandoned. It is less than leaseDuration, so that
	// the holder stops before the next one begins.
	giveUp = 25 * time.Second
	// beatEvery is how often a record without a lease sends heartbeats, and
	// silence how long it may show none.
	beatEvery = 10 * time.Second
	silence   = 30 * time.Second
	// forgotten is after how long a pending record of Helm's, which sends no
	// heartbeats, counts as abandoned.
	forgotten = 15 * time.Minute
	// staleTimeout is how long a heartbeat may take that comes too late: the
	// operation waits for it.
	staleTimeout = 5 * time.Second
	// maxBeats bounds how often one heartbeat is tried on a record that others
	// write too.
	maxBeats = 4
	// unlockTimeout bounds giving a lock back, and maxGiveBacks how often that
	// is tried.
	unlockTimeout = 5 * time.Second
	maxGiveBacks  = 4
	// pollFirst and pollLast are the pauses between looks at a lock that
	// someone else has.
	pollFirst = 200 * time.Millisecond
	pollLast  = time.Second

	defaultTimeout = 5 * time.Minute
)

// Options say how to wait, and for whom.
type Options struct {
	// Timeout bounds the wait for a holder that is alive; 0 is five minutes. A holder
	// without a heartbeat is watched to the end, however short the timeout: otherwise it
	// would lock the release forever.
	Timeout time.Duration
	// Progress learns who is waited for, and who is gone; nil reports nothing.
	Progress progress.Func
	// Who names the holder to others; "" is user@host.
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

// WithRecords returns the same locker for releases that are recorded elsewhere.
func (l *Locker) WithRecords(records Records) *Locker {
	out := *l
	out.records = records
	return &out
}

// Lock waits for its turn while ctx and the timeout allow, and returns the
// lock, which must be given back, and a context that ends with it: with a
// [*LostError] as its cause when the lock is lost. [Check] is to be called with
// that context before each write. doing is the operation ("upgrade"). A holder
// who stays is a [*LockedError].
func (l *Locker) Lock(ctx context.Context, name, doing string) (context.Context, Lock, error) {
	if name == "" || strings.ContainsAny(name+l.namespace, "/%") || l.namespace == "" {
		return nil, nil, &NameError{Release: name, Namespace: l.namespace}
	}
	k := &releaseLock{locker: l, name: name, holder: l.self(doing), settled: make(chan struct{})}
	began := time.Now()
	held, err := (&turn{Locker: l, lock: k, began: began}).take(ctx)
	if err != nil {
		return nil, nil, err
	}
	ended := ctx.Err() != nil // while the lock was being taken
	ctx = k.begin(ctx, held)
	if ended {
		err := context.Cause(ctx)
		k.Unlock()
		return nil, nil, err
	}
	return ctx, k, nil
}

// turn is one wait for a lock.
type turn struct {
	*Locker
	lock  *releaseLock
	began time.Time

	told string    // the holder that was reported last
	sent time.Time // when we last tried to take it
	last *lease    // the holder that was seen last
	// seen is the state of another holder's lease, since when it has been that,
	// and whether it was ever seen to change.
	seen    state
	since   time.Time
	changed bool
}

// state names one state of one lease.
type state struct{ uid, version string }

// taken is a lease that is ours, and since when at least.
type taken struct {
	lease *lease
	at    time.Time
}

// take returns the lease, or nil where there can be none.
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
		case apierrors.IsNotFound(err) && sleep(ctx, rand.N(pollFirst/4)):
			free = true
			continue
		case unavailable(err) && ctx.Err() == nil:
			return nil, nil
		case err != nil:
			return nil, t.ended(ctx, err)
		}
		free, t.last = false, other
		if other.Spec.HolderIdentity == t.lock.holder.identity() {
			// We did take it, and the answer was lost.
			return &taken{other, t.sent}, nil
		}
		if why := t.over(other); why != "" {
			got, err := t.seize(ctx, other, why)
			if got != nil || err != nil {
				return got.held(), err
			}
			// Another client was quicker.
			if !sleep(ctx, pollFirst/2+rand.N(pollFirst)) {
				return nil, t.ended(ctx, context.Cause(ctx))
			}
			continue
		}
		if time.Since(t.began) >= t.options.Timeout && t.changed {
			return nil, t.locked(other)
		}
		t.tell(other)
		if !sleep(ctx, pause/2+rand.N(pause)) {
			return nil, t.ended(ctx, context.Cause(ctx))
		}
		pause = min(pause*3/2, pollLast)
	}
}

// none stands for: there can be no lease.
var none = &taken{}

// held is nil for none.
func (t *taken) held() *taken {
	if t == none {
		return nil
	}
	return t
}

// create returns nil where another client has the lease.
func (t *turn) create(ctx context.Context) (*taken, error) {
	t.sent = time.Now()
	writing, cancel := linger.Context(ctx) // a lease that was taken has to be given back
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
	return nil, t.ended(ctx, err)
}

// over says why the holder of a lease holds it no more, "" where that is not
// known.
func (t *turn) over(other *lease) string {
	now := other.state()
	if now != t.seen {
		t.changed = t.changed || t.seen != (state{})
		t.seen, t.since = now, time.Now()
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

// seize takes over a lease whose holder is gone; nil where another client was
// quicker.
func (t *turn) seize(ctx context.Context, other *lease, why string) (*taken, error) {
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
			t.warn("%s by %s ended without saying so; going on", h.what(), h.Name())
		}
		return &taken{made, t.sent}, nil
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return nil, nil
	case unavailable(err):
		return none, nil
	}
	return nil, t.ended(ctx, err)
}

func (t *turn) tell(other *lease) {
	if other.Spec.HolderIdentity == t.told {
		return
	}
	t.told = other.Spec.HolderIdentity
	h, _ := other.holder()
	t.step("waiting for %s, who has been %s %q since %s", h.Name(), gerund(h.Doing), t.lock.name, clock(h.Since))
}

func (t *turn) locked(other *lease) *LockedError {
	h, _ := other.holder()
	return &LockedError{Release: t.lock.name, Holder: h.Name(), Doing: h.Doing, Since: h.Since}
}

// ended is the error of a wait that err ended: where time has run out, who has
// the lock says more than that.
func (t *turn) ended(ctx context.Context, err error) error {
	switch {
	case t.last != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return t.locked(t.last)
	case t.last != nil && ctx.Err() != nil:
		e := t.locked(t.last)
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

// sleep returns false when ctx ended before.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
