// SPDX-License-Identifier: Apache-2.0

package values

import (
	"cmp"
	"reflect"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/chart"
)

// grove describes a chart and its subcharts.
type grove struct {
	name    string
	version string // 0.1.0 if empty
	values  string
	deps    []*chart.Dependency
	subs    []grove
}

func (g grove) chart(t *testing.T) *chart.Chart {
	t.Helper()
	vals, err := Parse(g.name+"/values.yaml", []byte(g.values))
	if err != nil {
		t.Fatal(err)
	}
	c := &chart.Chart{Metadata: &chart.Metadata{APIVersion: "v2", Name: g.name, Version: cmp.Or(g.version, "0.1.0"), Dependencies: g.deps}, Values: vals}
	var subs []*chart.Chart
	for _, s := range g.subs {
		subs = append(subs, s.chart(t))
	}
	c.SetDependencies(subs...)
	return c
}

func lists(names ...string) []*chart.Dependency {
	var out []*chart.Dependency
	for _, n := range names {
		out = append(out, &chart.Dependency{Name: n, Version: "0.1.0"})
	}
	return out
}

func parse(t *testing.T, text string) map[string]any {
	t.Helper()
	vals, err := Parse("user.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return vals
}

// The examples of the documentation.
func TestResolveDocumentedExamples(t *testing.T) {
	t.Run("exports", func(t *testing.T) {
		c := grove{name: "parent", deps: []*chart.Dependency{{Name: "subchart", Version: "0.1.0", ImportValues: []any{"data"}}}, subs: []grove{
			{name: "subchart", values: "exports:\n  data:\n    myint: 99\n"},
		}}.chart(t)
		vals := resolved(t, c, "").Values
		if vals["myint"] != 99.0 || vals["data"] != nil {
			t.Errorf("got %s", dump(vals))
		}
	})
	t.Run("child and parent", func(t *testing.T) {
		c := grove{
			name: "parent", values: "myimports:\n  myint: 0\n  mybool: false\n  mystring: helm rocks!\n",
			deps: []*chart.Dependency{{Name: "subchart1", Version: "0.1.0", ImportValues: []any{map[string]any{"child": "default.data", "parent": "myimports"}}}},
			subs: []grove{{name: "subchart1", values: "default:\n  data:\n    myint: 999\n    mybool: true\n"}},
		}.chart(t)
		if got, want := dump(resolved(t, c, "").Values["myimports"]), `{"mybool":bool(true),"myint":float64(999),"mystring":"helm rocks!",}`; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		// User values override imported values.
		if got, want := dump(resolved(t, c, "myimports: {myint: 7}").Values["myimports"]), `{"mybool":bool(true),"myint":float64(7),"mystring":"helm rocks!",}`; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
	t.Run("scope and globals", func(t *testing.T) {
		c := grove{name: "wordpress", values: "title: My WordPress Site\nglobal: {app: MyWordPress}\nmysql: {max_connections: 100, password: secret}\napache: {port: 8080}\n",
			subs: []grove{{name: "apache"}, {name: "mysql", values: "global: {own: 1}", subs: []grove{{name: "deep"}}}}}.chart(t)
		r := resolved(t, c, "")
		want := map[string]string{
			"wordpress/charts/apache":            `{"global":{"app":"MyWordPress",},"port":float64(8080),}`,
			"wordpress/charts/mysql":             `{"deep":{"global":{"app":"MyWordPress","own":float64(1),},},"global":{"app":"MyWordPress","own":float64(1),},"max_connections":float64(100),"password":"secret",}`,
			"wordpress/charts/mysql/charts/deep": `{"global":{"app":"MyWordPress","own":float64(1),},}`,
		}
		r.Chart.Walk(func(c *chart.Chart) {
			if w, ok := want[c.FullPath()]; ok && dump(Scope(r.Values, c)) != w {
				t.Errorf("%s\ngot  %s\nwant %s", c.FullPath(), dump(Scope(r.Values, c)), w)
			}
		})
		if dump(r.Values["global"]) != `{"app":"MyWordPress",}` {
			t.Errorf("a subchart's global went up: %s", dump(r.Values["global"]))
		}
	})
}

func resolved(t *testing.T, c *chart.Chart, user string) *Resolved {
	t.Helper()
	r, err := Resolve(c, parse(t, user))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestResolveNulls(t *testing.T) {
	sub := grove{name: "s", values: "a: 1\nb: {c: 1, d: 1}\n"}
	for name, tc := range map[string]struct {
		root grove
		user string
		want string
	}{
		"a user's null deletes a default":         {grove{values: "a: 1\nb: {c: 1, d: 1}\n"}, "a: null\nb: {c: null}", `{"b":{"d":float64(1),},}`},
		"a table too":                             {grove{values: "b: {c: 1}\n"}, "b: null", `{}`},
		"where nothing is, it stays":              {grove{}, "a: null\nb: {c: null}", `{"a":nil,"b":{"c":nil,},}`},
		"a chart's own nulls vanish":              {grove{values: "a: null\nb: {c: null, d: 1}\nl: [null]\n"}, "", `{"b":{"d":float64(1),},"l":[nil,],}`},
		"in a subchart":                           {grove{subs: []grove{sub}}, "s: {a: null, b: {c: null}}", `{"s":{"b":{"d":float64(1),},"global":{},},}`},
		"in a subchart that the root sets too":    {grove{values: "s: {a: 2, b: {c: 2}}", subs: []grove{sub}}, "s: {a: null, b: {c: null}}", `{"s":{"b":{"d":float64(1),},"global":{},},}`},
		"for a subchart as a whole":               {grove{values: "s: {a: 2}", subs: []grove{sub}}, "s: null", `{"s":{"a":float64(1),"b":{"c":float64(1),"d":float64(1),},"global":{},},}`},
		"for a subchart that the root leaves be":  {grove{subs: []grove{sub}}, "s: null", `{"s":{"a":float64(1),"b":{"c":float64(1),"d":float64(1),},"global":{},},}`},
		"among globals":                           {grove{values: "global: {a: 1, b: 1}", subs: []grove{{name: "s"}}}, "global: {a: null}", `{"global":{"b":float64(1),},"s":{"global":{"b":float64(1),},},}`},
		"among globals of the subchart":           {grove{subs: []grove{{name: "s", values: "global: {a: 1}"}}}, "global: {a: null}", `{"global":{"a":nil,},"s":{"global":{},},}`},
		"a root's null for the subchart, touched": {grove{values: "s: {a: null}", subs: []grove{sub}}, "s: {b: {c: 3}}", `{"s":{"b":{"c":float64(3),"d":float64(1),},"global":{},},}`},
	} {
		t.Run(name, func(t *testing.T) {
			tc.root.name = "root"
			if got := dump(resolved(t, tc.root.chart(t), tc.user).Values); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

// names returns the names of all charts in a tree.
func names(c *chart.Chart) string {
	var out []string
	c.Walk(func(c *chart.Chart) { out = append(out, c.ChartPath()) })
	return strings.Join(out, " ")
}

func TestResolveConditionsAndTags(t *testing.T) {
	on := func(condition string, tags ...string) *chart.Dependency {
		return &chart.Dependency{Name: "s", Version: "0.1.0", Condition: condition, Tags: tags}
	}
	for name, tc := range map[string]struct {
		dep        *chart.Dependency
		root, user string
		enabled    bool
	}{
		"nothing said":                         {on(""), "", "", true},
		"switched off":                         {on("s.enabled"), "s: {enabled: false}", "", false},
		"switched on by the user":              {on("s.enabled"), "s: {enabled: false}", "s: {enabled: true}", true},
		"the first path that is there":         {on("nope.x,one,two"), "one: false\ntwo: true", "", false},
		"a path that is not a boolean is not":  {on("one,two"), "one: text\ntwo: false", "", false},
		"the subchart's own default counts":    {on("s.flag"), "", "", false},
		"deleted by the user":                  {on("use"), "use: false", "use: null", true},
		"a tag":                                {on("", "x"), "tags: {x: false}", "", false},
		"one tag that is true is enough":       {on("", "x", "z"), "tags: {x: false, z: true}", "", true},
		"a condition wins over tags":           {on("yep", "x"), "yep: true\ntags: {x: false}", "", true},
		"a tag that is not a boolean is not":   {on("", "x"), "tags: {x: [1]}", "", true},
		"conditions may look at globals":       {on("global.use"), "global: {use: false}", "", false},
		"spaces around the condition":          {on(" use "), "use: false", "", false},
		"tags of the user":                     {on("", "x"), "", "tags: {x: false}", false},
		"a null of the user drops a default":   {on("", "x"), "tags: {x: false}", "tags: {x: null}", true},
		"tags that are not table are not tags": {on("", "x"), "tags: 5", "", true},
	} {
		t.Run(name, func(t *testing.T) {
			c := grove{name: "root", values: tc.root, deps: []*chart.Dependency{tc.dep}, subs: []grove{{name: "s", values: "flag: false"}}}.chart(t)
			r := resolved(t, c, tc.user)
			if got := len(r.Chart.Dependencies()) == 1; got != tc.enabled {
				t.Errorf("enabled: %v", got)
			}
			if got := len(r.Chart.Metadata.Dependencies) == 1; got != tc.enabled {
				t.Errorf("listed: %v", got)
			}
			if len(c.Metadata.Dependencies) != 1 || len(c.Dependencies()) != 1 || tc.dep.Enabled {
				t.Error("the loaded chart was changed")
			}
		})
	}
}

func TestResolveNestedConditions(t *testing.T) {
	tree := func(root, s, dep string, tags ...string) *chart.Chart {
		return grove{name: "root", values: root, deps: lists("s"), subs: []grove{{
			name: "s", values: s, deps: []*chart.Dependency{{Name: "t", Version: "0.1.0", Condition: dep, Tags: tags}}, subs: []grove{{name: "t"}},
		}}}.chart(t)
	}
	for name, tc := range map[string]struct {
		c    *chart.Chart
		user string
		want string
	}{
		"a condition is seen from its own chart": {tree("", "use: false", "use"), "", "root root.s"},
		"and not from the root":                  {tree("use: false", "", "use"), "", "root root.s root.s.t"},
		"the user switches it from above":        {tree("", "", "t.enabled"), "s: {t: {enabled: false}}", "root root.s"},
		"tags come from the root":                {tree("tags: {x: false}", "", "", "x"), "", "root root.s"},
		"or from a chart on the way":             {tree("", "tags: {x: false}", "", "x"), "", "root root.s"},
		"the root's win":                         {tree("tags: {x: true}", "tags: {x: false}", "", "x"), "", "root root.s root.s.t"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := names(resolved(t, tc.c, tc.user).Chart); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

func TestResolveAliases(t *testing.T) {
	c := grove{name: "root", values: "one: {from: one}\ntwo: {from: two}\ns: {from: s}\n", deps: []*chart.Dependency{
		{Name: "s", Version: "0.1.0", Alias: "one"}, {Name: "s", Version: "^0.1", Alias: "two"}, {Name: "s", Version: "*"},
	}, subs: []grove{{name: "s", values: "a: 1"}, {name: "extra"}}}.chart(t)
	r := resolved(t, c, "two: {a: 2}")
	if got := names(r.Chart); got != "root root.extra root.one root.two root.s" {
		t.Errorf("got %s", got)
	}
	const want = `{"extra":{"global":{},},"one":{"a":float64(1),"from":"one","global":{},},"s":{"a":float64(1),"from":"s","global":{},},"two":{"a":float64(2),"from":"two","global":{},},}`
	if dump(r.Values) != want {
		t.Errorf("got  %s\nwant %s", dump(r.Values), want)
	}
	if d := r.Chart.Metadata.Dependencies[0]; d.Name != "one" || d.Alias != "one" || !d.Enabled {
		t.Errorf("the list says %+v", d)
	}
	if c.Dependencies()[0].Name() != "s" || c.Metadata.Dependencies[0].Name != "s" {
		t.Error("the loaded chart was changed")
	}
}

func TestResolveVersions(t *testing.T) {
	two := func(t *testing.T) *chart.Chart {
		c := grove{name: "root", subs: []grove{{name: "s", values: "v: 1"}, {name: "s", values: "v: 2"}}}.chart(t)
		c.Dependencies()[1].Metadata.Version = "2.0.0"
		return c
	}
	// A chart that matches no dependency comes first, and its defaults have precedence, as
	// in Helm.
	for want, tc := range map[string]struct {
		v     any
		names string
	}{
		"0.x": {2.0, "root root.s root.s"}, "2.0.0": {1.0, "root root.s root.s"}, ">1": {1.0, "root root.s root.s"},
		"9.9.9": {1.0, "root root.s root.s"}, "no version": {1.0, "root root.s root.s"}, "*": {1.0, "root root.s"},
	} {
		t.Run(want, func(t *testing.T) {
			c := two(t)
			c.Metadata.Dependencies = []*chart.Dependency{{Name: "s", Version: want}}
			r := resolved(t, c, "")
			if got, _ := Path(r.Values, "s.v"); got != tc.v || names(r.Chart) != tc.names {
				t.Errorf("%s: got the chart of v %v and the tree %s, want %v and %s", want, got, names(r.Chart), tc.v, tc.names)
			}
		})
	}
	c := two(t)
	c.Metadata.Dependencies = []*chart.Dependency{{Name: "s", Version: "2.x"}, {Name: "s", Version: "0.x", Alias: "old"}}
	if got := dump(resolved(t, c, "").Values); got != `{"old":{"global":{},"v":float64(1),},"s":{"global":{},"v":float64(2),},}` {
		t.Errorf("got %s", got)
	}
}

func TestMissing(t *testing.T) {
	c := grove{name: "root", deps: lists("a", "b", "c"), subs: []grove{{name: "b"}, {name: "d"}}}.chart(t)
	c.Metadata.Dependencies = append(c.Metadata.Dependencies, nil)
	if got := strings.Join(Missing(c), " "); got != "a c" {
		t.Errorf("got %q", got)
	}
	resolved(t, c, "") // missing dependencies are not errors of Resolve
}

func TestResolveNestedImports(t *testing.T) {
	imports := func(name string, iv ...any) []*chart.Dependency {
		return []*chart.Dependency{{Name: name, Version: "0.1.0", ImportValues: iv}}
	}
	c := grove{name: "root", deps: imports("s", "data"), subs: []grove{{
		name: "s", values: "exports: {data: {s: 1}}",
		deps: imports("t", map[string]any{"child": "exports.data", "parent": "exports.data"}),
		subs: []grove{{name: "t", values: "exports: {data: {t: 1, s: {table: 1}}}"}},
	}}}.chart(t)
	r := resolved(t, c, "")
	if r.Values["t"] != 1.0 || dump(r.Values["s"]) == "" {
		t.Errorf("got %s", dump(r.Values))
	}
	// User values for a subchart are not imported, but the parent's are.
	c = grove{name: "root", values: "s: {b: {x: 2}}", deps: imports("s", map[string]any{"child": "b", "parent": "from.s"}), subs: []grove{{name: "s", values: "b: {x: 1, k: 1}"}}}.chart(t)
	if got := dump(resolved(t, c, "s: {b: {x: 3}}").Values["from"]); got != `{"s":{"k":float64(1),"x":float64(2),},}` {
		t.Errorf("got %s", got)
	}
	// The first of several imports has precedence, and none modifies the subchart.
	c = grove{name: "root", deps: imports("s", map[string]any{"child": "a", "parent": "i"}, map[string]any{"child": "b", "parent": "i"}), subs: []grove{{name: "s", values: "a: {x: 1, t: {a: 1}}\nb: {x: 2, t: {b: 1}}"}}}.chart(t)
	r = resolved(t, c, "")
	if got := dump(r.Values["i"]); got != `{"t":{"a":float64(1),"b":float64(1),},"x":float64(1),}` {
		t.Errorf("got %s", got)
	}
	if got, _ := Path(r.Values, "s.a.t"); dump(got) != `{"a":float64(1),}` {
		t.Errorf("the subchart was written to: %s", dump(got))
	}
	// The resolved list has both ends of each import, as in Helm's records.
	c = grove{name: "root", deps: imports("s", "data", "none"), subs: []grove{{name: "s", values: "exports: {data: {a: 1}}"}}}.chart(t)
	r = resolved(t, c, "")
	want := []any{map[string]any{"child": "exports.data", "parent": "."}, map[string]any{"child": "exports.none", "parent": "."}}
	if got := r.Chart.Metadata.Dependencies[0].ImportValues; !reflect.DeepEqual(got, want) {
		t.Errorf("the list says %v, want %v", got, want)
	}
	if c.Metadata.Dependencies[0].ImportValues[0] != "data" {
		t.Error("the loaded chart was changed")
	}
}

func TestResolveInvalidImports(t *testing.T) {
	for _, iv := range []any{nil, 5.0, true, []any{"a"}, map[string]any{}, map[string]any{"child": "a"}, map[string]any{"child": 1.0, "parent": "b"}, map[string]any{"child": "a", "parent": nil}} {
		c := grove{name: "root", deps: []*chart.Dependency{{Name: "s", Version: "0.1.0", ImportValues: []any{iv}}}, subs: []grove{{name: "s", values: "a: {x: 1}"}}}.chart(t)
		if _, err := Resolve(c, nil); err == nil || !strings.Contains(err.Error(), "import-values of root for s") {
			t.Errorf("%v: got %v", iv, err)
		}
	}
	for _, iv := range []any{"nope", "", map[string]any{"child": "scalar", "parent": "x"}, map[string]any{"child": "a.nope.b", "parent": "x"}, map[string]any{"child": ".", "parent": "x"}} {
		c := grove{name: "root", deps: []*chart.Dependency{{Name: "s", Version: "0.1.0", ImportValues: []any{iv}}}, subs: []grove{{name: "s", values: "a: {x: 1}\nscalar: 1"}}}.chart(t)
		r := resolved(t, c, "")
		if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "nothing imported from s into root") || r.Values["x"] != nil {
			t.Errorf("%v: got %q", iv, r.Warnings)
		}
	}
}

func TestResolveWarnings(t *testing.T) {
	c := grove{name: "root", values: "a: {x: 1}\nb: 1\ns: {c: 1}\n", subs: []grove{{name: "s", values: "c: {x: 1}\nglobal: {g: 1}"}}}.chart(t)
	r := resolved(t, c, "a: 5\nb: {q: 1}\nglobal: text")
	if got := dump(r.Values); got != `{"a":float64(5),"b":{"q":float64(1),},"global":"text","s":{"c":float64(1),"global":{"g":float64(1),},},}` {
		t.Errorf("got %s", got)
	}
	for _, want := range []string{"root.a", "root.b", "root.s.c", "global"} {
		t.Run(want, func(t *testing.T) {
			if !strings.Contains(strings.Join(r.Warnings, "\n"), want) {
				t.Errorf("no word about %s in %q", want, r.Warnings)
			}
		})
	}
	if _, err := Resolve(c, map[string]any{"s": "text"}); err == nil || !strings.Contains(err.Error(), `"s"`) {
		t.Errorf("a subchart's values are text: %v", err)
	}
}
