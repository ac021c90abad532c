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
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/moonhelm/moonhelm/progress"
)

// fake is an API server that answers by path and remembers what it was asked.
type fake struct {
	mu      sync.Mutex
	asked   []string
	answers map[string]http.HandlerFunc
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	f.asked = append(f.asked, r.Method+" "+r.URL.EscapedPath())
	answer := f.answers[r.URL.Path]
	f.mu.Unlock()
	if answer == nil {
		refuse(w, http.StatusNotFound, "NotFound", "not found")
		return
	}
	answer(w, r)
}

func refuse(w http.ResponseWriter, code int, reason, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"` + reason + `","message":"` + message + `"}`))
}

func text(s string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(s))
	}
}

func serve(t *testing.T, prefix, cache string, f *fake) (*Client, *recorder) {
	t.Helper()
	s := httptest.NewServer(http.StripPrefix(prefix, f))
	t.Cleanup(s.Close)
	rec := &recorder{}
	return New(Options{
		REST:     func() (*rest.Config, error) { return &rest.Config{Host: s.URL + prefix}, nil },
		CacheDir: cache, Progress: rec.record,
	}), rec
}

func TestAddressesMayHaveAPath(t *testing.T) {
	f := &fake{answers: map[string]http.HandlerFunc{"/api/v1/namespaces/a/roles/x:y%z": text(`{}`)}}
	c, _ := serve(t, "/k8s/clusters/one", "", f)
	if _, err := c.Call(t.Context(), http.MethodGet, "/api/v1/namespaces/a/roles/x:y%z", nil, nil, nil); err != nil {
		t.Error(err)
	}
	if f.asked[0] != "GET /api/v1/namespaces/a/roles/x:y%25z" {
		t.Errorf("asked %q", f.asked)
	}
}

func TestABusyServerIsAskedAgain(t *testing.T) {
	times := 0
	f := &fake{answers: map[string]http.HandlerFunc{"/version": func(w http.ResponseWriter, r *http.Request) {
		if times++; times < 3 {
			w.Header().Set("Retry-After", "0")
			refuse(w, http.StatusTooManyRequests, "TooManyRequests", "later")
			return
		}
		text(`{"major":"1","minor":"36+","gitVersion":"v1.36.1-gke.7"}`)(w, r)
	}}}
	c, _ := serve(t, "", "", f)
	v, err := c.Version(t.Context())
	if err != nil || times != 3 || v.Version != "v1.36.1-gke.7" || v.Minor != "36+" || v.Major != "1" {
		t.Errorf("version %+v after %d requests, %v", v, times, err)
	}
}

func TestABusyServerIsNotAskedForever(t *testing.T) {
	f := &fake{answers: map[string]http.HandlerFunc{"/version": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "3600")
		refuse(w, http.StatusServiceUnavailable, "ServiceUnavailable", "down")
	}}}
	c, _ := serve(t, "", "", f)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := c.Version(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func TestErrorsSayWhatToDo(t *testing.T) {
	f := &fake{answers: map[string]http.HandlerFunc{
		"/api/v1/namespaces/a/pods": func(w http.ResponseWriter, _ *http.Request) {
			refuse(w, http.StatusForbidden, "Forbidden", `pods is forbidden: User \"eve\" cannot list resource`)
		},
		"/apis/apps/v1/deployments": func(w http.ResponseWriter, _ *http.Request) {
			refuse(w, http.StatusForbidden, "Forbidden", "exceeded quota")
		},
		"/version": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "who?", http.StatusUnauthorized) },
		// What was asked for in protobuf is refused in protobuf.
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

func TestWarningsAreReported(t *testing.T) {
	f := &fake{answers: map[string]http.HandlerFunc{"/version": func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("Warning", `299 - "policy/v1beta1 is deprecated"`)
		text(`{"gitVersion":"v1.36.0"}`)(w, r)
	}}}
	c, rec := serve(t, "", "", f)
	if _, err := c.Version(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(rec.events) != 1 || rec.events[0].Kind != progress.Warning || rec.events[0].Text != "policy/v1beta1 is deprecated" {
		t.Errorf("reported %+v", rec.events)
	}
}

