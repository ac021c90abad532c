// SPDX-License-Identifier: Apache-2.0

package analysis_test

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/script/engine/internal/analysis"
	"github.com/moonhelm/moonhelm/script/engine/modules"
)

// known returns what scripts can use, as the engine does.
func known() analysis.Known {
	k := analysis.Known{
		Globals: strings.Fields(`_G _VERSION assert error ipairs pairs next pcall xpcall print select tonumber tostring type
			rawget rawset require setmetatable string string.format string.lower string.upper string.rep table table.insert
			table.remove table.sort table.concat math math.floor events events.on events.off event event.on event.off
			subcharts subcharts.get subcharts.init subchart subchart.get subchart.init template template.func kube kube.lookup
			sha256 sha256.sum string.sub string.gsub string.gmatch string.match string.find`),
		Granted: map[string]string{"http": "network", "net": "network", "io": "io", "os": "os"},
		Lua:     []string{"string", "table", "math"},
		Absent:  []string{"coroutine", "load"},
		Tests:   []string{"test", "run", "find", "expect"}, Expectations: []string{"equals", "isNil"},
		Events: map[string][]string{},
	}
	for _, f := range modules.Reference() {
		table, _, _ := strings.Cut(f.Name, ".")
		switch {
		case strings.Contains(f.Name, ":"):
		case f.Permission != "":
			k.Granted[f.Name] = f.Permission
		default:
			k.Globals = append(k.Globals, table, f.Name)
		}
	}
	for _, name := range event.Names() {
		may := event.New(name).Mutable()
		k.Events[name] = []string{}
		for field, part := range map[string]event.Fields{"values": event.Values, "templates": event.Templates,
			"files": event.Files, "objects": event.Objects, "dependencies": event.Dependencies,
			"version": event.Versions, "appVersion": event.Versions} {
			if may.Has(part) {
				k.Events[name] = append(k.Events[name], field)
			}
		}
	}
	k.Events["pre-load"] = k.Events["chart-loaded"]
	return k
}

// findings returns what is found in charts, one to a line.
func findings(charts ...*analysis.Chart) string {
	var b strings.Builder
	for _, f := range analysis.Check(charts, known()).Findings {
		severity := "warning"
		if f.Severity == analysis.Error {
			severity = "error"
		}
		fmt.Fprintf(&b, "%s:%d: %s: %s\n", strings.TrimPrefix(f.File, "ext/lua/"), f.Line, severity, f.Message)
	}
	return b.String()
}

// script returns a chart of files, which begin with a line "-- NAME --"; the first has none
// and is chart.lua.
func script(text string) *analysis.Chart {
	c := &analysis.Chart{Directory: "ext/lua/", Files: map[string]string{}}
	a := txtar.Parse([]byte("-- chart.lua --\n" + text))
	for _, f := range a.Files {
		c.Files[f.Name] = string(f.Data)
	}
	return c
}

