// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

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
	w := &waiting{pending: map[*target]string{}, report: c.progress, ready: func(t *target, o map[string]any) (bool, string, error) {
		return readiness(t, o, jobs)
	}}
	return c.wait(ctx, targets, w)
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

	mu      sync.Mutex
	pending map[*target]string
}

// wait follows all places that targets live in until each of them is ready.
func (c *Client) wait(ctx context.Context, targets []*target, w *waiting) error {
	for _, t := range targets {
		w.pending[t] = "does not exist yet"
	}
	group, gctx := errgroup.WithContext(ctx)
	for place, members := range byPlace(targets) {
		group.Go(func() error { return c.observe(gctx, place, members, w.watcher(members)) })
	}
	err := group.Wait()
	if ctx.Err() != nil {
		return w.ended(context.Cause(ctx))
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
		w.mu.Lock()
		told := w.pending[t] == missing
		if w.pending[t] = missing; ok {
			delete(w.pending, t)
		}
		w.mu.Unlock()
		switch {
		case ok:
			delete(left, name)
			w.report.Send(progress.Event{Kind: progress.Ready, Object: t.short()})
		case !told:
			w.report.Send(progress.Event{Kind: progress.Waiting, Object: t.short(), Text: missing})
		}
		return len(left) == 0, nil
	}
}

func (w *waiting) ended(why error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	e := &WaitError{Err: why}
	for t, missing := range w.pending {
		if missing == "" {
			missing = "not ready"
		}
		e.Pending = append(e.Pending, t.String()+" ("+missing+")")
	}
	slices.Sort(e.Pending)
	return e
}
