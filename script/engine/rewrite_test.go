// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"fmt"
	"strings"
	"testing"
)

// Assignments mean what they mean without the call after them.
func TestAssignmentsAreAsInLua(t *testing.T) {
	started(t, alone(`
assert(select("#", ...) == 0)
local t = {}
t.a = 1 t["b"] = 2 t[3] = 3 t[#t + 1] = "one"
assert(t.a == 1 and t.b == 2 and t[3] == 3 and t[1] == "one")
t.x, t.y = 1, 2
t.x, t.y = t.y, t.x
assert(t.x == 2 and t.y == 1)
local function three() return 1, 2, 3 end
t.p, t.q, t.r = three()
t.s = three()
assert(t.p == 1 and t.q == 2 and t.r == 3 and t.s == 1)
t.only, t.none = 1
assert(t.only == 1 and t.none == nil)
-- Each side is evaluated once.
local calls = 0
local function get() calls = calls + 1 return t end
local function key() calls = calls + 1 return "k" end
local function value() calls = calls + 1 return "v" end
get()[key()] = value()
assert(calls == 3 and t.k == "v")
-- Metamethods are called once, with what was assigned.
local seen = {}
local m = setmetatable({}, {__newindex = function(self, k, v) seen[#seen + 1] = k .. "=" .. tostring(v) end})
m.a = 1 m.b, m.c = 2, 3
table.sort(seen)
assert(table.concat(seen, " ") == "a=1 b=2 c=3")
-- Functions, methods, closures and jumps.
local M = {n = {}}
function M.f(x) return x + 1 end
function M.n.g(...) return select("#", ...) end
function M:h() return self == M end
assert(M.f(1) == 2 and M.n.g(1, nil) == 2 and M:h())
local fs = {}
for i = 1, 3 do fs[i] = function() i = i + 1 return i end end
assert(fs[1]() == 2 and fs[1]() == 3 and fs[2]() == 3)
for i = 1, 3 do
  if i == 2 then goto continue end
  t["n" .. i] = i
  ::continue::
end
assert(t.n1 == 1 and t.n2 == nil and t.n3 == 3)
local i = 0
repeat local last = i == 2 t.last = last i = i + 1 until last
assert(i == 3 and t.last)
while true do t.w = i if i > 5 then break end i = i + 1 end
assert(t.w == 6)
do local c <close> = setmetatable({}, {__close = function() t.closed = true end}) t.open = true end
assert(t.closed and t.open)
local function sum(n, acc) if n == 0 then return acc end t.acc = acc return sum(n - 1, acc + n) end
assert(sum(1000, 0) == 500500)
local v = {f = function() t.inner = {g = function() t.deep = 1 end} return t.inner end}
v.f().g()
assert(t.deep == 1)
;(function() t.called = true end)()
assert(t.called)
global = {} global.x = 1
assert(global.x == 1 and _G.global == global and _ENV.global == global)
_ENV.other = 5 _G["more"] = 6
assert(other == 5 and more == 6)
t[1.5], t[true] = 1, 2
assert(t[1.5] == 1 and t[true] == 2)
assert(not pcall(function() t[nil] = 1 end) and not pcall(function() local n n.x = 1 end))
local ok, err = pcall(function()
  t.z =
    t.missing.field
end)
assert(not ok and err:find("missing", 1, true) == nil and err:find('(key "field")', 1, true), err)
`))
}

func TestManyLocalsAndAssignments(t *testing.T) {
	var b strings.Builder
	for i := range 150 {
		fmt.Fprintf(&b, "local v%d = %d\n", i, i)
	}
	b.WriteString("local t = {n = {}}\n")
	for i := range 150 {
		fmt.Fprintf(&b, "t.n[\"k\" .. v%d] = v%d + 1\n", i, i)
	}
	b.WriteString(`assert(t.n.k149 == 150)`)
	started(t, alone(b.String()))
}

func TestNamesOfFunctionsInTracebacks(t *testing.T) {
	h := newHost(t, alone("local M = {}\nfunction M.deep()\n  local t = {}\n  t.x = nothing.here\nend\nM.deep()"))
	err := h.start()
	f, ok := err.(*failure)
	if !ok {
		t.Fatalf("got %v", err)
	}
	const want = "web/ext/lua/chart.lua:4: in function 'deep'\nweb/ext/lua/chart.lua:6: in main chunk"
	if got := f.m["traceback"]; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
