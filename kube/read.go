// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	k8sjson "k8s.io/apimachinery/pkg/util/json"
)

// whole reads those targets that exist, all of their contents but the book of
// field managers, which comes with managers only.
func (c *Client) whole(ctx context.Context, targets []*target, managers bool) (map[*target]map[string]any, error) {
	out := make(map[*target]map[string]any, len(targets))
	var mu sync.Mutex
	found := func(t *target, object map[string]any) {
		if object != nil {
			mu.Lock()
			out[t] = object
			mu.Unlock()
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	single := make(chan struct{}, parallel)
	for place, members := range byPlace(keep(targets, func(t *target) bool { return t.name != "" })) {
		group.Go(func() error {
			left, err := c.wholeList(ctx, place, members, managers, found)
			if err != nil {
				return fmt.Errorf("list %s: %w", place.res.Plural, err)
			}
			for _, t := range left {
				group.Go(func() error {
					single <- struct{}{}
					defer func() { <-single }()
					object, err := c.wholeOne(ctx, t, managers)
					found(t, object)
					return err
				})
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return out, nil
}

// wholeOne returns nil for an object that is not there.
func (c *Client) wholeOne(ctx context.Context, t *target, managers bool) (map[string]any, error) {
	body, err := c.Call(ctx, http.MethodGet, t.path(), nil, nil, nil)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, t.fail("read", err)
	}
	object, err := decodeObject(body, managers)
	return object, t.fail("read", err)
}

// wholeList reads what it can of the members of one place with a list, and
// returns those that have to be read one by one. It lists what carries Helm's
// label: that leaves out what is not a release's, and the records of releases,
// which are big. A member that has lost its label is among those left.
func (c *Client) wholeList(ctx context.Context, place placeKey, members []*target, managers bool, found func(*target, map[string]any)) ([]*target, error) {
	if len(members) <= few {
		return members, nil
	}
	left := make(map[string]*target, len(members))
	for _, t := range members {
		left[t.name] = t
	}
	query := url.Values{"limit": {strconv.Itoa(listPage)}, "labelSelector": {labelManagedBy + "=" + managedBy}}
	for seen := 0; ; {
		body, err := c.Call(ctx, http.MethodGet, place.res.path(place.namespace, ""), query, nil, nil)
		var forbidden *ForbiddenError
		switch {
		case errors.As(err, &forbidden), apierrors.IsMethodNotSupported(err), apierrors.IsResourceExpired(err):
			return remaining(members, left), nil
		case err != nil:
			return nil, err
		}
		items, next, err := decodeList(body, managers)
		if err != nil {
			return nil, err
		}
		for _, object := range items {
			name := str(object, "metadata", "name")
			if t := left[name]; t != nil {
				object["apiVersion"], object["kind"] = place.res.apiVersion, place.res.Kind
				delete(left, name)
				found(t, object)
			}
		}
		// The server does not say how much more there is: give up where most of
		// it is another release's.
		if seen += len(items); next == "" || len(left) == 0 || seen > 5*len(members) {
			return remaining(members, left), nil
		}
		query.Set("continue", next)
	}
}

func remaining(members []*target, left map[string]*target) []*target {
	return keep(members, func(t *target) bool { return left[t.name] == t })
}

// decodeList reads the items of a list and where it goes on.
func decodeList(body []byte, managers bool) ([]map[string]any, string, error) {
	var list struct {
		Metadata struct {
			Continue string `json:"continue"`
		} `json:"metadata"`
		Items []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, "", err
	}
	items := make([]map[string]any, len(list.Items))
	for i, raw := range list.Items {
		var err error
		if items[i], err = decodeObject(raw, managers); err != nil {
			return nil, "", err
		}
	}
	return items, list.Metadata.Continue, nil
}

// decodeObject reads an object as the API server sends it; whole numbers are
// int64. Without managers, metadata.managedFields is left out.
func decodeObject(raw []byte, managers bool) (map[string]any, error) {
	var object map[string]any
	if err := k8sjson.Unmarshal(raw, &object); err != nil {
		return nil, err
	}
	if metadata, ok := object["metadata"].(map[string]any); ok && !managers {
		delete(metadata, "managedFields")
	}
	return object, nil
}

// metaOf is what an object's metadata say of it.
func metaOf(object map[string]any) *meta {
	return &meta{
		Name:        str(object, "metadata", "name"),
		Namespace:   str(object, "metadata", "namespace"),
		UID:         str(object, "metadata", "uid"),
		Labels:      texts(object, "labels"),
		Annotations: texts(object, "annotations"),
		Deletion:    str(object, "metadata", "deletionTimestamp"),
	}
}

func texts(object map[string]any, field string) map[string]string {
	metadata, _ := object["metadata"].(map[string]any)
	m, _ := metadata[field].(map[string]any)
	out := make(map[string]string, len(m))
	for k, v := range m {
		out[k], _ = v.(string)
	}
	return out
}
