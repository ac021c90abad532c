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

// HookPlace says where an object lives, as the cluster knows its kind.
type HookPlace struct {
	// Served reports whether the cluster has the object's kind; if not, it says
	// nothing else.
	Served bool
	// Namespace is "" for a kind of the whole cluster.
	Namespace string
	// Definition reports whether it is a custom resource definition.
	Definition bool
}

// PlaceHook finds out where o, a single object, lives.
func (c *Applier) PlaceHook(ctx context.Context, o *manifest.Object, namespace string) (HookPlace, error) {
	t, err := c.api.Single(ctx, o, namespace)
	var noMatch *kube.NoMatchError
	if errors.As(err, &noMatch) {
		return HookPlace{}, nil
	}
	if err != nil {
		return HookPlace{}, err
	}
	return HookPlace{Served: true, Namespace: t.Namespace, Definition: t.Is(api.CRDGroup, api.CRDKind)}, nil
}

// LiveHook reads the object that stands in the place of o; nil where none does,
// or where the cluster does not serve o's kind.
func (c *Applier) LiveHook(ctx context.Context, o *manifest.Object, namespace string) (map[string]any, error) {
	t, err := c.api.Single(ctx, o, namespace)
	var noMatch *kube.NoMatchError
	if errors.As(err, &noMatch) {
		return nil, nil // to create it is an error that says more
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

// UpdateHook changes the object with that uid, which stands in the place of o, to
// what o says; what o does not mention stays. Where another client has replaced it,
// the server refuses that.
func (c *Applier) UpdateHook(ctx context.Context, o *manifest.Object, namespace, uid string) error {
	t, err := c.api.Single(ctx, o, namespace)
	if err != nil {
		return err
	}
	object := t.Marked(kube.Owner{})
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
