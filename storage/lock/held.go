// SPDX-License-Identifier: Apache-2.0

package lock

import (
	"context"
	"errors"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// releaseLock implements [Lock], with a lease or, where there can be none, without.
type releaseLock struct {
	locker *Locker
	name   string

	// life ends with Unlock; work is what the operation runs in.
	life   context.Context
	end    context.CancelFunc
	cancel context.CancelCauseFunc
	others sync.WaitGroup

	// settled is closed once it is known whether there is a lease to renew.
	settled chan struct{}

	mu     sync.Mutex
	holder Holder
	// lease is what we hold, nil for none.
	lease *lease
	// renewal and record are the heartbeats on the lease and on the pending
	// record, nil for none.
	renewal, record *heartbeat
	// asked is when the holder was last asked for, to be written on a record.
	asked time.Time
	// lost is why the lock was lost, nil while it is not.
	lost             error
	finishing, ended bool
}

// begin starts to renew the lease, where there is one, and returns the context
// for the operation.
func (k *releaseLock) begin(ctx context.Context, held *taken) context.Context {
	k.life, k.end = context.WithCancel(context.WithoutCancel(ctx))
	ctx, k.cancel = context.WithCancelCause(context.WithValue(ctx, lockKey{}, k))
	if held == nil {
		k.holder.Guard = ByRecord
		close(k.settled)
		return ctx
	}
	k.lease = held.lease
	k.renewal = k.newHeartbeat(renewEvery, held.at, k.renew)
	k.others.Go(k.keep)
	return ctx
}

// Holder is one line of text that names who has the lock, for the record of a
// pending revision: what others read there decides what they watch. It may wait
// for one answer of the API server.
func (k *releaseLock) Holder() string {
	<-k.settled
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

// Leased reports whether the lock is a lease; otherwise it is the record of the
// next revision.
func (k *releaseLock) Leased() bool {
	<-k.settled
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.lease != nil
}

// Unlock gives the lock back, even where everything else was cancelled, and
// ends the operation's context. It may be called more than once.
func (k *releaseLock) Unlock() {
	k.mu.Lock()
	ended := k.ended
	k.ended = true
	k.mu.Unlock()
	if ended {
		return
	}
	k.end()
	k.others.Wait()
	k.cancel(nil)
	k.giveBack()
}

// giveBack deletes the lease if it is still ours. Where the permission to delete is
// missing the lease says that no one has it.
func (k *releaseLock) giveBack() {
	k.mu.Lock()
	mine := k.lease
	k.lease = nil
	k.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(k.life), unlockTimeout)
	defer cancel()
	for tries := 1; mine != nil; tries++ {
		err := k.locker.remove(ctx, k.name, mine)
		if apierrors.IsForbidden(err) {
			free := *mine
			free.Spec.HolderIdentity, free.Metadata.Annotations = "", nil
			_, err = k.locker.put(ctx, k.name, &free)
		}
		switch {
		case err == nil, apierrors.IsNotFound(err), apierrors.IsForbidden(err):
			return
		case !apierrors.IsConflict(err) || tries >= maxGiveBacks:
			k.locker.warn("the lock of release %s could not be given back, the next operation on it may have to wait for %s: %s",
				k.name, leaseDuration, err)
			return
		}
		// It has changed since: by a renewal whose answer never came, or it is
		// another client's now.
		if tries > 1 && !sleep(ctx, backoff(tries)) {
			return
		}
		mine, err = k.locker.read(ctx, k.name)
		if err != nil || mine.Spec.HolderIdentity != k.holder.identity() {
			return
		}
	}
}

// keep renews the lease until Unlock or until it is lost. The first renewal
// comes at once: it reports whether there is a permission to renew, before the holder
// is written anywhere.
func (k *releaseLock) keep() {
	known := sync.OnceFunc(func() { close(k.settled) })
	defer known()
	h := k.renewal
	err := h.show(h.life)
	if unavailable(err) {
		err = errNoPlace
	}
	if errors.Is(err, errNoPlace) {
		k.drop(h)
		return
	}
	known()
	k.beat(h, err)
}

// errNoPlace reports that there is no place any more where someone could take
// the lock.
var errNoPlace = errors.New("the namespace is going")

// renew shows that we are alive. It fails with a [*LostError] where another
// client has the lease, and where stale also where the lease is not there: it may
// have been taken, and given back again.
func (k *releaseLock) renew(ctx context.Context, stale bool) error {
	k.mu.Lock()
	if k.lease == nil {
		defer k.mu.Unlock()
		return errNoPlace
	}
	next := *k.lease
	k.mu.Unlock()
	for tries := 1; ; tries++ {
		next.Spec.RenewTime = time.Now().UTC().Format(microTime)
		got, err := k.locker.put(ctx, k.name, &next)
		if apierrors.IsConflict(err) {
			// An answer that never came, another client's label, or another holder.
			var now *lease
			if now, err = k.locker.read(ctx, k.name); err == nil && now.Spec.HolderIdentity == k.holder.identity() {
				if tries > 1 && !sleep(ctx, backoff(tries)) {
					return context.Cause(ctx)
				}
				next = *now
				continue
			} else if err == nil {
				by, _ := now.holder()
				return &LostError{Release: k.name, By: by.Name()}
			}
		}
		if apierrors.IsNotFound(err) {
			if stale {
				return &LostError{Release: k.name, Err: errGone}
			}
			got, err = k.again(ctx)
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

// errGone is why a lock is lost whose lease is not there any more.
var errGone error = &takenError{"its lease is gone, which another client may have taken and given back"}

// again creates the lease again, which was deleted: it is still ours if
// no one was quicker.
func (k *releaseLock) again(ctx context.Context) (*lease, error) {
	got, err := k.locker.post(ctx, k.name, newLease(k.locker.namespace, k.name, k.holder))
	switch {
	case apierrors.IsAlreadyExists(err):
		now, rerr := k.locker.read(ctx, k.name)
		if rerr != nil {
			return nil, rerr
		}
		if now.Spec.HolderIdentity == k.holder.identity() {
			return now, nil
		}
		by, _ := now.holder()
		return nil, &LostError{Release: k.name, By: by.Name()}
	case unavailable(err):
		return nil, errNoPlace
	}
	return got, err
}

// unlease goes on without a lease: there is no permission to renew it, or no place
// for it any more.
func (k *releaseLock) unlease() {
	k.giveBack()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.renewal, k.holder.Guard = nil, ByRecord
}

// lose ends the operation: from here on [Check] refuses to write.
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
