// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"errors"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	k8sjson "k8s.io/apimachinery/pkg/util/json"

	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/progress"
)

// LiveHook reads the object that stands in the place of o; nil where none does,
// or where the cluster does not serve o's kind.
func (c *Client) LiveHook(ctx context.Context, o *manifest.Object, namespace string) (map[string]any, error) {
	targets, err := c.targets(ctx, []*manifest.Object{o}, namespace)
	var noKind *NoKindError
	if errors.As(err, &noKind) {
		return nil, nil // to create it is an error that says more
	}
	if err != nil || len(targets) != 1 || targets[0].name == "" {
		return nil, err
	}
	t := targets[0]
	body, err := c.Call(ctx, http.MethodGet, t.path(), nil, nil, nil)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, t.fail("read", err)
	}
	var live map[string]any
	if err := k8sjson.Unmarshal(body, &live); err != nil {
		return nil, t.fail("read", err)
	}
	return live, nil
}

// UpdateHook changes the object that stands in the place of o to what o says;
// what o does not mention stays.
func (c *Client) UpdateHook(ctx context.Context, o *manifest.Object, namespace string) error {
	targets, err := c.targets(ctx, []*manifest.Object{o}, namespace)
	if err != nil {
		return err
	}
	return eachTurn(ctx, targets, func(ctx context.Context, t *target) error {
		body, err := t.body(Owner{})
		if err != nil {
			return err
		}
		if err := c.patch(ctx, t, body); err != nil {
			return t.fail("update", err)
		}
		c.progress.Send(progress.Event{Kind: progress.Updated, Object: t.short()})
		return nil
	})
}
