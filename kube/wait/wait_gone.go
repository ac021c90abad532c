// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"context"
	"errors"
	"slices"
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
	return c.waitDeleted(ctx, targets, owner.Namespace, func(m *api.Metadata) bool { return m.Foreign(owner) == "" })
}

// waitDeleted waits until no target exists for which awaited returns true.
func (c *Waiter) waitDeleted(ctx context.Context, targets []*api.Target, namespace string,
	awaited func(*api.Metadata) bool) error {
	begun, total, reported := time.Now(), len(targets), int64(0)
	defer func() {
		if reported > 0 {
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
				if !there && reported > 0 {
					c.api.Progress().Send(progress.Event{Kind: progress.Ready, Object: t.Short(), Text: "deleted",
						Total: reported})
				}
				return there
			})
		}
		if len(targets) == 0 {
			return nil
		}
		if reported == 0 && err == nil {
			reported = int64(len(targets))
			for _, t := range targets {
				c.api.Progress().Send(progress.Event{Kind: progress.Waiting, Object: t.Short(), Text: "to be deleted",
					Total: reported})
			}
		}
		if err := linger.Sleep(ctx, delay); err != nil {
			return &PendingError{Problems: pendingDeletions(targets, last, namespace), Total: total, Deletion: true,
				After: time.Since(begun), Err: err}
		}
	}
}

// pendingDeletions returns the problems of targets that still exist, with the given metadata.
func pendingDeletions(targets []*api.Target, live map[*api.Target]*api.Metadata, namespace string) []Problem {
	var out []Problem
	for _, t := range targets {
		p := Problem{Kind: t.Kind, Name: t.Name, Namespace: t.Namespace, Missing: "not deleted yet",
			elsewhere: t.Namespace != "" && t.Namespace != namespace}
		switch m := live[t]; {
		case m == nil:
		case m.Deletion == "":
			p.Cause = "its deletion was not requested"
		case len(m.Finalizers) > 0:
			p.Cause = waitsForFinalizers(m.Finalizers)
		}
		out = append(out, p)
	}
	slices.SortStableFunc(out, func(a, b Problem) int { return rank(b.Cause != "") - rank(a.Cause != "") })
	return out
}

// WaitHookGone waits until the object with the given UID, which DeleteHook of package apply has
// deleted, no longer exists. If uid is "", it waits until no object with the name exists.
func (c *Waiter) WaitHookGone(ctx context.Context, o *manifest.Object, namespace, uid string) error {
	if c.api.IsDryRun() {
		return nil
	}
	t, err := c.api.Single(ctx, o, namespace)
	if _, ok := errors.AsType[*kube.NoMatchError](err); ok {
		return nil // deleted with its CRD
	}
	if err != nil {
		return err
	}
	return c.waitDeleted(ctx, []*api.Target{t}, namespace, func(m *api.Metadata) bool { return uid == "" || m.UID == uid })
}
