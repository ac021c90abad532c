// SPDX-License-Identifier: Apache-2.0

package sdk

import (
	"fmt"
	"net/http"
	"testing"
	"time"
)

const (
	kindsOfCluster = 100
	groupsOfKinds  = 10
)

// crd returns the definition of the i-th kind with a schema of 20 KB, as those of operators
// have.
func crd(i int) map[string]any {
	group, plural := fmt.Sprintf("g%d.sdk.example.org", i%groupsOfKinds), fmt.Sprintf("kind%ds", i)
	spec := map[string]any{"greeting": map[string]any{"type": "string"}}
	for section := range 12 {
		fields := map[string]any{}
		for field := range 12 {
			fields[fmt.Sprintf("field%d", field)] = map[string]any{
				"type": "string", "maxLength": 253,
				"description": fmt.Sprintf("Field %d of section %d says what an operator of kind %d does about it.", field, section, i),
			}
		}
		spec[fmt.Sprintf("section%d", section)] = map[string]any{"type": "object", "properties": fields}
	}
	return map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": plural + "." + group},
		"spec": map[string]any{
			"group": group, "scope": "Namespaced",
			"names": map[string]any{"kind": fmt.Sprintf("Kind%d", i), "plural": plural, "singular": fmt.Sprintf("kind%d", i)},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{
					"type": "object", "properties": map[string]any{"spec": map[string]any{"type": "object", "properties": spec}},
				}},
			}},
		},
	}
}

// installKinds creates the kinds and waits until each is served.
func installKinds(t *testing.T, c *client) {
	t.Helper()
	const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	for i := range kindsOfCluster {
		if err := c.do(t.Context(), http.MethodPost, path, crd(i), nil); err != nil && !conflicts(err) {
			t.Fatalf("create kind %d: %v", i, err)
		}
	}
	for i := range kindsOfCluster {
		served := fmt.Sprintf("/apis/g%d.sdk.example.org/v1/kind%ds", i%groupsOfKinds, i)
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
			err := c.do(t.Context(), http.MethodGet, served, nil, nil)
			if err == nil {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("kind %d is not served: %v", i, err)
			}
		}
	}
}
