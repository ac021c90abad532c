// SPDX-License-Identifier: Apache-2.0

package wait

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

	"github.com/moonhelm/moonhelm/internal/linger"
	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/kube/internal/api"
)

// observer receives the name and JSON of an object; raw is nil if the object does not exist. It
// is called from one goroutine, and returns true to stop.
type observer func(name string, raw json.RawMessage) (done bool)

// follow calls fn for the objects of a collection and for every change, until fn returns true
// or ctx ends. query may be nil. It restarts a watch that fails or expires, and tolerates a
// temporary outage of the server.
func (c *Waiter) follow(ctx context.Context, place api.Collection, query url.Values, fn observer) error {
	known := map[string]bool{}
	var trouble outage
	version := ""
	for {
		var done bool
		var err error
		begun := time.Now()
		if version == "" {
			version, done, err = c.list(ctx, place, query, known, fn)
		} else {
			version, done, err = c.watch(ctx, place, query, version, known, fn)
		}
		switch {
		case done:
			return nil
		case err != nil:
			err = trouble.retry(ctx, err)
		case version == "" || time.Since(begun) < time.Second:
			err = trouble.backOff(ctx)
		default:
			trouble = outage{}
		}
		if err != nil {
			return err
		}
	}
}

// maxOutage is the maximum duration of an outage.
const maxOutage = 2 * time.Minute

// outage is a period in which the server does not answer successfully.
type outage struct {
	since time.Time
	delay time.Duration
}

// retry waits and returns nil if the request should be retried after err; otherwise it returns
// the error.
func (o *outage) retry(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if o.since.IsZero() {
		o.since = time.Now()
	}
	if !isTemporary(err) || time.Since(o.since) > maxOutage {
		return err
	}
	return o.backOff(ctx)
}

// backOff waits with exponential backoff.
func (o *outage) backOff(ctx context.Context) error {
	o.delay = min(max(2*o.delay, 50*time.Millisecond), 3*time.Second)
	return linger.Sleep(ctx, o.delay)
}

// isTemporary reports whether an error may be temporary.
func isTemporary(err error) bool {
	if _, ok := errors.AsType[*kube.UnreachableError](err); ok {
		return true
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	code := status.Status().Code
	return code >= http.StatusInternalServerError || code == http.StatusTooManyRequests ||
		code == http.StatusRequestTimeout
}

// list calls fn for all objects of a collection, and for those in known that no longer exist.
func (c *Waiter) list(ctx context.Context, place api.Collection, query url.Values, known map[string]bool,
	fn observer) (string, bool, error) {
	body, err := c.api.Call(ctx, http.MethodGet, place.Resource.Path(place.Namespace, ""), query, nil, nil)
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
		name, _, err := identify(raw)
		if err != nil {
			return "", false, err
		}
		here[name], known[name] = true, true
		if fn(name, raw) {
			return "", true, nil
		}
	}
	for name := range maps.Clone(known) {
		if here[name] {
			continue
		}
		delete(known, name)
		if fn(name, nil) {
			return "", true, nil
		}
	}
	return all.Metadata.ResourceVersion, false, nil
}

// identify decodes only the name and resource version of an object.
func identify(raw []byte) (name, version string, err error) {
	var o struct {
		Metadata struct {
			Name            string `json:"name"`
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
	}
	err = json.Unmarshal(raw, &o)
	return o.Metadata.Name, o.Metadata.ResourceVersion, err
}

// watchSeconds is the timeoutSeconds of a watch.
const watchSeconds = "300"

// watch returns the resource version from which to continue, or "" if a list is needed because
// the version has expired.
func (c *Waiter) watch(ctx context.Context, place api.Collection, query url.Values, version string,
	known map[string]bool,
	fn observer) (string, bool, error) {
	q := maps.Clone(query)
	if q == nil {
		q = url.Values{}
	}
	q.Set("watch", "1")
	q.Set("resourceVersion", version)
	q.Set("allowWatchBookmarks", "true")
	q.Set("timeoutSeconds", watchSeconds)
	resp, err := c.api.Stream(ctx, http.MethodGet, place.Resource.Path(place.Namespace, ""), q, nil, nil)
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return "", false, nil
	}
	if err != nil {
		return version, false, err
	}
	defer resp.Body.Close()
	for d := json.NewDecoder(resp.Body); ; {
		var e watchEvent
		if err := d.Decode(&e); err != nil {
			if ctx.Err() != nil {
				return "", false, context.Cause(ctx)
			}
			return version, false, nil // the watch has timed out or failed: begin another
		}
		if e.Type == "ERROR" {
			return "", false, nil
		}
		name, at, err := identify(e.Object)
		if err != nil {
			return "", false, fmt.Errorf("decode a watch event: %w", err)
		}
		version = at
		switch e.Type {
		case "BOOKMARK":
			continue
		case "DELETED":
			e.Object = nil
			delete(known, name)
		default:
			known[name] = true
		}
		if fn(name, e.Object) {
			return "", true, nil
		}
	}
}

type watchEvent struct {
	Type   string          `json:"type"`
	Object json.RawMessage `json:"object"`
}

// observe calls fn for the given objects of one collection and for every change. It polls if
// polls is set or if listing and watching are not permitted.
func (c *Waiter) observe(ctx context.Context, place api.Collection, members []*api.Target, polls bool,
	fn func(name string, object map[string]any) (done bool)) error {
	wanted := map[string]bool{}
	for _, t := range members {
		wanted[t.Name] = true
	}
	var query url.Values
	if len(members) == 1 {
		query = api.ByName(members[0].Name)
	}
	var unreadable error
	see := func(name string, raw json.RawMessage) bool {
		if !wanted[name] {
			return false
		}
		var object map[string]any
		if raw != nil {
			if object, unreadable = place.Decode(raw); unreadable != nil {
				return true
			}
		}
		return fn(name, object)
	}
	var err error
	if polls {
		err = c.poll(ctx, func(known map[string]bool) (bool, error) {
			if len(members) > api.Few {
				_, done, err := c.list(ctx, place, query, known, see)
				if !unavailable(err) {
					return done, err
				}
			}
			return c.readEach(ctx, members, see)
		})
	} else if err = c.follow(ctx, place, query, see); unavailable(err) {
		err = c.poll(ctx, func(map[string]bool) (bool, error) { return c.readEach(ctx, members, see) })
	}
	return errors.Join(err, unreadable)
}

// unavailable reports whether the request is not permitted or not supported.
func unavailable(err error) bool {
	var forbidden *kube.ForbiddenError
	return errors.As(err, &forbidden) || apierrors.IsMethodNotSupported(err)
}

// pollEvery is the polling interval.
const pollEvery = time.Second

// poll calls look until it returns true.
func (c *Waiter) poll(ctx context.Context, look func(known map[string]bool) (bool, error)) error {
	known := map[string]bool{}
	var trouble outage
	for {
		done, err := look(known)
		switch {
		case done:
			return nil
		case err != nil:
			err = trouble.retry(ctx, err)
		default:
			trouble = outage{}
			err = linger.Sleep(ctx, pollEvery)
		}
		if err != nil {
			return err
		}
	}
}

// readEach reads the members one by one.
func (c *Waiter) readEach(ctx context.Context, members []*api.Target, fn observer) (bool, error) {
	for _, t := range members {
		body, err := c.api.Call(ctx, http.MethodGet, t.Path(), nil, nil, nil)
		if apierrors.IsNotFound(err) {
			body, err = nil, nil
		}
		if err != nil {
			return false, t.Fail("read", err)
		}
		if fn(t.Name, body) {
			return true, nil
		}
	}
	return false, nil
}
