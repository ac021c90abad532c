// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"fmt"

	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/progress"
)

// CreateHook creates o in namespace, unless o names its own. Hooks carry no
// marks: they are not part of the release.
func (c *Client) CreateHook(ctx context.Context, o *manifest.Object, namespace string) error {
	targets, err := c.targets(ctx, []*manifest.Object{o}, namespace)
	if err != nil {
		return err
	}
	return eachTurn(ctx, targets, func(ctx context.Context, t *target) error {
		body, err := t.body(Owner{})
		if err != nil {
			return err
		}
		if err := c.create(ctx, t, body); err != nil {
			return t.fail("create", err)
		}
		c.progress.Send(progress.Event{Kind: progress.Created, Object: t.short()})
		return nil
	})
}

// DeleteHook deletes o, with what it owns, and returns when it is gone; one
// that is not there is fine.
func (c *Client) DeleteHook(ctx context.Context, o *manifest.Object, namespace string) error {
	targets, err := c.existing(ctx, []*manifest.Object{o}, namespace)
	if err != nil {
		return err
	}
	err = eachTurn(ctx, targets, func(ctx context.Context, t *target) error {
		return c.remove(ctx, t, "", Background)
	})
	if err != nil || c.dryRun {
		return err
	}
	return c.gone(ctx, targets)
}

// Finish returns when a Job or Pod has succeeded, and a [*FailedError] with the
// end of its log when it failed; any other kind is finished when it exists.
func (c *Client) Finish(ctx context.Context, o *manifest.Object, namespace string) error {
	if c.dryRun {
		return nil
	}
	targets, err := c.targets(ctx, []*manifest.Object{o}, namespace)
	if err != nil {
		return err
	}
	targets = keep(targets, func(t *target) bool {
		return t.kind == "Job" && t.res.apiVersion == "batch/v1" || t.kind == "Pod" && t.res.apiVersion == "v1"
	})
	return c.wait(ctx, targets, &waiting{pending: map[*target]string{}, report: c.progress, ready: finished})
}

// finished tells whether a job or pod has ended well.
func finished(t *target, o map[string]any) (bool, string, error) {
	state, _ := o["status"].(map[string]any)
	if t.kind == "Pod" {
		return podFinished(t, state)
	}
	for _, c := range conditions(state) {
		if c["status"] != "True" {
			continue
		}
		switch c["type"] {
		case "Complete":
			return true, "", nil
		case "Failed":
			return false, "", &FailedError{Object: t.String(), Reason: reason(c)}
		}
	}
	active, _ := state["active"].(int64)
	failed, _ := state["failed"].(int64)
	missing := fmt.Sprintf("to complete: %d pods active", active)
	if failed > 0 {
		missing += fmt.Sprintf(", %d failed", failed)
	}
	return false, missing, nil
}

func podFinished(t *target, state map[string]any) (bool, string, error) {
	switch phase, _ := state["phase"].(string); phase {
	case "Succeeded":
		return true, "", nil
	case "Failed":
		why := reason(state)
		if why == "" {
			why = "its containers ended with an error"
		}
		return false, "", &FailedError{Object: t.String(), Reason: why}
	case "":
		return false, "to be scheduled", nil
	default:
		return false, "to complete: it is " + phase, nil
	}
}

func conditions(state map[string]any) []map[string]any {
	list, _ := state["conditions"].([]any)
	var out []map[string]any
	for _, c := range list {
		if m, ok := c.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

// reason joins the reason and the message of a condition or status.
func reason(m map[string]any) string {
	why, _ := m["reason"].(string)
	message, _ := m["message"].(string)
	switch {
	case why == "":
		return message
	case message == "":
		return why
	}
	return why + ": " + message
}