// TestCheckTests checks files of tests, which share the globals of the chart's scripts.
func TestCheckTests(t *testing.T) {
	base := script(`function admin(port) return port + 1 end
events.on("pre-render", function(ctx) ctx.values.x = admin(1) end)
test("x", nil)`)
	tests := &analysis.Chart{Files: map[string]string{"tests/a_test.lua": `test("adds", function()
  local out = run("install")
  expect(admin(1)).equals(2)
  expect(admn(1)).equal(2)
  expect(out.error)
  expect(out.values):isNill()
  require("chart")
  yaml.decod("a")
end)
tset("x")`}, Base: base}
	want := `chart.lua:3: error: the global test is never set
tests/a_test.lua:4: error: the global admn is never set; did you mean admin?
tests/a_test.lua:4: error: expect(...) has no function "equal"; did you mean "equals"?
tests/a_test.lua:5: warning: expect(...) alone checks nothing; add what holds, such as .equals(...)
tests/a_test.lua:6: error: expect(...) has no function "isNill"; did you mean "isNil"?
tests/a_test.lua:8: error: yaml has no field "decod"; did you mean "decode"?
tests/a_test.lua:10: error: the global tset is never set; did you mean test?
`
	if got := findings(base, tests); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestCheck(t *testing.T) {
	for _, tt := range []struct{ name, script, want string }{
		{"fields of the context", `events.on("pre-render", function(ctx)
  print(ctx.chart.nme, ctx.vales, ctx["relase"])
  print(ctx.chart.name(), ctx.capabilities.has("v1"), ctx.values.anything.at.all)
end)`,
			`chart.lua:2: error: ctx.chart has no field "nme"; did you mean "name"?
chart.lua:2: error: ctx has no field "vales"; did you mean "values"?
chart.lua:2: error: ctx has no field "relase"; did you mean "release"?
`},
		{"lists begin at 1", `events.on("post-render", function(ctx)
  local first = ctx.objects[0]
  print(first, ctx.values.hosts[0].name, ctx.objects[1].spec.ports[-1])
  local list = {"a", "b"}
  print(list[0], list[1], ctx.objects[1], ctx.objects[#ctx.objects])
  ctx.objects[1].spec.ports[0] = { port = 1 }
  local sparse = {"a"}
  sparse[0] = "z"
  print(sparse[0])
  local other = somewhere(ctx)
  print(other[0])
end)
function somewhere(ctx) return {} end`,
			`chart.lua:2: error: ctx.objects[0] does not exist: lists begin at 1
chart.lua:3: error: ctx.values.hosts[0] does not exist: lists begin at 1
chart.lua:3: error: ctx.objects[...].spec.ports[-1] does not exist: lists begin at 1, and end at their length, #
chart.lua:5: error: list[0] does not exist: lists begin at 1
chart.lua:6: error: ctx.objects[...].spec.ports[0] does not exist: lists begin at 1
`},
		{"texts and numbers", `events.on("pre-render", function(ctx)
  local port = tostring(ctx.values.port)
  if "8080" == 8080 or port == 80 then print(1) end
  if ctx.release.revision == "1" or ctx.release.name ~= 5 then print(2) end
  if #ctx.objects == "0" or ctx.release.name .. "x" == 1 then print(3) end
  if ctx.values.port == 80 or ctx.values.port == "80" or ctx.release.name == "a" or ctx.release.revision == 1 then print(5) end
  local changed = "1"
  changed = 1
  print(changed == 1, 1 == 1 == "x", nil == 1, type(port) == "number")
end)`,
			`chart.lua:3: warning: == is always false between a text and a number; did you mean 8080 without quotes?
chart.lua:3: warning: == is always false between a text and a number; tonumber and tostring convert
chart.lua:4: warning: == is always false between a number and a text; did you mean 1 without quotes?
chart.lua:4: warning: ~= is always true between a text and a number; tonumber and tostring convert
chart.lua:5: warning: == is always false between a number and a text; did you mean 0 without quotes?
chart.lua:5: warning: == is always false between a text and a number; tonumber and tostring convert
`},
		{"aliases", `events.on("pre-render", function(c)
  local chart, release = c.chart, c.release
  local r = release
  print(chart.nme, r.nmespace)
  local sub = c.charts.db.chart
  print(sub.versoin)
end)`,
			`chart.lua:4: error: c.chart has no field "nme"; did you mean "name"?
chart.lua:4: error: c.release has no field "nmespace"; did you mean "namespace"?
chart.lua:6: error: c.charts.db.chart has no field "versoin"; did you mean "version"?
`},
		{"a variable that is assigned twice may be anything", `events.on("pre-render", function(ctx)
  local chart = ctx.chart
  chart = { nme = 1 }
  print(chart.nme)
end)`, ""},
		{"handlers with a name, and what they call", `local function name(ctx) return ctx.chart.nme end
local function handler(context) return name(context) .. context.relase end
events.on("pre-render", 0.1, handler)`,
			`chart.lua:1: error: ctx.chart has no field "nme"; did you mean "name"?
chart.lua:2: error: context has no field "relase"; did you mean "release"?
`},
		{"handlers that functions make", `local function make(text)
  return function(context) print(text, context.chrat) end
end
events.on("pre-render", make("a"))`,
			`chart.lua:2: error: context has no field "chrat"; did you mean "chart"?
`},
		{"a parameter called ctx", `local m = {}
function m.labels(ctx) return ctx.chart.nme end
function m.other(ctx) ctx.mine = 1; return ctx.yours end
return m`,
			`chart.lua:2: warning: ctx.chart has no field "nme"; did you mean "name"?
`},
		{"objects before templates are rendered", `events.on("pre-render", function(ctx)
  for _, o in ipairs(ctx.objects) do o.metadata = {} end
end)
local function look(ctx) for _, o in ipairs(ctx.objects) do print(o) end end
events.on("pre-render", look)
events.on("post-render", look)`,
			`chart.lua:2: warning: ctx.objects has no rendered objects at pre-render: templates become objects before post-render
`},
		{"a part of a field that is not there", `events.on("pre-render", function(ctx) ctx.Values.x = 1 end)`,
			`chart.lua:1: error: ctx has no field "Values"; did you mean "values"?
`},
		{"objects that scripts add", `events.on("pre-render", 0.1, function(ctx) table.insert(ctx.objects, {kind = "Pod"}) end)
events.on("pre-render", function(ctx) for _, o in ipairs(ctx.objects) do print(o) end end)`, ""},
		{"items of lists", `events.on("post-render", function(ctx)
  for _, f in ipairs(ctx.files) do print(f.nam, f.data) end
  for _, o in ipairs(ctx.objects) do print(o.nam) end
  print(ctx.templates[1].content)
  for name, c in pairs(ctx.charts) do print(name, c.vals) end
end)`,
			`chart.lua:2: error: f has no field "nam"; did you mean "name"?
chart.lua:4: error: ctx.templates[...] has no field "content"
chart.lua:5: error: c has no field "vals"; did you mean "values"?
`},
		{"read-only", `events.on("post-render", function(ctx)
  ctx.values.port = 1
  local v = ctx.values
  v.image.tag = "x"
  table.insert(ctx.files, {})
  ctx.chart.name = "x"
  for _, f in ipairs(ctx.files) do f.data = "" end
  for _, o in ipairs(ctx.objects) do o.metadata.labels = {} end
  table.remove(ctx.objects, 1)
  ctx.objects = {}
  ctx.object = {}
end)`,
			`chart.lua:2: error: ctx.values.port is read-only at post-render; it may change at chart-loaded, post-create, pre-load, pre-package, pre-render
chart.lua:4: error: ctx.values.image.tag is read-only at post-render; it may change at chart-loaded, post-create, pre-load, pre-package, pre-render
chart.lua:5: error: ctx.files is read-only at post-render; it may change at chart-loaded, post-create, pre-load, pre-package, pre-render
chart.lua:6: error: ctx.chart.name is always read-only
chart.lua:7: error: f.data is read-only at post-render; it may change at chart-loaded, post-create, pre-load, pre-package, pre-render
chart.lua:11: error: ctx has no field "object" that could be set; did you mean "objects"?
`},
		{"versions", `events.on("pre-package", function(ctx) ctx.chart.version = "1" end)
events.on("pre-render", function(ctx) ctx.chart.version = "1" end)`,
			`chart.lua:2: error: ctx.chart.version is read-only at pre-render; it may change at pre-package
`},
		{"one handler of several events", `local function port(ctx) ctx.values.port = 1 end
local function maybe(ctx)
  if ctx.release.isInstall then ctx.values.port = 1 end
end
local function leaves(ctx)
  if ctx.release.isInstall then return end
  ctx.values.port = 1
end
for _, event in ipairs{"pre-render", "post-render"} do
  events.on(event, port)
  events.on(event, maybe)
  events.on(event, leaves)
end`,
			`chart.lua:1: error: ctx.values.port is read-only at post-render; it may change at chart-loaded, post-create, pre-load, pre-package, pre-render
`},
		{"what pcall catches", `events.on("post-render", function(ctx)
  print(pcall(function() ctx.values.port = 1 end))
end)`, ""},
		{"copies may be changed", `events.on("post-render", function(ctx)
  local image = ctx.values.image or {}
  image.tag = 1
  local copy = yaml.decode(yaml.encode(ctx.values))
  copy.x = 1
end)`, ""},
		{"lint is there at pre-lint", `events.on("pre-lint", function(ctx) ctx.lint.warn("", "x") end)
events.on("pre-render", function(ctx) ctx.lint.warn("", "x") end)
events.on("pre-lint", function(ctx) ctx.lint.wran("", "x") end)`,
			`chart.lua:2: error: ctx.lint is nil at pre-render: it is there at pre-lint
chart.lua:3: error: ctx.lint has no field "wran"; did you mean "warn"?
`},
		{"modules", `events.On("pre-render", print)
events.on("pre-render", function() helm.fial("x") end)
print(yaml.encode({}), jsn.encode({}), sha256("x"), sha256.sum("x"))
string.trim = function(s) return s end
print(string.trim("x"), string.tirm("x"), string.ltrim or 1)`,
			`chart.lua:1: error: events has no field "On"; did you mean "on"?
chart.lua:2: error: helm has no field "fial"; did you mean "fail"?
chart.lua:3: error: the global jsn is never set; did you mean json?
chart.lua:5: error: string has no field "tirm"; did you mean "trim"?
`},
		{"globals", `function size() return 1 end
local port = 1
print(size(), sise(), prot, coroutine.wrap, os.time(), http)
print(rawget(_G, "x"))
_G.set = 1
print(set)`,
			`chart.lua:3: error: coroutine is nil; scripts have no coroutine
chart.lua:3: error: os is nil; scripts have os where ext/permissions.yaml asks for os
chart.lua:3: error: the global prot is never set; did you mean port?
chart.lua:3: error: the global sise is never set; did you mean size?
`},
		{"globals of another file of the chart", `require("other")
print(shared)
-- other.lua --
shared = 1`, ""},
		{"globals that are set in other ways", `setmetatable(_G, { __index = function() return 1 end })
print(anything)`, ""},
		{"events", `events.off{event = "pre-rendr"}
events.off{evnt = "pre-render"}`,
			`chart.lua:1: error: unknown event "pre-rendr"; did you mean "pre-render"?
chart.lua:2: error: events.off knows the fields chart and event, not "evnt"
`},
		{"functions that nothing uses", `local function render(ctx) print(ctx.chart.name) end
local function helper(a, b) return a + b end
local function _kept() end
local function used() end
used()`,
			`chart.lua:1: warning: the handler render is never used: register it with events.on
chart.lua:2: warning: the function helper is never used
`},
		{"files that nothing loads", `require("a.b")
-- a/b.lua --
events.on("pre-render", function() end)
-- c.lua --
events.on("pre-render", function() end)
-- module.lua --
events.on("pre-render", function() end)
return {}`,
			`c.lua:1: warning: the handler is never used: nothing requires ext/lua/c.lua
`},
		{"a required file without return", `local names = require("names")
require("effects")
print(names.short())
-- names.lua --
local names = {}
function names.short() return 1 end
-- effects.lua --
print("loaded")`,
			`chart.lua:1: error: require("names") gives true: ext/lua/names.lua has no return at its end; did you mean "return names"?
`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := findings(script(tt.script)); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

// TestCheckTree has what one chart does to another.
func TestCheckTree(t *testing.T) {
	web := script("local db = subcharts.get(\"db\")\ndb.size = function() return 2 end\nlocal lib = require(\"db/lib\")\nprint(lib)")
	db := script("print(size())\n-- lib.lua --\nlocal lib = {}\nlib.x = 1\nevents.on(\"pre-render\", function() end)\n")
	web.Requires = map[string]*analysis.Chart{"db": db}
	want := "chart.lua:3: error: require(\"db/lib\") gives true: ext/lua/lib.lua has no return at its end; " +
		"did you mean \"return lib\"?\n"
	if got := findings(db, web); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	db.Files["lib.lua"] = "x ="
	if got := findings(db, web); got != "" {
		t.Errorf("a file that does not parse: got\n%s", got)
	}
}

// TestNoFalseFindings checks the scripts of the examples and of new charts.
func TestNoFalseFindings(t *testing.T) {
	root := filepath.Join("..", "..", "..", "..")
	var scripts []string
	for _, dir := range []string{"examples", "chart/scaffold"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
			if err == nil && filepath.Ext(path) == ".lua" && !strings.Contains(path, "plugins") {
				scripts = append(scripts, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(scripts) < 7 {
		t.Fatalf("there are only %q", scripts)
	}
	for _, path := range scripts {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		c := script(string(data))
		c.Grants = []string{"network", "io", "os"}
		if got := findings(c); got != "" {
			t.Errorf("%s:\n%s", path, got)
		}
	}
}

// TestNoFalseFindingsInTests checks the scripts of the tests of commands. The findings in them
// are those of mistakes that the tests make on purpose.
func TestNoFalseFindingsInTests(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "..", "..", "internal", "cli", "testdata", "script", "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatal(err, "no tests")
	}
	var got []string
	checked := 0
	for _, file := range files {
		if filepath.Base(file) == "scripts_lint.txtar" { // mistakes are its subject
			continue
		}
		a, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		charts := map[string]*analysis.Chart{}
		for _, f := range a.Files {
			dir, name, ok := strings.Cut(f.Name, "ext/lua/")
			if !ok {
				continue
			}
			if charts[dir] == nil {
				charts[dir] = script("")
				charts[dir].Grants = []string{"network", "io", "os"}
			}
			charts[dir].Files[name] = string(f.Data)
			checked++
		}
		for line := range strings.Lines(findings(slices.Collect(maps.Values(charts))...)) {
			got = append(got, filepath.Base(file)+" "+strings.TrimSpace(line))
		}
	}
	slices.Sort(got)
	if checked < 20 {
		t.Errorf("only %d scripts were checked", checked)
	}
	want := []string{"scripts.txtar chart.lua:2: error: ctx.values.x is read-only at post-template; it may change at " +
		"chart-loaded, post-create, pre-load, pre-package, pre-render"}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestHostileSources checks that the work is in proportion to the source.
func TestHostileSources(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	const size = 256 << 10
	repeat := func(line string) string {
		var b strings.Builder
		for i := 0; b.Len() < size-100; i++ {
			b.WriteString(strings.ReplaceAll(line, "N", fmt.Sprint(i)))
		}
		return b.String()
	}
	for name, source := range map[string]string{
		"globals":        repeat("gN()\n"),
		"globals set":    repeat("gN=hN "),
		"fields of _G":   repeat("_G.gN=hN "),
		"locals":         "do " + repeat("end do local vN=wN ") + " end",
		"unknown fields": repeat("string.fN() "),
		"handlers":       repeat("events.on('pre-render',h) ") + "h=function(ctx) ctx.x=1 end",
		"functions":      repeat("fN=function(ctx) ctx.a=ctx.b end "),
		"copies":         "a0=events " + repeat("bN=aN "),
		"tables":         repeat("tN.x=1 "),
		"requires":       repeat("require('N') "),
	} {
		t.Run(name, func(t *testing.T) {
			begin := time.Now()
			findings(script(source))
			if d := time.Since(begin); d > 10*time.Second {
				t.Errorf("took %v", d)
			} else {
				t.Log(d)
			}
		})
	}
}
