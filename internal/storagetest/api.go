// SPDX-License-Identifier: Apache-2.0

package storagetest

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// API is a Kubernetes API server in memory with the operations that a store of Secrets and
// ConfigMaps needs: it implements storage.API. It supports JSON, resource versions, UIDs, label
// selectors, pages and the limit for an object's data. It has no garbage collector.
type API struct {
	mu      sync.Mutex
	objects map[string]object // by path
	version int
	now     func() time.Time
	before  func(method, path string) error
	after   func(method, path string) error
}

// NewAPI returns an API without objects; now is its clock.
func NewAPI(now func() time.Time) *API {
	return &API{objects: map[string]object{}, now: now}
}

// Intercept makes every later request call before, whose error is returned instead of executing
// the request, and after, whose error is returned although the request was executed. Either may
// be nil.
func (a *API) Intercept(before, after func(method, path string) error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.before, a.after = before, after
}

// Paths returns the sorted paths of all objects.
func (a *API) Paths() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Sorted(maps.Keys(a.objects))
}

// Remove deletes an object.
func (a *API) Remove(path string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.objects, path)
}

type object map[string]any

func (o object) meta() map[string]any {
	m, _ := o["metadata"].(map[string]any)
	return m
}

func (o object) labelSet() labels.Set {
	set := labels.Set{}
	m, _ := o.meta()["labels"].(map[string]any)
	for k, v := range m {
		set[k] = fmt.Sprint(v)
	}
	return set
}

// Call implements storage.API.
func (a *API) Call(ctx context.Context, method, path string, query url.Values, header http.Header,
	body []byte) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	a.mu.Lock()
	before, after := a.before, a.after
	a.mu.Unlock()
	if before != nil {
		if err := before(method, path); err != nil {
			return nil, err
		}
	}
	response, err := a.respond(method, path, query, header, body)
	if err == nil && after != nil {
		err = after(method, path)
	}
	if err != nil {
		return nil, err
	}
	return response, nil
}

func (a *API) respond(method, path string, query url.Values, header http.Header, body []byte) ([]byte, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var in object
	if len(body) > 0 {
		if err := json.Unmarshal(body, &in); err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
	}
	collection, name := path, ""
	if head, last, ok := strings.Cut(path, "/secrets/"); ok {
		collection, name = head+"/secrets", last
	} else if head, last, ok := strings.Cut(path, "/configmaps/"); ok {
		collection, name = head+"/configmaps", last
	}
	if method == http.MethodGet && name == "" {
		return a.list(path, query)
	}
	if method == http.MethodPost {
		name, _ = in.meta()["name"].(string)
		path = collection + "/" + name
	}
	out, err := a.one(method, path, collection, name, in)
	if err != nil {
		return nil, err
	}
	if strings.Contains(header.Get("Accept"), "as=PartialObjectMetadata") {
		out = object{"kind": "PartialObjectMetadata", "metadata": out.meta()}
	}
	return json.Marshal(out)
}

func (a *API) one(method, path, collection, name string, in object) (object, error) {
	resource := schema.GroupResource{Resource: collection[strings.LastIndexByte(collection, '/')+1:]}
	old, exists := a.objects[path]
	if method == http.MethodPost {
		if exists {
			return nil, apierrors.NewAlreadyExists(resource, name)
		}
		in.meta()["uid"] = "uid-" + strconv.Itoa(a.version+1)
		in.meta()["creationTimestamp"] = a.now().UTC().Format(time.RFC3339)
		in.meta()["namespace"] = strings.Split(collection, "/")[4]
		return a.store(path, in, nil)
	}
	if !exists {
		return nil, apierrors.NewNotFound(resource, name)
	}
	conflict := apierrors.NewConflict(resource, name, errors.New("the object has been modified"))
	switch method {
	case http.MethodPut, http.MethodPatch:
		if v := in.meta()["resourceVersion"]; v != nil && v != old.meta()["resourceVersion"] {
			return nil, conflict
		}
		if method == http.MethodPatch {
			merged, err := cloneObject(old)
			if err != nil {
				return nil, err
			}
			mergePatch(merged, in)
			in = merged
		}
		return a.store(path, in, old)
	case http.MethodDelete:
		conditions, _ := in["preconditions"].(map[string]any)
		if uid := conditions["uid"]; uid != nil && uid != old.meta()["uid"] {
			return nil, conflict
		}
		delete(a.objects, path)
	}
	return old, nil
}

// store stores an object in place of old.
func (a *API) store(path string, in, old object) (object, error) {
	size := 0
	data, _ := in["data"].(map[string]any)
	for _, v := range data {
		text, _ := v.(string)
		size += len(text)
		if in["kind"] == "Secret" {
			plain, err := base64.StdEncoding.DecodeString(text)
			if err != nil {
				return nil, apierrors.NewBadRequest(err.Error())
			}
			size += len(plain) - len(text)
		}
	}
	if size > 1<<20 {
		return nil, apierrors.NewRequestEntityTooLargeError("data: Too long")
	}
	if old != nil {
		for _, k := range []string{"uid", "creationTimestamp", "namespace"} {
			in.meta()[k] = old.meta()[k]
		}
	}
	a.version++
	in.meta()["resourceVersion"] = strconv.Itoa(a.version)
	a.objects[path] = in
	return in, nil
}

func (a *API) list(path string, query url.Values) ([]byte, error) {
	selector, err := labels.Parse(query.Get("labelSelector"))
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	most, _ := strconv.Atoi(query.Get("limit"))
	items, next := []any{}, ""
	for _, p := range slices.Sorted(maps.Keys(a.objects)) {
		o := a.objects[p]
		within := strings.HasPrefix(p, path+"/") ||
			!strings.Contains(path, "/namespaces/") && strings.Contains(p, path[strings.LastIndexByte(path, '/'):]+"/")
		if !within || p <= query.Get("continue") || !selector.Matches(o.labelSet()) {
			continue
		}
		if most > 0 && len(items) == most {
			next = last(items)
			break
		}
		items = append(items, map[string]any{"metadata": o.meta(), "path": p})
	}
	return json.Marshal(map[string]any{"metadata": map[string]any{"continue": next}, "items": items})
}

func last(items []any) string {
	item, _ := items[len(items)-1].(map[string]any)
	path, _ := item["path"].(string)
	return path
}

func cloneObject(o object) (object, error) {
	text, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	var out object
	err = json.Unmarshal(text, &out)
	return out, err
}

func mergePatch(into, patch map[string]any) {
	for k, v := range patch {
		sub, nested := v.(map[string]any)
		have, _ := into[k].(map[string]any)
		switch {
		case v == nil:
			delete(into, k)
		case nested && have != nil:
			mergePatch(have, sub)
		default:
			into[k] = v
		}
	}
}
