// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/moonhelm/moonhelm/kube/internal/apitest"
	"github.com/moonhelm/moonhelm/progress"
)

func serve(t *testing.T, prefix, cache string, f *apitest.Fake) (*Client, *apitest.Recorder) {
	t.Helper()
	s := httptest.NewServer(http.StripPrefix(prefix, f))
	t.Cleanup(s.Close)
	rec := &apitest.Recorder{}
	return New(Options{
		REST:     func() (*rest.Config, error) { return &rest.Config{Host: s.URL + prefix}, nil },
		CacheDir: cache, Progress: rec.Record,
	}), rec
}

func TestServerURLWithPath(t *testing.T) {
	f := &apitest.Fake{Answers: map[string]http.HandlerFunc{"/api/v1/namespaces/a/roles/x:y%z": apitest.Text(`{}`)}}
	c, _ := serve(t, "/k8s/clusters/one", "", f)
	if _, err := c.Call(t.Context(), http.MethodGet, "/api/v1/namespaces/a/roles/x:y%z", nil, nil, nil); err != nil {
		t.Error(err)
	}
	if f.Asked[0] != "GET /api/v1/namespaces/a/roles/x:y%25z" {
		t.Errorf("asked %q", f.Asked)
	}
}

func TestCallRetriesBusyServer(t *testing.T) {
	times := 0
	f := &apitest.Fake{Answers: map[string]http.HandlerFunc{"/version": func(w http.ResponseWriter, r *http.Request) {
		if times++; times < 3 {
			w.Header().Set("Retry-After", "0")
			apitest.Refuse(w, http.StatusTooManyRequests, "TooManyRequests", "later")
			return
		}
		apitest.Text(`{"major":"1","minor":"36+","gitVersion":"v1.36.1-gke.7"}`)(w, r)
	}}}
	c, _ := serve(t, "", "", f)
	v, err := c.Version(t.Context())
	if err != nil || times != 3 || v.Version != "v1.36.1-gke.7" || v.Minor != "36+" || v.Major != "1" {
		t.Errorf("version %+v after %d requests, %v", v, times, err)
	}
}

func TestCallGivesUpOnBusyServer(t *testing.T) {
	f := &apitest.Fake{Answers: map[string]http.HandlerFunc{"/version": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "3600")
		apitest.Refuse(w, http.StatusServiceUnavailable, "ServiceUnavailable", "down")
	}}}
	c, _ := serve(t, "", "", f)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := c.Version(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func TestErrorMessages(t *testing.T) {
	f := &apitest.Fake{Answers: map[string]http.HandlerFunc{
		"/api/v1/namespaces/a/pods": func(w http.ResponseWriter, _ *http.Request) {
			apitest.Refuse(w, http.StatusForbidden, "Forbidden", `pods is forbidden: User \"eve\" cannot list resource`)
		},
		"/apis/apps/v1/deployments": func(w http.ResponseWriter, _ *http.Request) {
			apitest.Refuse(w, http.StatusForbidden, "Forbidden", "exceeded quota")
		},
		"/version": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "who?", http.StatusUnauthorized) },
		// The error of a request for protobuf is protobuf.
		"/api/v1/namespaces/a/secrets/s": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusForbidden)
			status := metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonForbidden, Code: 403, Message: `secrets "s" is forbidden: User "eve" cannot get it`}
			raw, _ := status.Marshal()
			envelope := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: "Status"}, Raw: raw}
			packed, _ := envelope.Marshal()
			w.Write(append([]byte("k8s\x00"), packed...))
		},
	}}
	c, _ := serve(t, "", "", f)
	ask := func(method, path string) error {
		_, err := c.Call(t.Context(), method, path, nil, nil, nil)
		return err
	}
	var forbidden *ForbiddenError
	if err := ask("GET", "/api/v1/namespaces/a/pods"); !errors.As(err, &forbidden) || !apierrors.IsForbidden(err) ||
		!strings.HasPrefix(err.Error(), `the permission to list pods in namespace "a" is missing`) {
		t.Errorf("got %v", err)
	}
	if err := ask("GET", "/api/v1/namespaces/a/secrets/s"); !errors.As(err, &forbidden) ||
		err.Error() != `the permission to get secrets in namespace "a" is missing (secrets "s" is forbidden: User "eve" cannot get it)` {
		t.Errorf("got %q", err)
	}
	if err := ask("POST", "/apis/apps/v1/deployments"); errors.As(err, &forbidden) || !strings.Contains(err.Error(), "exceeded quota") {
		t.Errorf("a quota is not a right: %v", err)
	}
	var unauthorized *UnauthorizedError
	if err := ask("GET", "/version"); !errors.As(err, &unauthorized) || !strings.Contains(err.Error(), "log in again") {
		t.Errorf("got %v", err)
	}
	if err := ask("GET", "/nowhere"); !apierrors.IsNotFound(err) {
		t.Errorf("got %v", err)
	}

	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	c = New(Options{REST: func() (*rest.Config, error) { return &rest.Config{Host: gone.URL}, nil }})
	var unreachable *UnreachableError
	if err := ask("GET", "/version"); !errors.As(err, &unreachable) || unreachable.Server != gone.URL || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("got %v", err)
	}
	broken := errors.New("kubeconfig is a mess")
	c = New(Options{REST: func() (*rest.Config, error) { return nil, broken }})
	if err := ask("GET", "/version"); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

