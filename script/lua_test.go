// SPDX-License-Identifier: Apache-2.0

package script_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/lint"
	"github.com/moonhelm/moonhelm/chart/schema"
	"github.com/moonhelm/moonhelm/chart/values"
	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/release"
	"github.com/moonhelm/moonhelm/script"
	"github.com/moonhelm/moonhelm/script/engine"
	"github.com/moonhelm/moonhelm/script/wire"
)

// lua runs real scripts in this process.
func lua(ctx context.Context, l wire.Limits) (script.Process, error) { return engine.InProcess(ctx, l) }

// luaHost is a host for real scripts that grants everything.
func luaHost() *script.Host {
	return &script.Host{Start: lua, Seed: 1, Approve: func(context.Context, []script.Ask) error { return nil }}
}

// lchart is a chart with this chart.lua.
func lchart(name, code string, below ...*chart.Chart) *chart.Chart {
	return newChart(name, map[string]string{chart.FileScript: code}, below...)
}

// emit runs the scripts of the payload's chart for an event.
func emit(t *testing.T, e event.Event) error {
	t.Helper()
	h := luaHost()
	bus, err := load(t, h, e.Data().Chart)
	if err != nil {
		return err
	}
	return bus.Emit(t.Context(), e)
}

func mustEmit(t *testing.T, e event.Event) {
	t.Helper()
	if err := emit(t, e); err != nil {
		t.Fatal(err)
	}
}

func objects(t testing.TB, text string) []*manifest.Object {
	t.Helper()
	objs, err := manifest.ParseManifest(text)
	if err != nil {
		t.Fatal(err)
	}
	return objs
}

