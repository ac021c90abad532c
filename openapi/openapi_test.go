// SPDX-License-Identifier: Apache-2.0

package openapi

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/manifest"
)

// core is a part of what an API server publishes about its own kinds.
const core = `{"components": {"schemas": {
"io.k8s.api.core.v1.Box": {"type": "object", "required": ["spec"], "properties": {
	"apiVersion": {"type": "string"}, "kind": {"type": "string"},
	"metadata": {"default": {}, "allOf": [{"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}]},
	"spec": {"default": {}, "allOf": [{"$ref": "#/components/schemas/io.k8s.api.core.v1.PodSpec"}]},
	"raw": {"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.runtime.RawExtension"},
	"data": {"type": "object", "additionalProperties": {"type": "string", "format": "byte"}},
	"any": {}, "free": {"type": "object", "additionalProperties": true}
	}, "x-kubernetes-group-version-kind": [{"group": "", "kind": "Box", "version": "v1"}]},
"io.k8s.api.core.v1.PodSpec": {"type": "object", "required": ["containers", "notDemanded"], "properties": {
	"containers": {"type": "array", "items": {"default": {}, "allOf": [{"$ref": "#/components/schemas/io.k8s.api.core.v1.Container"}]}},
	"notDemanded": {"type": "string", "default": ""},
	"replicas": {"type": "integer", "format": "int32"}, "on": {"type": "boolean"},
	"policy": {"type": "string", "enum": ["Always", "Never"]}}},
"io.k8s.api.core.v1.Container": {"type": "object", "required": ["name"], "properties": {
	"name": {"type": "string", "default": ""}, "port": {"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.util.intstr.IntOrString"},
	"limits": {"type": "object", "additionalProperties": {"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.api.resource.Quantity"}}}},
"io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta": {"type": "object", "properties": {"name": {"type": "string"},
	"labels": {"type": "object", "additionalProperties": {"type": "string", "default": ""}},
	"creationTimestamp": {"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.Time"}}},
"io.k8s.apimachinery.pkg.apis.meta.v1.Time": {"type": "string", "format": "date-time"},
"io.k8s.apimachinery.pkg.runtime.RawExtension": {"type": "object"},
"io.k8s.apimachinery.pkg.api.resource.Quantity": {"oneOf": [{"type": "string"}, {"type": "number"}]},
"io.k8s.apimachinery.pkg.util.intstr.IntOrString": {"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]},
"io.k8s.api.core.v1.Unused": {"type": "object"}
}}}`

// custom is what it publishes about a definition.
const custom = `{"components": {"schemas": {
"com.example.v1.Comet": {"type": "object", "required": ["spec"], "properties": {
	"apiVersion": {"type": "string"}, "kind": {"type": "string"},
	"metadata": {"allOf": [{"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}]},
	"spec": {"type": "object", "required": ["size", "filled"], "properties": {
		"size": {"type": "integer", "enum": [1, 2]}, "filled": {"type": "string", "default": ""}, "mode": {"type": "string", "enum": ["fast"]},
		"port": {"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]},
		"bare": {"type": "object"}, "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"num": {"type": "number"}}},
		"whole": {"type": "object", "x-kubernetes-embedded-resource": true, "properties": {"x": {"type": "string"}}}}}
	}, "x-kubernetes-group-version-kind": [{"group": "example.com", "kind": "Comet", "version": "v1"}]},
"com.example.v1.CometList": {"type": "object", "x-kubernetes-group-version-kind": [{"group": "example.com", "kind": "CometList", "version": "v1"}]},
"io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta": {"type": "object", "properties": {"name": {"type": "string"}}}
}}}`

