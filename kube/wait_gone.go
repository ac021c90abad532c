// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"errors"
	"github.com/moonhelm/moonhelm/internal/linger"
	"time"

	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/progress"
)

// WaitGone returns when none of the objects exists any more, or a [*WaitError]
// when ctx ends before. What has not the owner's marks is not waited for:
// [Client.Delete] has left it alone.
func (c *Client) WaitGone(ctx context.Context, objects []*manifest.Object, owner Owner) error {
	if c.dryRun {
		return nil
	}
	targets, err := c.existing(ctx, objects, owner.Namespace)
	if err != nil {
		return err
	}
	return c.gone(ctx, targets, func(m *meta) bool { return m.foreign(owner) == "" })
}

// gone returns when nothing stands any more where the targets are; what is not
// awaited does not count.
func (c *Client) gone(ctx context.Context, targets []*target, awaited func(*meta) bool) error {
	told := false
	defer func() {
		if told {
			c.progress.Send(progress.Event{Kind: progress.Settled})
		}
	}()
	var trouble outage
	var last map[*target]*meta // as it was when the server answered last
	for delay := 25 * time.Millisecond; ; delay = min(delay*2, time.Second) {
		live, err := c.live(ctx, targets)
		if err != nil && ctx.Err() == nil {
			if err := trouble.endure(ctx, err); err != nil && ctx.Err() == nil {
				return err
			}
		}
		if err == nil {
			trouble, last = outage{}, live
			targets = keep(targets, func(t *target) bool {
				there := live[t] != nil && awaited(live[t])
				if !there && told {
					c.progress.Send(progress.Event{Kind: progress.Ready, Object: t.short(), Text: "gone"})
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
				c.progress.Send(progress.Event{Kind: progress.Waiting, Object: t.short(), Text: "to be gone"})
			}
		}
		if err := linger.Sleep(ctx, delay); err != nil {
			return &WaitError{Pending: pendingGone(targets, last), Err: err}
		}
	}
}

func pendingGone(targets []*target, live map[*target]*meta) []string {
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

// WaitHookGone returns when the object with that uid, which [Client.DeleteHook] has
// deleted, does not exist any more; where uid is "", when nothing stands there.
func (c *Client) WaitHookGone(ctx context.Context, o *manifest.Object, namespace, uid string) error {
	if c.dryRun {
		return nil
	}
	t, err := c.single(ctx, o, namespace)
	var noMatch *NoMatchError
	if errors.As(err, &noMatch) {
		return nil // gone with its kind
	}
	if err != nil {
		return err
	}
	return c.gone(ctx, []*target{t}, func(m *meta) bool { return uid == "" || m.UID == uid })
}
