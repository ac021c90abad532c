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

// CreateHook creates o, a single object, in the given namespace unless o has its own, and
// returns the UID of the new object. Hooks have no ownership labels, because they are not part
// of the release. CreateHook waits until a CRD is established; an existing CRD is left
// unchanged. For a CRD, uid is empty.
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
	answer, err := c.api.Call(ctx, http.MethodPost, t.Resource.Path(t.Namespace, ""), c.writeQuery(),
		metadataOnly("application/json"), body)
	if err != nil {
		return "", t.Fail("create", rejected(o, t.Object, err))
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

// DeleteHook requests the deletion of the object that o names, and of its dependents;
// [wait.Waiter.WaitHookGone] waits for it. If uid is not empty, it is a precondition. An object
// that does not exist, or has another UID, is not an error.
func (c *Applier) DeleteHook(ctx context.Context, o *manifest.Object, namespace, uid string) error {
	t, err := c.api.Single(ctx, o, namespace)
	if noMatch, ok := errors.AsType[*kube.NoMatchError](err); ok {
		c.api.WarnNotServed(noMatch)
		return nil
	}
	if err != nil {
		return err
	}
	return c.remove(ctx, t, uid, Background)
}
