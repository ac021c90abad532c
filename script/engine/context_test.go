// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

func TestContextIsReadAndWrittenAsTheDocumentsSay(t *testing.T) {
	ctx, _, err := handle(t, "pre-render", `
-- Read-only parts, both ways of writing.
assert(ctx.chart.name == "alpine" and ctx.chart.name() == "alpine")
assert(ctx.chart.kubeVersion == ">1.9.0" and ctx.chart.kubernetesVersions() == ">1.9.0")
assert(ctx.chart.description == "" and ctx.chart.description() == "" and #ctx.chart.sources == 0)
assert(ctx.chart.keywords[2] == "utility" and ctx.chart.keywords()[1] == "alpine" and #ctx.chart.keywords == 2)
assert(table.concat(ctx.chart.keywords, ",") == "alpine,utility" and select("#", table.unpack(ctx.chart.keywords)) == 2)
assert(ctx.chart.maintainers[1].name == "M Butcher")
assert(ctx.release.isInstall == true and ctx.release.isUpgrade() == false and ctx.release.revision() == 1)
assert(ctx.capabilities.has("batch/v1") and ctx.capabilities:has("v1") and not ctx.capabilities.has("v2"))
assert(ctx.capabilities().helmVersion == "4.0.0")
assert(type(ctx) == "table" and type(ctx.chart) == "table" and type(ctx.values) == "table")
assert(ctx.dryRun == true and ctx.minimal == false and ctx.lint == nil and ctx.results == nil)
assert(rawget(ctx, "nothing") == nil and rawget(ctx.chart, "nothing") == nil and not pcall(function() return ctx.nothing end))
local n = 0
for i, k in ipairs(ctx.chart.keywords) do n = n + i end
assert(n == 3)
local names = {}
for k in pairs(ctx.chart) do names[#names + 1] = k end
assert(table.concat(names, " ") == "description keywords kubeVersion maintainers name sources version", table.concat(names, " "))
assert(next(ctx.chart) == "description" and next(ctx.chart, "keywords") == "kubeVersion" and rawlen(ctx.chart.keywords) == 2)
assert(rawget(ctx.chart, "name") == "alpine" and getmetatable(ctx.chart) == false)
-- Values.
local v = ctx.values
assert(v == ctx.values and v.port == 8080 and math.type(v.port) == "integer" and v.big == 9007199254740993)
assert(math.type(v.ratio) == "float" and v.none == helm.null and #v.hosts == 2)
local keys = {}
for k in pairs(v) do keys[#keys + 1] = k end
assert(table.concat(keys, " ") == "big empty global hosts image none nothing port ratio", table.concat(keys, " "))
v.port = v.port + 1
v.image.tag = nil
v.image.pull = {policy = "Always", retries = 3, half = 0.5, no = helm.null, l = helm.list{}, m = helm.map{}}
v.hosts[#v.hosts + 1] = "c"
table.insert(v.hosts, 1, "z")
v["new key"] = {1, 2, 3}
v.none = nil
ctx.files[1].data = "changed"
table.insert(ctx.templates, {name = "x.yaml", data = "kind: X"})
table.insert(ctx.objects, {kind = "ConfigMap"})
`, "values", "files", "templates", "objects")
	if err != nil {
		t.Fatal(err, err.(*failure).m)
	}
	values := ctx["values"].(m)
	want := m{
		"port": int64(8081), "image": m{"name": "alpine", "pull": m{"policy": "Always", "retries": int64(3), "half": 0.5, "no": nil, "l": l{}, "m": m{}}},
		"hosts": l{"z", "a", "b", "c"}, "big": int64(9007199254740993), "ratio": 2.0, "empty": m{}, "nothing": l{}, "global": m{"region": "eu"},
		"new key": l{int64(1), int64(2), int64(3)},
	}
	if !reflect.DeepEqual(values, want) {
		t.Errorf("%#v", values)
	}
	if !reflect.DeepEqual(ctx["files"], l{m{"name": "config.json", "data": "changed"}}) || len(ctx["templates"].([]any)) != 2 || len(ctx["objects"].([]any)) != 3 {
		t.Errorf("%#v %#v %#v", ctx["files"], ctx["templates"], ctx["objects"])
	}
}

