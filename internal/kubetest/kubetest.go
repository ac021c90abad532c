// SPDX-License-Identifier: Apache-2.0

// Package kubetest is a Kubernetes API server in memory, for tests and examples that
// need a cluster and no control plane:
//
//	cluster := kubetest.Start()
//	defer cluster.Close()
//	config := action.NewConfigFor(cluster.Config(), "default")
//
// It supports discovery and the operations get, list, create, update, patch and delete for
// the kinds in its table. It permits every request and runs no controllers. It has no
// schemas, server-side apply or watches; use the control plane of test/cluster for those.
package kubetest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/client-go/rest"
)

// kind is a kind that the server serves.
type kind struct {
	groupVersion, kind, plural string
	cluster                    bool // objects have no namespace
}

var kinds = []kind{
	{"v1", "Namespace", "namespaces", true},
	{"v1", "Secret", "secrets", false},
	{"v1", "ConfigMap", "configmaps", false},
	{"v1", "Service", "services", false},
	{"v1", "ServiceAccount", "serviceaccounts", false},
	{"v1", "Pod", "pods", false},
	{"v1", "Event", "events", false},
	{"v1", "PersistentVolumeClaim", "persistentvolumeclaims", false},
	{"apps/v1", "Deployment", "deployments", false},
	{"batch/v1", "Job", "jobs", false},
	{"coordination.k8s.io/v1", "Lease", "leases", false},
	{"rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles", true},
	{"apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions", true},
}

// Server is a running server. It is safe for concurrent use.
type Server struct {
	server *httptest.Server

	mu      sync.Mutex
	version int                       // the last resourceVersion
	objects map[string]map[string]any // by path
	writes  []string
}

// Start starts a server with the namespace "default".
func Start() *Server {
	s := &Server{objects: map[string]map[string]any{}}
	s.store("/api/v1/namespaces/default", map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "default"},
	})
	s.server = httptest.NewServer(http.HandlerFunc(s.handle))
	return s
}

// Close stops the server.
func (s *Server) Close() { s.server.Close() }

// Config returns the client configuration for the server.
func (s *Server) Config() *rest.Config { return &rest.Config{Host: s.server.URL} }

// Direct returns a client configuration that calls the server without a connection, for tests
// in a synctest bubble.
func (s *Server) Direct() *rest.Config {
	return &rest.Config{Host: "http://kubetest", Transport: direct{s}}
}

type direct struct{ *Server }

func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	if r.Body == nil {
		r = r.Clone(r.Context())
		r.Body = http.NoBody
	}
	w := httptest.NewRecorder()
	d.handle(w, r)
	return w.Result(), nil
}

// Get returns a copy of the object at an API path such as
// "/api/v1/namespaces/default/configmaps/web", or nil if it does not exist.
func (s *Server) Get(path string) map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return clone(s.objects[path])
}

// Writes returns "METHOD path" of each request other than a read, in order.
func (s *Server) Writes() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.writes)
}

func clone(object map[string]any) map[string]any {
	if object == nil {
		return nil
	}
	text, err := json.Marshal(object)
	if err != nil {
		panic(err) // cannot fail: it was decoded from JSON
	}
	var out map[string]any
	if err := json.Unmarshal(text, &out); err != nil {
		panic(err)
	}
	return out
}

// statusError is an error response.
type statusError struct {
	code            int
	reason, message string
}

func (e *statusError) Error() string { return e.message }

func notFound(path string) error {
	return &statusError{http.StatusNotFound, "NotFound", path + " not found"}
}

func (s *Server) handle(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has closed the connection
	}
	response, err := s.respond(r, body)
	code := http.StatusOK
	if err != nil {
		failed, ok := err.(*statusError)
		if !ok {
			failed = &statusError{http.StatusBadRequest, "BadRequest", err.Error()}
		}
		code = failed.code
		response = map[string]any{
			"kind": "Status", "apiVersion": "v1", "status": "Failure",
			"reason": failed.reason, "message": failed.message, "code": failed.code,
		}
	} else if r.Method == http.MethodPost {
		code = http.StatusCreated
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(response)
}

