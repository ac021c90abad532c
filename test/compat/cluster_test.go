// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/internal/apiserver"
)

// cluster is a client of the API server, independent of the code under test.
type cluster struct{ *apiserver.Client }

func connect(t *testing.T) *cluster {
	t.Helper()
	return &cluster{apiserver.Connect(t)}
}

func (c *cluster) call(ctx context.Context, method, path, contentType, body string) ([]byte, int, error) {
	return c.Call(ctx, method, path, contentType, body)
}

// namespace creates a namespace that is deleted after the test.
func (c *cluster) namespace(t *testing.T) space {
	t.Helper()
	return space{c, c.Namespace(t, "compat")}
}

// space is a namespace.
type space struct {
	*cluster
	name string
}

// path returns the API path of an object, or of the collection if name is "".
func (s space) path(kind, name string) string {
	at := map[string]string{
		"ConfigMap": "/api/v1/namespaces/%s/configmaps", "Secret": "/api/v1/namespaces/%s/secrets",
		"Service": "/api/v1/namespaces/%s/services", "Pod": "/api/v1/namespaces/%s/pods",
		"Deployment": "/apis/apps/v1/namespaces/%s/deployments", "CronJob": "/apis/batch/v1/namespaces/%s/cronjobs",
	}[kind]
	return strings.TrimSuffix(fmt.Sprintf(at, s.name)+"/"+name, "/")
}

// object returns an object, or nil if it does not exist.
func (s space) object(t *testing.T, kind, name string) map[string]any {
	t.Helper()
	text, code, err := s.call(t.Context(), http.MethodGet, s.path(kind, name), "", "")
	var o map[string]any
	switch {
	case err == nil && code == http.StatusNotFound:
		return nil
	case err != nil || code != http.StatusOK || json.Unmarshal(text, &o) != nil:
		t.Fatalf("get %s/%s: %d %s, %v", kind, name, code, text, err)
	}
	return o
}

// patch changes an object with the field manager of another client.
func (s space) patch(t *testing.T, kind, name, body string) {
	t.Helper()
	path := s.path(kind, name) + "?fieldManager=" + url.QueryEscape("someone-else")
	text, code, err := s.call(t.Context(), http.MethodPatch, path, "application/strategic-merge-patch+json", body)
	if err != nil || code != http.StatusOK {
		t.Fatalf("patch %s/%s: %d %s, %v", kind, name, code, text, err)
	}
}

// records returns the statuses of all revisions of a release, oldest first.
func (s space) records(t *testing.T, release string) []string {
	t.Helper()
	text, code, err := s.call(t.Context(), http.MethodGet, s.path("Secret", "")+"?labelSelector="+url.QueryEscape("owner=helm,name="+release), "", "")
	var list struct {
		Items []struct {
			Metadata struct{ Labels map[string]string }
		}
	}
	if err != nil || code != http.StatusOK || json.Unmarshal(text, &list) != nil {
		t.Fatalf("list the records: %d %s, %v", code, text, err)
	}
	slices.SortFunc(list.Items, func(a, b struct {
		Metadata struct{ Labels map[string]string }
	}) int {
		x, _ := strconv.Atoi(a.Metadata.Labels["version"]) // values that are not numbers come first
		y, _ := strconv.Atoi(b.Metadata.Labels["version"])
		return x - y
	})
	var out []string
	for _, o := range list.Items {
		out = append(out, o.Metadata.Labels["version"]+" "+o.Metadata.Labels["status"])
	}
	return out
}

// secrets returns the names of all Secrets.
func secrets(t *testing.T, s space) []string {
	t.Helper()
	text, code, err := s.call(t.Context(), http.MethodGet, s.path("Secret", ""), "", "")
	var list struct {
		Items []struct{ Metadata struct{ Name string } }
	}
	if err != nil || code != http.StatusOK || json.Unmarshal(text, &list) != nil {
		t.Fatalf("list Secrets: %d %s, %v", code, text, err)
	}
	var out []string
	for _, o := range list.Items {
		out = append(out, o.Metadata.Name)
	}
	return out
}

// at returns the value at a path of keys and indices, or nil.
func at(o any, path ...any) any {
	for _, p := range path {
		switch p := p.(type) {
		case string:
			m, _ := o.(map[string]any)
			o = m[p]
		case int:
			l, _ := o.([]any)
			if p >= len(l) {
				return nil
			}
			o = l[p]
		}
	}
	return o
}
