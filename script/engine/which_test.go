// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"strings"
	"testing"
)

// What is wrong is named as the script names it, and what could be meant is said.
func TestErrorsNameWhatIsMeant(t *testing.T) {
	for line, want := range map[string]string{
		// What is nil.
		`ctx.values.server.port = 1`:                                `ctx.values.server is nil, so it cannot have a "port"`,
		`print(ctx.values.server.port)`:                             `ctx.values.server is nil, so it has no "port"`,
		`print(ctx.values["server"]["port"])`:                       `ctx.values["server"] is nil, so it has no "port"`,
		`print(ctx.values.hosts[7].name)`:                           `ctx.values.hosts[7] is nil, so it has no "name"`,
		`print(ctx.values.none.x)`:                                  `ctx.values.none is null, so it has no "x"`,
		`print(ctx.values.port:lower())`:                            `ctx.values.port is a number, so it has no "lower"`,
		`print(ctx.vales.port)`:                                     `ctx has no field "vales"; did you mean ctx.values?`,
		`print(os.time())`:                                          `os is nil, so it has no "time"; scripts have os where ext/permissions.yaml asks for os`,
		`http.get("https://example.com")`:                           `http is nil, so it has no "get"; scripts have http where ext/permissions.yaml asks for network`,
		`coroutine.wrap(print)`:                                     `coroutine is nil, so it has no "wrap"; scripts have no coroutine`,
		`load("x = 1")`:                                             `load is nil, and cannot be called; scripts have no load`,
		`helm.fial("no")`:                                           `helm has no field "fial"; did you mean helm.fail?`,
		`print(("x"):uper())`:                                       `uper is nil, and cannot be called; did you mean upper?`,
		`print(shout("x"), tostring(1))`:                            `shout is not defined`,
		`print("port " .. ctx.values.prt)`:                          `ctx.values.prt is nil, which cannot be joined to text`,
		`print(ctx.values.prt .. "/tcp")`:                           `ctx.values.prt is nil, which cannot be joined to text`,
		`print(#ctx.values.list)`:                                   `ctx.values.list is nil, so it has no length`,
		`for _, h in ipairs(ctx.values.list) do print(h) end`:       `ctx.values.list is nil, but ipairs needs a table`,
		`for _, h in pairs(ctx.values.list) do print(h) end`:        `ctx.values.list is nil, but pairs needs a table`,
		`for _, h in ipairs(ctx.values.image.name) do print(h) end`: `ctx.values.image.name is a string, but ipairs needs a table`,
		`for k, v in ctx.values.image do print(k) end`:              `ctx.values.image is a table: write pairs(ctx.values.image)`,
		`table.insert(ctx.values.list, 1)`:                          `bad argument #1 to 'insert'`,
		`print(pre-render)`:                                         `pre is not defined`,
		`events:on("pre-render", print)`:                            `write events.on, with a dot`,
		`events.on("preRender", print)`:                             `unknown event "preRender" (did you mean "pre-render"?); the events are`,
		`events.on("pre_install", print)`:                           `unknown event "pre_install" (did you mean "pre-install"?)`,
		`if ctx.values.port != 80 then end`:                         `Lua writes ~= and not`,
		`if ctx.values.port then`:                                   `unexpected symbol near ')' (the function of line 1, or a block in it, has no end)`,
		`while true do for i = 1, 2 do print(i end`:                 `expected ')' near 'end' (the "(" of line 2 has no ")")`,
		// A key that is computed.
		`local i = 7 print(ctx.values.hosts[i].name)`: `ctx.values.hosts[i] is nil, so it has no "name"`,
		`local k = "a" ctx.values.none[k .. "b"] = 1`: `ctx.values.none is null, so it cannot have a "ab"`,
		`local i = 1 print(ctx.values.list[i + 1])`:   `ctx.values.list is nil, so it has no 2`,
		`local i, t = 1 print(ctx.values[i], t[2])`:   `t is nil, so it has no 2`,
		// Arithmetic and comparison.
		`ctx.values.x = ctx.values.prt + 1`:                     `ctx.values.prt is nil, and arithmetic needs numbers; values.yaml gives it no default`,
		`ctx.values.x = 2 * ctx.values.image.count`:             `ctx.values.image.count is nil, and arithmetic needs numbers`,
		`ctx.values.x = -ctx.values.prt`:                        `ctx.values.prt is nil, and - needs a number`,
		`ctx.values.x = ctx.values.prt / ctx.values.port`:       `ctx.values.prt is nil, and arithmetic needs numbers`,
		`ctx.values.x = ctx.values.a - ctx.values.b`:            `ctx.values.a is nil, and arithmetic needs numbers`,
		`ctx.values.x = ctx.values.image + 1`:                   `ctx.values.image is a table, and arithmetic needs numbers`,
		`ctx.values.x = ctx.values.image.name * 2`:              `ctx.values.image.name is a string, and arithmetic needs numbers`,
		`ctx.values.x = "port" + ctx.values.port`:               `ctx.values.port is a number, and cannot be added to a string: + joins two strings, .. joins strings and numbers`,
		`ctx.values.x = ctx.values.none + 1`:                    `ctx.values.none is null, and arithmetic needs numbers`,
		`ctx.values.x = ctx.values.prt & 1`:                     `ctx.values.prt is nil, and bitwise operators need whole numbers`,
		`ctx.values.x = ~ctx.values.prt`:                        `ctx.values.prt is nil, and bitwise operators need whole numbers`,
		`local n ctx.values.x = n + 1`:                          `n is nil, and arithmetic needs numbers`,
		`local function f() end ctx.values.x = f(1) + 1`:        `what f returns is nil, and arithmetic needs numbers`,
		`if ctx.values.prt > 1 then end`:                        `ctx.values.prt is nil, and cannot be compared with a number`,
		`if 1 <= ctx.values.prt then end`:                       `ctx.values.prt is nil, and cannot be compared with a number`,
		`if ctx.values.port < ctx.values.prt then end`:          `ctx.values.prt is nil, and cannot be compared with a number`,
		`if ctx.values.port > "80" then end`:                    `ctx.values.port is a number, and cannot be compared with a string`,
		`local a = ctx.values if a.prt >= 1 then end`:           `a.prt is nil, and cannot be compared with a number`,
		"local x = ctx.values.port +\n  ctx.values.prt":         `ctx.values.prt is nil, and arithmetic needs numbers`,
		"local x = {\n  port = 1,\n  tag = ctx.values.tg .. 1}": `ctx.values.tg is nil, which cannot be joined to text`,
		// Where several could be meant, they are looked up, or all are named.
		`print(ctx.values.image.name, ctx.values.b.name)`:           `ctx.values.b is nil, so it has no "name"`,
		`print(ctx.values.port .. ctx.values.b)`:                    `ctx.values.b is nil, which cannot be joined to text`,
		`local one, two print(one.x .. two.x)`:                      `one or two is nil, so it has no "x"`,
		`local one, two one(two(1))`:                                `one or two is nil, and cannot be called`,
		`local function get() return {} end print(get("a").data.x)`: `"data" of what get returns is nil, so it has no "x"`,
		`local t = {} print(tostring(1).a.b.c)`:                     `"a" of what tostring returns is nil, so it has no "b"`,
		`print(ctx.values.image.name:uper())`:                       `ctx.values.image.name is a string, which has no function "uper"; did you mean upper?`,
		`print(({})[1].x)`:                                          `attempt to index a nil value (key "x")`,
		`local a, b, c, d print(a + b + c + d)`:                     `attempt to compute nil + nil`,
	} {
		h := newHost(t, alone(on("pre-render", line)))
		err := h.start()
		if err == nil {
			err = h.emit("pre-render", map[int]m{0: baseContext()}, "values")
		}
		if err == nil || !strings.HasPrefix(err.Error(), want) && !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n  says %v\n  not  %s", line, err, want)
		}
	}
}

