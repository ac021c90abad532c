// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"slices"

	"github.com/moonhelm/moonhelm/plan"
	"github.com/moonhelm/moonhelm/release"
	"github.com/moonhelm/moonhelm/storage"
)

// markTransferred says of objects that have left the release between the revisions of c without being
// deleted, by a disown or an mv, that they stay, and of those that have come without being created where
// they came from.
func (d Diff) markTransferred(ctx context.Context, c *Change) error {
	if !slices.ContainsFunc(c.Plan.Steps, func(s plan.Step) bool { return s.New == nil || s.Live == nil }) {
		return nil
	}
	before := c.From
	for n := c.From.Revision + 1; n <= c.To.Revision; n++ {
		rel := c.To
		if n < c.To.Revision {
			var err error
			switch rel, err = d.Releases.Get(ctx, c.To.Name, n); {
			case errors.Is(err, storage.ErrNotFound): // the history was shortened
				continue
			case err != nil:
				return err
			}
		}
		if t := rel.Transfer; t != nil && t.State == release.TransferDone {
			own, err := Compare(before, rel)
			if err != nil {
				return err
			}
			for _, s := range own.Plan.Steps {
				markStep(c.Plan, s, t)
			}
		}
		before = rel
	}
	return nil
}

// markStep marks the step of p for the object of s, which a transfer took out of the release or put into
// it.
func markStep(p *plan.Plan, s plan.Step, t *release.Transfer) {
	i := slices.IndexFunc(p.Steps, func(step plan.Step) bool {
		return sameObject(step.Ref, s.Ref) && step.Action == s.Action
	})
	if i < 0 {
		return
	}
	step, command := &p.Steps[i], "helm "+string(t.Verb)
	switch s.Action {
	case plan.Delete:
		step.Action, step.After, step.Reason = plan.Keep, step.Live, command+" has taken it out"
		if t.Peer != nil {
			step.Reason = command + " has moved it to release " + t.Peer.Name
		}
	case plan.Create:
		step.Existed, step.Reason = true, "it existed before: "+command+" has made it the release's"
		if t.Peer != nil {
			step.Reason = command + " has moved it from release " + t.Peer.Name
		}
	}
}
