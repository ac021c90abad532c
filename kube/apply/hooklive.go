// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	k8sjson "k8s.io/apimachinery/pkg/util/json"

	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/kube/internal/api"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/progress"
)

// HookPlace is the REST mapping of a hook's object.
type HookPlace struct {
	// Served reports whether the cluster serves the object's kind. If not, the other fields are
	// empty.
	Served bool
	// Namespace is empty for a cluster-scoped kind.
	Namespace string
	// Definition reports whether the object is a CRD.
	Definition bool
}

// PlaceHook returns the REST mapping of o, a single object.
func (c *Applier) PlaceHook(ctx context.Context, o *manifest.Object, namespace string) (HookPlace, error) {
	t, err := c.api.Single(ctx, o, namespace)
	if _, ok := errors.AsType[*kube.NoMatchError](err); ok {
		return HookPlace{}, nil
	}
	if err != nil {
		return HookPlace{}, err
	}
	return HookPlace{Served: true, Namespace: t.Namespace, Definition: t.Is(api.CRDGroup, api.CRDKind)}, nil
}

// LiveHook returns the live state of the object that o names, or nil if it does not exist or
// the cluster does not serve its kind.
func (c *Applier) LiveHook(ctx context.Context, o *manifest.Object, namespace string) (map[string]any, error) {
	t, err := c.api.Single(ctx, o, namespace)
	if _, ok := errors.AsType[*kube.NoMatchError](err); ok {
		return nil, nil // creating it returns an error with more details
	}
	if err != nil || t.Name == "" {
		return nil, err
	}
	body, err := c.api.Call(ctx, http.MethodGet, t.Path(), nil, nil, nil)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, t.Fail("read", err)
	}
	var live map[string]any
	if err := k8sjson.Unmarshal(body, &live); err != nil {
		return nil, t.Fail("read", err)
	}
	return live, nil
}

// UpdateHook patches the object that o names and that has the given UID with the fields of o.
// If another client has replaced the object, the server refuses the patch.
func (c *Applier) UpdateHook(ctx context.Context, o *manifest.Object, namespace, uid string) error {
	t, err := c.api.Single(ctx, o, namespace)
	if err != nil {
		return err
	}
	object := t.Labeled(kube.Owner{})
	object["metadata"].(map[string]any)["uid"] = uid
	body, err := json.Marshal(object)
	if err != nil {
		return t.Fail("encode", err)
	}
	if err := c.patch(ctx, t, body); err != nil {
		return t.Fail("update", err)
	}
	c.api.Progress().Send(progress.Event{Kind: progress.Updated, Object: t.Short()})
	return nil
}
