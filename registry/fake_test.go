// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/moonhelm/moonhelm/chart"
)

// fake is a small registry with configurable faults. test/registry uses a real one.
type fake struct {
	*httptest.Server
	t *testing.T

	mu        sync.Mutex
	manifests map[string][]byte // by name:tag and name@digest
	blobs     map[string][]byte
	requests  []string          // "GET /v2/"
	seen      []string          // Authorization headers and forms
	types     map[string]string // content types by manifest

	// handle, if not nil, may handle a request instead, and reports whether it has.
	handle func(w http.ResponseWriter, r *http.Request) bool
}

func newFake(t *testing.T) *fake {
	t.Helper()
	f := startFake(t)
	t.Cleanup(f.Close)
	return f
}

// startFake is like newFake for callers that close it. t is nil in examples.
func startFake(t *testing.T) *fake {
	f := &fake{t: t, manifests: map[string][]byte{}, blobs: map[string][]byte{}, types: map[string]string{}}
	f.Server = httptest.NewServer(f)
	return f
}

// host returns the address; ref a reference in it.
func (f *fake) host() string { return strings.TrimPrefix(f.URL, "http://") }

func (f *fake) ref(path string) Ref {
	f.t.Helper()
	ref, err := ParseRef(f.host() + "/" + path)
	if err != nil {
		f.t.Fatal(err)
	}
	return ref
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		f.t.Error(err)
	}
	f.mu.Lock()
	f.requests = append(f.requests, r.Method+" "+r.URL.Path)
	if a := r.Header.Get("Authorization"); a != "" {
		f.seen = append(f.seen, a)
	}
	if token := r.PostForm.Get("refresh_token"); token != "" {
		f.seen = append(f.seen, token)
	}
	handle := f.handle
	f.mu.Unlock()
	if handle != nil && handle(w, r) {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.serve(w, r)
}

func (f *fake) serve(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.Path, "/v2/")
	switch {
	case path == "":
	case strings.Contains(path, "/blobs/uploads/") && r.Method == http.MethodPost:
		w.Header().Set("Location", r.URL.Path+"one?state=1")
		w.WriteHeader(http.StatusAccepted)
	case strings.Contains(path, "/blobs/uploads/"):
		data, err := io.ReadAll(r.Body)
		if digest := r.URL.Query().Get("digest"); err != nil || digestOf(data) != digest || r.URL.Query().Get("state") != "1" {
			http.Error(w, `{"errors":[{"code":"DIGEST_INVALID","message":"digest invalid"}]}`, http.StatusBadRequest)
			return
		}
		f.blobs[digestOf(data)] = data
		w.WriteHeader(http.StatusCreated)
	case strings.Contains(path, "/blobs/"):
		data, ok := f.blobs[path[strings.LastIndexByte(path, '/')+1:]]
		if !ok {
			http.Error(w, "", http.StatusNotFound)
			return
		}
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
	case strings.HasSuffix(path, "/tags/list"):
		f.serveTags(w, strings.TrimSuffix(path, "/tags/list"))
	case strings.Contains(path, "/manifests/"):
		f.serveManifest(w, r, path)
	default:
		http.Error(w, "", http.StatusNotFound)
	}
}

func (f *fake) serveTags(w http.ResponseWriter, name string) {
	var tags []string
	for key := range f.manifests {
		if tag, ok := strings.CutPrefix(key, name+":"); ok {
			tags = append(tags, tag)
		}
	}
	if len(tags) == 0 {
		http.Error(w, `{"errors":[{"code":"NAME_UNKNOWN","message":"no"}]}`, http.StatusNotFound)
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"name": name, "tags": tags})
}

func (f *fake) serveManifest(w http.ResponseWriter, r *http.Request, path string) {
	name, reference, _ := strings.Cut(path, "/manifests/")
	if r.Method == http.MethodPut {
		data, _ := io.ReadAll(r.Body)
		f.put(name, reference, r.Header.Get("Content-Type"), data)
		w.WriteHeader(http.StatusCreated)
		return
	}
	key := name + ":" + reference
	if strings.HasPrefix(reference, "sha256:") {
		key = name + "@" + reference
	}
	data, ok := f.manifests[key]
	if !ok {
		http.Error(w, `{"errors":[{"code":"MANIFEST_UNKNOWN","message":"manifest unknown"}]}`, http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", f.types[key])
	_, _ = w.Write(data)
}

// put stores a manifest by its tag and its digest.
func (f *fake) put(name, tag, mediaType string, data []byte) {
	for _, key := range []string{name + ":" + tag, name + "@" + digestOf(data)} {
		f.manifests[key], f.types[key] = data, mediaType
	}
}

// blob stores a blob and returns its descriptor.
func (f *fake) blob(mediaType string, data []byte) descriptor {
	desc := describe(mediaType, data)
	f.blobs[desc.Digest] = data
	return desc
}

// chart stores a chart whose archive is text.
func (f *fake) chart(name, version, text string) descriptor {
	f.t.Helper()
	meta := &chart.Metadata{Name: name, Version: version}
	config, err := json.Marshal(meta)
	if err != nil {
		f.t.Fatal(err)
	}
	l := layers{config: f.blob(configType, config), archive: f.blob(contentType, []byte(text))}
	data, err := newManifest(meta, time.Unix(0, 0).UTC(), l)
	if err != nil {
		f.t.Fatal(err)
	}
	f.put(name, TagOf(version), imageManifest, data)
	return l.archive
}

// client returns a client without TLS.
func (f *fake) client() *Client { return &Client{PlainHTTP: true, timeout: 20 * time.Second} }

// secrets returns the secrets in the requests.
func (f *fake) secrets() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.seen...)
}

func (f *fake) count(request string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, r := range f.requests {
		if strings.HasPrefix(r, request) {
			n++
		}
	}
	return n
}

// wantBasic responds like a registry that requires a password.
func wantBasic(user, password string) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if u, p, ok := r.BasicAuth(); ok && u == user && p == password {
			return false
		}
		w.Header().Set("WWW-Authenticate", `Basic realm="here"`)
		http.Error(w, `{"errors":[{"code":"UNAUTHORIZED","message":"who are you?"}]}`, http.StatusUnauthorized)
		return true
	}
}

// wantToken responds like a registry that requires a token of realm.
func wantToken(realm, token string) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/token" {
			return false
		}
		if r.Header.Get("Authorization") == "Bearer "+token {
			return false
		}
		w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer realm="%s",service="here",scope="repository:web:pull"`, realm))
		http.Error(w, "", http.StatusUnauthorized)
		return true
	}
}
