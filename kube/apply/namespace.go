// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/kube/internal/api"
)

// CreateNamespace creates a namespace with the label name, as Helm does. It succeeds if the
// namespace exists, even if the user may not create namespaces.
func (c *Applier) CreateNamespace(ctx context.Context, name string) error {
	body, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Namespace",
		"metadata": map[string]any{"name": name, "labels": map[string]string{"name": name}},
	})
	if err != nil {
		return err
	}
	_, err = c.api.Call(ctx, http.MethodPost, "/api/v1/namespaces", c.writeQuery(), metadataOnly("application/json"), body)
	if err == nil || apierrors.IsAlreadyExists(err) {
		return nil
	}
	if _, ok := errors.AsType[*kube.ForbiddenError](err); ok {
		if _, gerr := c.api.Call(ctx, http.MethodGet, "/api/v1/namespaces/"+name, nil,
			http.Header{"Accept": {api.AcceptMeta}}, nil); gerr == nil {
			return nil
		}
	}
	return fmt.Errorf("create namespace %s: %w", name, err)
}
