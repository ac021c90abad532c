// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/kube/internal/apitest"
	"github.com/moonhelm/moonhelm/plan"
)

// interposed calls meanwhile once, before the first server-side apply is sent.
type interposed struct {
	http.RoundTripper
	once      *sync.Once
	meanwhile func(send func())
}

func (i interposed) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodPatch || r.Header.Get("Content-Type") != applyPatch || r.URL.Query().Get("dryRun") != "" {
		return i.RoundTripper.RoundTrip(r)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	again := func() *http.Request {
		r := r.Clone(r.Context())
		r.Body = io.NopCloser(bytes.NewReader(body))
		return r
	}
	i.once.Do(func() {
		i.meanwhile(func() {
			if resp, err := i.RoundTripper.RoundTrip(again()); err == nil {
				_ = resp.Body.Close() // the answer is lost
			}
		})
	})
	return i.RoundTripper.RoundTrip(again())
}

// before returns a client that calls meanwhile before its first server-side apply.
func (s *releaseCase) before(meanwhile func(send func())) *Client {
	config, once := rest.CopyConfig(apitest.RESTConfig(s)), &sync.Once{}
	config.Wrap(func(rt http.RoundTripper) http.RoundTripper { return interposed{rt, once, meanwhile} })
	return newClient(kube.Options{REST: func() (*rest.Config, error) { return config, nil }, Progress: s.rec.Record})
}

// post creates a ConfigMap as another client.
func (s *releaseCase) post(body string) {
	s.Helper()
	_, err := s.c.Call(s.Context(), http.MethodPost, "/api/v1/namespaces/"+s.ns+"/configmaps", nil,
		http.Header{"Content-Type": {"application/json"}}, []byte(strings.ReplaceAll(body, "NAMESPACE", s.ns)))
	if err != nil {
		s.Error(err)
	}
}

// In an exact plan an object that another client creates after the last look, and before the apply, is
// not touched. Without a plan to hold to it is the release's own object, and updated.
func TestExactCreateByApply(t *testing.T) {
	const (
		settings = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: chart}\n"
		foreign  = `{"metadata":{"name":"a"},"data":{"a":"other"}}`
		owned    = `{"metadata":{"name":"a","labels":{"app.kubernetes.io/managed-by":"Helm"},"annotations":` +
			`{"meta.helm.sh/release-name":"web","meta.helm.sh/release-namespace":"NAMESPACE"}},"data":{"a":"other"}}`
	)
	for _, tc := range []struct {
		name      string
		exact     bool
		conflicts plan.Resolution
		meanwhile func(s *releaseCase, send func())
		stale     string
		data      string
	}{
		{"nothing", true, plan.Take, func(*releaseCase, func()) {}, "", "chart"},
		{"the answer is lost", true, plan.Take, func(_ *releaseCase, send func()) { send() }, "", "chart"},
		{"without a plan to hold to", false, plan.Take, func(s *releaseCase, _ func()) { s.post(owned) }, "", "chart"},
		{"of the release", true, plan.Take, func(s *releaseCase, _ func()) { s.post(owned) },
			"another client has created it", "other"},
		{"of the release, with conflicts", true, plan.Fail, func(s *releaseCase, _ func()) { s.post(owned) },
			"another client has created it", "other"},
		{"of another client", true, plan.Take, func(s *releaseCase, _ func()) { s.post(foreign) },
			"another client has created it: ", "other"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newReleaseCase(t)
			s.ServerSide, s.Conflicts = true, tc.conflicts
			p, _ := s.plan(settings)
			p.Exact = tc.exact
			other := *s // with a client of its own
			s.c = s.before(func(send func()) { tc.meanwhile(&other, send) })
			err := s.c.Execute(s.Context(), p, p.Steps)
			var stale *StaleError
			if is := errors.As(err, &stale); is != (tc.stale != "") || !is && err != nil {
				t.Fatalf("got %v, want %q", err, tc.stale)
			}
			if stale != nil && !strings.HasPrefix(stale.Change, tc.stale) {
				t.Errorf("got %q, want %q", stale.Change, tc.stale)
			}
			apitest.Want(t, "data", apitest.At(s.get("v1", "ConfigMap", "a"), "data", "a"), tc.data)
		})
	}
}

// The server ignores the resource version in the apply that creates a custom resource too.
func TestExactCreateCustomResource(t *testing.T) {
	s := newReleaseCase(t)
	kind := fmt.Sprintf("Moon%x", rand.Uint32())
	s.define(kind, "{type: object, x-kubernetes-preserve-unknown-fields: true}")
	s.ServerSide = true
	p, _ := s.plan("apiVersion: moon.example.com/v1\nkind: " + kind + "\nmetadata: {name: a}\nspec: {a: b}\n")
	p.Exact = true
	for _, c := range []*Client{s.c.DryRun(), s.c} {
		if err := c.Execute(s.Context(), p, p.Steps); err != nil {
			t.Fatal(err)
		}
	}
	apitest.Want(t, "spec", apitest.At(s.get("moon.example.com/v1", kind, "a"), "spec"), "map[a:b]")
}
