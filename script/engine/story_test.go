// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

func TestTheFirstDocumentsExampleRunsAsPrinted(t *testing.T) {
	h := started(t, alone(`-- events is used to register event handlers.
events.on("pre-render", 0.5, function (_)
-- Accessing an object
print("got chart " + _.chart.name)
-- Mutating an object
_.values.myvalue = "My Value"
end)`))
	ctx := baseContext()
	if err := h.emit("pre-render", map[int]m{0: ctx}, "values"); err != nil {
		t.Fatal(err)
	}
	if len(h.printed) != 1 || h.printed[0] != "got chart alpine" || ctx["values"].(m)["myvalue"] != "My Value" {
		t.Error(h.printed, ctx["values"])
	}
}

// family is web with the subcharts mysql and redis.
func family(web, mysql, redis string) []any {
	return []any{
		chartOf("mysql", "web/charts/mysql", 2, map[string]string{"chart.lua": mysql}),
		chartOf("redis", "web/charts/redis", 2, map[string]string{"chart.lua": redis}),
		chartOf("web", "web", -1, map[string]string{"chart.lua": web}, m{"requires": m{"mysql": 0, "redis": 1}}),
	}
}

func TestTheSecondDocumentsExampleRuns(t *testing.T) {
	h := started(t, family(`function init(events)
-- Initialize subcharts
subchart.init(events)

-- Do other stuff
event.on("pre-render", 0.5, function ()
print("pre-load event")
end)
end`, `function init(events) events.on("pre-render", function() print("mysql") end) end`,
		`function init(events) events.on("pre-render", function() print("redis") end) end`))
	ctx := baseContext()
	if err := h.emit("pre-render", map[int]m{0: ctx, 1: ctx, 2: ctx}); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(h.printed, " "); got != "mysql redis pre-load event" {
		t.Error(got)
	}
}

