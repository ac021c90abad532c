// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	k8sjson "k8s.io/apimachinery/pkg/util/json"
)

// follow reads the objects of one place and then every change to them, until
// fn says that it has seen enough or fails. fn gets the name, and the object or
// nil where it is not there (any more); it runs in one goroutine. query narrows
// the place and may be nil.
func (c *Client) follow(ctx context.Context, place placeKey, query url.Values, fn func(name string, object map[string]any) (done bool, err error)) error {
	known := map[string]bool{}
	for {
		version, done, err := c.list(ctx, place, query, known, fn)
		for err == nil && !done && version != "" {
			version, done, err = c.watch(ctx, place, query, version, known, fn)
		}
		if done || err != nil {
			return err
		}
		// The server has forgotten the changes since our list: list again.
	}
}

func (c *Client) list(ctx context.Context, place placeKey, query url.Values, known map[string]bool, fn func(string, map[string]any) (bool, error)) (string, bool, error) {
	body, err := c.Call(ctx, http.MethodGet, place.res.path(place.namespace, ""), query, nil, nil)
	if err != nil {
		return "", false, err
	}
	var all struct {
		Metadata struct {
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
		Items []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(body, &all); err != nil {
		return "", false, err
	}
	here := map[string]bool{}
	for _, raw := range all.Items {
		name, object, err := place.decode(raw)
		if err != nil {
			return "", false, err
		}
		here[name], known[name] = true, true
		if done, err := fn(name, object); done || err != nil {
			return "", done, err
		}
	}
	for name := range maps.Clone(known) {
		if here[name] {
			continue
		}
		delete(known, name)
		if done, err := fn(name, nil); done || err != nil {
			return "", done, err
		}
	}
	return all.Metadata.ResourceVersion, false, nil
}

// decode reads an object of a list, which does not say its kind.
func (p placeKey) decode(raw []byte) (string, map[string]any, error) {
	var object map[string]any
	if err := k8sjson.Unmarshal(raw, &object); err != nil {
		return "", nil, err
	}
	object["apiVersion"], object["kind"] = p.res.apiVersion, p.res.Kind
	meta, _ := object["metadata"].(map[string]any)
	name, _ := meta["name"].(string)
	return name, object, nil
}

// watchSeconds is how long the server keeps one watch.
const watchSeconds = "300"

// watch returns the version to go on from, "" where a list is needed.
func (c *Client) watch(ctx context.Context, place placeKey, query url.Values, version string, known map[string]bool, fn func(string, map[string]any) (bool, error)) (string, bool, error) {
	q := maps.Clone(query)
	if q == nil {
		q = url.Values{}
	}
	q.Set("watch", "1")
	q.Set("resourceVersion", version)
	q.Set("allowWatchBookmarks", "true")
	q.Set("timeoutSeconds", watchSeconds)
	resp, err := c.send(ctx, http.MethodGet, place.res.path(place.namespace, ""), q, nil, nil)
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return "", false, nil
	}
	if err != nil {
		return "", false, err
	}
	defer resp.Body.Close()
	for d := json.NewDecoder(resp.Body); ; {
		var e watchEvent
		if err := d.Decode(&e); err != nil {
			if ctx.Err() != nil {
				return "", false, context.Cause(ctx)
			}
			return version, false, pause(ctx, 50*time.Millisecond) // the watch has ended: begin another
		}
		if e.Type == "ERROR" {
			return "", false, pause(ctx, 50*time.Millisecond)
		}
		name, object, err := place.decode(e.Object)
		if err != nil {
			return "", false, fmt.Errorf("read a change: %w", err)
		}
		meta, _ := object["metadata"].(map[string]any)
		version, _ = meta["resourceVersion"].(string)
		switch e.Type {
		case "BOOKMARK":
			continue
		case "DELETED":
			object = nil
			delete(known, name)
		default:
			known[name] = true
		}
		if done, err := fn(name, object); done || err != nil {
			return "", done, err
		}
	}
}

type watchEvent struct {
	Type   string          `json:"type"`
	Object json.RawMessage `json:"object"`
}

// observe is follow for some objects of one place, by single reads where
// listing or watching is not allowed.
func (c *Client) observe(ctx context.Context, place placeKey, members []*target, fn func(name string, object map[string]any) (done bool, err error)) error {
	wanted := map[string]bool{}
	for _, t := range members {
		wanted[t.name] = true
	}
	var query url.Values
	if len(members) == 1 {
		query = one(members[0].name)
	}
	err := c.follow(ctx, place, query, func(name string, object map[string]any) (bool, error) {
		if !wanted[name] {
			return false, nil
		}
		return fn(name, object)
	})
	var forbidden *ForbiddenError
	if !errors.As(err, &forbidden) && !apierrors.IsMethodNotSupported(err) {
		return err
	}
	return c.poll(ctx, place, members, fn)
}

func (c *Client) poll(ctx context.Context, place placeKey, members []*target, fn func(string, map[string]any) (bool, error)) error {
	for {
		for _, t := range members {
			var object map[string]any
			body, err := c.Call(ctx, http.MethodGet, t.path(), nil, nil, nil)
			if err == nil {
				_, object, err = place.decode(body)
			} else if apierrors.IsNotFound(err) {
				err = nil
			}
			if err != nil {
				return t.fail("read", err)
			}
			if done, err := fn(t.name, object); done || err != nil {
				return err
			}
		}
		if err := pause(ctx, time.Second); err != nil {
			return err
		}
	}
}