// An API server from before aggregated discovery.
func TestDiscoveryOfOldServers(t *testing.T) {
	f := &fake{answers: map[string]http.HandlerFunc{
		"/version": text(`{"major":"1","minor":"24","gitVersion":"v1.24.0"}`),
		"/api":     text(`{"kind":"APIVersions","versions":["v1"]}`),
		"/api/v1": text(`{"kind":"APIResourceList","resources":[{"name":"pods","kind":"Pod","namespaced":true},
			{"name":"pods/status","kind":"Pod","namespaced":true},{"name":"pods/eviction","kind":"Eviction","namespaced":true},{"name":"nodes","kind":"Node"}]}`),
		"/apis":            text(`{"kind":"APIGroupList","groups":[{"name":"apps","versions":[{"version":"v1"}]},{"name":"down.io","versions":[{"version":"v1"}]}]}`),
		"/apis/apps/v1":    text(`{"resources":[{"name":"deployments","kind":"Deployment","namespaced":true},{"name":"deployments/scale","kind":"Scale","namespaced":true}]}`),
		"/apis/down.io/v1": func(w http.ResponseWriter, _ *http.Request) { refuse(w, 503, "ServiceUnavailable", "down") },
		"/apis/apps/v1/namespaces/a/deployments/x": text(`{"kind":"Deployment","metadata":{"name":"x"},"spec":{"replicas":3}}`),
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

const podsOnly = `{"kind":"APIGroupDiscoveryList","items":[{"metadata":{},"versions":[{"version":"v1","resources":[{"resource":"pods","responseKind":{"kind":"Pod"},"scope":"Namespaced"}]}]}]}`

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
		text(`{"kind":"APIGroupDiscoveryList","items":[{"metadata":{"name":"x.io"},"versions":[{"version":"v1","resources":[{"resource":"xs","responseKind":{"kind":"`+kind+`"},"scope":"Cluster"}]}]}]}`)(w, r)
	}
	f := &fake{answers: map[string]http.HandlerFunc{
		"/version": text(`{"gitVersion":"v1.36.0"}`), "/api": text(podsOnly), "/apis": groups,
		"/apis/x.io/v1/xs/a": text(`{"kind":"X"}`),
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
	before := len(f.asked)
	if err := lookup(run(), "Old"); err != nil || len(f.asked) != before+1 {
		t.Errorf("the cache was not used: %v, %v", err, f.asked[before:])
	}
	if caps, err := run().Capabilities(t.Context()); err != nil || full != 1 || !caps.APIVersions.Has("x.io/v1/Old") {
		t.Errorf("nothing is new: %v, %d answers", err, full)
	}
	kind = "New"
	c := run()
	if err := lookup(c, "New"); err != nil || full != 2 {
		t.Errorf("a new kind was not found: %v, %d answers", err, full)
	}
	before = len(f.asked)
	var missing *NoMatchError
	for range 3 {
		if err := lookup(c, "Ghost"); !errors.As(err, &missing) {
			t.Errorf("got %v", err)
		}
	}
	if len(f.asked) != before {
		t.Errorf("one run asks once: %v", f.asked[before:])
	}
	// A client that a program keeps learns of what others define meanwhile.
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

func TestMarksSayWhoseAnObjectIs(t *testing.T) {
	owner := Owner{"web", "prod"}
	ours := map[string]string{labelManagedBy: "Helm"}
	for _, test := range []struct {
		labels, annotations map[string]string
		foreign             string // a part of the reason, "" for ours
		others              bool
	}{
		{ours, map[string]string{annotationRelease: "web", annotationNamespace: "prod"}, "", false},
		{ours, map[string]string{annotationRelease: "db", annotationNamespace: "prod"}, `release "db"`, true},
		{ours, map[string]string{annotationRelease: "web", annotationNamespace: "test"}, `namespace "test"`, true},
		{nil, nil, "not made by Helm", false},
		{map[string]string{labelManagedBy: "Argo"}, nil, `is "Argo"`, false},
		{nil, map[string]string{annotationRelease: "web", annotationNamespace: "prod"}, labelManagedBy, false},
		{ours, map[string]string{annotationRelease: "web"}, annotationNamespace, false},
		{ours, nil, annotationRelease, false},
	} {
		m := &meta{Labels: test.labels, Annotations: test.annotations}
		why := m.foreign(owner)
		if (why == "") != (test.foreign == "") || !strings.Contains(why, test.foreign) {
			t.Errorf("%v %v: %q", test.labels, test.annotations, why)
		}
		if m.others(owner) != test.others {
			t.Errorf("%v %v: another's: %v", test.labels, test.annotations, !test.others)
		}
	}
}

func TestPathsAreTakenApart(t *testing.T) {
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
		gr, namespace, name := splitPath(path)
		if got := gr.String() + " " + namespace + " " + name; got != want {
			t.Errorf("%s: got %q, wanted %q", path, got, want)
		}
	}
}

func TestAListThatOutgrowsItsUseIsGivenUp(t *testing.T) {
	lists, gets := 0, atomic.Int32{}
	f := &fake{answers: map[string]http.HandlerFunc{
		"/api":  text(strings.ReplaceAll(strings.ReplaceAll(podsOnly, "pods", "configmaps"), "Pod", "ConfigMap")),
		"/apis": text(`{"kind":"APIGroupDiscoveryList"}`),
		"/api/v1/namespaces/a/configmaps": func(w http.ResponseWriter, r *http.Request) {
			lists++
			text(`{"metadata":{"continue":"more","remainingItemCount":100000},"items":[{"metadata":{"name":"other"}}]}`)(w, r)
		},
	}}
	for _, n := range []string{"a1", "a2", "a3", "a4"} {
		f.answers["/api/v1/namespaces/a/configmaps/"+n] = func(w http.ResponseWriter, r *http.Request) {
			gets.Add(1)
			refuse(w, http.StatusNotFound, "NotFound", "no")
		}
	}
	c, _ := serve(t, "", "", f)
	if err := c.Check(t.Context(), configMaps(t, "a1", "a2", "a3", "a4"), Owner{"web", "a"}, false); err != nil {
		t.Fatal(err)
	}
	if lists != 1 || gets.Load() != 4 {
		t.Errorf("%d lists and %d gets", lists, gets.Load())
	}
}

func TestNamesThatLeadElsewhereAreRefused(t *testing.T) {
	f := &fake{answers: map[string]http.HandlerFunc{"/api": text(podsOnly), "/apis": text(`{"kind":"APIGroupDiscoveryList"}`)}}
	c, _ := serve(t, "", "", f)
	for _, metadata := range []string{
		`{}`, `{name: 1}`, `{name: ""}`, `{name: null}`, `{name: ".."}`, `{name: "../secrets/x"}`, `{name: "x/status"}`, `{name: "a%2fb"}`,
		`{name: x, namespace: "../.."}`, `{name: x, namespace: ".."}`,
	} {
		objects := parse(t, "apiVersion: v1\nkind: Pod\nmetadata: "+metadata)
		if err := c.Delete(t.Context(), objects, Owner{"web", "a"}, Background); err == nil {
			t.Errorf("%s was accepted", metadata)
		}
	}
	for _, path := range []string{"", "x", "//x", "/x/../y", "/x/.", "/api/v1/namespaces//pods", "/x/"} {
		if _, err := c.Call(t.Context(), http.MethodDelete, path, nil, nil, nil); err == nil || !strings.Contains(err.Error(), "refuse") {
			t.Errorf("%q was called: %v", path, err)
		}
	}
	// A generated name is none that could be deleted.
	generated := parse(t, "apiVersion: v1\nkind: Pod\nmetadata: {generateName: x-}")
	if err := c.Delete(t.Context(), generated, Owner{"web", "a"}, Background); err != nil {
		t.Error(err)
	}
	if err := c.DeleteHook(t.Context(), generated[0], "a", ""); err != nil {
		t.Error(err)
	}
	for _, asked := range f.asked {
		if asked != "GET /api" && asked != "GET /apis" {
			t.Errorf("asked %q", asked)
		}
	}
}

func TestNothingIsReadOrAskedBeforeItIsNeeded(t *testing.T) {
	asked := false
	c := New(Options{REST: func() (*rest.Config, error) { asked = true; return nil, os.ErrNotExist }})
	_ = c.DryRun()
	if err := c.Apply(t.Context(), nil, Owner{}); err != nil || asked {
		t.Errorf("nothing to apply needed the cluster: %v", err)
	}
}

func TestCallPassesQueryAndBody(t *testing.T) {
	f := &fake{answers: map[string]http.HandlerFunc{"/x": func(w http.ResponseWriter, r *http.Request) {
		if r.URL.RawQuery != "a=b+c" || r.Header.Get("User-Agent") != "helm" || r.Header.Get("Content-Type") != "text/x" || r.ContentLength != 2 {
			http.Error(w, r.URL.RawQuery, http.StatusTeapot)
			return
		}
		text("fine")(w, r)
	}}}
	c, _ := serve(t, "", "", f)
	got, err := c.Call(t.Context(), http.MethodPost, "/x", url.Values{"a": {"b c"}}, http.Header{"Content-Type": {"text/x"}}, []byte("hi"))
	if err != nil || string(got) != "fine" {
		t.Errorf("got %q, %v", got, err)
	}
}
