// SPDX-License-Identifier: Apache-2.0

package values

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/moonhelm/moonhelm/chart"
)

// listSchema describes lists of all types, in all ways that Lists follows.
const listSchema = `
properties:
  ports: {$ref: "#/$defs/ports"}
  hosts:
    x-kubernetes-list-type: set
  args:
    x-kubernetes-list-type: atomic
  pairs:
    allOf:
    - x-kubernetes-list-type: map
      x-kubernetes-list-map-keys: [port, protocol]
  services:
    additionalProperties:
      properties:
        ports: {$ref: "more.yaml#/ports"}
  keyless: {x-kubernetes-list-type: map}
  db:
    properties:
      extra: {x-kubernetes-list-type: set}
$defs:
  ports:
    x-kubernetes-list-type: map
    x-kubernetes-list-map-keys: [name]
    items:
      properties:
        name: {type: string}
        rules: {$ref: "#/$defs/ports"}
`

// listChart returns a chart with listSchema and the given values, and a subchart db with the alias
// main.
func listChart(t *testing.T, web, db string) *chart.Chart {
	t.Helper()
	sub := originChart(t, "db", db, nil)
	sub.Schema = []byte(`{"properties": {"users": {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
		"global": {"properties": {"zones": {"x-kubernetes-list-type": "set"}}}}}`)
	c := originChart(t, "web", web, []*chart.Dependency{{Name: "db", Alias: "main", Version: "1.0.0"}}, sub)
	c.SchemaYAML = []byte(listSchema)
	c.Files = []*chart.File{{Name: "more.yaml", Data: []byte(
		"ports: {x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name]}\n")}}
	return c
}

