// SPDX-License-Identifier: Apache-2.0

package openapi

import (
	_ "embed"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/manifest"
)

// definition defines a kind with all rules. Its metadata must have a short name. The tests of kube/apply
// hold the rules against the API server.
//
//go:embed testdata/rules.yaml
var definition string

func TestRules(t *testing.T) {
	docs, err := ParseCRD(parse(t, definition), map[string]*Schema{
		objectMeta: {Types: []string{"object"}, Properties: map[string]*Schema{"name": {Types: []string{"string"}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(docs) != 1 || docs["kinds.example.com/v2"] == nil {
		t.Fatalf("got the documents %v, want only the version that is served", docs)
	}
	for _, test := range []struct{ name, spec, want string }{
		{"as it should be", "{low: 1, over: 0.5, even: 4, name: abc}", ""},
		{"lists as they should be", "{list: [a], set: [a, b], map: [{port: 1, protocol: a}, {port: 1, protocol: b}, {port: 2}]}", ""},
		{"formats as they should be", "{ip: 10.0.0.1, six: '::1', net: 10.0.0.0/8, day: 2026-11-25}", ""},
		{"schemas as they should be", "{one: {a: 1}, any: {b: 5}, all: 3, port: 5%}", ""},
		{"too few", "{}", ".spec: should have at least 1 properties"},
		{"too many", "{low: 1, over: 0.5, even: 2, name: ab, list: [a]}", ".spec: should have at most 4 properties"},
		{"too low", "{low: 0}", ".spec.low: should be greater than or equal to 1"},
		{"too high", "{low: 4}", ".spec.low: should be less than or equal to 3"},
		{"at the lower end", "{over: 0}", ".spec.over: should be greater than 0"},
		{"at the upper end", "{over: 1}", ".spec.over: should be less than 1"},
		{"not a multiple", "{even: 3}", ".spec.even: should be a multiple of 2"},
		{"too short", "{name: a}", ".spec.name: should be at least 2 chars long"},
		{"too long and another pattern", "{name: ABCDE}", ".spec.name: should be at most 4 chars long\n.spec.name: should match '^[a-z]+$'"},
		{"characters are counted, not bytes", "{name: äöü}", ".spec.name: should match '^[a-z]+$'"},
		{"too few items", "{list: []}", ".spec.list: should have at least 1 items"},
		{"too many items", "{list: [a, b, c]}", ".spec.list: should have at most 2 items"},
		{"twice in a set", "{set: [a, b, a]}", ".spec.set[2]: Duplicate value: the same as [0]"},
		{"the same keys", "{map: [{port: 1}, {port: 1}]}", ".spec.map[1]: Duplicate value: the same as [0]"},
		{"an address of another family", "{ip: '::1', six: 10.0.0.1}", ".spec.ip: must be of type ipv4\n.spec.six: must be of type ipv6"},
		{"no network, no date", "{net: 10.0.0.0, day: today}", ".spec.day: must be of type date\n.spec.net: must be of type cidr"},
		{"text of a number or text", "{port: 5}", ""},
		{"text of a number or text is wrong", "{port: x}", ".spec.port: should match '^[0-9]+%$'"},
		{"both of one", "{one: {a: 1, b: 1}}", ".spec.one: must validate one and only one schema (oneOf)"},
		{"none of any", "{any: {b: 4}}", ".spec.any: must validate at least one schema (anyOf)"},
		{"the one that must not be", "{any: {a: 9}}", ".spec.any: must not validate the schema (not)"},
		{"one of all", "{all: 5}", ".spec.all: should be less than or equal to 4"},
		{"an unknown field", "{one: {a: 1, c: 1}}", ".spec.one.c: unknown field"},
	} {
		t.Run(test.name, func(t *testing.T) {
			object := parse(t, "apiVersion: kinds.example.com/v2\nkind: Rule\nmetadata: {name: a}\nspec: "+test.spec)
			if got := texts(docs["kinds.example.com/v2"].Check(object)); got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
	t.Run("a rule of the name", func(t *testing.T) {
		object := parse(t, "apiVersion: kinds.example.com/v2\nkind: Rule\nmetadata: {name: abcdef, lables: {}}\nspec: {low: 1}")
		want := ".metadata.lables: unknown field\n.metadata.name: should be at most 5 chars long"
		if got := texts(docs["kinds.example.com/v2"].Check(object)); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	})
}

func TestParseCRDRejectsInvalid(t *testing.T) {
	for _, text := range []string{"spec: 1", "spec: {versions: {}}", "spec: {versions: [{schema: {openAPIV3Schema: {type: []}}}]}"} {
		if _, err := ParseCRD(parse(t, text), nil); err == nil {
			t.Errorf("%s: no error", text)
		}
	}
	docs, err := ParseCRD(parse(t, "spec: {group: a, versions: [{name: v1, served: true, schema: {openAPIV3Schema: {}}}]}"), nil)
	if err != nil || len(docs) != 0 {
		t.Errorf("without a kind: got %v, %v", docs, err)
	}
}

func parse(t *testing.T, text string) map[string]any {
	t.Helper()
	objects, err := manifest.Parse("a.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	object, err := objects[0].Map()
	if err != nil {
		t.Fatal(err)
	}
	return object
}

func texts(problems []Problem) string {
	var out []string
	for _, p := range problems {
		out = append(out, p.String())
	}
	return strings.Join(out, "\n")
}

func FuzzParseCRD(f *testing.F) {
	f.Add(definition, "{low: 1, set: [a, a]}")
	f.Add("spec: {group: a, names: {kind: B}, versions: [{name: v1, served: true, schema: {openAPIV3Schema: {not: {$ref: B}}}}]}", "1")
	f.Fuzz(func(t *testing.T, definition, spec string) {
		object, ok := fuzzed(definition)
		if !ok {
			return
		}
		docs, err := ParseCRD(object, nil)
		if err != nil {
			return
		}
		for apiVersion, d := range docs {
			for kind := range d.Kinds {
				value, _ := fuzzed("spec: " + spec)
				d.Check(map[string]any{"apiVersion": apiVersion, "kind": kind, "spec": value["spec"]})
			}
		}
	})
}

func fuzzed(text string) (map[string]any, bool) {
	objects, err := manifest.Parse("a.yaml", text)
	if err != nil || len(objects) == 0 {
		return nil, false
	}
	object, err := objects[0].Map()
	return object, err == nil
}
