// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"errors"
	"reflect"
	"testing"

	"github.com/moonhelm/moonhelm/manifest"
)

func decoded(t *testing.T, text string) map[string]any {
	t.Helper()
	v, err := manifest.Decode("", text)
	if err != nil {
		t.Fatal(err)
	}
	m, _ := v.(map[string]any)
	return m
}

const strategicPod = `{apiVersion: v1, kind: Pod, metadata: {name: p, finalizers: [x/a, x/b]}, spec: {
  nodeSelector: {a: "1"},
  containers: [{name: a, image: a, env: [{name: X, value: "1"}]}, {name: b, ports: [{containerPort: 53, protocol: UDP}]}],
  volumes: [{name: v, emptyDir: {}}], tolerations: [{key: k}]}}`

// Patches of a Pod, and the spec that they make; what is compared with kustomize is in
// test/compat/patches.
func TestApplyStrategic(t *testing.T) {
	for _, c := range []struct{ name, patch, want string }{
		{"nothing", `{}`, `{}`},
		{"merge an item", `{spec: {containers: [{name: b, image: x}]}}`,
			`{containers: [{name: b, image: x, ports: [{containerPort: 53, protocol: UDP}]}, {name: a, image: a, env: [{name: X, value: "1"}]}]}`},
		{"delete items", `{spec: {containers: [{name: a, $patch: delete}, {name: z, $patch: delete}]}}`,
			`{containers: [{name: b, ports: [{containerPort: 53, protocol: UDP}]}]}`},
		{"replace a list", `{spec: {containers: [{$patch: replace}, {name: z}]}}`, `{containers: [{name: z}]}`},
		{"delete a list", `{spec: {containers: [{$patch: delete}]}}`, `{containers: null}`},
		{"null", `{spec: {containers: null}}`, `{containers: null}`},
		{"a list without keys", `{spec: {tolerations: [{key: null}]}}`, `{tolerations: [{key: null}]}`},
		{"nulls of a new item", `{spec: {volumes: [{name: w, emptyDir: {medium: null}}]}}`,
			`{volumes: [{name: w, emptyDir: {}}, {name: v, emptyDir: {}}]}`},
		{"replace a map", `{spec: {nodeSelector: {$patch: replace, b: "2"}}}`, `{nodeSelector: {b: "2"}}`},
		{"replace by another type", `{spec: {hostNetwork: {$patch: replace, b: "2"}}}`, `{hostNetwork: {b: "2"}}`},
		{"retain keys", `{spec: {volumes: [{name: v, $retainKeys: [name, configMap], configMap: {name: c}}]}}`,
			`{volumes: [{name: v, configMap: {name: c}}]}`},
		{"a port without a protocol is that of TCP", `{spec: {containers: [{name: b, ports: [{containerPort: 80}, {containerPort: 80, protocol: UDP}]}]}}`,
			`{containers: [{name: b, ports: [{containerPort: 80}, {containerPort: 80, protocol: UDP}, {containerPort: 53, protocol: UDP}]}, {name: a, image: a, env: [{name: X, value: "1"}]}]}`},
		{"a port without a protocol is the only one of its number", `{spec: {containers: [{name: b, ports: [{containerPort: 53, hostPort: 5}]}]}}`,
			`{containers: [{name: b, ports: [{containerPort: 53, protocol: UDP, hostPort: 5}]}, {name: a, image: a, env: [{name: X, value: "1"}]}]}`},
		{"order", `{spec: {$setElementOrder/containers: [{name: b}, {name: a}]}}`,
			`{containers: [{name: b, ports: [{containerPort: 53, protocol: UDP}]}, {name: a, image: a, env: [{name: X, value: "1"}]}]}`},
		{"order of some", `{spec: {$setElementOrder/containers: [{name: z}, {name: a}], containers: [{name: z}]}}`,
			`{containers: [{name: z}, {name: b, ports: [{containerPort: 53, protocol: UDP}]}, {name: a, image: a, env: [{name: X, value: "1"}]}]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			object := decoded(t, strategicPod)
			got, err := ApplyStrategic(object, decoded(t, c.patch))
			if err != nil {
				t.Fatal(err)
			}
			want := decoded(t, strategicPod)
			spec := want["spec"].(map[string]any)
			for key, v := range decoded(t, c.want) {
				if spec[key] = v; v == nil {
					delete(spec, key)
				}
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got\n%s\nwant\n%s", FormatObject(got), FormatObject(want))
			}
			if !reflect.DeepEqual(object, decoded(t, strategicPod)) {
				t.Error("the object has changed")
			}
		})
	}
}

func TestApplyStrategicToValues(t *testing.T) {
	for _, c := range []struct {
		name, patch string
		want        []any
	}{
		{"merge", `{metadata: {finalizers: [x/c, x/b]}}`, []any{"x/c", "x/b", "x/a"}},
		{"delete", `{metadata: {$deleteFromPrimitiveList/finalizers: [x/a]}}`, []any{"x/b"}},
		{"order", `{metadata: {$setElementOrder/finalizers: [x/b, x/a]}}`, []any{"x/b", "x/a"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := ApplyStrategic(decoded(t, strategicPod), decoded(t, c.patch))
			if err != nil {
				t.Fatal(err)
			}
			if have := metadata(got)["finalizers"]; !reflect.DeepEqual(have, c.want) {
				t.Errorf("got %v, want %v", have, c.want)
			}
		})
	}
}

func TestApplyStrategicDeletes(t *testing.T) {
	got, err := ApplyStrategic(decoded(t, strategicPod), map[string]any{directive: "delete"})
	if got != nil || err != nil {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestApplyStrategicErrors(t *testing.T) {
	for patch, want := range map[string]string{
		`{spec: 1}`:                                "spec is a map in the object, and a plain value in the patch",
		`{spec: {nodeSelector: [a]}}`:              "spec.nodeSelector is a map in the object, and a list in the patch",
		`{spec: {containers: {name: a}}}`:          "spec.containers is a list in the object, and a map in the patch; $patch: replace in the map replaces it",
		`{spec: {containers: [{image: a}]}}`:       "spec.containers[0] has no name, which identifies the item",
		`{spec: {containers: [a]}}`:                "spec.containers[0] is a plain value, and must be a map",
		`{spec: {nodeSelector: {$patch: merged}}}`: "spec.nodeSelector.$patch is merged, and must be merge, replace or delete",
		`{spec: {containers: [{name: a, $patch: replace}]}}`: "spec.containers[0] has $patch: replace beside other fields; an item of only $patch: replace " +
			"replaces the list with its other items",
		`{spec: {containers: [{name: a, $patch: x}]}}`:       "spec.containers[0].$patch is x, and must be merge, replace or delete",
		`{spec: {containers: [{name: z}, {name: z}]}}`:       "spec.containers[1] has the name z, which another item of the patch has too",
		`{spec: {containers: [{name: a}, {name: a}]}}`:       "spec.containers[1] has the name a, which another item of the patch has too",
		`{spec: {$setElementOrder/tolerations: [{key: a}]}}`: "spec.tolerations has no merge key that $setElementOrder could order by",
		`{spec: {tolerations: [{key: k, $patch: delete}]}}`: "spec.tolerations is a list without merge keys, which a patch replaces as a whole, and has " +
			"[0].$patch: a JSON 6902 patch can change single items",
		`{spec: {$retainKeys: a}}`:                             "spec.$retainKeys is a plain value, and must be a list of keys",
		`{metadata: {finalizers: [{a: b}]}}`:                   "metadata.finalizers[0] is a map, and must be a plain value",
		`{metadata: {$deleteFromPrimitiveList/finalizers: a}}`: "metadata.$deleteFromPrimitiveList/finalizers is a plain value, and must be a list of values",
	} {
		t.Run(patch, func(t *testing.T) {
			_, err := ApplyStrategic(decoded(t, strategicPod), decoded(t, patch))
			var at *PatchError
			if !errors.As(err, &at) || err.Error() != want {
				t.Errorf("got %v, want %s", err, want)
			}
		})
	}
}

// Kinds whose lists have no known keys merge as a JSON merge patch does.
func TestApplyStrategicToCustomResource(t *testing.T) {
	object := decoded(t, `{apiVersion: example.com/v1, kind: Shop, metadata: {name: s}, spec: {containers: [{name: a}, {name: b}], m: {a: 1, b: 2}}}`)
	got, err := ApplyStrategic(object, decoded(t, `{spec: {containers: [{name: b, x: null}], m: {a: null, c: {d: null}}}}`))
	want := decoded(t, `{apiVersion: example.com/v1, kind: Shop, metadata: {name: s}, spec: {containers: [{name: b, x: null}], m: {b: 2, c: {}}}}`)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
}