func TestListsMerge(t *testing.T) {
	for _, test := range []struct{ name, web, db, files, set, path, want string }{
		{"a field of an item", "ports: [{name: a, port: 1}, {name: b, port: 2}]", "",
			"ports: [{name: b, port: 3}]", "", "ports", `[{"name":"a","port":1},{"name":"b","port":3}]`},
		{"new items come last", "ports: [{name: a}]", "", "ports: [{name: c}, {name: a, x: 1}]|ports: [{name: b}]", "",
			"ports", `[{"name":"a","x":1},{"name":"c"},{"name":"b"}]`},
		{"null deletes a field", "ports: [{name: a, port: 1}]", "", "ports: [{name: a, port: null}]", "",
			"ports", `[{"name":"a"}]`},
		{"an item is deleted", "ports: [{name: a}, {name: b}]", "", "ports: [{name: a, $patch: delete}]", "",
			"ports", `[{"name":"b"}]`},
		{"an item is deleted and created again", "ports: [{name: a, port: 1}, {name: b}]", "",
			"ports: [{name: a, $patch: delete}]|ports: [{name: a, x: 1}]", "", "ports", `[{"name":"a","x":1},{"name":"b"}]`},
		{"an item is replaced", "ports: [{name: a, port: 1}, {name: b}]", "", "ports: [{name: a, $patch: replace, x: 1}]", "",
			"ports", `[{"name":"a","x":1},{"name":"b"}]`},
		{"a list is replaced", "ports: [{name: a}]", "", "ports: [{$patch: replace}, {name: b}]|ports: [{name: c}]", "",
			"ports", `[{"name":"b"},{"name":"c"}]`},
		{"an empty list replaces", "ports: [{name: a}]", "", "ports: []|ports: [{name: b}]", "", "ports", `[{"name":"b"}]`},
		{"an empty list is empty", "ports: [{name: a}]", "", "ports: []", "", "ports", `[]`},
		{"null deletes a list", "ports: [{name: a}]", "", "ports: null", "", "ports", `null`},
		{"a list in an item", "ports: [{name: a, rules: [{name: x, v: 1}]}]", "",
			"ports: [{name: a, rules: [{name: z}, {name: x, v: 2}]}]", "", "ports",
			`[{"name":"a","rules":[{"name":"x","v":2},{"name":"z"}]}]`},
		{"two keys", "pairs: [{port: 1, protocol: TCP, x: 1}]", "", "pairs: [{port: 1, protocol: UDP}, {port: 1, protocol: TCP, x: 2}]",
			"", "pairs", `[{"port":1,"protocol":"TCP","x":2},{"port":1,"protocol":"UDP"}]`},
		{"keys are equal as text", `ports: [{name: "80", x: 1}]`, "", "ports: [{name: 80, x: 2}]", "", "ports", `[{"name":"80","x":2}]`},
		{"an item without keys", "ports: [{port: 1}]", "", "ports: [{port: 1}, {port: 2}]", "", "ports", `[{"port":1},{"port":2}]`},
		{"a set", "hosts: [a, b]", "", "hosts: [c, b]", "", "hosts", `["a","b","c"]`},
		{"an item of a set is deleted", "hosts: [a, b]", "", "hosts: [{value: a, $patch: delete}]|hosts: [c]", "", "hosts", `["b","c"]`},
		{"an atomic list", "args: [a, b]", "", "args: [c]", "", "args", `["c"]`},
		{"a map without keys", "keyless: [{name: a}]", "", "keyless: [{name: b}]", "", "keyless", `[{"name":"b"}]`},
		{"additionalProperties and another file", "services: {x: {ports: [{name: a}]}}", "", "services: {x: {ports: [{name: b}]}}", "",
			"services.x.ports", `[{"name":"a"},{"name":"b"}]`},
		{"a subchart by its own schema", "main: {users: [{name: b, x: 1}]}", "users: [{name: a}, {name: b, v: 1}]",
			"main: {users: [{name: a, $patch: delete}]}", "", "main.users", `[{"name":"b","v":1,"x":1}]`},
		{"globals", "global: {zones: [a]}", "global: {zones: [b]}", "", "", "main.global.zones", `["b","a"]`},
		{"--set by key", "ports: [{name: a, port: 1}, {name: b}]", "", "", "ports[name=a].port=2,ports[name=c].port=3", "ports",
			`[{"name":"a","port":2},{"name":"b"},{"name":"c","port":3}]`},
		{"--set in a list of an item", "ports: [{name: a, rules: [{name: x, v: 1}]}]", "", "", "ports[name=a].rules[name=x].v=2",
			"ports", `[{"name":"a","rules":[{"name":"x","v":2}]}]`},
		{"--set null deletes", "ports: [{name: a}, {name: b}]", "", "", "ports[name=a]=null", "ports", `[{"name":"b"}]`},
		{"--set after null", "ports: [{name: a, x: 1}, {name: b}]", "", "", "ports[name=a]=null,ports[name=a].v=1", "ports",
			`[{"name":"a","v":1},{"name":"b"}]`},
		{"--set over files", "", "", "ports: [{name: a, port: 1}]", "ports[name=a].port=2,main.users[name=x].v=1", "ports",
			`[{"name":"a","port":2}]`},
		{"--set of a text key", "", "", "", "ports[name=80].port=2", "ports", `[{"name":"80","port":2}]`},
		{"--set of two keys", "pairs: [{port: 1, protocol: TCP}]", "", "", "pairs[protocol=TCP,port=1].x=1", "pairs",
			`[{"port":1,"protocol":"TCP","x":1}]`},
		{"--set by index", "ports: [{name: a, port: 1}]", "", "", "ports[0].name=a,ports[0].port=2", "ports", `[{"name":"a","port":2}]`},
		{"--set after an empty list", "ports: [{name: a}]", "", "ports: []", "ports[name=b].x=1", "ports", `[{"name":"b","x":1}]`},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := listChart(t, test.web+"\n", test.db+"\n")
			o := Options{Lists: ListsOf(c)}
			texts := map[string]string{}
			if test.files != "" {
				for i, text := range strings.Split(test.files, "|") {
					name := fmt.Sprintf("%d.yaml", i)
					texts[name] = text
					o.Files = append(o.Files, name)
				}
			}
			if test.set != "" {
				o.Set = []string{test.set}
			}
			read := func(name string) ([]byte, error) { return []byte(texts[name]), nil }
			user, err := o.Build(read)
			if err != nil {
				t.Fatal(err)
			}
			before := dump(user) + dumpTree(c)
			res, err := Resolve(c, user)
			if err != nil {
				t.Fatal(err)
			}
			if dump(user)+dumpTree(c) != before {
				t.Error("the inputs were changed")
			}
			got, err := Path(res.Values, test.path)
			if text := encodeItem(got); text != test.want && !(err != nil && test.want == "null") {
				t.Errorf("got  %s\nwant %s", text, test.want)
			}
			origins, err := Explain(c, o, read)
			if err != nil {
				t.Fatal(err)
			}
			if a, b := encodeItem(origins.root), encodeItem(res.Values); a != b {
				t.Errorf("Explain has other values than Resolve:\n%s\n%s", a, b)
			}
		})
	}
}

