// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/moonhelm/moonhelm/internal/linger"
	"github.com/moonhelm/moonhelm/kube/internal/api"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/progress"
)

// Request says what to wait for.
type Request struct {
	Objects   []*manifest.Object
	Namespace string // of objects that name none
	// Jobs waits until jobs are complete; else one that has begun is ready.
	Jobs bool
	// Legacy asks again and again, with the readiness rules of Helm 3, instead
	// of watching.
	Legacy bool
}

// A FailedError is returned for an object that has failed and will not become ready.
type FailedError struct {
	Object string
	// Reason is what the cluster says of it.
	Reason string
	// Details are lines that explain it: events, the end of a log.
	Details []string
	// Others are further objects that were in trouble, each with which.
	Others []string
}

func (e *FailedError) Error() string {
	s := fmt.Sprintf("%s failed: %s", e.Object, e.Reason)
	for _, d := range e.Details {
		s += "\n  " + d
	}
	for _, o := range e.Others {
		s += "\n  also in trouble: " + o
	}
	return s
}

// Await returns when all objects are ready: workloads rolled out, claims bound,
// custom resources as their conditions say (kstatus) and their annotations
// (see [CheckReadiness]), jobs as r.Jobs says. What a controller has not looked
// at since it was changed is not ready. A Deployment that is paused and a Job
// that is suspended are: nothing will happen to them.
//
// When it is certain that an object will not become ready, Await returns a
// [*FailedError] at once: a job that has failed, a rollout over its deadline, a
// pod that cannot be started or that crashes again and again. When ctx ends
// before, a [*PendingError] names what is missing. Both tell what the pods, their
// logs and their events say. A server that is away for a while is not an error.
func (c *Waiter) Await(ctx context.Context, r Request) error {
	if c.api.IsDryRun() {
		return nil
	}
	targets, err := c.api.Targets(ctx, r.Objects, r.Namespace)
	if err != nil {
		return err
	}
	custom, err := expressionsOf(targets)
	if err != nil {
		return err
	}
	w := &waiting{pending: map[*api.Target]string{}, report: c.api.Progress(), existence: true, polls: r.Legacy,
		custom: custom}
	rules := rollout{jobs: r.Jobs, silence: c.grace.orDefault().Silence, begun: time.Now()}
	w.judge = rules.judge
	if r.Legacy {
		w.judge = rules.legacy
	}
	return c.wait(ctx, targets, w)
}

// Established is for package apply, which writes definitions. It returns when all of them
// are established, and a [*FailedError] when the server refuses the names of one.
func (c *Waiter) Established(ctx context.Context, definitions []*api.Target) error {
	return c.wait(ctx, definitions,
		&waiting{pending: map[*api.Target]string{}, report: c.api.Progress(), ready: established})
}

// wait follows all places that targets live in until each of them is ready.
func (c *Waiter) wait(ctx context.Context, targets []*api.Target, w *waiting) error {
	targets = api.Filter(targets, func(t *api.Target) bool { return t.Name != "" })
	if len(targets) == 0 {
		return nil
	}
	wctx, stop := context.WithCancel(ctx)
	defer stop()
	group, gctx := errgroup.WithContext(wctx)
	var beside sync.WaitGroup
	w.stop, w.beside = stop, func(fn func(context.Context)) { beside.Go(func() { fn(gctx) }) }
	w.begin(c, targets)
	passive := func(t *api.Target) bool { return w.existence && w.custom[t] == nil && passive(t) }
	for place, members := range api.ByPlace(api.Filter(targets, func(t *api.Target) bool { return !passive(t) })) {
		group.Go(func() error { return c.observe(gctx, place, members, w.polls, w.observer(members)) })
	}
	if some := api.Filter(targets, passive); len(some) > 0 {
		group.Go(func() error { return c.appear(gctx, some, w) })
	}
	err := group.Wait()
	w.end()
	beside.Wait()
	defer c.api.Progress().Send(progress.Event{Kind: progress.Settled})
	switch {
	case w.failed != nil:
		w.failed.error.Others = w.others()
		told := func(line string) bool { return line == w.failed.error.Reason } // an event that says it again
		w.failed.error.Details = append(w.failed.error.Details, slices.DeleteFunc(c.explainFailed(ctx, w.failed), told)...)
		return w.failed.error
	case ctx.Err() != nil && len(w.pending) > 0:
		return w.timedOut(context.Cause(ctx), c.explainPending(ctx, targets, w))
	case len(w.pending) > 0:
		return err
	}
	return nil
}

// passive reports whether an object of the target's kind is ready as soon as it
// exists. To know that of a ConfigMap, no one needs its contents.
func passive(t *api.Target) bool {
	switch t.Kind {
	case "ConfigMap", "Secret", "ServiceAccount", "LimitRange":
		return t.Group() == ""
	case "NetworkPolicy":
		return t.Group() == "networking.k8s.io"
	case "PriorityClass", "StorageClass":
		return t.Group() == "scheduling.k8s.io" || t.Group() == "storage.k8s.io"
	case "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding":
		return t.Group() == "rbac.authorization.k8s.io"
	}
	return false
}

// appear returns when all targets exist.
func (c *Waiter) appear(ctx context.Context, targets []*api.Target, w *waiting) error {
	var trouble outage
	for delay := 50 * time.Millisecond; ; delay = min(2*delay, time.Second) {
		live, err := c.api.ReadMetadata(ctx, targets)
		if err != nil {
			err = trouble.endure(ctx, err)
		} else {
			trouble = outage{}
			targets = api.Filter(targets, func(t *api.Target) bool { return live[t] == nil || !w.exists(t) })
		}
		if err != nil || len(targets) == 0 {
			return err
		}
		if err := linger.Sleep(ctx, delay); err != nil {
			return err
		}
	}
}

// A PendingError is returned when a wait ends before all objects are ready, or gone.
type PendingError struct {
	// Pending are the objects, each with what it is missing.
	Pending []string
	// Details are lines that explain it: what the pods say.
	Details []string
	Err     error // why waiting ended: context.DeadlineExceeded, ...
}

func (e *PendingError) Error() string {
	why := e.Err.Error() + " while waiting for"
	if errors.Is(e.Err, context.DeadlineExceeded) { // in the words of Helm 3, and of Helm 4
		why = "timed out waiting for the condition (context deadline exceeded):"
	}
	s := fmt.Sprintf("%s %s", why, strings.Join(e.Pending, "; "))
	for _, d := range e.Details {
		s += "\n  " + d
	}
	return s
}

func (e *PendingError) Unwrap() error { return e.Err }

// Hint says what a user of the command line can do about it, "" where it was not the time
// that ended the wait.
func (e *PendingError) Hint() string {
	if !errors.Is(e.Err, context.DeadlineExceeded) {
		return ""
	}
	return "--timeout gives it more time; helm status tells how it is now"
}
