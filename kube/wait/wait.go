// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"context"
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
	// Grace overrides the fields of the waiter's grace that are not zero here.
	Grace Grace
	// Limits are the timeouts of objects that have their own. The wait ends when the time of one is
	// over that is not ready. Timeout is the timeout of the others, if there are Limits; 0 means
	// that only the context limits them.
	Limits  map[*manifest.Object]Limit
	Timeout time.Duration
	// Watch, if it is not nil, reports logs and events of the objects.
	Watch *Watch
	// Beside are Jobs and Pods whose logs and events Watch reports too, and that are not waited for.
	Beside []*manifest.Object
	// Hold goes on until the context ends, whatever is ready or has failed, and reports the state of
	// the objects meanwhile: another client is about to change them. Await returns nil then, without
	// a [progress.Settled].
	Hold bool
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
	targets, w, err := c.prepare(ctx, r)
	if err != nil {
		return err
	}
	w.existence, w.polls = true, r.Legacy
	w.watch, w.hold = newWatcher(ctx, c, r), r.Hold
	if w.watch != nil {
		if w.beside, err = c.api.Targets(ctx, r.Beside, r.Namespace); err != nil {
			return err
		}
	}
	rules := rollout{jobs: r.Jobs, silence: w.grace.Silence, begun: time.Now()}
	w.readiness = rules.evaluate
	if r.Legacy {
		w.readiness = rules.legacy
	}
	return c.wait(ctx, targets, w)
}

// Established waits until CRDs are established, for package apply. It returns a [*FailedError]
// if the server rejects the names of one.
func (c *Waiter) Established(ctx context.Context, definitions []*api.Target) error {
	w := c.newWaiting(Request{})
	w.ready = isEstablished
	return c.wait(ctx, definitions, w)
}

// prepare returns the targets of a request and the state of a wait for them that has not begun.
func (c *Waiter) prepare(ctx context.Context, r Request) ([]*api.Target, *waiting, error) {
	targets, err := c.api.Targets(ctx, r.Objects, r.Namespace)
	if err != nil {
		return nil, nil, err
	}
	w := c.newWaiting(r)
	w.custom, err = expressionsOf(targets)
	return targets, w, err
}

// newWaiting returns the state of a wait that has not begun.
func (c *Waiter) newWaiting(r Request) *waiting {
	return &waiting{
		client: c, report: c.api.Progress(), grace: r.Grace.or(c.grace).orDefault(), namespace: r.Namespace,
		begun: time.Now(), pending: map[*api.Target]string{}, limits: r.Limits, timeout: r.Timeout,
	}
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
	var background sync.WaitGroup
	w.stop, w.background = stop, func(fn func(context.Context)) { background.Go(func() { fn(gctx) }) }
	w.begin(targets)
	w.mu.Lock()
	w.setLimits(targets, w.limits, w.timeout)
	w.startWatching(targets)
	w.mu.Unlock()
	if w.hold {
		group.Go(func() error { <-gctx.Done(); return nil })
	}
	passive := func(t *api.Target) bool { return w.existence && w.custom[t] == nil && isPassive(t) }
	for place, members := range api.ByCollection(api.Filter(targets, func(t *api.Target) bool { return !passive(t) })) {
		group.Go(func() error { return c.observe(gctx, place, members, w.polls, w.observer(members)) })
	}
	if some := api.Filter(targets, passive); len(some) > 0 {
		group.Go(func() error { return c.waitExist(gctx, some, w) })
	}
	err := group.Wait()
	w.end()
	background.Wait()
	w.finish(ctx, targets)
	if w.hold {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	defer c.api.Progress().Send(w.settled())
	switch {
	case w.failed != nil:
		return w.failure(targets, c.explainFailed(ctx, w.failed), c.explainPending(ctx, targets, w))
	case w.expired != nil && len(w.pending) > 0:
		return w.unfinished(targets, context.DeadlineExceeded, c.explainPending(ctx, targets, w))
	case ctx.Err() != nil && len(w.pending) > 0:
		return w.unfinished(targets, context.Cause(ctx), c.explainPending(ctx, targets, w))
	case len(w.pending) > 0:
		return err
	}
	return nil
}

// settled returns the event for the end of the wait.
func (w *waiting) settled() progress.Event {
	e := progress.Event{Kind: progress.Settled}
	if w.watch != nil && w.watch.Summary != nil {
		e.Text = "a summary follows"
	}
	return e
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