func TestListsWithoutSchema(t *testing.T) {
	c := originChart(t, "web", "ports: [{name: a}]\n", nil)
	if l := ListsOf(c); l != nil {
		t.Fatalf("got %v, want nil", l)
	}
	user := map[string]any{"ports": []any{map[string]any{"name": "b", "$patch": "delete"}}}
	res, err := Resolve(c, user)
	if err != nil || dump(res.Values) != dump(user) {
		t.Errorf("got %v, %v: want the user's list as it is", res, err)
	}
	err = Apply(map[string]any{}, Set, "ports[name=a].x=1", nil)
	if err == nil || !strings.Contains(err.Error(), "x-kubernetes-list-map-keys") {
		t.Errorf("got %v, want an error that names the keyword", err)
	}
}

func TestListErrors(t *testing.T) {
	c := listChart(t, "ports: [{name: a}]\n", "")
	for _, test := range []struct{ name, values, want string }{
		{"an unknown directive", "ports: [{name: a, $patch: delet}]", `cannot merge the list ports: $patch of [name=a] is "delet", must be delete or replace`},
		{"no key", "ports: [{port: 1, $patch: delete}]", "cannot merge the list ports: an item with $patch needs name, by which items of the list are found"},
		{"no value", "hosts: [{name: 1, $patch: delete}]", "cannot merge the list hosts: an item with $patch needs the key value, and no other"},
		{"in an item", "ports: [{name: a, rules: [{name: x, $patch: 1}]}]", "cannot merge the list ports[name=a].rules: $patch of [name=x] is 1, must be delete or replace"},
	} {
		t.Run(test.name, func(t *testing.T) {
			user, err := Parse("v", []byte(test.values))
			if err != nil {
				t.Fatal(err)
			}
			_, err = Resolve(c, user)
			var bad *ListError
			if !errors.As(err, &bad) || bad.Error() != test.want || bad.Hint() == "" {
				t.Errorf("got  %v\nwant %s", err, test.want)
			}
		})
	}
	for _, test := range []struct{ name, set, want string }{
		{"another key", "ports[id=a].x=1", `merge by name, not by "id"`},
		{"a key is missing", "pairs[port=1].x=1", "has no protocol"},
		{"no key", "ports[a].x=1", `merge by name, not by "a"`},
		{"a key is changed", "ports[name=a].name=b", "other keys than those that it is found by, [name=a]"},
		{"a key is removed", "ports[name=a].name=null", "other keys than those"},
		{"a scalar", "ports[name=a]=1", "is a table"},
		{"a set", "hosts[a=b]=1", "not a whole number"},
	} {
		t.Run("--set: "+test.name, func(t *testing.T) {
			err := ListsOf(c).Apply(map[string]any{}, Set, test.set, nil)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func TestSetItemKeys(t *testing.T) {
	l := ListsOf(listChart(t, "ports: [{name: a}]\n", ""))
	err := l.Apply(map[string]any{}, SetJSON, `ports[name=a]={"name":"b"}`, nil)
	if err == nil || !strings.Contains(err.Error(), "other keys than those that it is found by, [name=a]") {
		t.Errorf("another name in JSON: got %v", err)
	}
	vals := map[string]any{}
	if err := l.Apply(vals, Set, "ports[name=a].name=a,ports[name=a].x=1", nil); err != nil {
		t.Fatalf("the same name: %v", err)
	}
	if got, want := encodeItem(vals), `{"ports":[{"name":"a","x":1}]}`; got != want {
		t.Errorf("the same name: got %s, want %s", got, want)
	}
}

func TestOverrideLists(t *testing.T) {
	l := ListsOf(listChart(t, "", ""))
	old, _ := Parse("old", []byte("ports: [{name: a, x: 1}, {name: b}]\nargs: [a]\n"))
	over, _ := Parse("over", []byte("ports: [{name: b, $patch: delete}, {name: a, v: 1}]\nargs: [b]\n"))
	got := encodeItem(l.Override(old, over))
	if want := `{"args":["b"],"ports":[{"name":"a","v":1,"x":1},{"$patch":"delete","name":"b"}]}`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestRecursiveSchema(t *testing.T) {
	c := originChart(t, "web", "a: {b: {a: {b: {list: [1]}}}}\n", nil)
	c.SchemaYAML = []byte(`
$ref: "#/$defs/loop"
$defs:
  loop: {allOf: [{$ref: "#/$defs/loop"}, {$ref: "#/$defs/node"}, {$ref: "#anchor"}, {$ref: "#/nowhere"}, {$ref: "nowhere.json"}]}
  node: {properties: {a: {$ref: "#/$defs/loop"}, b: {$ref: "#/$defs/loop"}, list: {x-kubernetes-list-type: set}}}
`)
	user, _ := Parse("v", []byte("a: {b: {a: {b: {list: [2]}}}}\n"))
	res, err := Resolve(c, user)
	if err != nil || encodeItem(res.Values) != `{"a":{"b":{"a":{"b":{"list":[1,2]}}}}}` {
		t.Errorf("got %v, %v", res, err)
	}
}

// A schema in which every value is described by many schemas takes no longer the deeper values are.
func TestWideSchema(t *testing.T) {
	refs := strings.Repeat(`{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/b"}, `, 20)
	c := originChart(t, "web", strings.Repeat("{a: ", 60)+"[1]"+strings.Repeat("}", 60)+"\n", nil)
	c.Schema = []byte(`{"allOf": [` + refs + `{}], "$defs": {
		"a": {"additionalProperties": {"allOf": [` + refs + `{}]}},
		"b": {"additionalProperties": {"x-kubernetes-list-type": "set", "allOf": [` + refs + `{}]}}}}`)
	res, err := Resolve(c, Copy(c.Values))
	if err != nil || encodeItem(res.Values) != encodeItem(c.Values) {
		t.Errorf("got %v, %v", res, err)
	}
}

func TestSetItemOfSet(t *testing.T) {
	c := listChart(t, "hosts: [x]\n", "")
	err := ListsOf(c).Apply(map[string]any{}, Set, "hosts[=x]=null", nil)
	want := `failed parsing --set data: the index [=x] is not a whole number: the list is a set, whose items have no keys; ` +
		`an item {value: VALUE, $patch: delete} in a file removes one (in "hosts[=x]=null")`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// The origins of all items of a long list take no longer than reading it.
func TestOriginsOfLongList(t *testing.T) {
	var text strings.Builder
	text.WriteString("ports:\n")
	for i := range 20_000 {
		fmt.Fprintf(&text, "- {name: n%d, port: 1}\n", i)
	}
	c := listChart(t, text.String(), "")
	origins, err := Explain(c, Options{Lists: ListsOf(c)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for i, step := range origins.Items(c.Values["ports"].([]any), "ports") {
		want := []string{fmt.Sprintf("web/values.yaml:%d", i+2)}
		if got := texts(origins.Of("ports", step, "port")); !slices.Equal(got, want) {
			t.Fatalf("%s: got %q, want %q", step, got, want)
		}
		if ctx.Err() != nil {
			t.Fatalf("%d items took 30 s", i)
		}
	}
}

func TestLocatorReadsOnce(t *testing.T) {
	reads := 0
	read := func(string) ([]byte, error) { reads++; return []byte("a: {b: 1}\nc: 2\n"), nil }
	locate := Options{Files: []string{"f.yaml"}, Set: []string{"c=3"}}.Locator(read)
	for _, test := range []struct{ path, want string }{
		{"a", "f.yaml:1"}, {"a.b", "f.yaml:1"}, {"c", "--set"}, {"d", ""}, {"a.b.c", ""},
	} {
		t.Run(test.path, func(t *testing.T) {
			if got := locate(strings.Split(test.path, ".")...).String(); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
	if reads != 1 {
		t.Errorf("the file was read %d times", reads)
	}
}

func TestOriginsOfItems(t *testing.T) {
	c := listChart(t, "ports:\n- name: a\n  port: 1\n  host: x\n- {name: b}\nhosts: [x]\nmain:\n  users:\n  - name: b\n", "users:\n- name: a\n")
	files := map[string]string{"f.yaml": "ports:\n- name: a\n  port: 2\n- name: c\nhosts:\n- h\nmain:\n  users: [{name: a, x: 1}]\n"}
	read := func(name string) ([]byte, error) { return []byte(files[name]), nil }
	o := Options{Files: []string{"f.yaml"}, Set: []string{"ports[name=a].port=3"}, Lists: ListsOf(c)}
	origins, err := Explain(c, o, read)
	if err != nil {
		t.Fatal(err)
	}
	named := func(names ...string) (list []any) {
		for _, name := range names {
			list = append(list, map[string]any{"name": name})
		}
		return list
	}
	for _, test := range []struct {
		name string
		list []any
		want []string
	}{
		{"the list", named("a", "b", "c"), []string{"[name=a]", "[name=b]", "[name=c]"}},
		{"a layer of it", named("c", "a"), []string{"[name=c]", "[name=a]"}},
		{"an item without the key", []any{"x"}, []string{"[3]"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := origins.Items(test.list, "ports"); !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
	for _, test := range []struct {
		path string
		want []string
	}{
		{"ports/[name=a]/port", []string{"--set ports[name=a].port=3", "f.yaml:3", "web/values.yaml:3"}},
		{"ports/[name=a]/host", []string{"web/values.yaml:4"}},
		{"ports/[name=b]/name", []string{"web/values.yaml:5"}},
		{"ports/[name=c]/name", []string{"f.yaml:4"}},
		{`hosts/[="h"]`, []string{"f.yaml:6"}},
		{"main/users/[name=a]/x", []string{"f.yaml:8"}},
		{"main/users/[name=a]/name", []string{"web/charts/db/values.yaml:2"}},
		{"main/users/[name=b]/name", []string{"web/values.yaml:9"}},
		{"ports", nil},
		{"ports/[name=z]/port", nil},
	} {
		t.Run(test.path, func(t *testing.T) {
			if got := texts(origins.Of(strings.Split(test.path, "/")...)); !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// layer returns random values with a list that merges.
func layer(r *rand.Rand) map[string]any {
	if r.Intn(8) == 0 {
		return map[string]any{"ports": []any{}}
	}
	list := []any{}
	if r.Intn(8) == 0 {
		list = append(list, marker())
	}
	for _, i := range r.Perm(5)[:1+r.Intn(4)] {
		item := map[string]any{"name": string(rune('a' + i))}
		switch r.Intn(6) {
		case 0:
			item[patchKey] = patchDelete
		case 1:
			item[patchKey] = patchReplace
			fallthrough
		default:
			for _, k := range []string{"x", "y", "z"} {
				if r.Intn(2) == 0 {
					item[k] = float64(r.Intn(3))
				}
			}
		}
		if r.Intn(3) == 0 && item[patchKey] != patchDelete {
			item["rules"] = layer(r)["ports"]
		}
		list = append(list, item)
	}
	return map[string]any{"ports": list, "hosts": []any{float64(r.Intn(3)), "h"}}
}

func TestListProperties(t *testing.T) {
	l := ListsOf(listChart(t, "", ""))
	for seed := range int64(3000) {
		r := rand.New(rand.NewSource(seed))
		a, b, c := layer(r), layer(r), layer(r)
		before := dump(a) + dump(b)
		ab := l.Merge(a, b)
		if dump(a)+dump(b) != before {
			t.Fatalf("seed %d: the inputs were changed", seed)
		}
		if left, right := encodeItem(l.Merge(ab, c)), encodeItem(l.Merge(a, l.Merge(b, c))); left != right {
			t.Fatalf("seed %d: the grouping of layers matters:\na %s\nb %s\nc %s\n%s\n%s", seed, encodeItem(a), encodeItem(b), encodeItem(c), left, right)
		}
		for _, same := range []map[string]any{l.Merge(ab, b), l.Merge(ab, ab)} {
			if x, y := finished(t, l, ab), finished(t, l, same); x != y {
				t.Fatalf("seed %d: merging again changes something:\n%s\n%s", seed, x, y)
			}
		}
		once, err := l.Finish(ab)
		if err != nil {
			t.Fatal(err)
		}
		if x, y := encodeItem(once), finished(t, l, once); x != y || strings.Contains(x, patchKey) {
			t.Fatalf("seed %d: finishing again changes something:\n%s\n%s", seed, x, y)
		}
		checkOrder(t, l, seed, a, b)
	}
}

func finished(t *testing.T, l *Lists, vals map[string]any) string {
	t.Helper()
	out, err := l.Finish(vals)
	if err != nil {
		t.Fatal(err)
	}
	return encodeItem(out)
}

// checkOrder checks that the items of a keep their order, and that new ones come last, in b's order.
func checkOrder(t *testing.T, l *Lists, seed int64, a, b map[string]any) {
	t.Helper()
	names := func(vals map[string]any) []string {
		var out []string
		list, _ := vals["ports"].([]any)
		for _, v := range list {
			if !isMarker(v) {
				out = append(out, v.(map[string]any)["name"].(string))
			}
		}
		return out
	}
	below, above := names(a), names(b)
	want := append([]string{}, below...)
	if list := b["ports"].([]any); len(list) == 0 || isMarker(list[0]) {
		want = nil
	}
	for _, n := range above {
		if !slices.Contains(want, n) {
			want = append(want, n)
		}
	}
	if got := names(l.Merge(a, b)); !slices.Equal(got, want) {
		t.Fatalf("seed %d: got the order %q, want %q", seed, got, want)
	}
}

// TestSetItemsWithoutKeysOfDottedList names a list whose key has a dot.
func TestSetItemsWithoutKeysOfDottedList(t *testing.T) {
	c := originChart(t, "web", "{}\n", nil)
	c.Schema = []byte(`{"properties": {"a.b": {"type": "array", "x-kubernetes-list-type": "map",
		"x-kubernetes-list-map-keys": ["name"]}}}`)
	_, err := Options{Set: []string{`a\.b[0].port=1`}, Lists: ListsOf(c)}.Build(nil)
	if want := "the list a.b has no name"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
}

// TestSetItemsWithoutKeys refuses an item that is added by its index and gets no keys from any flag.
func TestSetItemsWithoutKeys(t *testing.T) {
	const want = "an item of the list ports has no name, by which its items merge: write ports[name=...] in place of its index"
	l := ListsOf(listChart(t, "ports: [{name: a}]\n", ""))
	read := func(name string) ([]byte, error) {
		if name == "keyless" {
			return []byte("ports: [{port: 1}]\n"), nil
		}
		return []byte("ports: [{name: b}]\n"), nil
	}
	for _, tt := range []struct {
		name string
		o    Options
		want string // of the error
	}{
		{"none", Options{Set: []string{"ports[0].port=1"}}, want + ` (in "ports[0].port=1")`},
		{"a scalar", Options{Set: []string{"ports[0]=1"}}, want},
		{"in JSON", Options{JSON: []string{`ports[0]={"port":1}`}}, want},
		{"after those of a file", Options{Files: []string{"f"}, Set: []string{"ports[1].port=1"}}, want},
		{"of a file", Options{Files: []string{"f"}, Set: []string{"ports[0].port=1"}}, ""},
		{"of a file without keys", Options{Files: []string{"keyless"}, Set: []string{"ports[0].port=2"}}, ""},
		{"in a later flag", Options{Set: []string{"ports[0].port=1", "ports[0].name=c"}}, ""},
		{"in the same flag", Options{Set: []string{"ports[0].port=1,ports[0].name=c"}}, ""},
		{"by its keys", Options{Set: []string{"ports[name=a].port=1"}}, ""},
		{"deleted", Options{Set: []string{"ports[name=a]=null"}}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.o.Lists = l
			_, err := tt.o.Build(read)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}
