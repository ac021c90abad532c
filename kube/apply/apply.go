// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"cmp"
	"context"
	"net/http"
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/kube/internal/api"
)

// writeQuery returns the query parameters of a write.
func (c *Applier) writeQuery() url.Values {
	query := url.Values{"fieldManager": {kube.FieldManager},
		"fieldValidation": {string(cmp.Or(c.options.FieldValidation, FieldValidationStrict))}}
	if c.api.IsDryRun() {
		query.Set("dryRun", "All")
	}
	return query
}

// metadataOnly returns the headers of a request whose response needs to contain only the
// object's metadata.
func metadataOnly(contentType string) http.Header {
	return http.Header{"Content-Type": {contentType}, "Accept": {api.AcceptMeta}}
}

func (c *Applier) create(ctx context.Context, t *api.Target, body []byte) error {
	_, err := c.api.Call(ctx, http.MethodPost, t.Resource.Path(t.Namespace, ""), c.writeQuery(),
		metadataOnly("application/json"), body)
	return err
}

// patch merges body into an existing object, by a strategic merge if the server supports it for
// the kind (it does for built-in kinds), else by a JSON merge.
func (c *Applier) patch(ctx context.Context, t *api.Target, body []byte) error {
	_, err := c.api.Call(ctx, http.MethodPatch, t.Path(), c.writeQuery(),
		metadataOnly("application/strategic-merge-patch+json"), body)
	if apierrors.IsUnsupportedMediaType(err) {
		_, err = c.api.Call(ctx, http.MethodPatch, t.Path(), c.writeQuery(),
			metadataOnly("application/merge-patch+json"), body)
	}
	return err
}