func (s *Server) respond(r *http.Request, body []byte) (any, error) {
	switch path := r.URL.Path; {
	case path == "/version":
		return map[string]string{"major": "1", "minor": "36", "gitVersion": "v1.36.0"}, nil
	case path == "/api":
		return map[string]any{"kind": "APIVersions", "versions": []string{"v1"}}, nil
	case path == "/apis":
		return groups(), nil
	case strings.HasPrefix(path, "/apis/authorization.k8s.io/"):
		return map[string]any{"status": map[string]any{"allowed": true}}, nil
	case resources(path) != nil:
		return map[string]any{"kind": "APIResourceList", "groupVersion": groupVersion(path),
			"resources": resources(path)}, nil
	}
	loc, ok := locate(r.URL.Path)
	if !ok {
		return nil, notFound(r.URL.Path)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Method == http.MethodGet {
		return s.read(r, loc)
	}
	if r.URL.Query().Get("dryRun") == "" {
		s.writes = append(s.writes, r.Method+" "+r.URL.Path)
	}
	return s.write(r, loc, body)
}

func groupVersion(path string) string {
	return strings.TrimPrefix(strings.TrimPrefix(path, "/apis/"), "/api/")
}

func groups() any {
	var all []any
	for _, k := range kinds {
		group, version, ok := strings.Cut(k.groupVersion, "/")
		if !ok {
			continue
		}
		all = append(all, map[string]any{
			"name": group, "versions": []any{map[string]string{"groupVersion": k.groupVersion, "version": version}},
		})
	}
	return map[string]any{"kind": "APIGroupList", "groups": all}
}

// resources returns the resources of the group and version at path, or nil if path is another
// one.
func resources(path string) []any {
	var all []any
	for _, k := range kinds {
		if prefix(k) == path {
			all = append(all, map[string]any{
				"name": k.plural, "kind": k.kind, "namespaced": !k.cluster,
				"verbs": []string{"create", "delete", "get", "list", "patch", "update"},
			})
		}
	}
	return all
}

func prefix(k kind) string {
	if strings.Contains(k.groupVersion, "/") {
		return "/apis/" + k.groupVersion
	}
	return "/api/" + k.groupVersion
}

// location is the object or, without a name, the collection at a path.
type location struct {
	kind
	namespace, name string
	collection      string // path
}

func locate(path string) (location, bool) {
	for _, k := range kinds {
		rest, ok := strings.CutPrefix(path, prefix(k)+"/")
		if !ok {
			continue
		}
		loc := location{kind: k, collection: prefix(k)}
		parts := strings.Split(rest, "/")
		if len(parts) >= 3 && parts[0] == "namespaces" && !k.cluster {
			loc.namespace, parts = parts[1], parts[2:]
			loc.collection += "/namespaces/" + loc.namespace
		}
		if parts[0] != k.plural || len(parts) > 2 {
			continue
		}
		loc.collection += "/" + k.plural
		if len(parts) == 2 {
			loc.name = parts[1]
		}
		return loc, true
	}
	return location{}, false
}

func (s *Server) read(r *http.Request, loc location) (any, error) {
	if loc.name != "" {
		if o := s.objects[loc.collection+"/"+loc.name]; o != nil {
			return clone(o), nil
		}
		return nil, notFound(r.URL.Path)
	}
	items := []any{}
	for path, o := range s.objects {
		found, _ := locate(path)
		if found.kind == loc.kind && (loc.namespace == "" || found.namespace == loc.namespace) &&
			matchesSelector(o, r.URL.Query().Get("labelSelector")) {
			items = append(items, clone(o))
		}
	}
	return map[string]any{
		"apiVersion": loc.groupVersion, "kind": loc.kind.kind + "List",
		"metadata": map[string]any{"resourceVersion": strconv.Itoa(s.version)}, "items": items,
	}, nil
}

// matchesSelector reports whether o matches a label selector, which may contain only equalities.
func matchesSelector(o map[string]any, selector string) bool {
	meta, _ := o["metadata"].(map[string]any)
	labels, _ := meta["labels"].(map[string]any)
	for _, term := range strings.Split(selector, ",") {
		key, want, ok := strings.Cut(term, "=")
		if ok && labels[key] != strings.TrimPrefix(want, "=") {
			return false
		}
	}
	return true
}

func (s *Server) write(r *http.Request, loc location, body []byte) (any, error) {
	dry := r.URL.Query().Get("dryRun") != ""
	if r.Method == http.MethodPost {
		return s.create(loc, body, dry)
	}
	path := loc.collection + "/" + loc.name
	old := s.objects[path]
	if old == nil || loc.name == "" {
		return nil, notFound(r.URL.Path)
	}
	if r.Method == http.MethodDelete {
		return s.remove(path, body, dry)
	}
	next, err := applyWrite(r, old, body)
	if err != nil {
		return nil, err
	}
	if err := checkPreconditions(old, next); err != nil {
		return nil, err
	}
	if dry {
		return next, nil
	}
	return clone(s.store(path, next)), nil
}

func (s *Server) create(loc location, body []byte, dry bool) (any, error) {
	var o map[string]any
	if err := json.Unmarshal(body, &o); err != nil {
		return nil, err
	}
	meta, _ := o["metadata"].(map[string]any)
	name, _ := meta["name"].(string)
	if name == "" || loc.name != "" {
		return nil, &statusError{http.StatusUnprocessableEntity, "Invalid", "metadata.name: Required value"}
	}
	if loc.namespace != "" {
		meta["namespace"] = loc.namespace
	}
	path := loc.collection + "/" + name
	if s.objects[path] != nil {
		return nil, &statusError{http.StatusConflict, "AlreadyExists", loc.plural + " \"" + name + "\" already exists"}
	}
	if dry {
		return o, nil
	}
	return clone(s.store(path, o)), nil
}

// store stores o after setting the metadata that a server sets.
func (s *Server) store(path string, o map[string]any) map[string]any {
	s.version++
	meta := o["metadata"].(map[string]any)
	if meta["uid"] == nil {
		meta["uid"] = fmt.Sprintf("00000000-0000-4000-8000-%012d", s.version)
		meta["creationTimestamp"] = "2026-01-01T00:00:00Z"
	}
	meta["resourceVersion"] = strconv.Itoa(s.version)
	if o["kind"] == "CustomResourceDefinition" {
		o["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Established", "status": "True"}}}
	}
	s.objects[path] = o
	return o
}

