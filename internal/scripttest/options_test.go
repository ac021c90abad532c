// SPDX-License-Identifier: Apache-2.0

package scripttest

import (
	"strings"
	"testing"
)

func TestClusterLookup(t *testing.T) {
	object := func(kind, namespace, name string) map[string]any {
		meta := map[string]any{"name": name}
		if namespace != "" {
			meta["namespace"] = namespace
		}
		return map[string]any{"apiVersion": "v1", "kind": kind, "metadata": meta}
	}
	release := "sky"
	c := &cluster{namespace: &release, objects: []map[string]any{
		object("ConfigMap", "", "a"), object("ConfigMap", "sea", "a"), object("ConfigMap", "sea", "b"),
		object("Namespace", "", "sky"),
	}}
	for _, tt := range []struct {
		name            string
		kind, in, which string
		want            string // names of what is found
	}{
		{"an object of the release's namespace", "ConfigMap", "sky", "a", "/a"},
		{"an object of another", "ConfigMap", "sea", "a", "sea/a"},
		{"nothing in that namespace", "ConfigMap", "sun", "a", ""},
		{"a list", "ConfigMap", "sea", "", "sea/a sea/b"},
		{"of all namespaces", "ConfigMap", "", "", "/a sea/a sea/b"},
		{"without a namespace", "Namespace", "", "sky", "/sky"},
		{"no such kind", "Secret", "sky", "a", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := c.lookup("v1", tt.kind, tt.in, tt.which)
			if err != nil {
				t.Fatal(err)
			}
			found := []any{got}
			if items, ok := got["items"].([]any); ok {
				found = items
			}
			var names []string
			for _, f := range found {
				if meta, ok := f.(map[string]any)["metadata"].(map[string]any); ok {
					namespace, _ := meta["namespace"].(string)
					names = append(names, namespace+"/"+meta["name"].(string))
				}
			}
			if text := strings.Join(names, " "); text != tt.want {
				t.Errorf("found %q, want %q", text, tt.want)
			}
		})
	}
}

func TestParseOptionsErrors(t *testing.T) {
	for want, in := range map[string]map[string]any{
		`release: nmae: unknown option; did you mean "name"?`:                             {"release": map[string]any{"nmae": "x"}},
		`capabilities: q: unknown option; the options are apiVersions, kubernetesVersion`: {"capabilities": map[string]any{"q": 1}},
		`values: is a number, want a table`:                                               {"values": int64(1)},
		`release: revision: is a text, want a number`:                                     {"release": map[string]any{"revision": "x"}},
		`objects: is a text, want a list`:                                                 {"objects": "x"},
		`cluster: is a text, want a table`:                                                {"cluster": []any{"x"}},
		`capabilities: apiVersions: is a number, want a text`:                             {"capabilities": map[string]any{"apiVersions": []any{int64(1)}}},
	} {
		t.Run(want, func(t *testing.T) {
			if _, err := parseOptions(in); err == nil || err.Error() != want {
				t.Errorf("got %v", err)
			}
		})
	}
	if _, err := parseOptions(map[string]any{"values": []any{}, "cluster": map[string]any{}}); err != nil {
		t.Errorf("empty tables: %v", err)
	}
}
