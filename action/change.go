// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"

	"github.com/moonhelm/moonhelm/kube/apply"
	"github.com/moonhelm/moonhelm/plan"
)

// Changer makes the objects of a release what they should be. Objects without a
// namespace of their own go into the owner's.
type Changer interface {
	// Plan reads the cluster and returns what it takes. It writes nothing, and
	// refuses what is known to fail: objects that others manage, kinds
	// that are not there, permissions that are missing, each with all it finds.
	Plan(ctx context.Context, r apply.Request) (*plan.Plan, error)
	// Execute does the given steps of a plan in their order, those of one kind
	// at once. All are marked as the owner's. Where objects of a kind fail, the
	// kinds after it are not begun, except that one failed deletion does not
	// keep others from being deleted.
	Execute(ctx context.Context, p *plan.Plan, steps []plan.Step) error
}
