// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/kube/internal/api"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/progress"
)

// CreateHook creates o, a single object, in namespace, unless o names its own, and
// returns the uid of what it has made. Hooks carry no ownership labels: they are not
// part of the release. A custom resource definition is established when CreateHook
// returns; one that exists stays as it is, and has no uid here.
func (c *Applier) CreateHook(ctx context.Context, o *manifest.Object, namespace string) (uid string, err error) {
	t, err := c.api.Single(ctx, o, namespace)
	if err != nil {
		return "", err
	}
	if t.Is(api.CRDGroup, api.CRDKind) {
		return "", c.InstallCRDs(ctx, []*manifest.Object{o})
	}
	body, err := t.Body(kube.Owner{})
	if err != nil {
		return "", err
	}
	answer, err := c.api.Call(ctx, http.MethodPost, t.Resource.Path(t.Namespace, ""), c.writing(),
		briefly("application/json"), body)
	if err != nil {
		return "", t.Fail("create", err)
	}
	c.api.Progress().Send(progress.Event{Kind: progress.Created, Object: t.Short()})
	var made struct {
		Metadata api.Metadata `json:"metadata"`
	}
	if err := json.Unmarshal(answer, &made); err != nil {
		return "", t.Fail("create", err)
	}
	return made.Metadata.UID, nil
}

// DeleteHook asks for the deletion of the object with that uid, which stands in the place
// of o, with what it owns; [wait.Waiter.WaitHookGone] waits for it. One that is not there, or
// that another client has replaced, is fine. Where uid is "", it deletes whatever stands
// there.
func (c *Applier) DeleteHook(ctx context.Context, o *manifest.Object, namespace, uid string) error {
	t, err := c.api.Single(ctx, o, namespace)
	var noMatch *kube.NoMatchError
	if errors.As(err, &noMatch) {
		c.api.ReportGone(noMatch)
		return nil
	}
	if err != nil {
		return err
	}
	return c.remove(ctx, t, uid, Background)
}
