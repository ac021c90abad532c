// SPDX-License-Identifier: Apache-2.0

package lock

import (
	"context"
	"errors"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Lock is the right to change a release. Its methods may be called from several
// goroutines.
type Lock struct {
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
	lease   *lease
	unguard context.CancelFunc
	ended   bool
}

// begin starts to renew the lease, where there is one, and returns the context
// for the operation.
func (k *Lock) begin(ctx context.Context, held *taken) context.Context {
	k.life, k.end = context.WithCancel(context.WithoutCancel(ctx))
	ctx, k.cancel = context.WithCancelCause(ctx)
	if held == nil {
		k.holder.Guard = ByRecord
		close(k.settled)
		return ctx
	}
	k.lease = held.lease
	k.others.Go(func() { k.keep(held.at) })
	return ctx
}

// Holder is one line of text that names who has the lock, for the record of a
// pending revision: what others read there decides what they watch. It may wait
// for one answer of the API server.
func (k *Lock) Holder() string {
	<-k.settled
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.holder.String()
}

// Leased tells whether the lock is a lease; otherwise it is the record of the
// next revision.
func (k *Lock) Leased() bool {
	<-k.settled
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.lease != nil
}

// Unlock gives the lock back, even where everything else was cancelled, and
// ends the operation's context. It may be called more than once.
func (k *Lock) Unlock() {
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

// giveBack deletes the lease if it is still ours. Where the right to delete is
// missing the lease says that nobody has it.
func (k *Lock) giveBack() {
	k.mu.Lock()
	mine := k.lease
	k.lease = nil
	k.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(k.life), unlockTimeout)
	defer cancel()
	for mine != nil {
		err := k.locker.remove(ctx, mine)
		if apierrors.IsForbidden(err) {
			free := *mine
			free.Spec.HolderIdentity, free.Metadata.Annotations = "", nil
			_, err = k.locker.put(ctx, &free)
		}
		switch {
		case err == nil, apierrors.IsNotFound(err), apierrors.IsForbidden(err):
			return
		case !apierrors.IsConflict(err):
			k.locker.warn("the lock of release %s could not be given back, the next operation on it may have to wait for %s: %s", k.name, leaseDuration, err)
			return
		}
		// It has changed since: by a renewal whose answer never came, or it is
		// somebody else's now.
		mine, err = k.locker.read(ctx, k.name)
		if err != nil || mine.Spec.HolderIdentity != k.holder.identity() {
			return
		}
	}
}

// keep renews the lease, last taken or renewed at the given time, until Unlock
// or until it is lost. The first renewal comes at once: it tells whether there
// is a right to renew, before the holder is written anywhere.
func (k *Lock) keep(last time.Time) {
	known := sync.OnceFunc(func() { close(k.settled) })
	defer known()
	var trouble error
	for first := true; ; first = false {
		sent := time.Now()
		ctx, cancel := context.WithDeadline(k.life, last.Add(giveUp))
		err := k.renew(ctx)
		cancel()
		var lost *LostError
		switch {
		case k.life.Err() != nil:
			return
		case err == nil:
			last, trouble = sent, nil
		case errors.Is(err, errNoPlace), first && unavailable(err):
			k.unlease()
			return
		case errors.As(err, &lost):
			k.lose(err)
			return
		case trouble == nil || !errors.Is(err, context.DeadlineExceeded):
			trouble = err // that time ran out says less
		}
		if err != nil && time.Since(last) >= giveUp {
			k.lose(&LostError{Release: k.name, Err: trouble})
			return
		}
		known()
		if err == nil && !k.rest(sent) || err != nil && !sleep(k.life, time.Second) {
			return
		}
	}
}

// rest returns when it is time to renew, or false at the end of life. A machine
// that was asleep must not go on as if it had not been: only the clock on the
// wall tells.
func (k *Lock) rest(sent time.Time) bool {
	for {
		now := time.Now()
		if now.Sub(sent) >= renewEvery || now.Round(0).Sub(sent.Round(0)) >= renewEvery {
			return true
		}
		if !sleep(k.life, time.Second) {
			return false
		}
	}
}

// errNoPlace tells that there is no place any more where somebody could take
// the lock.
var errNoPlace = errors.New("the namespace is going")

// renew shows that we are alive. It fails with a [*LostError] where somebody
// else has the lease.
func (k *Lock) renew(ctx context.Context) error {
	k.mu.Lock()
	next := *k.lease
	k.mu.Unlock()
	for {
		next.Spec.RenewTime = time.Now().UTC().Format(microTime)
		got, err := k.locker.put(ctx, &next)
		switch {
		case apierrors.IsNotFound(err):
			got, err = k.again(ctx)
		case apierrors.IsConflict(err):
			// An answer that never came, somebody's label, or another holder.
			var now *lease
			if now, err = k.locker.read(ctx, k.name); apierrors.IsNotFound(err) {
				got, err = k.again(ctx)
			} else if err == nil && now.Spec.HolderIdentity == k.holder.identity() {
				next = *now
				continue
			} else if err == nil {
				by, _ := now.holder()
				return &LostError{Release: k.name, By: by.Name()}
			}
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

// again makes the lease anew, which somebody has deleted: it is still ours if
// nobody was quicker.
func (k *Lock) again(ctx context.Context) (*lease, error) {
	got, err := k.locker.post(ctx, newLease(k.locker.namespace, k.name, k.holder))
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

// unlease goes on without a lease: there is no right to renew it, or no place
// for it any more.
func (k *Lock) unlease() {
	k.giveBack()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.holder.Guard = ByRecord
}

func (k *Lock) lose(why error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.lease = nil
	if k.unguard != nil {
		k.unguard()
	}
	k.cancel(why)
}

// Guard keeps the pending record of a revision showing signs of life until
// Unlock, or until Guard is called for another. The first comes after a while:
// an operation that is quick pays nothing.
func (k *Lock) Guard(revision int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.unguard != nil {
		k.unguard()
	}
	if k.ended || k.locker.records == nil {
		return
	}
	var ctx context.Context
	ctx, k.unguard = context.WithCancel(k.life)
	k.others.Go(func() {
		for sleep(ctx, beatEvery) {
			beat, cancel := context.WithTimeout(ctx, beatEvery)
			// One that fails is one that others do not see: they watch for
			// longer than that.
			_ = k.locker.records.Beat(beat, k.name, revision)
			cancel()
		}
	})
}