func TestWarningHeaders(t *testing.T) {
	f := &apitest.Fake{Answers: map[string]http.HandlerFunc{"/version": func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("Warning", `299 - "policy/v1beta1 is deprecated"`)
		apitest.Text(`{"gitVersion":"v1.36.0"}`)(w, r)
	}}}
	c, rec := serve(t, "", "", f)
	if _, err := c.Version(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(rec.Events) != 1 || rec.Events[0].Kind != progress.Warning || rec.Events[0].Text != "policy/v1beta1 is deprecated" {
		t.Errorf("reported %+v", rec.Events)
	}
}

// An API server without aggregated discovery.
func TestDiscoveryOfOldServers(t *testing.T) {
	f := &apitest.Fake{Answers: map[string]http.HandlerFunc{
		"/version": apitest.Text(`{"major":"1","minor":"24","gitVersion":"v1.24.0"}`),
		"/api":     apitest.Text(`{"kind":"APIVersions","versions":["v1"]}`),
		"/api/v1": apitest.Text(`{"kind":"APIResourceList","resources":[{"name":"pods","kind":"Pod","namespaced":true},
			{"name":"pods/status","kind":"Pod","namespaced":true},{"name":"pods/eviction","kind":"Eviction","namespaced":true},{"name":"nodes","kind":"Node"}]}`),
		"/apis":            apitest.Text(`{"kind":"APIGroupList","groups":[{"name":"apps","versions":[{"version":"v1"}]},{"name":"down.io","versions":[{"version":"v1"}]}]}`),
		"/apis/apps/v1":    apitest.Text(`{"resources":[{"name":"deployments","kind":"Deployment","namespaced":true},{"name":"deployments/scale","kind":"Scale","namespaced":true}]}`),
		"/apis/down.io/v1": func(w http.ResponseWriter, _ *http.Request) { apitest.Refuse(w, 503, "ServiceUnavailable", "down") },
		"/apis/apps/v1/namespaces/a/deployments/x": apitest.Text(`{"kind":"Deployment","metadata":{"name":"x"},"spec":{"replicas":3}}`),
	}}
	c, _ := serve(t, "", "", f)
	caps, err := c.Capabilities(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(caps.APIVersions, " "); got != "v1 v1/Pod v1/Node v1/Eviction apps/v1 apps/v1/Deployment apps/v1/Scale down.io/v1" {
		t.Errorf("versions %s", got)
	}
	m, err := c.Lookup(t.Context(), "apps/v1", "Deployment", "a", "x")
	if err != nil || m["spec"].(map[string]any)["replicas"] != int64(3) {
		t.Errorf("looked up %v, %v", m, err)
	}
}

func TestDiscoveryIsRevalidatedAndCached(t *testing.T) {
	kind := "Old"
	full := 0
	groups := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Etag", `"`+kind+`"`)
		if r.Header.Get("If-None-Match") == `"`+kind+`"` {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		full++
		apitest.Text(`{"kind":"APIGroupDiscoveryList","items":[{"metadata":{"name":"x.io"},"versions":[{"version":"v1","resources":[{"resource":"xs","responseKind":{"kind":"`+kind+`"},"scope":"Cluster"}]}]}]}`)(w, r)
	}
	f := &apitest.Fake{Answers: map[string]http.HandlerFunc{
		"/version": apitest.Text(`{"gitVersion":"v1.36.0"}`), "/api": apitest.Text(apitest.PodsOnly), "/apis": groups,
		"/apis/x.io/v1/xs/a": apitest.Text(`{"kind":"X"}`),
	}}
	cache := t.TempDir()
	s := httptest.NewServer(f)
	defer s.Close()
	run := func() *Client {
		return New(Options{REST: func() (*rest.Config, error) { return &rest.Config{Host: s.URL}, nil }, CacheDir: cache})
	}
	lookup := func(c *Client, kind string) error {
		_, err := c.Lookup(t.Context(), "x.io/v1", kind, "", "a")
		return err
	}
	if err := lookup(run(), "Old"); err != nil || full != 1 {
		t.Fatalf("first run: %v, %d answers", err, full)
	}
	before := len(f.Asked)
	if err := lookup(run(), "Old"); err != nil || len(f.Asked) != before+1 {
		t.Errorf("the cache was not used: %v, %v", err, f.Asked[before:])
	}
	if caps, err := run().Capabilities(t.Context()); err != nil || full != 1 || !caps.APIVersions.Has("x.io/v1/Old") {
		t.Errorf("nothing is new: %v, %d answers", err, full)
	}
	kind = "New"
	c := run()
	if err := lookup(c, "New"); err != nil || full != 2 {
		t.Errorf("a new kind was not found: %v, %d answers", err, full)
	}
	before = len(f.Asked)
	var missing *NoMatchError
	for range 3 {
		if err := lookup(c, "Ghost"); !errors.As(err, &missing) {
			t.Errorf("got %v", err)
		}
	}
	if len(f.Asked) != before {
		t.Errorf("one run asks once: %v", f.Asked[before:])
	}
	// A long-lived client sees kinds that others define in the meantime.
	kind = "Later"
	c.discovery.asked = time.Now().Add(-freshness)
	if err := lookup(c, "Later"); err != nil {
		t.Errorf("a kind that was defined later: %v", err)
	}
	kind = "Latest"
	c.discovery.asked = time.Now().Add(-freshness)
	if caps, err := c.Capabilities(t.Context()); err != nil || !caps.APIVersions.Has("x.io/v1/Latest") {
		t.Errorf("the capabilities of a client that was kept: %v, %v", caps.APIVersions, err)
	}
}

func TestSplitPath(t *testing.T) {
	for path, want := range map[string]string{
		"/api/v1/namespaces/a/pods/x":            "pods a x",
		"/api/v1/namespaces/a/pods/x/log":        "pods/log a x",
		"/api/v1/namespaces/a":                   "namespaces  a",
		"/api/v1/namespaces":                     "namespaces  ",
		"/apis/apps/v1/namespaces/a/deployments": "deployments.apps a ",
		"/apis/apps/v1/deployments":              "deployments.apps  ",
		"/version":                               "/version  ",
		"/apis":                                  "/apis  ",
	} {
		t.Run(path, func(t *testing.T) {
			gr, namespace, name := splitPath(path)
			if got := gr.String() + " " + namespace + " " + name; got != want {
				t.Errorf("%s: got %q, wanted %q", path, got, want)
			}
		})
	}
}

func TestNewMakesNoRequest(t *testing.T) {
	requests := false
	c := New(Options{REST: func() (*rest.Config, error) { requests = true; return nil, os.ErrNotExist }})
	if c = c.DryRun().WithoutRetry(); requests {
		t.Error("a copy needed the cluster")
	}
	if _, err := c.Version(t.Context()); !errors.Is(err, os.ErrNotExist) || !requests {
		t.Errorf("the first request: %v", err)
	}
}

func TestCallPassesQueryAndBody(t *testing.T) {
	f := &apitest.Fake{Answers: map[string]http.HandlerFunc{"/x": func(w http.ResponseWriter, r *http.Request) {
		if r.URL.RawQuery != "a=b+c" || r.Header.Get("User-Agent") != "helm" || r.Header.Get("Content-Type") != "text/x" || r.ContentLength != 2 {
			http.Error(w, r.URL.RawQuery, http.StatusTeapot)
			return
		}
		apitest.Text("fine")(w, r)
	}}}
	c, _ := serve(t, "", "", f)
	got, err := c.Call(t.Context(), http.MethodPost, "/x", url.Values{"a": {"b c"}}, http.Header{"Content-Type": {"text/x"}}, []byte("hi"))
	if err != nil || string(got) != "fine" {
		t.Errorf("got %q, %v", got, err)
	}
}
