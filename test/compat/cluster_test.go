// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/moonhelm/moonhelm/internal/apiserver"
)

// cluster is the API server of the tests, asked directly.
type cluster struct{ *apiserver.Client }

func connect(t *testing.T) *cluster {
	t.Helper()
	return &cluster{apiserver.Connect(t)}
}

func (c *cluster) call(ctx context.Context, method, path, contentType, body string) ([]byte, int, error) {
	return c.Call(ctx, method, path, contentType, body)
}

// namespace makes one that is deleted with the test.
func (c *cluster) namespace(t *testing.T) space {
	t.Helper()
	s := space{c, fmt.Sprintf("compat-%08x", rand.Uint32())}
	text, code, err := c.call(t.Context(), http.MethodPost, "/api/v1/namespaces", "application/json", `{"metadata":{"name":"`+s.name+`"}}`)
	if err != nil || code != http.StatusCreated {
		t.Fatalf("create namespace %s: %d %s, %v", s.name, code, text, err)
	}
	t.Cleanup(func() {
		_, _, _ = c.call(context.Background(), http.MethodDelete, "/api/v1/namespaces/"+s.name, "application/json", "")
	})
	return s
}

// space is a namespace.
type space struct {
	*cluster
	name string
}

// path leads to the objects of a kind, or to one of them.
func (s space) path(kind, name string) string {
	at := map[string]string{
		"ConfigMap": "/api/v1/namespaces/%s/configmaps", "Secret": "/api/v1/namespaces/%s/secrets",
		"Service": "/api/v1/namespaces/%s/services", "Pod": "/api/v1/namespaces/%s/pods",
		"Deployment": "/apis/apps/v1/namespaces/%s/deployments", "CronJob": "/apis/batch/v1/namespaces/%s/cronjobs",
	}[kind]
	return strings.TrimSuffix(fmt.Sprintf(at, s.name)+"/"+name, "/")
}

// object is nil where there is none.
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

// patch changes an object as one who is not a helm.
func (s space) patch(t *testing.T, kind, name, body string) {
	t.Helper()
	path := s.path(kind, name) + "?fieldManager=" + url.QueryEscape("someone-else")
	text, code, err := s.call(t.Context(), http.MethodPatch, path, "application/strategic-merge-patch+json", body)
	if err != nil || code != http.StatusOK {
		t.Fatalf("patch %s/%s: %d %s, %v", kind, name, code, text, err)
	}
}

// records are the statuses of all revisions of a release, oldest first.
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
		x, _ := strconv.Atoi(a.Metadata.Labels["version"]) // what is not a number is in front
		y, _ := strconv.Atoi(b.Metadata.Labels["version"])
		return x - y
	})
	var out []string
	for _, o := range list.Items {
		out = append(out, o.Metadata.Labels["version"]+" "+o.Metadata.Labels["status"])
	}
	return out
}

// secrets are the names of all Secrets, of records and their parts.
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

// at is what is at a path of keys and indices, nil where nothing does.
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

// eventually waits for what someone else does.
func eventually(holds func() bool) bool {
	for range 300 {
		if holds() {
			return true
		}
		time.Sleep(100 * time.Millisecond)
	}
	return false
}
