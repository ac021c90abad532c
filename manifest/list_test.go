// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"reflect"
	"strings"
	"testing"
)

func TestFlatten(t *testing.T) {
	const cm = "{apiVersion: v1, kind: ConfigMap, metadata: {name: %}}"
	item := func(name string) string { return strings.Replace(cm, "%", name, 1) }
	for _, test := range []struct {
		name, text string
		want       []string // apiVersion kind/name
	}{
		{"no list", item("a"), []string{"v1 ConfigMap/a"}},
		{"comments only", "# nothing\n", []string{" /"}},
		{"a list", "{apiVersion: v1, kind: List, items: [" + item("a") + ", " + item("b") + "]}", []string{"v1 ConfigMap/a", "v1 ConfigMap/b"}},
		{"an empty list", "{apiVersion: v1, kind: List, items: []}", nil},
		{"an item that is null", "{apiVersion: v1, kind: List, items: [null, " + item("a") + "]}", []string{"v1 ConfigMap/a"}},
		{"lists in lists", "{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: List, items: [" + item("a") + "]}, " + item("b") + "]}",
			[]string{"v1 ConfigMap/a", "v1 ConfigMap/b"}},
		{"a typed list", "{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleList, items: [{metadata: {name: a}}, {kind: ClusterRole, metadata: {name: b}}]}",
			[]string{"rbac.authorization.k8s.io/v1 Role/a", "rbac.authorization.k8s.io/v1 ClusterRole/b"}},
		{"a typed list in a list", "{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: SecretList, items: [{metadata: {name: a}}]}]}",
			[]string{"v1 Secret/a"}},
		{"no items", "{apiVersion: v1, kind: List, metadata: {name: a}}", []string{"v1 List/a"}},
		{"items that are not a list", "{apiVersion: example.com/v1, kind: AllowList, metadata: {name: a}, items: {a: 1}}", []string{"example.com/v1 AllowList/a"}},
		{"items of another kind", "{apiVersion: v1, kind: Service, metadata: {name: a}, items: [" + item("b") + "]}", []string{"v1 Service/a"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			objs, err := Parse("web/templates/a.yaml", test.text)
			if err != nil {
				t.Fatal(err)
			}
			got, err := Flatten(objs)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, o := range got {
				names = append(names, o.APIVersion+" "+o.String())
				if o.Source != "web/templates/a.yaml" {
					t.Errorf("source of %s: %q", o, o.Source)
				}
				if (o.List == objs[0]) == (o == objs[0]) {
					t.Errorf("%s: its list is %v", o, o.List)
				}
				again, err := Parse("", o.Raw)
				if err != nil {
					t.Fatal(err)
				}
				want, _ := again[0].Map()
				if m, err := o.Map(); err != nil || !reflect.DeepEqual(m, want) {
					t.Errorf("%s is %v (%v), its text says %v", o, m, err, want)
				}
			}
			if !reflect.DeepEqual(names, test.want) {
				t.Errorf("got %q, want %q", names, test.want)
			}
		})
	}
}

func TestFlattenKeepsTheList(t *testing.T) {
	objs, err := Parse("", "{apiVersion: v1, kind: ConfigMapList, items: [{metadata: {name: a}}]}")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Flatten(objs); err != nil {
		t.Fatal(err)
	}
	m, _ := objs[0].Map()
	if item := m["items"].([]any)[0].(map[string]any); len(item) != 1 {
		t.Errorf("the list's own item is %v now", item)
	}
}

func TestFlattenRejectsOtherItems(t *testing.T) {
	for text, want := range map[string]string{
		"{kind: List, items: [a]}":                        "a.yaml: List: items[0] must be an object, it is ",
		"{kind: List, items: [{kind: List, items: [1]}]}": "items[0]: items[0] must be an object",
		"{kind: List, items: [{kind: A, metadata: 1}]}":   "items[0] of List: metadata must be a map",
	} {
		t.Run(text, func(t *testing.T) {
			objs, err := Parse("a.yaml", text)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Flatten(objs); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", text, err, want)
			}
		})
	}
}
