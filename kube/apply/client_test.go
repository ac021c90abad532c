// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/kube/internal/apitest"
)

func TestReadLargeCollection(t *testing.T) {
	lists, gets := 0, atomic.Int32{}
	f := &apitest.Fake{Answers: map[string]http.HandlerFunc{
		"/api":  apitest.Text(strings.ReplaceAll(strings.ReplaceAll(apitest.PodsOnly, "pods", "configmaps"), "Pod", "ConfigMap")),
		"/apis": apitest.Text(`{"kind":"APIGroupDiscoveryList"}`),
		"/api/v1/namespaces/a/configmaps": func(w http.ResponseWriter, r *http.Request) {
			lists++
			apitest.Text(`{"metadata":{"continue":"more","remainingItemCount":100000},"items":[{"metadata":{"name":"other"}}]}`)(w, r)
		},
	}}
	for _, n := range []string{"a1", "a2", "a3", "a4"} {
		f.Answers["/api/v1/namespaces/a/configmaps/"+n] = func(w http.ResponseWriter, r *http.Request) {
			gets.Add(1)
			apitest.Refuse(w, http.StatusNotFound, "NotFound", "no")
		}
	}
	c, _ := serve(t, "", "", f)
	if err := c.Check(t.Context(), apitest.ConfigMaps(t, "a1", "a2", "a3", "a4"), kube.Owner{Release: "web", Namespace: "a"}, false); err != nil {
		t.Fatal(err)
	}
	if lists != 1 || gets.Load() != 4 {
		t.Errorf("%d lists and %d gets", lists, gets.Load())
	}
}

func TestTargetsRejectInvalidNames(t *testing.T) {
	f := &apitest.Fake{Answers: map[string]http.HandlerFunc{"/api": apitest.Text(apitest.PodsOnly), "/apis": apitest.Text(`{"kind":"APIGroupDiscoveryList"}`)}}
	c, _ := serve(t, "", "", f)
	for _, metadata := range []string{
		`{}`, `{name: 1}`, `{name: ""}`, `{name: null}`, `{name: ".."}`, `{name: "../secrets/x"}`, `{name: "x/status"}`, `{name: "a%2fb"}`,
		`{name: x, namespace: "../.."}`, `{name: x, namespace: ".."}`,
	} {
		objects := apitest.Parse(t, "apiVersion: v1\nkind: Pod\nmetadata: "+metadata)
		if err := c.Delete(t.Context(), objects, kube.Owner{Release: "web", Namespace: "a"}, Background); err == nil {
			t.Errorf("%s was accepted", metadata)
		}
	}
	for _, path := range []string{"", "x", "//x", "/x/../y", "/x/.", "/api/v1/namespaces//pods", "/x/"} {
		if _, err := c.Call(t.Context(), http.MethodDelete, path, nil, nil, nil); err == nil || !strings.Contains(err.Error(), "refuse") {
			t.Errorf("%q was called: %v", path, err)
		}
	}
	// An object with a generated name cannot be deleted by name.
	generated := apitest.Parse(t, "apiVersion: v1\nkind: Pod\nmetadata: {generateName: x-}")
	if err := c.Delete(t.Context(), generated, kube.Owner{Release: "web", Namespace: "a"}, Background); err != nil {
		t.Error(err)
	}
	if err := c.DeleteHook(t.Context(), generated[0], "a", ""); err != nil {
		t.Error(err)
	}
	for _, asked := range f.Asked {
		if asked != "GET /api" && asked != "GET /apis" {
			t.Errorf("asked %q", asked)
		}
	}
}
