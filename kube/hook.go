// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/progress"
)

// single is the target of o, which must be a single object and no list: what is true
// of a list as a whole, such as its name or its kind, is not true of its items.
func (c *Client) single(ctx context.Context, o *manifest.Object, namespace string) (*target, error) {
	targets, err := c.targets(ctx, []*manifest.Object{o}, namespace)
	if err != nil {
		return nil, err
	}
	if len(targets) != 1 {
		return nil, fmt.Errorf("%s holds %d objects, not one", o, len(targets))
	}
	return targets[0], nil
}

// CreateHook creates o, a single object, in namespace, unless o names its own, and
// returns the uid of what it has made. Hooks carry no ownership labels: they are not
// part of the release. A custom resource definition is established when CreateHook
// returns; one that exists stays as it is, and has no uid here.
func (c *Client) CreateHook(ctx context.Context, o *manifest.Object, namespace string) (uid string, err error) {
	t, err := c.single(ctx, o, namespace)
	if err != nil {
		return "", err
	}
	if t.is(crdGroup, crdKind) {
		return "", c.InstallCRDs(ctx, []*manifest.Object{o})
	}
	body, err := t.body(Owner{})
	if err != nil {
		return "", err
	}
	answer, err := c.Call(ctx, http.MethodPost, t.res.path(t.namespace, ""), c.writing(), briefly("application/json"), body)
	if err != nil {
		return "", t.fail("create", err)
	}
	c.progress.Send(progress.Event{Kind: progress.Created, Object: t.short()})
	var made struct {
		Metadata meta `json:"metadata"`
	}
	if err := json.Unmarshal(answer, &made); err != nil {
		return "", t.fail("create", err)
	}
	return made.Metadata.UID, nil
}

// DeleteHook asks for the deletion of the object with that uid, which stands in the place
// of o, with what it owns; [Client.WaitHookGone] waits for it. One that is not there, or
// that another client has replaced, is fine. Where uid is "", it deletes whatever stands
// there.
func (c *Client) DeleteHook(ctx context.Context, o *manifest.Object, namespace, uid string) error {
	t, err := c.single(ctx, o, namespace)
	var noMatch *NoMatchError
	if errors.As(err, &noMatch) {
		c.gonewith(noMatch)
		return nil
	}
	if err != nil {
		return err
	}
	return c.remove(ctx, t, uid, Background)
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

// Finish returns when all Jobs and Pods among objects have succeeded, and a
// [*FailedError] with the end of its log when one failed, cannot be started, or was
// deleted; a Pod also when it crashes again and again, while a Job says itself how
// often it may. An object of any other kind is finished when it exists, or when its
// readiness annotations say so (see [CheckReadiness]).
func (c *Client) Finish(ctx context.Context, objects []*manifest.Object, namespace string) error {
	if c.dryRun {
		return nil
	}
	targets, err := c.targets(ctx, objects, namespace)
	if err != nil {
		return err
	}
	custom, err := expressionsOf(targets)
	if err != nil {
		return err
	}
	targets = keep(targets, func(t *target) bool { return t.is("batch", "Job") || t.isPod() || custom[t] != nil })
	return c.wait(ctx, targets, &waiting{pending: map[*target]string{}, report: c.progress, ready: finished, custom: custom})
}

// finished reports whether a job or pod has ended well.
func finished(t *target, o map[string]any) (bool, string, error) {
	switch {
	case t.isPod():
		return podFinished(t, o)
	case !t.is("batch", "Job"):
		return true, "", nil
	case str(o, "metadata", "deletionTimestamp") != "":
		return false, "is being deleted", nil
	}
	for _, c := range conditionsOf(o) {
		if c["status"] != "True" {
			continue
		}
		switch c["type"] {
		case "Complete":
			return true, "", nil
		case "Failed", "FailureTarget": // the latter as soon as it is decided, before the pods are gone
			return false, "", &FailedError{Object: t.String(), Reason: reason(c)}
		}
	}
	return false, jobProgress(o), nil
}

// jobProgress tells how far a job is: "1 of 3 completed, 2 failed".
func jobProgress(o map[string]any) string {
	if flag(o, "spec", "suspend") {
		return "is suspended"
	}
	if str(o, "status", "startTime") == "" {
		return "to begin"
	}
	want := int64(1)
	if n, ok := field(o, "spec", "completions").(int64); ok {
		want = n
	}
	missing := fmt.Sprintf("%d of %d completed", integer(o, "status", "succeeded"), want)
	if failed := integer(o, "status", "failed"); failed > 0 {
		missing += fmt.Sprintf(", %d failed", failed)
	}
	return missing
}

func podFinished(t *target, o map[string]any) (bool, string, error) {
	switch phase := str(o, "status", "phase"); phase {
	case "Succeeded":
		return true, "", nil
	case "Failed":
		return false, "", &FailedError{Object: t.String(), Reason: podFailure(o)}
	case "":
		return false, "to be scheduled", nil
	default:
		return false, "to complete: it is " + phase, nil
	}
}