func (s *Server) remove(path string, body []byte, dry bool) (any, error) {
	var options struct {
		Preconditions map[string]any `json:"preconditions"`
	}
	if len(body) > 0 {
		if err := json.Unmarshal(body, &options); err != nil {
			return nil, err
		}
	}
	if err := checkPreconditions(s.objects[path], map[string]any{"metadata": options.Preconditions}); err != nil {
		return nil, err
	}
	if !dry {
		delete(s.objects, path)
	}
	return map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Success"}, nil
}

// applyWrite returns the result of a PUT or PATCH of old.
func applyWrite(r *http.Request, old map[string]any, body []byte) (map[string]any, error) {
	if r.Method == http.MethodPatch {
		media := r.Header.Get("Content-Type")
		if !strings.Contains(media, "merge-patch") { // treats strategic ones as JSON merge patches
			return nil, &statusError{http.StatusUnsupportedMediaType, "UnsupportedMediaType", "kubetest does not support " +
				media}
		}
		text, err := json.Marshal(old)
		if err != nil {
			return nil, err
		}
		if body, err = jsonpatch.MergePatch(text, body); err != nil {
			return nil, err
		}
	}
	var next map[string]any
	if err := json.Unmarshal(body, &next); err != nil {
		return nil, err
	}
	meta, _ := next["metadata"].(map[string]any)
	was := old["metadata"].(map[string]any)
	if meta == nil {
		return nil, &statusError{http.StatusUnprocessableEntity, "Invalid", "metadata: Required value"}
	}
	for _, field := range []string{"uid", "creationTimestamp", "namespace"} {
		if meta[field] == nil && was[field] != nil {
			meta[field] = was[field]
		}
	}
	return next, nil
}

// checkPreconditions returns a conflict if next has preconditions that old does not meet.
func checkPreconditions(old, next map[string]any) error {
	was, _ := old["metadata"].(map[string]any)
	meta, _ := next["metadata"].(map[string]any)
	for _, field := range []string{"uid", "resourceVersion"} {
		if meta[field] != nil && meta[field] != was[field] {
			return &statusError{http.StatusConflict, "Conflict", "the object has been modified"}
		}
	}
	return nil
}
