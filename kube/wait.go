// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/progress"
)

// FailedError tells that an object has failed and will not become ready.
type FailedError struct {
	Object string
	// Reason is what the cluster says of it.
	Reason string
	// Details are lines that explain it: events, the end of a log.
	Details []string
}

func (e *FailedError) Error() string {
	s := fmt.Sprintf("%s failed: %s", e.Object, e.Reason)
	for _, d := range e.Details {
		s += "\n  " + d
	}
	return s
}

// WaitReady returns when all objects are ready: workloads rolled out, claims
// bound, custom resources as their conditions say (kstatus), and jobs complete
// where jobs says so. An object that cannot become ready any more is a
// [*FailedError] at once; when ctx ends before, a [*WaitError] names what is
// missing.
func (c *Client) WaitReady(ctx context.Context, objects []*manifest.Object, namespace string, jobs bool) error {
	if c.dryRun {
		return nil
	}
	targets, err := c.targets(ctx, objects, namespace)
	if err != nil {
		return err
	}
	w := &waiting{pending: map[*target]string{}, report: c.progress, existence: true, ready: func(t *target, o map[string]any) (bool, string, error) {
		return readiness(t, o, jobs)
	}}
	return c.wait(ctx, targets, w)
}

// passive tells whether an object of the target's kind is ready as soon as it
// exists. To know that of a ConfigMap, nobody needs its contents.
func passive(t *target) bool {
	switch t.kind {
	case "ConfigMap", "Secret", "ServiceAccount", "LimitRange":
		return t.res.apiVersion == "v1"
	case "NetworkPolicy":
		return t.res.apiVersion == "networking.k8s.io/v1"
	case "PriorityClass", "StorageClass", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding":
		group, _, _ := strings.Cut(t.res.apiVersion, "/")
		return strings.HasSuffix(group, ".k8s.io")
	}
	return false
}

// appear returns when all targets exist.
func (c *Client) appear(ctx context.Context, targets []*target, w *waiting) error {
	for delay := 50 * time.Millisecond; len(targets) > 0; delay = min(2*delay, time.Second) {
		live, err := c.live(ctx, targets)
		if err != nil {
			return err
		}
		targets = keep(targets, func(t *target) bool { return live[t] == nil || !w.settle(t) })
		if len(targets) > 0 {
			if err := pause(ctx, delay); err != nil {
				return err
			}
		}
	}
	return nil
}

// readiness is kstatus's word on one object, except for jobs and pods that
// finish: it takes a job that has begun for ready.
func readiness(t *target, o map[string]any, jobs bool) (bool, string, error) {
	if jobs && t.kind == "Job" && t.res.apiVersion == "batch/v1" {
		return finished(t, o)
	}
	res, err := status.Compute(&unstructured.Unstructured{Object: o})
	if err != nil {
		return false, "", t.fail("compute the status of", err)
	}
	switch res.Status {
	case status.CurrentStatus:
		return true, "", nil
	case status.FailedStatus:
		return false, "", &FailedError{Object: t.String(), Reason: res.Message}
	}
	return false, res.Message, nil
}

// waiting is what one wait knows.
type waiting struct {
	ready  func(*target, map[string]any) (ok bool, missing string, err error)
	report progress.Func
	// existence is enough for passive kinds.
	existence bool

	mu      sync.Mutex
	pending map[*target]string
}

// wait follows all places that targets live in until each of them is ready.
func (c *Client) wait(ctx context.Context, targets []*target, w *waiting) error {
	targets = keep(targets, func(t *target) bool { return t.name != "" })
	for _, t := range targets {
		w.pending[t] = "does not exist yet"
	}
	group, gctx := errgroup.WithContext(ctx)
	still := keep(targets, func(t *target) bool { return !w.existence || !passive(t) })
	for place, members := range byPlace(still) {
		group.Go(func() error { return c.observe(gctx, place, members, w.watcher(members)) })
	}
	if w.existence {
		group.Go(func() error { return c.appear(gctx, keep(targets, passive), w) })
	}
	err := group.Wait()
	if ctx.Err() != nil {
		return w.ended(context.Cause(ctx), c.explainPending(ctx, targets, w))
	}
	var failed *FailedError
	if errors.As(err, &failed) && len(failed.Details) == 0 {
		failed.Details = c.explain(ctx, targets, failed)
	}
	return err
}

// watcher returns what follows the members of one place.
func (w *waiting) watcher(members []*target) func(string, map[string]any) (bool, error) {
	byName := map[string]*target{}
	left := map[string]bool{}
	for _, t := range members {
		byName[t.name], left[t.name] = t, true
	}
	return func(name string, o map[string]any) (bool, error) {
		t := byName[name]
		if o == nil || !left[name] {
			return false, nil
		}
		ok, missing, err := w.ready(t, o)
		if err != nil {
			return true, err
		}
		if ok {
			w.settle(t)
			delete(left, name)
			return len(left) == 0, nil
		}
		w.mu.Lock()
		told := w.pending[t] == missing
		w.pending[t] = missing
		w.mu.Unlock()
		if !told {
			w.report.Send(progress.Event{Kind: progress.Waiting, Object: t.short(), Text: missing})
		}
		return false, nil
	}
}

// settle notes that t is ready.
func (w *waiting) settle(t *target) bool {
	w.mu.Lock()
	delete(w.pending, t)
	w.mu.Unlock()
	w.report.Send(progress.Event{Kind: progress.Ready, Object: t.short()})
	return true
}

// ended is the error of a wait that ran out of time.
func (w *waiting) ended(why error, details []string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	e := &WaitError{Err: why, Details: details}
	for t, missing := range w.pending {
		if missing == "" {
			missing = "not ready"
		}
		e.Pending = append(e.Pending, t.String()+" ("+missing+")")
	}
	slices.Sort(e.Pending)
	return e
}
