// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"context"
	"errors"
	"time"

	"github.com/moonhelm/moonhelm/internal/linger"
	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/kube/internal/api"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/progress"
)

// WaitGone waits until none of the objects exists, or returns a [*PendingError] if ctx ends
// before. It ignores objects without the owner's ownership labels, because Delete of package
// apply does not delete them.
func (c *Waiter) WaitGone(ctx context.Context, objects []*manifest.Object, owner kube.Owner) error {
	if c.api.IsDryRun() {
		return nil
	}
	targets, err := c.api.Served(ctx, objects, owner.Namespace)
	if err != nil {
		return err
	}
	return c.waitDeleted(ctx, targets, func(m *api.Metadata) bool { return m.Foreign(owner) == "" })
}

// waitDeleted waits until no target exists for which awaited returns true.
func (c *Waiter) waitDeleted(ctx context.Context, targets []*api.Target, awaited func(*api.Metadata) bool) error {
	reported := false
	defer func() {
		if reported {
			c.api.Progress().Send(progress.Event{Kind: progress.Settled})
		}
	}()
	var trouble outage
	var last map[*api.Target]*api.Metadata // of the last successful read
	for delay := 25 * time.Millisecond; ; delay = min(delay*2, time.Second) {
		live, err := c.api.ReadMetadata(ctx, targets)
		if err != nil && ctx.Err() == nil {
			if err := trouble.retry(ctx, err); err != nil && ctx.Err() == nil {
				return err
			}
		}
		if err == nil {
			trouble, last = outage{}, live
			targets = api.Filter(targets, func(t *api.Target) bool {
				there := live[t] != nil && awaited(live[t])
				if !there && reported {
					c.api.Progress().Send(progress.Event{Kind: progress.Ready, Object: t.Short(), Text: "deleted"})
				}
				return there
			})
		}
		if len(targets) == 0 {
			return nil
		}
		if !reported && err == nil {
			reported = true
			for _, t := range targets {
				c.api.Progress().Send(progress.Event{Kind: progress.Waiting, Object: t.Short(), Text: "to be deleted"})
			}
		}
		if err := linger.Sleep(ctx, delay); err != nil {
			return &PendingError{Pending: pendingDeletions(targets, last), Err: err}
		}
	}
}

func pendingDeletions(targets []*api.Target, live map[*api.Target]*api.Metadata) []string {
	var out []string
	for _, t := range targets {
		s := t.String() + " to be deleted"
		if m := live[t]; m != nil && m.Deletion == "" {
			s += " (its deletion was not requested)"
		}
		out = append(out, s)
	}
	return out
}

// WaitHookGone waits until the object with the given UID, which DeleteHook of package apply has
// deleted, no longer exists. If uid is "", it waits until no object with the name exists.
func (c *Waiter) WaitHookGone(ctx context.Context, o *manifest.Object, namespace, uid string) error {
	if c.api.IsDryRun() {
		return nil
	}
	t, err := c.api.Single(ctx, o, namespace)
	var noMatch *kube.NoMatchError
	if errors.As(err, &noMatch) {
		return nil // deleted with its CRD
	}
	if err != nil {
		return err
	}
	return c.waitDeleted(ctx, []*api.Target{t}, func(m *api.Metadata) bool { return uid == "" || m.UID == uid })
}
