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

// writing is the query of every write.
func (c *Applier) writing() url.Values {
	query := url.Values{"fieldManager": {kube.FieldManager},
		"fieldValidation": {string(cmp.Or(c.options.FieldValidation, FieldValidationStrict))}}
	if c.api.IsDryRun() {
		query.Set("dryRun", "All")
	}
	return query
}

// briefly asks the server to leave out of its answer what no one reads.
func briefly(contentType string) http.Header {
	return http.Header{"Content-Type": {contentType}, "Accept": {api.AcceptMeta}}
}

func (c *Applier) create(ctx context.Context, t *api.Target, body []byte) error {
	_, err := c.api.Call(ctx, http.MethodPost, t.Resource.Path(t.Namespace, ""), c.writing(), briefly("application/json"),
		body)
	return err
}

// patch merges body into an object that exists: strategically where the server
// knows how, which it does for the kinds it was built with.
func (c *Applier) patch(ctx context.Context, t *api.Target, body []byte) error {
	_, err := c.api.Call(ctx, http.MethodPatch, t.Path(), c.writing(), briefly("application/strategic-merge-patch+json"),
		body)
	if apierrors.IsUnsupportedMediaType(err) {
		_, err = c.api.Call(ctx, http.MethodPatch, t.Path(), c.writing(), briefly("application/merge-patch+json"), body)
	}
	return err
}