func TestWhatIsNotTouchedIsNotSent(t *testing.T) {
	h := started(t, alone(on("pre-render", `local x = ctx.values.image.tag; for _, o in ipairs(ctx.objects) do local k = o.kind end`)))
	done, err := h.call(h.handlers[0], baseContext(), "values", "objects")
	if err != nil || len(done["changes"].([]any)) != 0 {
		t.Error(done, err)
	}
	if h.loads != 6 { // the context, values, image, objects and two of them
		t.Errorf("%d loads", h.loads)
	}
	// What is removed from a list does not drag the others along.
	h = started(t, alone(on("post-render", `table.remove(ctx.objects, 1) ctx.values.copy = ctx.values.image`)))
	done, err = h.call(h.handlers[0], baseContext(), "values", "objects")
	if err != nil || h.loads > 4 {
		t.Error(err, h.loads)
	}
	if got := fmt.Sprint(done["changes"]); strings.Contains(got, "Pod") {
		t.Error(got)
	}
}

// With a hundred charts all handlers are much to say at every call.
func TestHandlersAreToldOnceAndWhenTheyChange(t *testing.T) {
	h := started(t, alone(`local n = 0
events.on("pre-render", function(ctx)
  n = n + 1
  if n == 2 then events.on("post-render", function() end) end
end)`))
	var told []bool
	for range 3 {
		done, err := h.call(h.handlers[0], baseContext(), "values")
		if err != nil {
			t.Fatal(err)
		}
		_, has := done["handlers"]
		told = append(told, has)
	}
	if !reflect.DeepEqual(told, []bool{false, true, false}) || len(h.handlers) != 2 {
		t.Errorf("told %v, in the end of %d", told, len(h.handlers))
	}
}

func TestFieldsCanBeReplaced(t *testing.T) {
	ctx, _, err := handle(t, "pre-render", `
ctx.values = {a = ctx.values.image, port = ctx.values.port}
local kept = {}
for _, o in ipairs(ctx.objects) do if o.kind ~= "Pod" then kept[#kept + 1] = o end end
ctx.objects = kept
ctx.objects[1].metadata.labels = {x = "y"}
ctx.files = {}
ctx.templates = helm.list{}`, "values", "objects", "files", "templates")
	if err != nil {
		t.Fatal(err)
	}
	if want := (m{"a": m{"name": "alpine", "tag": "3.8"}, "port": int64(8080)}); !reflect.DeepEqual(ctx["values"], want) {
		t.Errorf("%#v", ctx["values"])
	}
	if want := (l{m{"apiVersion": "v1", "kind": "Service", "metadata": m{"name": "b", "labels": m{"x": "y"}}}}); !reflect.DeepEqual(ctx["objects"], want) {
		t.Errorf("%#v", ctx["objects"])
	}
	if !reflect.DeepEqual(ctx["files"], l{}) || !reflect.DeepEqual(ctx["templates"], l{}) {
		t.Errorf("%#v %#v", ctx["files"], ctx["templates"])
	}
}

func TestReadOnlyFieldsSaySo(t *testing.T) {
	for body, want := range map[string]string{
		`ctx.release.name = "x"`:                                    "ctx.release.name is read-only",
		`rawset(ctx.release, "name", "x")`:                          "ctx.release.name is read-only",
		`ctx.chart.keywords[1] = "x"`:                               "ctx.chart.keywords[1] is read-only",
		`table.insert(ctx.chart.keywords, "x")`:                     "ctx.chart.keywords is read-only",
		`table.sort(ctx.chart.keywords)`:                            "ctx.chart.keywords is read-only",
		`ctx.objects = {}`:                                          "ctx.objects is read-only at post-install",
		`ctx.objects[1].metadata.name = "x"`:                        "ctx.objects[1].metadata.name is read-only at post-install",
		`ctx.values.image.tag = "x"`:                                "ctx.values.image.tag is read-only at post-install",
		`ctx.chart = {}`:                                            "ctx.chart is read-only",
		`ctx.chart.version = "2"`:                                   "ctx.chart.version is read-only",
		`ctx.anything = 1`:                                          `ctx has no field "anything" that could be set`,
		`ctx.vals = {}`:                                             `ctx has no field "vals" that could be set; did you mean ctx.values?`,
		`ctx.charts.x = 1`:                                          "ctx.charts.x is read-only",
		`setmetatable(ctx.chart, {})`:                               "read-only",
		`for k, v in next, ctx.release do ctx.release[k] = nil end`: "is read-only",
	} {
		_, _, err := handle(t, "post-install", body)
		says(t, err, want)
		if f, ok := err.(*failure); ok && f.m["line"] != int64(2) {
			t.Error(body, f.m)
		}
	}
}

