// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"cmp"
	"context"
	"net/http"
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// writing is the query of every write.
func (c *Client) writing() url.Values {
	query := url.Values{"fieldManager": {manager}, "fieldValidation": {string(cmp.Or(c.fieldValidation, FieldValidationStrict))}}
	if c.dryRun {
		query.Set("dryRun", "All")
	}
	return query
}

// briefly asks the server to leave out of its answer what no one reads.
func briefly(contentType string) http.Header {
	return http.Header{"Content-Type": {contentType}, "Accept": {acceptMeta}}
}

func (c *Client) create(ctx context.Context, t *target, body []byte) error {
	_, err := c.Call(ctx, http.MethodPost, t.res.path(t.namespace, ""), c.writing(), briefly("application/json"), body)
	return err
}

// patch merges body into an object that exists: strategically where the server
// knows how, which it does for the kinds it was built with.
func (c *Client) patch(ctx context.Context, t *target, body []byte) error {
	_, err := c.Call(ctx, http.MethodPatch, t.path(), c.writing(), briefly("application/strategic-merge-patch+json"), body)
	if apierrors.IsUnsupportedMediaType(err) {
		_, err = c.Call(ctx, http.MethodPatch, t.path(), c.writing(), briefly("application/merge-patch+json"), body)
	}
	return err
}
