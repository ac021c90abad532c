// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"

	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/plan"
	"github.com/moonhelm/moonhelm/storage/lock"
)

// Changer makes the objects of a release what they shall be. Objects without a
// namespace of their own go into the owner's.
type Changer interface {
	// Plan reads the cluster and tells what it takes. It writes nothing, and
	// refuses what is known to fail: objects that are somebody else's, kinds
	// that are not there, rights that are missing, each with all it finds.
	Plan(ctx context.Context, r kube.ChangeRequest) (*plan.Plan, error)
	// Execute does the given steps of a plan in their order, those of one kind
	// at once. All are marked as the owner's. Where objects of a kind fail, the
	// kinds after it are not begun, except that one failed deletion does not
	// keep others from being deleted.
	Execute(ctx context.Context, p *plan.Plan, steps []plan.Step) error
}

// Locker keeps others from changing a release.
type Locker interface {
	// lock.Lock waits for its turn while ctx allows, telling who has it, and returns
	// the lock and a context that ends, with the reason as its cause, when the
	// lock is lost. doing is the operation ("upgrade").
	Lock(ctx context.Context, name, doing string) (context.Context, lock.Lock, error)
}

var _ Locker = (*lock.Locker)(nil)

// take takes the lock of a release, or none where there is no locker.
func take(ctx context.Context, l Locker, name, doing string) (context.Context, lock.Lock, error) {
	if l == nil {
		return ctx, unlocked{}, nil
	}
	return l.Lock(ctx, name, doing)
}

// unlocked is the lock of somebody who is alone.
type unlocked struct{}

func (unlocked) Holder() string                       { return "" }
func (unlocked) Guard(int)                            {}
func (unlocked) Finish()                              {}
func (unlocked) Abandoned(context.Context, int) error { return nil }
func (unlocked) Unlock()                              {}
