// SPDX-License-Identifier: Apache-2.0

package lock

import (
	"context"
	"errors"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/moonhelm/moonhelm/internal/linger"
)

// releaseLock implements [Lock] with a lease, or without one if there can be none.
type releaseLock struct {
	locker *Locker
	name   string
	// outer is the lock in whose context this one was taken, or nil.
	outer *releaseLock

	// life is cancelled by Unlock; cancel cancels the operation's context.
	life       context.Context
	end        context.CancelFunc
	cancel     context.CancelCauseFunc
	goroutines sync.WaitGroup

	// ready is closed when it is known whether the lease can be renewed.
	ready chan struct{}

	mu     sync.Mutex
	holder Holder
	// lease is the lease that this lock holds, or nil.
	lease *lease
	// renewal and record are the heartbeats on the lease and on the pending record, or
	// nil.
	renewal, record *heartbeat
	// asked is when Holder was last called, to write its result on a record.
	asked time.Time
	// lost is the reason why the lock was lost, or nil.
	lost             error
	finishing, ended bool
}

// begin starts to renew the lease, if there is one, and returns the operation's context.
func (k *releaseLock) begin(ctx context.Context, held *taken) context.Context {
	k.life, k.end = context.WithCancel(context.WithoutCancel(ctx))
	k.outer, _ = ctx.Value(lockKey{}).(*releaseLock)
	ctx, k.cancel = context.WithCancelCause(context.WithValue(ctx, lockKey{}, k))
	if held == nil {
		k.holder.Guard = ByRecord
		close(k.ready)
		return ctx
	}
	k.lease = held.lease
	k.renewal = k.newHeartbeat(renewEvery, held.at, k.renew)
	k.goroutines.Go(k.keep)
	return ctx
}

// Holder implements [Lock]. It may wait for one response of the API server, because the text
// says whether other clients must watch the lease or the record.
func (k *releaseLock) Holder() string {
	<-k.ready
	k.mu.Lock()
	k.asked = time.Now()
	k.mu.Unlock()
	return k.text()
}

func (k *releaseLock) text() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.holder.String()
}

// Leased reports whether the lock has a lease; otherwise the lock is the record of the next
// revision.
func (k *releaseLock) Leased() bool {
	<-k.ready
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.lease != nil
}

// Unlock releases the lock, even if the contexts were cancelled, and cancels the operation's
// context. It may be called more than once.
func (k *releaseLock) Unlock() {
	k.mu.Lock()
	ended := k.ended
	k.ended = true
	k.mu.Unlock()
	if ended {
		return
	}
	k.end()
	k.goroutines.Wait()
	k.cancel(nil)
	k.releaseLease()
}

// releaseLease deletes the lease if this lock still holds it. Without the permission to delete, it
// clears the lease's holder.
func (k *releaseLock) releaseLease() {
	k.mu.Lock()
	lease := k.lease
	k.lease = nil
	k.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(k.life), unlockTimeout)
	defer cancel()
	for tries := 1; lease != nil; tries++ {
		err := k.locker.remove(ctx, k.name, lease)
		if apierrors.IsForbidden(err) {
			free := *lease
			free.Spec.HolderIdentity, free.Metadata.Annotations = "", nil
			_, err = k.locker.put(ctx, k.name, &free)
		}
		switch {
		case err == nil, apierrors.IsNotFound(err), apierrors.IsForbidden(err):
			return
		case !apierrors.IsConflict(err) || tries >= maxReleaseAttempts:
			k.warnNotReleased(err)
			return
		}
		// The cause of the conflict is a renewal whose response was lost, or another holder.
		if tries > 1 && linger.Sleep(ctx, backoff(tries)) != nil {
			k.warnNotReleased(err)
			return
		}
		lease, err = k.locker.read(ctx, k.name)
		if err != nil && !apierrors.IsNotFound(err) {
			k.warnNotReleased(err)
		}
		if err != nil || lease.Spec.HolderIdentity != k.holder.identity() {
			return
		}
	}
}

func (k *releaseLock) warnNotReleased(err error) {
	k.locker.warn("the lock of release %s could not be released, the next operation on it may have to wait for %s: %s",
		k.name, leaseDuration, err)
}

// keep renews the lease until Unlock or until it is lost. It renews it at once, to find out
// whether it may do so before the holder is written to a record.
func (k *releaseLock) keep() {
	known := sync.OnceFunc(func() { close(k.ready) })
	defer known()
	h := k.renewal
	err := h.sendOnce(h.life)
	if unavailable(err) {
		err = errNotLockable
	}
	if errors.Is(err, errNotLockable) {
		k.stopHeartbeat(h)
		return
	}
	known()
	k.runHeartbeat(h, err)
}

// errNotLockable is returned by a heartbeat if no client can take the lock any more, so that it
// need not be defended.
var errNotLockable = errors.New("the namespace is going")

// renew renews the lease. It returns a [*LostError] if another client has the lease. If stale
// is set it does so also if the lease does not exist: another client may have taken and
// released it.
func (k *releaseLock) renew(ctx context.Context, stale bool) error {
	k.mu.Lock()
	if k.lease == nil {
		defer k.mu.Unlock()
		return errNotLockable
	}
	next := *k.lease
	k.mu.Unlock()
	for tries := 1; ; tries++ {
		next.Spec.RenewTime = time.Now().UTC().Format(microTime)
		got, err := k.locker.put(ctx, k.name, &next)
		if apierrors.IsConflict(err) {
			// The cause is a renewal whose response was lost, another client's label, or
			// another holder.
			var current *lease
			if current, err = k.locker.read(ctx, k.name); err == nil && current.Spec.HolderIdentity == k.holder.identity() {
				if tries > 1 && linger.Sleep(ctx, backoff(tries)) != nil {
					return context.Cause(ctx)
				}
				next = *current
				continue
			} else if err == nil {
				by, _ := current.holder()
				return &LostError{Release: k.name, By: by.Name()}
			}
		}
		if apierrors.IsNotFound(err) {
			if stale {
				return &LostError{Release: k.name, Err: errLeaseDeleted}
			}
			got, err = k.recreate(ctx)
		}
		if err != nil {
			return err
		}
		k.mu.Lock()
		k.lease = got
		k.mu.Unlock()
		return nil
	}
}

// errLeaseDeleted is the reason why a lock is lost if its lease was deleted.
var errLeaseDeleted error = &takenError{"its lease was deleted, and another client may have taken and released it"}

// recreate creates a deleted lease again, and returns a [*LostError] if another client has done
// so.
func (k *releaseLock) recreate(ctx context.Context) (*lease, error) {
	got, err := k.locker.post(ctx, k.name, newLease(k.locker.namespace, k.name, k.holder))
	switch {
	case apierrors.IsAlreadyExists(err):
		current, rerr := k.locker.read(ctx, k.name)
		if rerr != nil {
			return nil, rerr
		}
		if current.Spec.HolderIdentity == k.holder.identity() {
			return current, nil
		}
		by, _ := current.holder()
		return nil, &LostError{Release: k.name, By: by.Name()}
	case unavailable(err):
		return nil, errNotLockable
	}
	return got, err
}

// dropLease continues without a lease, because it cannot be renewed.
func (k *releaseLock) dropLease() {
	k.releaseLease()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.renewal, k.holder.Guard = nil, ByRecord
}

// lose cancels the operation. From then on [Check] returns an error.
func (k *releaseLock) lose(why error) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.lost == nil {
		k.lost = why
	}
	k.lease, k.renewal = nil, nil
	if k.record != nil {
		k.record.stop()
		k.record = nil
	}
	k.cancel(k.lost)
	return k.lost
}