func TestInit(t *testing.T) {
	says := func(name string) string { return `function init(events) print("` + name + `") end` }
	for _, c := range []struct{ name, web, mysql, want string }{
		{"a chart that initializes nobody", says("web"), says("mysql"), "web"},
		{"one that chooses", `function init(e) subcharts.init(e, {"redis"}) print("web") end`, says("mysql"), "redis web"},
		{"one that chooses by one name", `function init(e) subcharts.init(e, "redis") print("web") end`, says("mysql"), "redis web"},
		{"one that has no init", ``, says("mysql"), "mysql redis"},
		{"each runs once", `function init(e) subcharts.init(e) subcharts.init(e) end`, says("mysql"), "mysql redis"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := started(t, family(c.web, c.mysql, says("redis")))
			if got := strings.Join(h.printed, " "); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	err := newHost(t, family(`function init(e) subcharts.init(e, {"mongo"}) end`, ``, ``)).start()
	if err == nil || !strings.Contains(err.Error(), `no subchart "mongo"; it has mysql, redis`) {
		t.Error(err)
	}
}

func TestALibrarysInitRunsWithTheSubcharts(t *testing.T) {
	h := started(t, []any{
		chartOf("common", "web/library/common", 1, map[string]string{
			"chart.lua": `function init() print("common") end`, "names.lua": `return {upper = function(s) return s:upper() end}`}, m{"library": true}),
		chartOf("web", "web", -1, map[string]string{"chart.lua": `function init(events) subcharts.init(events) print(require("common/names").upper("web")) end`}, m{"requires": m{"common": 0}}),
	})
	if got := strings.Join(h.printed, " "); got != "common WEB" {
		t.Error(got)
	}
}

func TestALibraryOfModulesNeedsNoChartLua(t *testing.T) {
	started(t, []any{
		chartOf("common", "web/library/common", 1, map[string]string{"x.lua": `return 1`}, m{"library": true}),
		chartOf("web", "web", -1, map[string]string{"chart.lua": `assert(require("common/x") == 1)`}, m{"requires": m{"common": 0}}),
	})
}

func TestRequire(t *testing.T) {
	files := map[string]string{
		"chart.lua": `
			assert(require("a.b").n == 1 and require("a.b") == require("a.b"))
			assert(require("plain") == true)
			assert(owner == "web") -- plain.lua ran in this chart's environment
			local ok, err = pcall(require, "circle1")
			assert(not ok and err:find("circle"), err)
			for _, name in ipairs{"../x", "/etc/passwd", "os", "io", "nope", "a/b", "mysql/nope", "mysql/../web", "", ".", "chart.lua", "mysql/"} do
				local ok, err = pcall(require, name)
				assert(not ok, name)
				assert(err:find("a.b, broken, circle1, circle2, mysql/tool, plain", 1, true), err)
			end
			assert(not pcall(require) and not pcall(require, {}) and not pcall(require, nil))
			assert(require("mysql/tool").who() == "mysql" and rawget(_G, "who") == nil and not pcall(function() return who end))
			local ok, err = pcall(require, "broken")
			assert(not ok and err:find("web/ext/lua/broken.lua:2"), err)
			owner = nil`,
		"a/b.lua": `return {n = 1}`, "plain.lua": `owner = "web"`, "circle1.lua": `require("circle2")`, "circle2.lua": `require("circle1")`,
		"broken.lua": "x = 1\ny = = 2",
	}
	started(t, []any{
		chartOf("mysql", "web/charts/mysql", 1, map[string]string{"tool.lua": `who = "mysql" return {who = function() return who end}`}),
		chartOf("web", "web", -1, files, m{"requires": m{"mysql": 0}}),
	})
}

func TestRegistering(t *testing.T) {
	h := started(t, alone(`
events.on("pre-render", 1, function() print("last") end)
events.on("pre-render", function() print("middle") end)
event.on("pre-render", 0, function() print("first") end)`))
	if err := h.emit("pre-render", map[int]m{0: baseContext()}); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(h.printed, " "); got != "first middle last" {
		t.Error(got)
	}
	if got := h.handlers[1]; got["where"] != "ext/lua/chart.lua:3" || got["priority"] != 0.5 || got["event"] != "pre-render" {
		t.Error(got)
	}
	for script, want := range map[string]string{
		`events.on("pre-load", function() end)`:          `unknown event "pre-load"; the events are chart-loaded, pre-create`,
		`events.on("pre-render", 1.5, function() end)`:   "from 0 to 1",
		`events.on("pre-render", 0/0, function() end)`:   "from 0 to 1",
		`events.on("pre-render", "0.5", function() end)`: "from 0 to 1",
		`events.on("pre-render", 0.5)`:                   "needs a function",
		`events.on("pre-render")`:                        "needs a name and a function",
		`events.on(7, function() end)`:                   "needs an event's name",
		`events.on("pre-render", 0.5, "print")`:          "needs a function",
		`events.off{chart="mysql"}`:                      `no subchart "mysql"`,
		`events.off{event="never"}`:                      `unknown event "never"`,
		`events.off{what=1}`:                             "fields chart and event",
		`template.func("a b", print)`:                    "a name of letters",
		`template.func("x", 1)`:                          "needs a function",
		`subcharts.get("x")`:                             `no subchart "x"; it has none`,
	} {
		says(t, newHost(t, alone(script)).start(), want)
	}
}

func TestOffTakesOwnAndChildrensHandlersOnly(t *testing.T) {
	on := func(name string) string {
		return `events.on("pre-render", function() print("` + name + `") end) events.on("post-render", function() end) `
	}
	run := func(web, mysql string) string {
		h := started(t, family(on("web")+web, on("mysql")+mysql, on("redis")))
		ctx := baseContext()
		if err := h.emit("pre-render", map[int]m{0: ctx, 1: ctx, 2: ctx}); err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(strings.Join(h.printed, " "), " ", len(h.handlers))
	}
	for off, want := range map[string]string{
		`events.off{chart="mysql", event="pre-render"}`: "redis web 5",
		`events.off{chart="mysql"}`:                     "redis web 4",
		`events.off{event="pre-render"}`:                " 3",
		`events.off()`:                                  " 0",
		`events.off{}`:                                  " 0",
		`events.off{chart="web"}`:                       " 0",
	} {
		if got := run(off, ""); got != want {
			t.Errorf("%s: %q, wanted %q", off, got, want)
		}
	}
	err := newHost(t, family("", `events.off{chart="web"}`, "")).start()
	says(t, err, `chart "mysql" has no subchart "web"`)
}

func TestAParentWrapsWhatItsChildDefined(t *testing.T) {
	charts := family(`
local my = subcharts.get("mysql")
local old = my.port
my.port = function() return old() + 1 end
assert(my.nothing == nil and my._G.port == my.port)
assert(type(my) == "table" and my.secret() == "granted")
for k in pairs(my) do print(k) end
assert(my.io == nil and my._G.io == nil and rawget(my, "io") == nil)
for _, n in ipairs{"string", "table", "math", "utf8", "yaml", "json", "regex", "helm", "template", "kube"} do assert(_G[n] and my[n] == nil, n) end
assert(my.events and my.subcharts and my.pcall)
assert(not pcall(function() my.pcall = print end) and not pcall(function() my.io = {} end) and not pcall(rawset, my, "io", 1))
`, `function port() return 3306 end
function secret() return io and "granted" or "not" end
events.on("pre-render", function(ctx) ctx.values.port = port() end)`, ``)
	charts[0].(m)["grants"] = l{"io"}
	h := started(t, charts)
	ctx := baseContext()
	if err := h.emit("pre-render", map[int]m{0: ctx}, "values"); err != nil || ctx["values"].(m)["port"] != int64(3307) {
		t.Error(err, ctx["values"])
	}
}

func TestTemplateFunctions(t *testing.T) {
	h := started(t, alone(`template.func("greet", function(name, o) return {text = "hello " .. name, n = #o.list, k = o.kind} end)
template.func("broken", function() error("no") end)
template.func("odd", function() return print end)`))
	done, err := h.request(0+3, m{"chart": int64(0), "name": "greet", "args": l{"world", m{"list": l{int64(1), int64(2)}, "kind": nil}}})
	if err != nil || !reflect.DeepEqual(done["result"], m{"text": "hello world", "n": int64(2), "k": nil}) {
		t.Error(done, err)
	}
	_, err = h.request(3, m{"chart": int64(0), "name": "broken", "args": l{}})
	says(t, err, "no")
	if f := err.(*failure); f.m["line"] != int64(2) {
		t.Error(f.m)
	}
	_, err = h.request(3, m{"chart": int64(0), "name": "odd", "args": l{}})
	says(t, err, `result of template function "odd"`, "is a function")
	_, err = h.request(3, m{"chart": int64(0), "name": "none", "args": l{}})
	says(t, err, `no template function "none"`)
}

func TestLookup(t *testing.T) {
	h := newHost(t, alone(`local s = kube.lookup("v1", "Secret", "default", "x") print(s.data.a, kube.lookup("v1", "None").x)
print(pcall(kube.lookup, "v1", "Forbidden"))`))
	h.lookup = func(b m) (any, error) {
		switch b["kind"] {
		case "Secret":
			return m{"data": m{"a": b["name"]}}, nil
		case "None":
			return nil, nil
		}
		return nil, errors.New("not allowed")
	}
	if err := h.start(); err != nil || h.printed[0] != "x\tnil" || !strings.HasSuffix(h.printed[1], "not allowed") {
		t.Error(err, h.printed)
	}
}

func TestOnlyGrantedChartsHaveMore(t *testing.T) {
	h := newHost(t, []any{
		chartOf("mysql", "web/charts/mysql", 1, map[string]string{"chart.lua": `assert(http and net and not io and not os) print(http.get("https://example.com").body)`}, m{"grants": l{"network"}}),
		chartOf("web", "web", -1, map[string]string{"chart.lua": `assert(not http and not net and not io and not os)
for _, n in ipairs{"debug", "package", "coroutine", "load", "dofile", "loadfile", "collectgarbage", "warn"} do assert(_G[n] == nil, n) end
assert(string.dump == nil and subcharts.get("mysql").http == nil)`}),
	})
	h.http = func(b m) (m, error) { return m{"status": int64(200), "headers": m{}, "body": "hi"}, nil }
	if err := h.start(); err != nil || h.printed[0] != "hi" {
		t.Error(err, h.printed)
	}
}

func TestErrorsSayWhere(t *testing.T) {
	for _, c := range []struct {
		name, script, want string
		line               int64
	}{
		{"a string", "local x = 1\nerror(\"boom\")", "boom", 2},
		{"a field of nil", "local x\nprint(x.y)", `x is nil, so it has no "y"`, 2},
		{"helm.fail", "\n\nhelm.fail(\"stop here\")", "stop here", 3},
		{"a table with a message", "\nerror({message = \"object\"})", "object", 2},
		{"a table with __tostring", "\nerror(setmetatable({}, {__tostring = function() return \"mine\" end}))", "mine", 2},
		{"a table without a text", "\nerror({})", "(the error is a table value)", 2},
		{"no argument", "\nerror()", "error called without a message", 2},
		{"nil", "\nerror(nil)", "error called without a message", 2},
		{"__tostring that fails", "\nerror(setmetatable({}, {__tostring = function() error(\"again\") end}))", "(the error is a table value)", 2},
		{"__tostring that returns a table", "\nerror(setmetatable({}, {__tostring = function() return {} end}))", "(the error is a table value)", 2},
		{"syntax", "x = = 1", "near", 1},
		{"unexpected end", "\n\nfor", "near", 3},
		{"goto without its label", "goto nowhere", "nowhere", 1},
		{"an error that was caught", "\nlocal ok, e = pcall(error, \"inner\", 0)\nerror(e, 0)", "inner", 3},
		{"arithmetic with a table", "\nprint(1 + {})", "arithmetic", 2},
		{"strings joined with + further down", "\nlocal ok = 1\n\nlocal y = 2\nprint('a' + 1)", "+ joins two strings", 5},
		{"strings joined with +", "\nprint('a' + 1)", "+ joins two strings", 2},
		{"a method that is not there", "\n(\"x\"):nope()", "nope is nil, and cannot be called", 2},
		{"assert", "\nassert(false, \"claim\")", "claim", 2},
		{"in a function", "\nlocal function f() error(\"deep\") end\nf()", "deep", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := newHost(t, alone(c.script)).start()
			says(t, err, c.want)
			f, ok := err.(*failure)
			if !ok {
				t.Fatalf("got a %T, want a *failure", err)
			}
			if f.m["line"] != c.line || f.m["file"] != "ext/lua/chart.lua" || f.m["chart"] != int64(0) || f.m["limit"] != "" || strings.Contains(err.Error(), "chart.lua") {
				t.Errorf("got %v, want line %d of ext/lua/chart.lua", f.m, c.line)
			}
		})
	}
	err := newHost(t, alone("local function deep() error('x') end\nfunction init()\n deep()\nend")).start()
	f := err.(*failure)
	if tb := f.m["traceback"].(string); !strings.Contains(tb, "web/ext/lua/chart.lua:1: in function 'deep'") || !strings.Contains(tb, "web/ext/lua/chart.lua:3: in function 'init'") {
		t.Error(tb)
	}
}

func TestAfterAnErrorTheEngineGoesOn(t *testing.T) {
	h := started(t, alone(on("pre-render", `error("no")`)+"\n"+on("post-render", `print("yes")`)))
	says(t, h.emit("pre-render", map[int]m{0: baseContext()}), "no")
	if err := h.emit("post-render", map[int]m{0: baseContext()}); err != nil || len(h.printed) != 1 {
		t.Error(err, h.printed)
	}
}

func TestLanguage(t *testing.T) {
	started(t, alone(`
assert(getmetatable("") == false and getmetatable(1) == false and not pcall(setmetatable, "", {}))
assert(_VERSION == "Lua 5.4" and _G._G == _G and (function(...) return select("#", ...) end)(1, nil, nil) == 3)
do local x <const> = 1; local closed = false; do local y <close> = setmetatable({}, {__close = function() closed = true end}) end assert(closed) end
assert(pcall(function() error({code = 1}) end) == false and select(2, pcall(error, {code = 7})).code == 7)
assert(xpcall(function() error("x") end, function(m) return "handled" end) == false)
assert((8080)() == 8080 and (true)() == true and ("x")() == "x")
goto done
do error("not skipped") end
::done::`))
}

func TestLanguageLibrary(t *testing.T) {
	script := `
assert("a" + "b" == "ab" and "1" + "2" == 3 and "1" + 2 == 3 and "10" + "x" == "10x" and "3" * "4" == 12 and -"2" == -2)
assert(("x"):rep(3, ",") == "x,x,x" and ("x"):rep(-1) == "" and ("").rep("", 2^62, "") == "")
assert(("a.b.c"):find(".", 3, true) == 4 and ("äB"):upper() == "äB" and ("\xff"):lower() == "\xff")
assert(string.format("%5d|%-5s|%5.2f|%x|%g|%q|%%|%c|%i", 42, "ab", 3.14159, 255, 1/3, "q", 65, 7) == '   42|ab   | 3.14|ff|0.333333|"q"|%|A|7')
assert(not pcall(string.format, "%p") and not pcall(string.format, "%d") and not pcall(string.format, "%99999999d", 1) and not pcall(string.format, "%t", true))
function string.shout(s) return s:upper() .. "!" end
assert(("hi"):shout() == "HI!")
assert(tonumber("0x10") == 16 and tonumber("z", 36) == 35 and tonumber("x") == nil and tonumber(("9"):rep(1e6)) == nil)
local t = {} for i = 1, 20 do t["k" .. i] = i; t[i] = i end t[true] = 1 t[1.5] = 1
local seen = {}
for k in pairs(t) do seen[#seen + 1] = tostring(k) end
assert(table.concat(seen, " ") == "1 1.5 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 k1 k10 k11 k12 k13 k14 k15 k16 k17 k18 k19 k2 k20 k3 k4 k5 k6 k7 k8 k9 true", table.concat(seen, " "))
local n, k = 0, nil
repeat k = next(t, k) if k ~= nil then n = n + 1 end until k == nil
assert(n == 42 and next({}) == nil and not pcall(next, {}, "x"))
for k in pairs(t) do t[k] = nil end
assert(next(t) == nil)
for k, v in pairs(setmetatable({}, {__pairs = function() return function(_, k) if not k then return 1, 2 end end, nil, nil end})) do assert(k == 1 and v == 2) end
assert(math.random(1, 10) <= 10 and math.random() < 1 and not pcall(math.random, 2, 1))
math.randomseed(7) local a = math.random(1000000) math.randomseed(7) assert(a == math.random(1000000))`
	started(t, alone(script))
}

func TestTheSameRunTwiceIsTheSame(t *testing.T) {
	run := func() string {
		h := started(t, alone(`for i = 1, 5 do print(math.random(1000000)) end local t = {c=1,a=2,b=3} for k in pairs(t) do print(k) end`))
		return strings.Join(h.printed, " ")
	}
	if a, b := run(), run(); a != b {
		t.Error(a, b)
	}
}

func TestChartsDoNotTamperWithEachOther(t *testing.T) {
	started(t, family(`
assert(rawget(_G, "leak") == nil and string.format ~= nil and string.evil == nil and table.concat{"a"} == "a")
assert(("x"):upper() == "X" and not pcall(function() return ("x"):evil() end))
assert(tostring(1) == "1" and yaml.encode ~= nil)`,
		`leak = 1 string.format = nil function string.evil() return "evil" end string.upper = function() return "evil" end
table.concat = nil _G.tostring = nil yaml.encode = nil _ENV.leak2 = 2 math.random = nil
assert(("x"):evil() == "evil")`, ``))
}

func TestCheckCompilesAndLists(t *testing.T) {
	h := newHost(t, nil)
	done, err := h.request(4, m{"charts": l{chartOf("web", "web", -1, map[string]string{
		"chart.lua": "local a = require(\"a.b\")\nlocal b = require 'c'\nx.require(\"no\")\nevents.on(\"pre-render\", function() end)\nevent.on('post-load', 0.5, f)\nrequire(name)",
		"a/b.lua":   "return = 1", "deep.lua": strings.Repeat("(", 300), "README": "= no script"})}})
	if err != nil {
		t.Fatal(err)
	}
	line := func(list any, key string) string {
		var out []string
		for _, x := range list.([]any) {
			out = append(out, fmt.Sprint(x.(m)["file"], ":", x.(m)["line"], ":", x.(m)[key]))
		}
		return strings.Join(out, "\n")
	}
	if got := line(done["requires"], "name"); got != "ext/lua/chart.lua:1:a.b\next/lua/chart.lua:2:c" {
		t.Error(got)
	}
	if got := line(done["events"], "name"); got != "ext/lua/chart.lua:4:pre-render\next/lua/chart.lua:5:post-load" {
		t.Error(got)
	}
	if got := line(done["problems"], "message"); !strings.HasPrefix(got, "ext/lua/a/b.lua:1:") || !strings.Contains(got, "ext/lua/deep.lua:1:the script nests too deep") {
		t.Error(got)
	}
}

func TestAHandlerTakenOffMeanwhileIsGone(t *testing.T) {
	h := started(t, alone(on("pre-render", `events.off{event="pre-render"}`)+"\n"+on("pre-render", `error("still here")`)))
	if err := h.emit("pre-render", map[int]m{0: baseContext()}); err != nil || len(h.handlers) != 0 {
		t.Error(err, h.handlers)
	}
}
