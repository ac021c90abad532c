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

// Request configures a wait.
type Request struct {
	Objects   []*manifest.Object
	Namespace string // of objects without a namespace
	// Jobs waits until jobs have completed; otherwise a job is ready when it has started.
	Jobs bool
	// Legacy applies the readiness rules of Helm 3 and polls instead of watching.
	Legacy bool
}

// A FailedError is returned for an object that has failed and will not become ready.
type FailedError struct {
	Object string
	// Reason is the reason in the object's status or pods.
	Reason string
	// Details are lines that explain the failure: events, the end of a log.
	Details []string
	// Others lists further failing objects with their reasons.
	Others []string
}

func (e *FailedError) Error() string {
	s := fmt.Sprintf("%s failed: %s", e.Object, e.Reason)
	for _, d := range e.Details {
		s += "\n  " + d
	}
	for _, o := range e.Others {
		s += "\n  also failing: " + o
	}
	return s
}

// Await waits until all objects are ready: workloads rolled out, claims bound, custom resources
// ready by their conditions (as in kstatus) and annotations (see [CheckReadiness]), and jobs
// started or completed, as r.Jobs says. An object whose controller has not observed its latest
// generation is not ready. A paused Deployment and a suspended Job are ready, because nothing
// will happen to them.
//
// If it is certain that an object will not become ready, Await returns a [*FailedError] at
// once: for a failed job, a rollout that has exceeded its deadline, a pod that cannot start or
// that keeps crashing. If ctx ends before, it returns a [*PendingError] with the missing
// objects. Both contain details from pods, logs and events. Await tolerates a temporary outage
// of the server.
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
	w.judge = rules.evaluate
	if r.Legacy {
		w.judge = rules.legacy
	}
	return c.wait(ctx, targets, w)
}

// Established waits until CRDs are established, for package apply. It returns a [*FailedError]
// if the server rejects the names of one.
func (c *Waiter) Established(ctx context.Context, definitions []*api.Target) error {
	return c.wait(ctx, definitions,
		&waiting{pending: map[*api.Target]string{}, report: c.api.Progress(), ready: isEstablished})
}

// wait watches the collections of all targets until every target is ready.
func (c *Waiter) wait(ctx context.Context, targets []*api.Target, w *waiting) error {
	targets = api.Filter(targets, func(t *api.Target) bool { return t.Name != "" })
	if len(targets) == 0 {
		return nil
	}
	wctx, stop := context.WithCancel(ctx)
	defer stop()
	group, gctx := errgroup.WithContext(wctx)
	var beside sync.WaitGroup
	w.stop, w.background = stop, func(fn func(context.Context)) { beside.Go(func() { fn(gctx) }) }
	w.begin(c, targets)
	passive := func(t *api.Target) bool { return w.existence && w.custom[t] == nil && isPassive(t) }
	for place, members := range api.ByCollection(api.Filter(targets, func(t *api.Target) bool { return !passive(t) })) {
		group.Go(func() error { return c.observe(gctx, place, members, w.polls, w.observer(members)) })
	}
	if some := api.Filter(targets, passive); len(some) > 0 {
		group.Go(func() error { return c.waitExist(gctx, some, w) })
	}
	err := group.Wait()
	w.end()
	beside.Wait()
	defer c.api.Progress().Send(progress.Event{Kind: progress.Settled})
	switch {
	case w.failed != nil:
		w.failed.error.Others = w.others()
		repeated := func(line string) bool { return line == w.failed.error.Reason } // an event with the same text
		details := slices.DeleteFunc(c.explainFailed(ctx, w.failed), repeated)
		w.failed.error.Details = append(w.failed.error.Details, details...)
		return w.failed.error
	case ctx.Err() != nil && len(w.pending) > 0:
		return w.timedOut(context.Cause(ctx), c.explainPending(ctx, targets, w))
	case len(w.pending) > 0:
		return err
	}
	return nil
}

// isPassive reports whether an object of the target's kind is ready as soon as it exists, so that
// its metadata is enough.
func isPassive(t *api.Target) bool {
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

// waitExist waits until all targets exist.
func (c *Waiter) waitExist(ctx context.Context, targets []*api.Target, w *waiting) error {
	var trouble outage
	for delay := 50 * time.Millisecond; ; delay = min(2*delay, time.Second) {
		live, err := c.api.ReadMetadata(ctx, targets)
		if err != nil {
			err = trouble.retry(ctx, err)
		} else {
			trouble = outage{}
			targets = api.Filter(targets, func(t *api.Target) bool { return live[t] == nil || !w.markExisting(t) })
		}
		if err != nil || len(targets) == 0 {
			return err
		}
		if err := linger.Sleep(ctx, delay); err != nil {
			return err
		}
	}
}

// A PendingError is returned if a wait ends before all objects are ready or deleted.
type PendingError struct {
	// Pending lists the objects, each with its missing state.
	Pending []string
	// Details are lines that explain the state, from the objects' pods.
	Details []string
	Err     error // the cause: context.DeadlineExceeded, ...
}

func (e *PendingError) Error() string {
	why := e.Err.Error() + " while waiting for"
	if errors.Is(e.Err, context.DeadlineExceeded) { // the messages of Helm 3 and Helm 4
		why = "timed out waiting for the condition (context deadline exceeded):"
	}
	s := fmt.Sprintf("%s %s", why, strings.Join(e.Pending, "; "))
	for _, d := range e.Details {
		s += "\n  " + d
	}
	return s
}

func (e *PendingError) Unwrap() error { return e.Err }

// Hint returns advice for the user of the command line if the wait timed out, else "".
func (e *PendingError) Hint() string {
	if !errors.Is(e.Err, context.DeadlineExceeded) {
		return ""
	}
	return "--timeout gives it more time; helm status shows the current state"
}
