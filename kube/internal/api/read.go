// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	k8sjson "k8s.io/apimachinery/pkg/util/json"

	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/release"
)

// ReadAll returns the live state of the targets that exist. It omits managedFields unless
// managers is set.
func (c Client) ReadAll(ctx context.Context, targets []*Target, managers bool) (map[*Target]map[string]any, error) {
	out := make(map[*Target]map[string]any, len(targets))
	var mu sync.Mutex
	found := func(t *Target, object map[string]any) {
		if object != nil {
			mu.Lock()
			out[t] = object
			mu.Unlock()
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	single := make(chan struct{}, kube.Parallel)
	for place, members := range ByCollection(Filter(targets, func(t *Target) bool { return t.Name != "" })) {
		group.Go(func() error {
			left, err := c.readList(ctx, place, members, managers, found)
			if err != nil {
				return fmt.Errorf("list %s: %w", place.Resource.Plural, err)
			}
			for _, t := range left {
				group.Go(func() error {
					single <- struct{}{}
					defer func() { <-single }()
					object, err := c.Read(ctx, t, managers)
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

// ReadAcross is like [Client.ReadAll] for targets in many namespaces: a resource of more than [Few]
// namespaces is listed in all of them at once, if the user may do so.
func (c Client) ReadAcross(ctx context.Context, targets []*Target, managers bool) (map[*Target]map[string]any, error) {
	places := map[*kube.Resource]map[string]bool{}
	for _, t := range targets {
		if places[t.Resource] == nil {
			places[t.Resource] = map[string]bool{}
		}
		places[t.Resource][t.Namespace] = true
	}
	isWide := func(t *Target) bool { return len(places[t.Resource]) > Few }
	out := make(map[*Target]map[string]any, len(targets))
	var mu sync.Mutex
	add := func(t *Target, object map[string]any) {
		mu.Lock()
		defer mu.Unlock()
		out[t] = object
	}
	group, reading := errgroup.WithContext(ctx)
	group.SetLimit(kube.Parallel)
	for resource := range places {
		members := Filter(targets, func(t *Target) bool { return t.Resource == resource && isWide(t) })
		if len(members) > 0 {
			group.Go(func() error {
				_, err := c.readList(reading, Collection{Resource: resource}, members, managers, add)
				return err
			})
		}
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	rest, err := c.ReadAll(ctx, Filter(targets, func(t *Target) bool { return out[t] == nil }), managers)
	maps.Copy(out, rest)
	return out, err
}

// Read returns the live state of an object, or nil if it does not exist.
func (c Client) Read(ctx context.Context, t *Target, managers bool) (map[string]any, error) {
	body, err := c.Call(ctx, http.MethodGet, t.Path(), nil, nil, nil)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, t.Fail("read", err)
	}
	object, err := DecodeObject(body, managers)
	return object, t.Fail("read", err)
}

// readList reads as many members of a collection as it can with a list, and returns those that
// remain to be read one by one. It lists the objects with Helm's label, which excludes other
// objects, and the records of releases, which are big. A member without the label is one of
// those that remain.
func (c Client) readList(ctx context.Context, place Collection, members []*Target, managers bool,
	found func(*Target, map[string]any)) ([]*Target, error) {
	if len(members) <= Few {
		return members, nil
	}
	type key struct{ namespace, name string }
	left := make(map[key]*Target, len(members))
	for _, t := range members {
		left[key{t.Namespace, t.Name}] = t
	}
	unread := func() []*Target {
		return Filter(members, func(t *Target) bool { return left[key{t.Namespace, t.Name}] == t })
	}
	query := url.Values{
		"limit": {strconv.Itoa(ListPage)}, "labelSelector": {release.ManagedByLabel + "=" + release.ManagedByHelm},
	}
	for seen := 0; ; {
		body, err := c.Call(ctx, http.MethodGet, place.Resource.Path(place.Namespace, ""), query, nil, nil)
		var forbidden *kube.ForbiddenError
		switch {
		case errors.As(err, &forbidden), apierrors.IsMethodNotSupported(err), apierrors.IsResourceExpired(err):
			return unread(), nil
		case err != nil:
			return nil, err
		}
		items, next, err := DecodeList(body, managers)
		if err != nil {
			return nil, err
		}
		for _, object := range items {
			at := key{String(object, "metadata", "namespace"), String(object, "metadata", "name")}
			if t := left[at]; t != nil {
				object["apiVersion"], object["kind"] = place.Resource.APIVersion, place.Resource.Kind
				delete(left, at)
				found(t, object)
			}
		}
		// With a label selector the server does not return remainingItemCount: give up
		// if most objects belong to other releases.
		if seen += len(items); next == "" || len(left) == 0 || seen > 5*len(members) {
			return unread(), nil
		}
		query.Set("continue", next)
	}
}

// DecodeList returns the items of a list and its continue token.
func DecodeList(body []byte, managers bool) ([]map[string]any, string, error) {
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
		if items[i], err = DecodeObject(raw, managers); err != nil {
			return nil, "", err
		}
	}
	return items, list.Metadata.Continue, nil
}

// DecodeObject decodes an object. Integers are int64. Without managers, it removes
// metadata.managedFields.
func DecodeObject(raw []byte, managers bool) (map[string]any, error) {
	var object map[string]any
	if err := k8sjson.Unmarshal(raw, &object); err != nil {
		return nil, err
	}
	if metadata, ok := object["metadata"].(map[string]any); ok && !managers {
		delete(metadata, "managedFields")
	}
	return object, nil
}

// MetadataOf returns the metadata of an object.
func MetadataOf(object map[string]any) *Metadata {
	return &Metadata{
		Name:        String(object, "metadata", "name"),
		Namespace:   String(object, "metadata", "namespace"),
		UID:         String(object, "metadata", "uid"),
		Labels:      stringMap(object, "labels"),
		Annotations: stringMap(object, "annotations"),
		Deletion:    String(object, "metadata", "deletionTimestamp"),
	}
}

func stringMap(object map[string]any, field string) map[string]string {
	metadata, _ := object["metadata"].(map[string]any)
	m, _ := metadata[field].(map[string]any)
	out := make(map[string]string, len(m))
	for k, v := range m {
		out[k], _ = v.(string)
	}
	return out
}
