// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/kube/internal/apitest"
	"github.com/moonhelm/moonhelm/manifest"
)

// configMapDocument is what a server publishes about ConfigMaps.
const configMapDocument = `{"components": {"schemas": {"io.k8s.api.core.v1.ConfigMap": {"type": "object", "properties": {
	"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object", "additionalProperties": true},
	"data": {"type": "object", "additionalProperties": {"type": "string"}}},
	"x-kubernetes-group-version-kind": [{"group": "", "kind": "ConfigMap", "version": "v1"}]}}}}`

const configMapKinds = `{"kind":"APIGroupDiscoveryList","items":[{"versions":[{"version":"v1","resources":[
	{"resource":"configmaps","responseKind":{"kind":"ConfigMap"},"scope":"Namespaced"}]}]}]}`

// publishing is an API server that publishes a document, and refuses to create
// anything for the given reason.
func publishing(index, document http.HandlerFunc, code int, reason string) *apitest.Fake {
	return &apitest.Fake{Answers: map[string]http.HandlerFunc{
		"/api":               apitest.Text(configMapKinds),
		"/apis":              apitest.Text(`{"kind":"APIGroupDiscoveryList"}`),
		"/openapi/v3":        index,
		"/openapi/v3/api/v1": document,
		"/openapi/v3/other":  document,
		"/apis/authorization.k8s.io/v1/selfsubjectrulesreviews": apitest.Text(`{"status":{"resourceRules":[{"verbs":["*"],"apiGroups":["*"],"resources":["*"]}]}}`),
		"/api/v1/namespaces/ns/configmaps": func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.URL.Query().Get("dryRun") != "All":
				panic("it is written")
			case code == http.StatusCreated:
				w.WriteHeader(code)
				_, _ = w.Write([]byte(`{}`))
			default:
				apitest.Refuse(w, code, reason, "because")
			}
		},
	}}
}

func indexAt(at string) http.HandlerFunc {
	return apitest.Text(fmt.Sprintf(`{"paths": {"api/v1": {"serverRelativeURL": %q}}}`, at))
}

// wrong is a ConfigMap with a field that is not known, and one with a value of
// another type.
const wrong = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndate: {}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\ndata: {k: 7}\n"

func validated(t *testing.T, c *Client, object string) error {
	t.Helper()
	_, err := c.Plan(t.Context(), Request{Owner: kube.Owner{Release: "web", Namespace: "ns"}, New: manifest.ApplyOrder(apitest.Parse(t, object))})
	return err
}

func TestValidation(t *testing.T) {
	const (
		unknown = "ConfigMap/a in namespace ns (chart/templates/a.yaml)\n    .date: unknown field; did you mean \"data\"?"
		number  = "ConfigMap/b in namespace ns (chart/templates/a.yaml)\n    .data.k: expected a string, got number; put it in quotes"
	)
	good := func() *apitest.Fake {
		return publishing(indexAt("/openapi/v3/api/v1?hash=1"), apitest.Text(configMapDocument), 400, "BadRequest")
	}
	for _, test := range []struct {
		name   string
		server *apitest.Fake
		client func(*Client) *Client
		want   []string // nothing for an object that passes
	}{
		{"all is named at once", good(), nil, []string{"nothing was written", unknown, number}},
		{"without the permission to create", publishing(indexAt("/openapi/v3/api/v1?hash=1"), apitest.Text(configMapDocument), 403, "Forbidden"), nil, []string{unknown, number}},
		{"in a namespace that is to come", publishing(indexAt("/openapi/v3/api/v1?hash=1"), apitest.Text(configMapDocument), 404, "NotFound"), nil, []string{unknown, number}},
		{"the server has the last word", publishing(indexAt("/openapi/v3/api/v1?hash=1"), apitest.Text(configMapDocument), http.StatusCreated, ""), nil, nil},
		{"one that is there was accepted", publishing(indexAt("/openapi/v3/api/v1?hash=1"), apitest.Text(configMapDocument), 409, "AlreadyExists"), nil, nil},
		{"fields that are not known may be", good(), func(c *Client) *Client { return c.with(Options{FieldValidation: FieldValidationWarn}) }, []string{number}},
		{"not asked for", good(), func(c *Client) *Client { return c.with(Options{NoSchemaValidation: true}) }, nil},
		{"a server that publishes nothing", publishing(nil, nil, 400, "BadRequest"), nil, nil},
		{"one that is not to be read", publishing(func(w http.ResponseWriter, _ *http.Request) { apitest.Refuse(w, 403, "Forbidden", "no") }, nil, 400, "BadRequest"), nil, nil},
		{"one that does not know the version", publishing(apitest.Text(`{"paths": {}}`), nil, 400, "BadRequest"), nil, nil},
		{"an index that cannot be read", publishing(apitest.Text(`{"paths": 7}`), nil, 400, "BadRequest"), nil, nil},
		{"a document that is not there", publishing(indexAt("/openapi/v3/api/v1?hash=1"), nil, 400, "BadRequest"), nil, nil},
		{"a document that cannot be read", publishing(indexAt("/openapi/v3/api/v1?hash=1"), apitest.Text(`{"components": 7}`), 400, "BadRequest"), nil, nil},
		{"a document elsewhere", publishing(indexAt("https://example.com/openapi/v3/other"), apitest.Text(configMapDocument), 400, "BadRequest"), nil, nil},
		{"a document in another place", publishing(indexAt("/api/v1/secrets"), apitest.Text(configMapDocument), 400, "BadRequest"), nil, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			for path, answer := range test.server.Answers {
				if answer == nil {
					delete(test.server.Answers, path)
				}
			}
			c, _ := serve(t, "", t.TempDir(), test.server)
			if test.client != nil {
				c = test.client(c)
			}
			err := validated(t, c, wrong)
			var invalid *ValidationError
			if errors.As(err, &invalid) != (test.want != nil) || err != nil && invalid == nil {
				t.Fatalf("got %v", err)
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is missing in: %v", want, err)
				}
			}
		})
	}
}