func vals(t testing.TB, text string) map[string]any {
	t.Helper()
	v, err := values.Parse("values.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

const someObjects = `---
# Source: web/templates/cm.yaml
# why it is there
apiVersion: v1
kind: ConfigMap
metadata:
  name: a   # its name
data: {z: "1", a: "2"}
---
# Source: web/charts/db/templates/cm.yaml
apiVersion: v1
kind: ConfigMap
metadata: {name: b}
data: {}
list: []
`

// events are all that scripts answer, with a payload that has something of
// everything, and what may change.
func allEvents(t *testing.T, c *chart.Chart) map[string]event.Event {
	payload := func() event.Payload {
		return event.Payload{
			Chart: c, Values: vals(t, "a: 1\nglobal: {g: 1}\ndb: {port: 3306, global: {g: 1}}\n"), Objects: objects(t, someObjects),
			Operation: &event.Operation{Command: "test", Name: "demo", Namespace: "prod", Revision: 3, KubeVersion: "v1.36.0", APIVersions: []string{"v1", "batch/v1"}},
		}
	}
	s := payload()
	out := map[string]event.Event{}
	for _, e := range []event.Event{
		&event.ChartLoaded{Payload: s}, &event.PostCreate{Payload: s}, &event.PreDependencyBuild{Payload: s}, &event.PostDependencyBuild{Payload: s},
		&event.PreRender{Payload: s}, &event.PostRender{Payload: s}, &event.PreInstall{Payload: s}, &event.PostInstall{Payload: s},
		&event.PreUpgrade{Payload: s}, &event.PostUpgrade{Payload: s}, &event.PreRollback{Payload: s}, &event.PostRollback{Payload: s},
		&event.PreDelete{Payload: s}, &event.PostDelete{Payload: s}, &event.PreLint{Payload: s}, &event.PostTemplate{Payload: s},
		&event.PreTest{Payload: s}, &event.PostTest{Payload: s}, &event.FailedTest{Payload: s}, &event.PrePackage{Payload: s},
	} {
		out[e.Name()] = e
	}
	return out
}

// What may change at an event takes effect; what may not is an error that names
// the field: the table of the contract.
func TestWhatEachEventMayChange(t *testing.T) {
	for field, tc := range map[string]struct {
		part  event.Fields
		code  string
		check func(e event.Event) bool
	}{
		"values":    {event.Values, `ctx.values.new = "x"`, func(e event.Event) bool { return e.Data().Values["new"] == "x" }},
		"values.a":  {event.Values, `ctx.values.a = ctx.values.a + 1`, func(e event.Event) bool { return e.Data().Values["a"] == int64(2) }},
		"templates": {event.Templates, `ctx.templates[1].data = "new"`, func(e event.Event) bool { return string(e.Data().Chart.Templates[0].Data) == "new" }},
		"files": {event.Files, `table.insert(ctx.files, {name="new.txt", data="x"})`, func(e event.Event) bool {
			f := e.Data().Chart.Files
			return len(f) == 3 && f[1].Name == "new.txt" // ext/ stays last
		}},
		"objects": {event.Objects, `table.remove(ctx.objects, 1)`, func(e event.Event) bool { return len(e.Data().Objects) == 1 }},
		"objects[1]": {event.Objects, `ctx.objects[1].data.z = "9"`, func(e event.Event) bool {
			return strings.Contains(e.Data().Objects[0].Raw, `z: "9"`)
		}},
		"dependencies": {event.Dependencies, `ctx.dependencies[1].version = "~2"`, func(e event.Event) bool {
			return e.Data().Chart.Metadata.Dependencies[0].Version == "~2"
		}},
		"version":     {event.Versions, `ctx.chart.version = "2.0.0"`, func(e event.Event) bool { return e.Data().Chart.Version() == "2.0.0" }},
		"appVersion":  {event.Versions, `ctx.chart.appVersion = "x"`, func(e event.Event) bool { return e.Data().Chart.AppVersion() == "x" }},
		"release":     {0, `ctx.release.name = "x"`, nil},
		"name":        {0, `ctx.chart.name = "x"`, nil},
		"apiVersions": {0, `ctx.capabilities.apiVersions[1] = "x"`, nil},
		"charts":      {0, `ctx.charts.db = nil`, nil},
		"minimal":     {0, `ctx.minimal = true`, nil},
	} {
		for _, name := range event.Names() {
			if name == "pre-create" {
				continue // no chart
			}
			t.Run(field+"/"+name, func(t *testing.T) {
				code := fmt.Sprintf("events.on(%q, function(ctx)\n%s\nend)\n", name, tc.code)
				c := newChart("web", map[string]string{chart.FileScript: code, "a.txt": "A", "templates/a.yaml": "x"}, newChart("db", nil))
				c.Metadata.Dependencies = []*chart.Dependency{{Name: "db", Version: "1"}}
				e := allEvents(t, c)[name]
				before := snapshot(e)
				err := emit(t, e)
				if tc.part != 0 && e.Mutable().Has(tc.part) {
					if err != nil || !tc.check(e) {
						t.Fatalf("no effect: %v", err)
					}
					return
				}
				first, _, _ := strings.Cut(field, ".")
				first, _, _ = strings.Cut(first, "[")
				var failed *script.Error
				if !errors.As(err, &failed) || failed.Line != 2 || !strings.Contains(failed.Message, first) || failed.Source != tc.code {
					t.Fatalf("got %v", err)
				}
				if !strings.HasPrefix(err.Error(), name+` handler of chart "web": ext/lua/chart.lua:2: `) {
					t.Error(err)
				}
				if after := snapshot(e); !reflect.DeepEqual(after, before) {
					t.Error("it changed all the same")
				}
			})
		}
	}
}

// What is not touched is passed on as it was, to the byte and the pointer.
func TestUntouchedIsUntouched(t *testing.T) {
	vs := vals(t, "int: 8080\nbig: 9007199254740993\nreal: 1.0\nnothing: null\nemptymap: {}\nemptylist: []\nmillion: 1000000\nnested: {a: {b: 1000000, c: 2.0}}\nlist: [1000000, {x: 1000000}, 3.0]\n")
	c := lchart("web", `events.on("pre-render", function(ctx)
		for _, f in ipairs(ctx.files) do local _ = f.name .. f.data end
		for _, f in ipairs(ctx.templates) do local _ = f.name .. f.data end
		ctx.values.nested.a.new = 1
		table.insert(ctx.values.list, 1, "first")
		ctx.values.emptymap.x = nil
		ctx.templates[2].data = ctx.templates[2].data .. "# end\n"
	end)
	events.on("post-render", function(ctx)
		for _, o in ipairs(ctx.objects) do local _ = o.kind .. #o.metadata.name end
		ctx.objects[1].data.z = "changed"
	end)`)
	for _, n := range []string{"templates/a.yaml", "templates/b.yaml"} {
		c.Templates = append(c.Templates, &chart.File{Name: n, Data: []byte("# c\nb: 1\na: {{ .Values.x }}\n")})
	}
	c.Files = append(c.Files, &chart.File{Name: "bin", Data: []byte{0, 1, 0xff, 0xfe}})
	file, tmpl := c.Files[1], c.Templates[0]
	old := values.Copy(vs)
	objs := objects(t, someObjects)
	h := luaHost()
	bus := mustLoad(t, h, c)
	e := &event.PreRender{Payload: event.Payload{Chart: c, Values: vs}}
	if err := bus.Emit(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(vs, old) {
		t.Error("changed in place")
	}
	want := values.Copy(old)
	want["nested"].(map[string]any)["a"].(map[string]any)["new"] = int64(1)
	want["list"] = append([]any{"first"}, want["list"].([]any)...)
	if !reflect.DeepEqual(e.Values, want) {
		t.Errorf("got  %#v\nwant %#v", e.Values, want)
	}
	if c.Files[1] != file || c.Templates[0] != tmpl {
		t.Error("a file was replaced that nobody changed")
	}
	if got := string(c.Templates[1].Data); got != "# c\nb: 1\na: {{ .Values.x }}\n# end\n" {
		t.Errorf("%q", got)
	}
	post := &event.PostRender{Payload: event.Payload{Chart: c, Values: vs, Objects: objs}}
	if err := bus.Emit(t.Context(), post); err != nil {
		t.Fatal(err)
	}
	if post.Objects[1] != objs[1] {
		t.Error("an object was replaced that nobody changed")
	}
	if got, want := post.Objects[0].Raw, strings.Replace(objs[0].Raw, `z: "1"`, `z: "changed"`, 1); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if post.Objects[0].Source != "web/templates/cm.yaml" || post.Objects[0].Name != "a" {
		t.Error(post.Objects[0])
	}
}

// A script sees the numbers that the author wrote, and what it writes comes out
// as it wrote it.
func TestNumbersAreWhatTheyAre(t *testing.T) {
	vs := vals(t, "int: 8080\nbig: 9007199254740993\nreal: 1.0\nsmall: 1.5\nhuge: 1e300\n")
	c := lchart("web", `events.on("pre-render", 0.1, function(ctx)
		local v = ctx.values
		local types = {}
		for k, x in pairs(v) do table.insert(types, k .. "=" .. math.type(x)) end
		v.types = table.concat(types, " ")
		v.sum = v.big + 1
		v.two = 2
		v.twoReal = 2.0
	end)
	events.on("pre-render", 0.9, function(ctx)
		ctx.values.after = math.type(ctx.values.two) .. " " .. math.type(ctx.values.twoReal)
	end)`)
	e := &event.PreRender{Payload: event.Payload{Chart: c, Values: vs}}
	mustEmit(t, e)
	for k, want := range map[string]any{
		"types": "big=integer huge=float int=integer real=float small=float",
		"sum":   int64(9007199254740994), "big": values.Long(9007199254740993), "real": values.Real(1), "int": 8080.0,
		"two": int64(2), "twoReal": values.Real(2), "after": "integer float",
	} {
		if e.Values[k] != want {
			t.Errorf("%s is %#v, want %#v", k, e.Values[k], want)
		}
	}
}

func TestGlobalIsEverybodys(t *testing.T) {
	set := func(s string) string { return `events.on("pre-render", function(ctx) ` + s + ` end)` }
	for name, tc := range map[string]struct{ top, mid, leaf, want string }{
		"from the top":       {set(`ctx.values.global.a = 1`), "", "", `map[a:1 g:old]`},
		"from the leaf":      {"", "", set(`ctx.values.global.a = 1`), `map[a:1 g:old]`},
		"from the middle":    {"", set(`ctx.values.global.g = {x = "new"}`), "", `map[g:map[x:new]]`},
		"taken away":         {"", "", set(`ctx.values.global.g = nil`), `map[]`},
		"as a whole":         {"", set(`ctx.values.global = {z = 1}`), "", `map[z:1]`},
		"one after another":  {set(`ctx.values.global.seen = ctx.values.global.a`), "", set(`ctx.values.global.a = "leaf"`), `map[a:leaf g:old seen:leaf]`},
		"through the parent": {set(`ctx.charts.mid.charts.leaf.values.global.a = 1`), "", "", `map[a:1 g:old]`},
		"below the parent's": {set(`ctx.values.mid.leaf.global.a = 1`), "", "", `map[a:1 g:old]`},
		"nothing":            {set(`local _ = ctx.values.global.g`), "", "", `map[g:old]`},
	} {
		t.Run(name, func(t *testing.T) {
			c := lchart("top", tc.top, lchart("mid", tc.mid, lchart("leaf", tc.leaf)), newChart("other", nil))
			res, err := values.Resolve(c, map[string]any{"global": map[string]any{"g": "old"}})
			if err != nil {
				t.Fatal(err)
			}
			e := &event.PreRender{Payload: event.Payload{Chart: res.Chart, Values: res.Values}}
			mustEmit(t, e)
			res.Chart.Walk(func(c *chart.Chart) {
				if got := fmt.Sprint(values.Scope(e.Values, c)["global"]); got != tc.want {
					t.Errorf("%s sees %s, want %s", c.Name(), got, tc.want)
				}
			})
			if fmt.Sprint(res.Values["global"]) != "map[g:old]" {
				t.Error("changed in place")
			}
		})
	}
}

// Where there is no global yet, a script may make one.
func TestTheFirstGlobal(t *testing.T) {
	c := lchart("web", `events.on("pre-render", 0.1, function(ctx) ctx.values.x = ctx.values.global.nothing end)
	events.on("pre-render", 0.2, function(ctx) ctx.values.global.region = "eu" end)`, newChart("db", nil))
	h := luaHost()
	bus := mustLoad(t, h, c)
	e := &event.PreRender{Payload: event.Payload{Chart: c, Values: map[string]any{"a": 1.0, "db": map[string]any{}}}}
	if err := bus.Emit(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(e.Values); got != "map[a:1 db:map[global:map[region:eu]] global:map[region:eu]]" {
		t.Error(got)
	}
	c = lchart("web", `events.on("pre-render", function(ctx) ctx.values.a = ctx.values.global.b end)`, newChart("db", nil))
	e = &event.PreRender{Payload: event.Payload{Chart: c, Values: map[string]any{"x": 1.0}}}
	mustEmit(t, e)
	if got := fmt.Sprint(e.Values); got != "map[x:1]" {
		t.Error(got)
	}
}

// A chart that has globals of its own keeps them; only what was changed is.
func TestOwnGlobalsStay(t *testing.T) {
	db := lchart("db", `events.on("pre-render", function(ctx) ctx.values.global.new = ctx.values.global.own end)`)
	db.Values = map[string]any{"global": map[string]any{"own": "db's"}}
	c := newChart("web", nil, db)
	res, err := values.Resolve(c, map[string]any{"global": map[string]any{"g": "x"}})
	if err != nil {
		t.Fatal(err)
	}
	e := &event.PreRender{Payload: event.Payload{Chart: res.Chart, Values: res.Values}}
	mustEmit(t, e)
	if got := fmt.Sprint(e.Values); got != "map[db:map[global:map[g:x new:db's own:db's]] global:map[g:x new:db's]]" {
		t.Error(got)
	}
}

func TestScopes(t *testing.T) {
	db := lchart("db", `events.on("pre-render", function(ctx)
		ctx.values.port = ctx.values.port + 1
		ctx.values.fresh = {list = helm.list{}, map = {}}
		ctx.values.gone = nil
	end)`)
	c := lchart("web", `events.on("pre-render", function(ctx)
		assert(ctx.values.db.port == 3307 and ctx.charts.db.values.port == 3307 and ctx.charts["db"].chart.name == "db")
		ctx.charts.db.values.a = 1
		ctx.values.db.b = 2
		assert(ctx.values.db.a == 1)
		ctx.values.copy = ctx.values.db
	end)`, db)
	e := &event.PreRender{Payload: event.Payload{Chart: c, Values: vals(t, "db: {port: 3306, gone: x, same: {x: 1}}\n")}}
	same := e.Values["db"].(map[string]any)["same"]
	mustEmit(t, e)
	want := map[string]any{"port": int64(3307), "a": int64(1), "b": int64(2), "same": map[string]any{"x": 1.0},
		"fresh": map[string]any{"list": []any{}, "map": map[string]any{}}}
	// What was put somewhere was put there by the script: its numbers are integers.
	copied := map[string]any{"port": int64(3307), "a": int64(1), "b": int64(2), "same": map[string]any{"x": int64(1)}, "fresh": want["fresh"]}
	if !reflect.DeepEqual(e.Values["db"], want) || !reflect.DeepEqual(e.Values["copy"], copied) {
		t.Errorf("%#v", e.Values)
	}
	if reflect.ValueOf(e.Values["db"].(map[string]any)["same"]).Pointer() != reflect.ValueOf(same).Pointer() {
		t.Error("copied what nobody changed")
	}
	// A chart of which values know nothing yet.
	leaf := lchart("leaf", `events.on("pre-render", function(ctx) ctx.values.x = 1 end)`)
	e = &event.PreRender{Payload: event.Payload{Chart: newChart("web", nil, newChart("db", nil, leaf)), Values: map[string]any{}}}
	mustEmit(t, e)
	if got := fmt.Sprint(e.Values); got != "map[db:map[leaf:map[x:1]]]" {
		t.Error(got)
	}
	// A library has no values.
	lib := lchart("lib", `events.on("pre-render", function(ctx) ctx.values.x = 1 end)`)
	lib.FromLibrary = true
	if err := emit(t, &event.PreRender{Payload: event.Payload{Chart: newChart("web", nil, lib), Values: map[string]any{}}}); err == nil || !strings.Contains(err.Error(), "values is read-only") {
		t.Error(err)
	}
}

func TestChartsSeeTheObjectsOfTheirSubtree(t *testing.T) {
	db := lchart("db", `events.on("post-render", function(ctx)
		assert(#ctx.objects == 1 and ctx.objects[1].metadata.name == "b")
		ctx.objects[1].data.x = "db"
		table.insert(ctx.objects, 1, {apiVersion = "v1", kind = "Secret", metadata = {name = "s"}})
	end)`)
	c := lchart("web", `events.on("post-render", function(ctx)
		local names = {}
		for _, o in ipairs(ctx.objects) do table.insert(names, o.metadata.name) end
		table.insert(ctx.objects, {kind = "ConfigMap", apiVersion = "v1", metadata = {name = table.concat(names, "-")}, data = {count = tostring(#ctx.charts.db.objects)}})
		ctx.charts.db.objects = {}
	end)`, db, lchart("other", `events.on("post-render", function(ctx) assert(#ctx.objects == 0) end)`))
	e := &event.PostRender{Payload: event.Payload{Chart: c, Objects: append(objects(t, someObjects), objects(t, "---\n# Source: web/templates/x.yaml\n# only a comment\n")...)}}
	first, comment := e.Objects[0], e.Objects[2]
	mustEmit(t, e)
	var got []string
	for _, o := range e.Objects {
		got = append(got, o.Source+" "+o.String())
	}
	want := []string{"web/templates/cm.yaml ConfigMap/a", "web/ext/lua/chart.lua ConfigMap/a-s-b", "web/templates/x.yaml /"}
	if !reflect.DeepEqual(got, want) || e.Objects[0] != first || e.Objects[2] != comment {
		t.Errorf("got %q", got)
	}
	if raw := e.Objects[1].Raw; strings.TrimSuffix(raw, "\n") != "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a-s-b\ndata:\n  count: \"2\"" {
		t.Errorf("%q", raw)
	}
}

func TestObjectsAreMovedAndCopied(t *testing.T) {
	c := lchart("web", `events.on("pre-install", function(ctx)
		local o = ctx.objects
		o[1], o[2] = o[2], o[1]
		o[3] = o[2]
	end)`)
	e := &event.PreInstall{Payload: event.Payload{Chart: c, Objects: objects(t, someObjects)}}
	a, b := e.Objects[0], e.Objects[1]
	mustEmit(t, e)
	if len(e.Objects) != 3 || e.Objects[0] != b || e.Objects[1] != a || e.Objects[2] == a || e.Objects[2].Name != "a" {
		t.Error(e.Objects)
	}
}

func TestPreRenderAddsObjects(t *testing.T) {
	db := lchart("db", `events.on("pre-render", function(ctx)
		assert(#ctx.objects == 0)
		ctx.objects = {{apiVersion = "v1", kind = "Secret", metadata = {name = "s", labels = {n = "1"}}, stringData = {port = "0x1F"}}}
	end)`)
	c := lchart("web", `events.on("pre-render", function(ctx) assert(ctx.objects[1].metadata.name == "s") end)`, db)
	e := &event.PreRender{Payload: event.Payload{Chart: c, Values: map[string]any{}}}
	mustEmit(t, e)
	if len(e.Objects) != 1 || e.Objects[0].Source != "web/charts/db/ext/lua/chart.lua" || e.Objects[0].Labels["n"] != "1" {
		t.Fatal(e.Objects)
	}
	m, err := e.Objects[0].Map()
	if err != nil || m["stringData"].(map[string]any)["port"] != "0x1F" {
		t.Error(m, err)
	}
}

func TestTheContextSaysWhatIsGoingOn(t *testing.T) {
	c := lchart("web", `events.on("post-test", function(ctx)
		assert(ctx.release.name == "demo" and ctx.release.namespace == "prod" and ctx.release.revision == 7 and ctx.release.isUpgrade)
		assert(ctx.capabilities.kubernetesVersion() == "v1.36.0" and ctx.capabilities.has("batch/v1"))
		assert(ctx.chart.version == "1.2.3" and ctx.chart.name() == "web" and ctx.chart.keywords[2] == "b" and ctx.chart.annotations.x == "y")
		assert(ctx.chart.maintainers[1].name == "m" and ctx.chart.kubernetesVersions == ">=1" and not ctx.minimal and ctx.dryRun)
		assert(ctx.results[1].name == "t" and ctx.results[1].phase == "Failed")
		assert(ctx.files[1].name == "a.txt" and #ctx.files == 1, "ext/ is not among the files")
		assert(ctx.dependencies[1].alias == "database" and ctx.dependencies[1].tags[1] == "t")
		print("ok")
	end)
	events.on("pre-delete", function(ctx) assert(ctx.minimal and ctx.release.name == "demo" and ctx.chart == nil and ctx.values == nil) print("minimal") end)`)
	c.Files = append(c.Files, &chart.File{Name: "a.txt"})
	c.Metadata.Keywords, c.Metadata.Annotations = []string{"a", "b"}, map[string]string{"x": "y"}
	c.Metadata.Maintainers, c.Metadata.KubeVersion = []*chart.Maintainer{{Name: "m"}}, ">=1"
	c.Metadata.Dependencies = []*chart.Dependency{{Name: "db", Alias: "database", Tags: []string{"t"}}}
	var out bytes.Buffer
	h := luaHost()
	h.Print = script.Printer(&out)
	bus := mustLoad(t, h, c)
	op := &event.Operation{Name: "demo", Namespace: "prod", Revision: 7, IsUpgrade: true, DryRun: true, KubeVersion: "v1.36.0", APIVersions: []string{"v1", "batch/v1"}}
	for _, e := range []event.Event{
		&event.PostTest{Payload: event.Payload{Operation: op, Chart: c}, Results: []event.TestResult{{Name: "t", Kind: "Pod", Phase: release.PhaseFailed}}},
		&event.PreDelete{Payload: event.Payload{Operation: op}},
	} {
		if err := bus.Emit(t.Context(), e); err != nil {
			t.Error(err)
		}
	}
	if out.String() != "[web] ok\n[web] minimal\n" {
		t.Errorf("%q", out.String())
	}
}

func TestVersionsOfThePackedChart(t *testing.T) {
	for code, want := range map[string]string{
		`ctx.chart.version = ctx.chart.version .. "+build"`: "1.2.3+build",
		`ctx.chart.version = "one"`:                         "!semantic version",
		`ctx.charts.db.chart.version = "9.9.9"`:             "!read-only",
		`pcall(function() ctx.chart.version = "one" end)`:   "1.2.3",
	} {
		c := lchart("web", `events.on("pre-package", function(ctx) `+code+` end)`, newChart("db", nil))
		md := c.Metadata
		err := emit(t, &event.PrePackage{Payload: event.Payload{Chart: c, Values: map[string]any{}}})
		if bad, ok := strings.CutPrefix(want, "!"); ok {
			if err == nil || !strings.Contains(err.Error(), bad) {
				t.Errorf("%s: %v", code, err)
			}
			want = "1.2.3"
		} else if err != nil {
			t.Errorf("%s: %v", code, err)
		}
		if c.Version() != want || md.Version != "1.2.3" || c.Dependencies()[0].Version() != "1.2.3" {
			t.Errorf("%s: version %s", code, c.Version())
		}
	}
}

func TestLintFindings(t *testing.T) {
	c := lchart("web", `events.on("pre-lint", function(ctx)
		ctx.lint.warn("values.yaml", "w")
		ctx.lint.warn("a\n[ERROR] b\27[2J", "x")
		ctx.lint.error("", "e")
	end)`)
	var got []string
	note := func(kind string) func(string, string) {
		return func(path, text string) { got = append(got, kind+":"+path+":"+text) }
	}
	mustEmit(t, &event.PreLint{Payload: event.Payload{Chart: c}, Warn: note("warn"), Fail: note("fail")})
	if s := strings.Join(got, " "); s != `warn:values.yaml:w warn:a [ERROR] b\x1b[2J:x fail::e` {
		t.Error(s)
	}
}

func TestDependenciesAreReplaced(t *testing.T) {
	c := lchart("web", `events.on("pre-dependency-build", function(ctx)
		table.remove(ctx.dependencies, 1)
		table.insert(ctx.dependencies, {name = "redis", version = "^7", repository = "https://example.com", tags = {"x"}})
	end)`)
	a, b := &chart.Dependency{Name: "a"}, &chart.Dependency{Name: "b"}
	md := c.Metadata
	md.Dependencies = []*chart.Dependency{a, b}
	mustEmit(t, &event.PreDependencyBuild{Payload: event.Payload{Chart: c}})
	got := c.Metadata.Dependencies
	if len(got) != 2 || got[0] != b || !reflect.DeepEqual(*got[1], chart.Dependency{Name: "redis", Version: "^7", Repository: "https://example.com", Tags: []string{"x"}}) {
		t.Errorf("%v", got)
	}
	if md.Dependencies[0] != a {
		t.Error("changed in place")
	}
	for code, want := range map[string]string{
		`ctx.dependencies[1].colour = "red"`:                       `ctx.dependencies[1] has no field "colour"`,
		`table.insert(ctx.dependencies, {name = "x", colour = 1})`: `"colour" is not a field`,
		`ctx.dependencies[1].version = 2`:                          "version must be text",
		`ctx.dependencies[1].tags = {1}`:                           "tags must be a list of text",
		`ctx.dependencies[1].name = "../x"`:                        "plain name",
		`ctx.dependencies[1].alias = "a/b"`:                        "alias",
		`table.insert(ctx.dependencies, {name = "b"})`:             "uses the name",
		`ctx.dependencies = {1}`:                                   "must be a map",
		`ctx.dependencies[1].repository = "https://x\27[2J.com"`:   "control characters",
	} {
		c := lchart("web", `events.on("pre-dependency-build", function(ctx) `+code+` end)`)
		c.Metadata.Dependencies = []*chart.Dependency{a, b}
		if err := emit(t, &event.PreDependencyBuild{Payload: event.Payload{Chart: c}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", code, err)
		}
	}
}

func TestScriptsAreChecked(t *testing.T) {
	lib := newChart("lib", map[string]string{chart.FileScript: "events.on('pre-render', function() end)", "ext/lua/tool.lua": "return {}"})
	lib.FromLibrary = true
	c := newChart("web", map[string]string{
		chart.FileScript:       "local a = require('missing')\nlocal b = require(\"lib/tool\")\nevents.on('pre-instal', function() end)\n",
		"ext/lua/broken.lua":   "local x =\n\nif then",
		"ext/permissions.yaml": "lua: [nothing]\n",
	}, lib)
	in := lint.ScriptInput{Chart: c}
	if err := (script.Checker{Start: lua}).CheckScripts(t.Context(), &in); err != nil {
		t.Fatal(err)
	}
	if len(in.Problems) != 2 || in.Problems[0].File != "ext/permissions.yaml" || in.Problems[0].Line != 1 || in.Problems[1].File != "ext/lua/broken.lua" || in.Problems[1].Line != 3 {
		t.Errorf("problems %v", in.Problems)
	}
	if want := []lint.Use{{Chart: "web", File: "ext/lua/chart.lua", Line: 1, Name: "missing"}, {Chart: "web", File: "ext/lua/chart.lua", Line: 2, Name: "lib/tool"}}; !reflect.DeepEqual(in.Requires, want) {
		t.Errorf("requires %v", in.Requires)
	}
	if want := []lint.Use{{Chart: "web/library/lib", File: "ext/lua/chart.lua", Line: 1, Name: "pre-render"}, {Chart: "web", File: "ext/lua/chart.lua", Line: 3, Name: "pre-instal"}}; !reflect.DeepEqual(in.Events, want) {
		t.Errorf("events %v", in.Events)
	}
	none := lint.ScriptInput{Chart: newChart("plain", nil)}
	if err := (script.Checker{}).CheckScripts(t.Context(), &none); err != nil || len(none.Problems) > 0 {
		t.Error(err)
	}
}

// Values that scripts have written are held against the schema like any others.
func TestTheSchemaTakesWhatScriptsWrite(t *testing.T) {
	c := lchart("web", `events.on("pre-render", function(ctx)
		ctx.values.count = 3
		ctx.values.ratio = 2.0
		ctx.values.big = 9007199254740993
		ctx.values.list = {1, "x", helm.null}
	end)`)
	c.Schema = []byte(`{"type":"object","required":["count","ratio"],"properties":{"count":{"type":"integer","minimum":1},"ratio":{"type":"number"},"big":{"type":"integer"},"list":{"type":"array","minItems":3}}}`)
	e := &event.PreRender{Payload: event.Payload{Chart: c, Values: map[string]any{}}}
	mustEmit(t, e)
	if err := schema.Validate(c, values.Rounded(e.Values)); err != nil {
		t.Error(err)
	}
	e.Values["count"] = int64(0)
	if schema.Validate(c, values.Rounded(e.Values)) == nil {
		t.Error("took what is too small")
	}
}
