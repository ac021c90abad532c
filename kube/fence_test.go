// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"
)

// counting returns a server that counts requests, and a client for it.
func counting(t *testing.T, o Options) (*Client, *atomic.Int32) {
	t.Helper()
	var requests atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var all [64]byte
		if n, _ := r.Body.Read(all[:]); n > 0 || r.ContentLength == 0 {
			requests.Add(1)
		}
		_, _ = w.Write([]byte("{}"))
	}))
	t.Cleanup(server.Close)
	o.REST = func() (*rest.Config, error) { return &rest.Config{Host: server.URL}, nil }
	return New(o), &requests
}

func TestAllowBlocksWrites(t *testing.T) {
	lost := errors.New("the lock was lost")
	for name, c := range map[string]struct {
		method string
		leaves int // number of writes that are permitted
		asks   bool
	}{
		"a read":                       {http.MethodGet, 0, true},
		"a creation":                   {http.MethodPost, 0, false},
		"an update":                    {http.MethodPut, 0, false},
		"a patch":                      {http.MethodPatch, 0, false},
		"a deletion":                   {http.MethodDelete, 0, false},
		"stopped while it connects":    {http.MethodPut, 1, false},
		"a deletion that is connected": {http.MethodDelete, 1, false},
		"allowed":                      {http.MethodPut, 2, true},
	} {
		t.Run(name, func(t *testing.T) {
			left := c.leaves
			client, requests := counting(t, Options{Allow: func(context.Context) error {
				if left--; left < 0 {
					return lost
				}
				return nil
			}})
			var body []byte
			if c.method != http.MethodGet {
				body = []byte(`{"metadata":{"name":"x"}}`)
			}
			path := "/api/v1/namespaces/ns/configmaps/x"
			if c.method == http.MethodPost {
				path = strings.TrimSuffix(path, "/x")
			}
			_, err := client.Call(t.Context(), c.method, path, nil, nil, body)
			if errors.Is(err, lost) == c.asks || (requests.Load() > 0) != c.asks || requests.Load() > 1 {
				t.Errorf("asked %d times, %v", requests.Load(), err)
			}
		})
	}
}

func TestCallRejectsCollectionPaths(t *testing.T) {
	client, requests := counting(t, Options{})
	for _, path := range []string{
		"/api/v1/secrets", "/api/v1/namespaces", "/api/v1/namespaces/ns/secrets", "/api/v1/namespaces/ns/secrets/",
		"/apis/coordination.k8s.io/v1/namespaces/ns/leases", "/apis/apps/v1/deployments", "/apis/apps/v1", "/apis", "/", "/version",
		"/api/v1/namespaces/ns/secrets/../x", "/api/v1/namespaces//secrets/x",
	} {
		for _, method := range []string{http.MethodPut, http.MethodPatch, http.MethodDelete} {
			if _, err := client.Call(t.Context(), method, path, url.Values{}, nil, []byte("{}")); err == nil || !strings.Contains(err.Error(), "refuse to ") {
				t.Errorf("%s %s: %v", method, path, err)
			}
		}
	}
	if requests.Load() != 0 {
		t.Errorf("asked %d times", requests.Load())
	}
	for _, path := range []string{
		"/api/v1/namespaces/ns", "/api/v1/namespaces/ns/secrets/x", "/api/v1/nodes/x", "/apis/apps/v1/namespaces/ns/deployments/x/scale",
		"/apis/rbac.authorization.k8s.io/v1/clusterroles/x", "/apis/example.org/v1/namespaces/ns/namespaces/x",
	} {
		if _, err := client.Call(t.Context(), http.MethodDelete, path, nil, nil, nil); err != nil {
			t.Errorf("delete %s: %v", path, err)
		}
	}
}