func TestCheck(t *testing.T) {
	box := "apiVersion: v1\nkind: Box\nmetadata: {name: a}\n"
	comet := "apiVersion: example.com/v1\nkind: Comet\nmetadata: {name: a}\n"
	for _, test := range []struct{ name, object, want string }{
		{"as it should be", box + "spec: {containers: [{name: a, port: 80, limits: {cpu: 1, memory: 1.5Gi}}], replicas: 2, 'on': true, policy: Always}\n" +
			"data: {a: YQ==}\nraw: {x: [1]}\nany: [1, a]\nfree: {x: {y: 1}}", ""},
		{"fields that are not known", box + "colour: red\nspec: {containers: [{name: a, prot: 1}], b.c: 1}", `.colour: unknown field
.spec[b.c]: unknown field
.spec.containers[0].prot: unknown field; did you mean "port"?`},
		{"a field of the metadata", "kind: Box\nmetadata: {name: a, lables: {}}\nspec: {containers: []}", `.metadata.lables: unknown field; did you mean "labels"?`},
		{"other types", box + "spec: {containers: {name: a}, replicas: '2', 'on': 'true', policy: 3}\ndata: [a]", `.data: expected a map, got list
.spec.containers: expected a list, got map
.spec.on: expected a boolean, got string; remove the quotes
.spec.policy: expected a string, got number; put it in quotes
.spec.replicas: expected an integer, got string; remove the quotes`},
		{"values of a map", "kind: Box\nmetadata: {labels: {a: 1, b.c/d: true}}\nspec: {containers: []}", `.metadata.labels.a: expected a string, got number; put it in quotes
.metadata.labels[b.c/d]: expected a string, got boolean; put it in quotes`},
		{"numbers", box + "spec: {containers: [{name: a, port: 9999999999}], replicas: 1.5}", `.spec.containers[0].port: expected a 32-bit integer, got a larger number
.spec.replicas: expected an integer, got number`},
		{"a whole number as a float", box + "spec: {containers: [], replicas: 3.0}", ""},
		{"no quantity", box + "spec: {containers: [{name: a, limits: {memory: 1 Gb}}]}", `.spec.containers[0].limits.memory: expected a quantity, such as 500m or 1.5Gi`},
		{"no base64", box + "spec: {containers: []}\ndata: {a: '!'}", `.data.a: expected text in base64`},
		{"none of the values", box + "spec: {containers: [], policy: always}", `.spec.policy: Unsupported value: "always": supported values: "Always", "Never"`},
		{"an empty value is none", box + "spec: {containers: [], policy: ''}", ""},
		{"a field that is missing", box + "spec: {containers: [{port: 1}]}", `.spec.containers[0].name: Required value`},
		{"one that the server does without", box, ""},
		{"nulls are missing", box + "spec: {containers: [], replicas: null, policy: null}\ndata: null\nraw: null", ""},
		{"another kind", "apiVersion: v1\nkind: Sphere\nx: y", ""},
		{"no kind", "apiVersion: v1\nkind: 7\nx: y", ""},

		{"custom, as it should be", comet + "spec: {size: 1, mode: fast, port: http, open: {num: 1, more: x}, whole: {apiVersion: v1, kind: A, metadata: {a: b}, x: z}}", ""},
		{"custom, not known", comet + "top: 1\nspec: {size: 1, bare: {x: 1}, more: 1, whole: {z: 1}}", `.spec.bare.x: unknown field
.spec.more: unknown field; did you mean "mode"?
.spec.whole.z: unknown field
.top: unknown field`},
		{"null counts as missing", box + "spec: {containers: null, replicas: null}", ".spec.containers: Required value"},
		{"custom, missing", comet + "spec: {mode: fast}", `.spec.size: Required value`},
		{"custom, all is missing", comet, `.spec: Required value`},
		{"custom, no such value", comet + "spec: {size: 3, mode: ''}", `.spec.mode: Unsupported value: "": supported values: "fast"
.spec.size: Unsupported value: 3: supported values: 1, 2`},
		{"custom, another type", comet + "spec: {size: 1, open: {num: x}, port: true}", `.spec.open.num: expected a number, got string
.spec.port: expected an integer or a string, got boolean; put it in quotes`},
	} {
		t.Run(test.name, func(t *testing.T) {
			apiVersion, text := "v1", core
			if strings.Contains(test.object, "example.com") {
				apiVersion, text = "example.com/v1", custom
			}
			d, err := Parse(apiVersion, []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			if d.Custom != (apiVersion != "v1") || d.Schemas["io.k8s.api.core.v1.Unused"] != nil {
				t.Errorf("custom: %v, %d schemas", d.Custom, len(d.Schemas))
			}
			objects, err := manifest.Parse("a.yaml", test.object)
			if err != nil {
				t.Fatal(err)
			}
			object, err := objects[0].Map()
			if err != nil {
				t.Fatal(err)
			}
			// What comes from the cache says the same.
			cached, err := json.Marshal(d)
			if err != nil {
				t.Fatal(err)
			}
			again := &Document{}
			if err := json.Unmarshal(cached, again); err != nil {
				t.Fatal(err)
			}
			for _, d := range []*Document{d, again} {
				var got []string
				for _, p := range d.Check(object) {
					got = append(got, p.String())
				}
				if s := strings.Join(got, "\n"); s != test.want {
					t.Errorf("got\n%s\nwant\n%s", s, test.want)
				}
			}
		})
	}
}

func TestCheckHidesValues(t *testing.T) {
	d, err := Parse("v1", []byte(core))
	if err != nil {
		t.Fatal(err)
	}
	object := map[string]any{"kind": "Box", "spec": map[string]any{"containers": []any{}}, "data": map[string]any{"a": 4711, "b": "pass!word"}}
	if got := fmt.Sprint(d.Check(object)); strings.Contains(got, "4711") || strings.Contains(got, "pass") {
		t.Errorf("got %s", got)
	}
}

func TestParseRejectsInvalid(t *testing.T) {
	for _, text := range []string{"", "[]", `{"components": 7}`, `{"components": {"schemas": {"a": 7}}}`} {
		if _, err := Parse("v1", []byte(text)); err == nil || !strings.Contains(err.Error(), "OpenAPI document of v1") {
			t.Errorf("%q: %v", text, err)
		}
	}
	// Schemas that refer to themselves, to none, or to nothing allow anything.
	d, err := Parse("v1", []byte(`{"components": {"schemas": {"A": {"$ref": "#/components/schemas/A", "x-kubernetes-group-version-kind": [{"version": "v1", "kind": "A"}]},
		"B": {"properties": {"x": {"$ref": "elsewhere"}, "y": {"$ref": "#/components/schemas/none"}}, "x-kubernetes-group-version-kind": [{"version": "v1", "kind": "B"}]}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"A", "B"} {
		t.Run(kind, func(t *testing.T) {
			if got := d.Check(map[string]any{"kind": kind, "x": 1, "y": map[string]any{"z": 1}}); len(got) > 0 && kind == "A" {
				t.Errorf("%s: %v", kind, got)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add(core, `{"kind": "Box", "spec": {"containers": [{"name": 1}]}}`)
	f.Add(custom, `{"kind": "Comet", "spec": {"size": {}}}`)
	f.Fuzz(func(t *testing.T, text, object string) {
		d, err := Parse("v1", []byte(text))
		var o map[string]any
		if err != nil || json.Unmarshal([]byte(object), &o) != nil {
			return
		}
		d.Check(o)
	})
}
