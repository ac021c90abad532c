// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// eachTurn calls fn for the targets in order, for neighbours of one kind at
// once. All of a turn are tried before a failed one ends it.
func eachTurn(ctx context.Context, targets []*target, fn func(context.Context, *target) error) error {
	return inTurns(ctx, targets, func(a, b *target) bool { return a.kind == b.kind }, fn)
}

// inTurns is eachTurn for anything: a turn are neighbours that are alike.
func inTurns[T any](ctx context.Context, all []T, alike func(a, b T) bool, fn func(context.Context, T) error) error {
	for start := 0; start < len(all); {
		end := start + 1
		for end < len(all) && alike(all[start], all[end]) {
			end++
		}
		if err := together(ctx, all[start:end], fn); err != nil {
			return err
		}
		start = end
	}
	return nil
}

// together calls fn for all at once, within bounds, and joins the errors in the
// order given.
func together[T any](ctx context.Context, all []T, fn func(context.Context, T) error) error {
	errs := make([]error, len(all))
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(parallel, len(all)) {
		wg.Go(func() {
			for i := range next {
				errs[i] = fn(ctx, all[i])
			}
		})
	}
	for i := range all {
		if ctx.Err() != nil {
			break
		}
		next <- i
	}
	close(next)
	wg.Wait()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return errors.Join(errs...)
}

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
