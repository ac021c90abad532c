// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/progress"
)

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