// What is behind a read-only table is out of a script's reach.
func TestViewsShowNothingElse(t *testing.T) {
	h := started(t, family(`local mysql = subcharts.get("mysql")
events.on("pre-render", function(ctx)
  for _, view in ipairs{ctx, ctx.release, ctx.charts, ctx.chart.keywords, ctx.values, mysql} do
    local keys = {}
    for k in pairs(view) do keys[#keys + 1] = k end
    for k in next, view do keys[#keys + 1] = k end
    for _, k in ipairs(keys) do assert(type(k) == "string" or math.type(k) == "integer", type(k)) end
    assert(type(view) == "table" and getmetatable(view) == false)
    assert(not pcall(setmetatable, view, {}))
    assert(select("#", table.unpack(view)) == #view and rawlen(view) == #view)
  end
  assert(json.encode(ctx.chart.keywords) == '["alpine","utility"]')
  assert(not pcall(json.encode, ctx) and not pcall(json.encode, mysql) and not pcall(json.encode, ctx.charts))
  local copy = table.move(ctx.chart.keywords, 1, 2, 1, {})
  assert(copy[2] == "utility" and not pcall(table.move, copy, 1, 2, 1, ctx.chart.keywords))
  assert(not pcall(helm.list, ctx.chart.keywords))
end)
events.on("post-render", function(ctx) assert(helm.list(ctx.values.hosts) == ctx.values.hosts) end)`, `port = 1`, ``))
	if err := h.emit("pre-render", map[int]m{2: baseContext()}); err != nil {
		t.Error(err)
	}
	for _, event := range []string{"pre-render", "post-render"} {
		if err := h.emit(event, map[int]m{2: baseContext()}, "values"); err != nil {
			t.Error(err)
		}
	}
}

func TestVersionsCanBeAssignedWherePackingAllowsIt(t *testing.T) {
	_, h, err := handle(t, "pre-package", `ctx.chart.version = "2.0.0" assert(ctx.chart.version == "2.0.0") ctx.chart.appVersion = ctx.chart.version`, "version", "appVersion")
	if err != nil || len(h.assigns) != 2 || h.assigns[0]["field"] != "version" || h.assigns[1]["value"] != "2.0.0" {
		t.Error(err, h.assigns)
	}
	_, _, err = handle(t, "pre-package", `ctx.chart.version = 2`, "version")
	says(t, err, "is text")
	_, _, err = handle(t, "pre-package", `ctx.chart.name = "x"`, "version")
	says(t, err, "ctx.chart.name is read-only")
}

func TestChildContexts(t *testing.T) {
	h := started(t, alone(on("pre-render", `
assert(ctx.charts.mysql == ctx.charts["mysql"] and ctx.charts.nope == nil)
assert(ctx.charts.mysql.chart.name == "mysql")
ctx.charts.mysql.values.port = 3307
for name, c in pairs(ctx.charts) do print(name, c.chart.name) end
ctx.charts.mysql.values.bad = print`)))
	ctx, child := baseContext(), baseContext()
	child["chart"] = m{"name": "mysql"}
	ctx["charts"] = m{"mysql": child}
	err := h.emit("pre-render", map[int]m{0: ctx}, "values")
	says(t, err, "ctx.charts.mysql.values.bad is a function")
	if len(h.printed) != 1 || h.printed[0] != "mysql\tmysql" {
		t.Error(h.printed)
	}
}