func TestDocumentsAreCached(t *testing.T) {
	index := indexAt("/openapi/v3/api/v1?hash=1")
	f := publishing(func(w http.ResponseWriter, r *http.Request) { index(w, r) }, apitest.Text(configMapDocument), 400, "BadRequest")
	cache := t.TempDir()
	c, _ := serve(t, "", cache, f)
	asked := func() (documents, indexes int) {
		f.Mu.Lock()
		defer f.Mu.Unlock()
		for _, a := range f.Asked {
			switch a {
			case "GET /openapi/v3/api/v1":
				documents++
			case "GET /openapi/v3":
				indexes++
			}
		}
		f.Asked = nil
		return documents, indexes
	}
	step := func(what string, c *Client, documents int) {
		t.Helper()
		if err := validated(t, c, wrong); err == nil {
			t.Errorf("%s: it passes", what)
		}
		if d, i := asked(); d != documents || i != 1 {
			t.Errorf("%s: %d documents and %d indexes were fetched", what, d, i)
		}
	}
	again := func() *Client { return newClient(c.connection) }
	step("the first time", c, 1)
	step("in the same run", c, 0)
	step("in the next run", again(), 0)
	index = indexAt("/openapi/v3/api/v1?hash=2")
	step("when it has changed", again(), 1)
	step("and then", again(), 0)
	files, err := filepath.Glob(filepath.Join(cache, "openapi-v1-*.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, text := range []string{"", "{", `{"server": "elsewhere", "at": "/openapi/v3/api/v1?hash=2", "document": {}}`} {
		if err := os.WriteFile(files[0], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		step(fmt.Sprintf("a cache of %q", text), again(), 1)
	}
}

// A document is megabytes large, and many operations begin at the same time.
func TestDocumentConcurrentReads(t *testing.T) {
	f := publishing(indexAt("/openapi/v3/api/v1?hash=1"), apitest.Text(configMapDocument), 400, "BadRequest")
	c, _ := serve(t, "", "", f)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if d := c.document(t.Context(), "v1", "/openapi/v3/api/v1?hash=1"); d == nil {
				t.Error("no document")
			}
		})
	}
	wg.Wait()
	f.Mu.Lock()
	defer f.Mu.Unlock()
	read := 0
	for _, a := range f.Asked {
		if a == "GET /openapi/v3/api/v1" {
			read++
		}
	}
	if read != 1 {
		t.Errorf("the document was fetched %d times, want once", read)
	}
}

// An operation whose reading was cut off by its own end leaves the document to others.
func TestDocumentReaderCancelled(t *testing.T) {
	var s schemas
	ended, cancel := context.WithCancel(t.Context())
	begun, answer := make(chan struct{}), make(chan *document)
	go s.get(ended, "v1", "there", func() *document {
		close(begun)
		return <-answer
	})
	<-begun
	want := &document{At: "there"}
	got := make(chan *document)
	go func() { got <- s.get(t.Context(), "v1", "there", func() *document { return want }) }()
	cancel()
	answer <- nil
	if d := <-got; d != want {
		t.Errorf("got %v, want the document that the second reader has", d)
	}
}

// Package plan says what is wrong with directives of patches in a release's objects.
// Hooks do not pass through it.
func TestValidationRejectsDirectivesInHooks(t *testing.T) {
	const directed = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n$patch: delete\n"
	c, _ := serve(t, "", t.TempDir(), publishing(indexAt("/openapi/v3/api/v1?hash=1"), apitest.Text(configMapDocument), 400, "BadRequest"))
	_, err := c.Plan(t.Context(), Request{Owner: kube.Owner{Release: "web", Namespace: "ns"}, Running: apitest.Parse(t, directed)})
	var invalid *ValidationError
	if !errors.As(err, &invalid) || !strings.Contains(err.Error(), `.$patch: unknown field`) {
		t.Errorf("got %v, want a ValidationError that names $patch", err)
	}
}

func TestValidationSkipsUnchanged(t *testing.T) {
	f := publishing(indexAt("/openapi/v3/api/v1?hash=1"), apitest.Text(configMapDocument), 400, "BadRequest")
	c, _ := serve(t, "", t.TempDir(), f)
	if err := c.validate(t.Context(), nil, Request{Owner: kube.Owner{Release: "web", Namespace: "ns"}}); err != nil {
		t.Error(err)
	}
	if len(f.Asked) > 0 {
		t.Errorf("asked %v", f.Asked)
	}
}