func TestWhatLuaSaysCanStillBeCaught(t *testing.T) {
	started(t, alone(`
local x
local ok, err = pcall(function() return x.y end)
assert(not ok and err:find('attempt to index a nil value (key "y")', 1, true), err)
ok, err = pcall(function() x.y = 1 end)
assert(not ok and err:find('attempt to set a field of a nil value (key "y")', 1, true), err)
assert(not pcall(ipairs) and not pcall(ipairs, "abc") and getmetatable(nil) == false and not pcall(function() return (nil)() end))`))
}

// golua places what fails while a field is read or set one call too high.
func TestFieldsAreWrongWhereTheyAreAskedFor(t *testing.T) {
	for body, line := range map[string]int64{
		"local x\n  return x.y":                           3,
		"local a = print\n\n  ctx.chart.name = 1":         4,
		"local x = tostring(1)\n  ctx.values.a.b = 2":     3,
		"local x = tostring(1)\n  ctx.values.a = 1 + {}":  3,
		"local x = tostring(1)\n  ctx.values.a = 'a' + 1": 3,
	} {
		h := started(t, alone("local function helper(ctx) "+body+"\nend\n\n\n"+on("pre-render", "local f = tostring(1)\nhelper(ctx)\nprint(f)")))
		err := h.emit("pre-render", map[int]m{0: baseContext()}, "values")
		if f, ok := err.(*failure); !ok || f.m["line"] != line-1 {
			t.Errorf("%s: %v, not line %d", body, err, line-1)
		}
	}
}
