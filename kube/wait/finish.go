// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"context"
	"fmt"

	"github.com/moonhelm/moonhelm/kube/internal/api"
)

// Finish waits until all Jobs and Pods among r.Objects have succeeded. It returns a
// [*FailedError] with the end of its log if one fails, cannot start or is deleted. It also does
// for a Pod that keeps crashing, but not for a Job, which limits its retries itself. Objects of
// other kinds are finished when they exist, or according to their readiness annotations (see
// [CheckReadiness]). It ignores r.Jobs and r.Legacy.
func (c *Waiter) Finish(ctx context.Context, r Request) error {
	if c.api.IsDryRun() {
		return nil
	}
	targets, w, err := c.prepare(ctx, r)
	if err != nil {
		return err
	}
	targets = api.Filter(targets,
		func(t *api.Target) bool { return t.Is("batch", "Job") || t.IsPod() || w.custom[t] != nil })
	w.ready, w.watch = isFinished, newWatcher(ctx, c, r)
	return c.wait(ctx, targets, w)
}

// isFinished reports whether a job or pod has succeeded.
func isFinished(t *api.Target, o map[string]any) (bool, string, error) {
	switch {
	case t.IsPod():
		return podFinished(t, o)
	case !t.Is("batch", "Job"):
		return true, "", nil
	case api.String(o, "metadata", "deletionTimestamp") != "":
		return false, "is being deleted", nil
	}
	for _, c := range api.ConditionsOf(o) {
		if c["status"] != "True" {
			continue
		}
		switch c["type"] {
		case "Complete":
			return true, "", nil
		case "Failed", "FailureTarget": // FailureTarget precedes Failed until the pods have terminated
			return false, "", &FailedError{Object: t.String(), Reason: api.Reason(c)}
		}
	}
	return false, jobProgress(o), nil
}

// jobProgress formats the progress of a job: "1 of 3 completed, 2 failed".
func jobProgress(o map[string]any) string {
	if api.Bool(o, "spec", "suspend") {
		return "is suspended"
	}
	if api.String(o, "status", "startTime") == "" {
		return "to start"
	}
	want := int64(1)
	if n, ok := api.Field(o, "spec", "completions").(int64); ok {
		want = n
	}
	missing := fmt.Sprintf("%d of %d completed", api.Int(o, "status", "succeeded"), want)
	if failed := api.Int(o, "status", "failed"); failed > 0 {
		missing += fmt.Sprintf(", %d failed", failed)
	}
	return missing
}

func podFinished(t *api.Target, o map[string]any) (bool, string, error) {
	switch phase := api.String(o, "status", "phase"); phase {
	case "Succeeded":
		return true, "", nil
	case "Failed":
		return false, "", &FailedError{Object: t.String(), Reason: podFailure(o)}
	case "":
		return false, "to be scheduled", nil
	default:
		return false, "not completed yet: it is " + phase, nil
	}
}
