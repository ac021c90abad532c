// SPDX-License-Identifier: Apache-2.0

// Package apitest contains test helpers for clients of an API server: a fake server with
// responses by path, access to a test cluster, and objects to create there.
package apitest

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/moonhelm/moonhelm/internal/apiserver"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/progress"
)

// RESTConfig returns the configuration for the test cluster. It skips the test if there is
// none.
func RESTConfig(t testing.TB) *rest.Config {
	t.Helper()
	path := os.Getenv(apiserver.Kubeconfig)
	if path == "" {
		t.Skip("no cluster: test/with-cluster.sh starts one (" + apiserver.Kubeconfig + ")")
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	return config
}

// Recorder records the events that a client sends.
type Recorder struct {
	Mu     sync.Mutex
	Events []progress.Event
}

// Record appends an event.
func (r *Recorder) Record(e progress.Event) {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	r.Events = append(r.Events, e)
}

// Of returns the sorted objects of the events of one kind.
func (r *Recorder) Of(kind progress.Kind) string {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	var out []string
	for _, e := range r.Events {
		if e.Kind == kind {
			out = append(out, e.Object)
		}
	}
	slices.Sort(out)
	return strings.Join(slices.Compact(out), " ")
}

// Reset removes all events.
func (r *Recorder) Reset() { r.Mu.Lock(); defer r.Mu.Unlock(); r.Events = nil }

// Parse parses objects as those of a template.
func Parse(t testing.TB, text string) []*manifest.Object {
	t.Helper()
	objs, err := manifest.Parse("chart/templates/a.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	return objs
}

// ConfigMap is a format of a ConfigMap's manifest; its argument is the name.
const ConfigMap = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: %s\ndata:\n  a: b\n---\n"

// ConfigMaps returns ConfigMaps with the given names.
func ConfigMaps(t testing.TB, names ...string) []*manifest.Object {
	t.Helper()
	var b strings.Builder
	for _, n := range names {
		fmt.Fprintf(&b, ConfigMap, n)
	}
	return Parse(t, b.String())
}

// Last returns the last event.
func (r *Recorder) Last() progress.Event {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	if len(r.Events) == 0 {
		return progress.Event{}
	}
	return r.Events[len(r.Events)-1]
}

// Lines returns the kind and text of the events of one object, in order.
func (r *Recorder) Lines(object string) []string {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	var out []string
	for _, e := range r.Events {
		if e.Object == object {
			out = append(out, strings.TrimSpace(string(e.Kind)+" "+e.Text))
		}
	}
	return out
}

// Said returns the texts of the events of one kind, a line each.
func (r *Recorder) Said(kind progress.Kind) string {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	var b strings.Builder
	for _, e := range r.Events {
		if e.Kind == kind {
			b.WriteString(e.Text + "\n")
		}
	}
	return b.String()
}

// Fake is an API server that answers by path and records the requests.
type Fake struct {
	Mu      sync.Mutex
	Asked   []string
	Answers map[string]http.HandlerFunc
}

// ServeHTTP answers a request.
func (f *Fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.Mu.Lock()
	f.Asked = append(f.Asked, r.Method+" "+r.URL.EscapedPath())
	answer := f.Answers[r.URL.Path]
	f.Mu.Unlock()
	if answer == nil {
		Refuse(w, http.StatusNotFound, "NotFound", "not found")
		return
	}
	answer(w, r)
}

// Refuse writes an API server's failure.
func Refuse(w http.ResponseWriter, code int, reason, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"` + reason +
		`","message":"` + message + `"}`))
}

// Text returns a handler that responds with s.
func Text(s string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(s))
	}
}

// PodsOnly is the discovery of a server that serves only pods.
const PodsOnly = `{"kind":"APIGroupDiscoveryList","items":[{"metadata":{},"versions":[{"version":"v1","resources":[` +
	`{"resource":"pods","responseKind":{"kind":"Pod"},"scope":"Namespaced"}]}]}]}`

// At formats the value at a path of an object; "name=x" selects an item of a list.
func At(v any, path ...string) string {
	for _, key := range path {
		switch in := v.(type) {
		case map[string]any:
			v = in[key]
		case []any:
			field, value, _ := strings.Cut(key, "=")
			i := slices.IndexFunc(in, func(e any) bool { m, _ := e.(map[string]any); return m[field] == value })
			if i < 0 {
				return "<nil>"
			}
			v = in[i]
		default:
			return "<nil>"
		}
	}
	return fmt.Sprint(v)
}

// Want fails the test if got and want differ.
func Want(t testing.TB, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n got %q\nwant %q", what, got, want)
	}
}
