// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/moonhelm/moonhelm/internal/linger"
	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/kube/internal/api"
	"github.com/moonhelm/moonhelm/kube/internal/apitest"
	"github.com/moonhelm/moonhelm/openapi"
)

// sampleDefinition defines the custom kind of testdata/accepted.yaml.
const sampleDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: samples.kinds.example.com}
spec:
  group: kinds.example.com
  scope: Namespaced
  names: {kind: Sample, plural: samples, singular: sample}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        properties:
          spec:
            type: object
            required: [count, mode, filled]
            properties:
              count: {type: integer}
              ratio: {type: number}
              name: {type: string}
              "on": {type: boolean}
              mode: {type: string, enum: [fast, slow]}
              filled: {type: string, default: ""}
              port: {x-kubernetes-int-or-string: true}
              list: {type: array, items: {type: object, required: [name], properties: {name: {type: string}, size: {type: integer}}}}
              map: {type: object, additionalProperties: {type: string}}
              any: {type: object, x-kubernetes-preserve-unknown-fields: true}
              whole: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}
              nested: {type: object, properties: {deep: {type: object, properties: {value: {type: integer}}}}}
`

// accepted are objects of many kinds that the API server accepts.
func accepted(t *testing.T, c *Client, ns string) []*api.Target {
	t.Helper()
	text, err := os.ReadFile("testdata/accepted.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.InstallCRDs(t.Context(), apitest.Parse(t, sampleDefinition)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Delete(context.Background(), apitest.Parse(t, sampleDefinition), kube.Owner{}, Background)
	})
	short := strings.ReplaceAll(ns, "-", "")
	targets, err := c.targets(t.Context(), apitest.Parse(t, strings.ReplaceAll(string(text), "NS", short)), ns)
	if err != nil {
		t.Fatal(err)
	}
	return targets
}

// mutation is an accepted object with one change.
type mutation struct {
	target *api.Target
	what   string
	object map[string]any
	path   []any // the removed field, nil for another change
}

// dropped returns the field that the mutation has removed, as "schema field", if the document
// has it as required.
func (m mutation) dropped(d *openapi.Document) string {
	if m.path == nil || d.Custom {
		return ""
	}
	s, name := &openapi.Schema{Ref: d.Kinds[m.target.Kind]}, ""
	for i := 0; s != nil; i++ {
		for s != nil && s.Ref != "" {
			name, s = s.Ref, d.Schemas[s.Ref]
		}
		if i == len(m.path)-1 {
			if s != nil && slices.Contains(s.Required, m.path[i].(string)) {
				return name + " " + m.path[i].(string)
			}
			return ""
		}
		switch key := m.path[i].(type) {
		case int:
			s, name = s.Items, ""
		case string:
			if p := s.Properties[key]; p != nil {
				s, name = p, ""
			} else {
				s, name = s.Additional, ""
			}
		}
	}
	return ""
}

// mutations returns all mutations of an object by one change.
func mutations(t *api.Target) []mutation {
	var out []mutation
	add := func(what string, path []any, change func(map[string]any)) {
		text, err := json.Marshal(t.Object)
		if err != nil {
			panic(err)
		}
		var object map[string]any
		if err := json.Unmarshal(text, &object); err != nil {
			panic(err)
		}
		change(object)
		out = append(out, mutation{t, what, object, path})
	}
	var walk func(path []any, v any)
	walk = func(path []any, v any) {
		at := fmt.Sprint(path)
		put := func(what string, value any) {
			add(what+" "+at, nil, func(o map[string]any) { replaceAt(o, path, value) })
		}
		switch v := v.(type) {
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(v)) {
				if len(path) == 0 && (key == "apiVersion" || key == "kind") || len(path) == 1 && path[0] == "metadata" && key == "name" {
					continue
				}
				under := append(slices.Clone(path), key)
				add("drop "+fmt.Sprint(under), under, func(o map[string]any) { delete(valueAt(o, path).(map[string]any), key) })
				add("null "+fmt.Sprint(under), nil, func(o map[string]any) { valueAt(o, path).(map[string]any)[key] = nil })
				walk(under, v[key])
			}
			add("unknown in "+at, nil, func(o map[string]any) { valueAt(o, path).(map[string]any)["bogus"] = "x" })
			if len(path) > 0 {
				put("text for map", "x")
				put("list for map", []any{"x"})
			}
		case []any:
			for i, item := range v {
				walk(append(slices.Clone(path), i), item)
			}
			put("text for list", "x")
			put("map for list", map[string]any{"x": "y"})
		case string:
			put("number for text", 7)
			put("flag for text", true)
			put("map for text", map[string]any{"x": "y"})
			put("bogus", "Bogus")
			put("empty", "")
		case float64:
			put("text for number", "x")
			put("half for number", 1.5)
			put("huge for number", 1e15)
			put("flag for number", true)
		case bool:
			put("text for flag", "true")
			put("number for flag", 1)
		}
	}
	text, _ := json.Marshal(t.Object)
	var plain map[string]any
	_ = json.Unmarshal(text, &plain)
	walk(nil, plain)
	return out
}

func valueAt(v any, path []any) any {
	for _, key := range path {
		switch in := v.(type) {
		case map[string]any:
			v = in[key.(string)]
		case []any:
			v = in[key.(int)]
		}
	}
	return v
}

func replaceAt(object map[string]any, path []any, value any) {
	switch in := valueAt(object, path[:len(path)-1]).(type) {
	case map[string]any:
		in[path[len(path)-1].(string)] = value
	case []any:
		in[path[len(path)-1].(int)] = value
	}
}

// refused returns why the server would not create the object, or "" if it would.
func refused(t *testing.T, c *Client, m mutation) string {
	body, err := json.Marshal(m.object)
	if err != nil {
		t.Error(err)
		return ""
	}
	query := url.Values{"dryRun": {"All"}, "fieldValidation": {"Strict"}}
	_, err = c.Call(t.Context(), http.MethodPost, m.target.Resource.Path(m.target.Namespace, ""), query, http.Header{"Content-Type": {"application/json"}}, body)
	if err == nil {
		return ""
	}
	if !apierrors.IsBadRequest(err) && !apierrors.IsInvalid(err) {
		if strings.Contains(err.Error(), "forbidden") || strings.Contains(err.Error(), "not allowed") {
			return "" // an error of admission, which is not about the schema
		}
	}
	return err.Error()
}

// The API server rejects everything that is rejected here: 39 kinds, each with every field
// removed, set to null, to another type and to another value, and with an additional field.
// Everything that the server rejects because of a field's name or type is rejected here.
func TestValidationAgreesWithTheServer(t *testing.T) {
	c, _ := client(t)
	ns := namespace(t, c)
	targets := accepted(t, c, ns)
	var versions []string
	for _, tg := range targets {
		versions = append(versions, tg.Key().APIVersion)
	}
	slices.Sort(versions)
	versions = slices.Compact(versions)
	documents := c.documents(t.Context(), versions)
	for documents["kinds.example.com/v1"] == nil { // published with a delay
		if err := linger.Sleep(t.Context(), 100*time.Millisecond); err != nil {
			t.Fatal(err)
		}
		documents = c.documents(t.Context(), versions)
	}
	var all []mutation
	for _, tg := range targets {
		d := documents[tg.Key().APIVersion]
		if d == nil || d.Kinds[tg.Kind] == "" {
			t.Fatalf("nothing is published about %s", tg)
		}
		if d.Custom != (tg.Kind == "Sample") {
			t.Errorf("%s counts as custom: %v", tg.Kind, d.Custom)
		}
		if why := refused(t, c, mutation{target: tg, object: tg.Object}); why != "" {
			t.Errorf("%s is refused as it is: %s", tg, why)
		}
		if problems := d.Check(tg.Object); len(problems) > 0 {
			t.Errorf("%s is refused here as it is: %v", tg, problems)
		}
		all = append(all, mutations(tg)...)
	}
	var mu sync.Mutex
	count := map[string]int{}
	demanded := map[string]bool{}
	_ = api.ForEach(t.Context(), all, func(_ context.Context, m mutation) error {
		problems := documents[m.target.Key().APIVersion].Check(m.object)
		why := refused(t, c, m)
		mu.Lock()
		defer mu.Unlock()
		if name := m.dropped(documents[m.target.Key().APIVersion]); name != "" && why != "" {
			demanded[name] = true
		}
		switch {
		case len(problems) > 0 && why == "":
			count["refused here only"]++
			t.Errorf("%s, %s: refused here only: %v", m.target.Kind, m.what, problems)
		case len(problems) > 0:
			count["refused"]++
		case why == "":
			count["taken"]++
		case decoding(why) && !undocumented(m):
			count["missed"]++
			t.Errorf("%s, %s: missed: %s", m.target.Kind, m.what, why)
		default:
			count["left to the server"]++
		}
		return nil
	})
	t.Logf("%d objects: %v", len(all), count)
	// Another version of Kubernetes may require more fields; the list may then grow.
	t.Logf("demanded:\n%s", strings.Join(slices.Sorted(maps.Keys(demanded)), "\n"))
}

// decoding reports whether the error says that the server cannot decode an object.
func decoding(why string) bool {
	return strings.Contains(why, "strict decoding error") || strings.Contains(why, "json: cannot unmarshal")
}

// undocumented reports whether the API server's documents do not have a constraint that it
// enforces: nested schemas, and an empty "status" of definitions.
func undocumented(m mutation) bool {
	return m.target.Kind == api.CRDKind && (strings.Contains(m.what, "additionalProperties") || strings.Contains(m.what, "subresources"))
}
