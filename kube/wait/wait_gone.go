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

// WaitGone returns when none of the objects exists any more, or a [*PendingError]
// when ctx ends before. What has not the owner's marks is not waited for:
// Delete of package apply has left it alone.
func (c *Waiter) WaitGone(ctx context.Context, objects []*manifest.Object, owner kube.Owner) error {
	if c.api.IsDryRun() {
		return nil
	}
	targets, err := c.api.Existing(ctx, objects, owner.Namespace)
	if err != nil {
		return err
	}
	return c.gone(ctx, targets, func(m *api.Metadata) bool { return m.Foreign(owner) == "" })
}

// gone returns when nothing stands any more where the targets are; what is not
// awaited does not count.
func (c *Waiter) gone(ctx context.Context, targets []*api.Target, awaited func(*api.Metadata) bool) error {
	told := false
	defer func() {
		if told {
			c.api.Progress().Send(progress.Event{Kind: progress.Settled})
		}
	}()
	var trouble outage
	var last map[*api.Target]*api.Metadata // as it was when the server answered last
	for delay := 25 * time.Millisecond; ; delay = min(delay*2, time.Second) {
		live, err := c.api.ReadMetadata(ctx, targets)
		if err != nil && ctx.Err() == nil {
			if err := trouble.endure(ctx, err); err != nil && ctx.Err() == nil {
				return err
			}
		}
		if err == nil {
			trouble, last = outage{}, live
			targets = api.Filter(targets, func(t *api.Target) bool {
				there := live[t] != nil && awaited(live[t])
				if !there && told {
					c.api.Progress().Send(progress.Event{Kind: progress.Ready, Object: t.Short(), Text: "gone"})
				}
				return there
			})
		}
		if len(targets) == 0 {
			return nil
		}
		if !told && err == nil {
			told = true
			for _, t := range targets {
				c.api.Progress().Send(progress.Event{Kind: progress.Waiting, Object: t.Short(), Text: "to be gone"})
			}
		}
		if err := linger.Sleep(ctx, delay); err != nil {
			return &PendingError{Pending: pendingGone(targets, last), Err: err}
		}
	}
}

func pendingGone(targets []*api.Target, live map[*api.Target]*api.Metadata) []string {
	var out []string
	for _, t := range targets {
		s := t.String() + " to be gone"
		if m := live[t]; m != nil && m.Deletion == "" {
			s += " (nothing deletes it)"
		}
		out = append(out, s)
	}
	return out
}

// WaitHookGone returns when the object with that uid, which DeleteHook of package apply has
// deleted, does not exist any more; where uid is "", when nothing stands there.
func (c *Waiter) WaitHookGone(ctx context.Context, o *manifest.Object, namespace, uid string) error {
	if c.api.IsDryRun() {
		return nil
	}
	t, err := c.api.Single(ctx, o, namespace)
	var noMatch *kube.NoMatchError
	if errors.As(err, &noMatch) {
		return nil // gone with its kind
	}
	if err != nil {
		return err
	}
	return c.gone(ctx, []*api.Target{t}, func(m *api.Metadata) bool { return uid == "" || m.UID == uid })
}