func TestWhatIsNoDataIsNamed(t *testing.T) {
	for body, want := range map[string]string{
		`ctx.values.f = print`:                                        "ctx.values.f is a function",
		`ctx.values.image.x = {y = {1, nil, 3}}`:                      "ctx.values.image.x.y is a list whose item 2 is missing",
		`ctx.values.image.self = ctx.values`:                          "ctx.values.image.self is a table that holds itself",
		`ctx.values.self = ctx.values`:                                "holds itself",
		`local t = {} t.t = t ctx.values.t = t`:                       "ctx.values.t.t is a table that holds itself",
		`ctx.values.n = 0/0`:                                          "NaN",
		`ctx.values.hosts.x = 1`:                                      "ctx.values.hosts is a list, and has the key",
		`ctx.values.hosts[5] = 1`:                                     "missing",
		`ctx.values = 1`:                                              "cannot become a number value",
		`ctx.objects = {kind = "x"}`:                                  "is a list, and cannot become a map",
		`ctx.values = {1, 2}`:                                         "is a map, and cannot become a list",
		`ctx.values[true] = 1`:                                        "key true",
		`local d = {} for i = 1, 300 do d = {d} end ctx.values.d = d`: "nests deeper",
	} {
		_, _, err := handle(t, "pre-render", body, "values", "objects")
		says(t, err, want)
		if f, ok := err.(*failure); ok && f.m["file"] != "ext/lua/chart.lua" {
			t.Error(f.m)
		}
	}
}

func TestAContextIsValidDuringItsHandler(t *testing.T) {
	h := started(t, alone(on("pre-render", `kept, image, values, chart = ctx, ctx.values.image, ctx.values, ctx.chart`)+"\n"+
		on("post-render", `
assert(values.port == 8080) -- this was read
local ok, err = pcall(function() return image.tag end)
assert(not ok and err:find("valid during its handler"), err)
for _, f in ipairs{
	function() return chart.name end, function() return kept.objects end, function() kept.values = {} end, function() image.x = 1 end,
	function() return #image end, function() return next(image) end, function() for k in pairs(image) do end end,
	function() return yaml.encode(image) end,
} do assert(not pcall(f)) end
ctx.values.port = values.port + 1`)))
	ctx := baseContext()
	for _, e := range []string{"pre-render", "post-render"} {
		if err := h.emit(e, map[int]m{0: ctx}, "values"); err != nil {
			t.Fatal(e, err)
		}
	}
	if ctx["values"].(m)["port"] != int64(8081) {
		t.Error(ctx["values"])
	}
	h = started(t, alone(on("pre-render", `image = ctx.values.image`)+"\n"+on("post-render", `ctx.values.x = image`)))
	if err := h.emit("pre-render", map[int]m{0: ctx}, "values"); err != nil {
		t.Fatal(err)
	}
	says(t, h.emit("post-render", map[int]m{0: ctx}, "values"), "ctx.values: ctx is valid during its handler")
}

func TestLintFindsAndResultsAreSeen(t *testing.T) {
	h := started(t, alone(on("pre-lint", `ctx.lint.warn("values.yaml", "odd") ctx.lint.error("Chart.yaml", "wrong") ctx.lint.warn(nil, "general")`)))
	if err := h.emit("pre-lint", map[int]m{0: baseContext()}); err != nil {
		t.Fatal(err)
	}
	if len(h.found) != 3 || h.found[0]["severity"] != "warning" || h.found[1]["path"] != "Chart.yaml" || h.found[2]["path"] != "" {
		t.Error(h.found)
	}
	h = started(t, alone(on("post-test", `print(ctx.results[1].name, ctx.results[1].phase)`)))
	ctx := baseContext()
	ctx["results"] = l{m{"name": "t", "phase": "Succeeded"}}
	if err := h.emit("post-test", map[int]m{0: ctx}); err != nil || h.printed[0] != "t\tSucceeded" {
		t.Error(err, h.printed)
	}
}

func TestAMinimalContext(t *testing.T) {
	h := started(t, alone(on("pre-delete", `print(ctx.minimal, ctx.chart, ctx.values, ctx.release.name, #ctx.charts)`)))
	if err := h.emit("pre-delete", map[int]m{0: {"minimal": true, "release": m{"name": "x"}}}); err != nil || h.printed[0] != "true\tnil\tnil\tx\t0" {
		t.Error(err, h.printed)
	}
}
