// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"

	"github.com/moonhelm/moonhelm/kube/apply"
	"github.com/moonhelm/moonhelm/plan"
)

// A Changer brings the objects of a release to their desired state. Objects without a
// namespace go into the owner's.
type Changer interface {
	// Plan reads the cluster and returns the necessary changes. It writes nothing. It
	// returns an error that lists all objects with another owner, all kinds that the
	// cluster does not serve, or all missing permissions.
	Plan(ctx context.Context, r apply.Request) (*plan.Plan, error)
	// Execute executes the given steps of a plan in order, those of one kind
	// concurrently, and sets the owner's ownership labels on all objects. If objects of
	// a kind fail, the kinds after it are not started; a failed deletion does not stop
	// other deletions.
	Execute(ctx context.Context, p *plan.Plan, steps []plan.Step) error
}
