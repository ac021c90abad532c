// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"

	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/plan"
	"github.com/moonhelm/moonhelm/release"
)

// ChangeRequest says what the objects of a release shall be, and what they may
// be now.
type ChangeRequest struct {
	Owner Owner
	// New are the objects that the release shall have, in apply order.
	New []*manifest.Object
	// Hooks are the release's hooks: nothing is planned for them, but what is
	// known to be wrong with them is refused as well, and an object of New that one
	// of them has put there is the release's.
	Hooks []*manifest.Object
	// Running are those of them that the operation creates: what the API server
	// would refuse of them is refused before anything is written, as it is of New.
	// HooksFirst is set where some of them run before New is written.
	Running    []*manifest.Object
	HooksFirst bool
	// Definitions are the custom resource definitions that are written first.
	Definitions []*manifest.Object
	// Checked is set where objects were held against what the API server
	// publishes about their kinds before.
	Checked bool
	// Old are the objects of the revisions that may have been applied, oldest
	// revision first.
	Old [][]*manifest.Object
	// Orphans may be there as well: they are deleted unless New has them.
	Orphans []release.Orphan

	// TakeOwnership takes over objects that exist and are not the owner's.
	TakeOwnership bool
	// ServerSide leaves merging to the API server. Conflicts says what then becomes
	// of fields that other managers have set to other values, "" to fail.
	ServerSide bool
	Conflicts  plan.Resolution
	// ReportConflicts has the plan say what is in the way, instead of failing: conflicts
	// that nothing resolves, and, by a warning, rights that are missing.
	ReportConflicts bool
	// Replace puts new objects in the place of live ones instead of merging, and
	// deletes and creates again what cannot be updated, as the annotation
	// helm.sh/replace has it for one object.
	Replace bool
	// Records is what the operation does to the release's records: "create",
	// "update", "delete". Who may not is told so.
	Records []string
	// Predict asks the server what would become of each object that changes,
	// and fails where the server would refuse it.
	Predict bool
}

// Changer makes the objects of a release what they shall be. Objects without a
// namespace of their own go into the owner's.
type Changer interface {
	// Plan reads the cluster and tells what it takes. It writes nothing, and
	// refuses what is known to fail: objects that are somebody else's, kinds
	// that are not there, rights that are missing, each with all it finds.
	Plan(ctx context.Context, r ChangeRequest) (*plan.Plan, error)
	// Execute does the given steps of a plan in their order, those of one kind
	// at once. All are marked as the owner's. Where objects of a kind fail, the
	// kinds after it are not begun, except that one failed deletion does not
	// keep others from being deleted.
	Execute(ctx context.Context, p *plan.Plan, steps []plan.Step) error
}

// WaitRequest says what to wait for.
type WaitRequest struct {
	Objects   []*manifest.Object
	Namespace string
	// Jobs waits until jobs are complete too.
	Jobs bool
	// Legacy asks again and again, with the readiness rules of Helm 3, instead
	// of watching.
	Legacy bool
}

// Locker keeps others from changing a release.
type Locker interface {
	// Lock waits for its turn while ctx allows, telling who has it, and returns
	// the lock and a context that ends, with the reason as its cause, when the
	// lock is lost. doing is the operation ("upgrade").
	Lock(ctx context.Context, name, doing string) (context.Context, Lock, error)
}

// Lock is the right to change a release.
type Lock interface {
	// Holder names who has it, for the record of a pending revision.
	Holder() string
	// Guard keeps the pending record of that revision showing signs of life,
	// until Unlock.
	Guard(revision int)
	// Finish says that the operation is about to write the last state of the
	// record that it guards, or to delete it.
	Finish()
	// Abandoned returns nil when whoever wrote the pending record of that
	// revision is gone, and otherwise an error that says who is at work. It may
	// take a while: where only signs of life can tell, it watches for them.
	Abandoned(ctx context.Context, revision int) error
	// Unlock gives the lock back, even where everything else was cancelled.
	Unlock()
}

// take takes the lock of a release, or none where there is no locker.
func take(ctx context.Context, l Locker, name, doing string) (context.Context, Lock, error) {
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
