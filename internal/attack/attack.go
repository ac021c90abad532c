// SPDX-License-Identifier: Apache-2.0

// Package attack provides hostile scripts for tests of the engine and of the process that sandboxes
// scripts. It runs nothing itself.
package attack

import (
	"fmt"
	"strings"
)

// Attack is a hostile chart.lua. It must end, with or without an error, within the limits, and
// without harm outside of its own process.
type Attack struct {
	Name   string
	Script string
	// Process reports that the script overflows Go's stack, so that it needs a process of its own.
	Process bool
	// Limit is the limit that ends the script, or "" if it is unspecified.
	Limit string
}

// All returns all attacks.
func All() []Attack {
	return append(append(append(runaway(), libraries()...), source()...), escapes()...)
}

// runaway returns scripts that do not terminate.
func runaway() []Attack {
	return []Attack{
		{Name: "endless loop", Script: `while true do end`, Limit: "cpu"},
		{Name: "endless loop inside pcall in a loop",
			Script: `while true do pcall(function() while true do end end) end`, Limit: "cpu"},
		{Name: "endless loop inside xpcall with a loop for a handler",
			Script: `xpcall(function() error("x") end, function() while true do end end)`, Limit: "cpu"},
		{Name: "handlers that fail", Script: `xpcall(function() error("x") end, function(m) error(m) end)`},
		{Name: "endless loop in for", Script: `for i = 1, math.huge do end`, Limit: "cpu"},
		{Name: "endless goto", Script: `::a:: goto a`, Limit: "cpu"},
		{Name: "endless loop in __close", Script: `do local x <close> = setmetatable({}, {__close = function() ` +
			`while true do end end}) end`, Limit: "cpu"},
		{Name: "endless loop in an error object",
			Script: `error(setmetatable({}, {__tostring = function() while true do end end}))`, Limit: "cpu"},
		{Name: "endless iterator", Script: `for _ in function() return 1 end do end`, Limit: "cpu"},
		{Name: "recursion", Script: `local function f() return 1 + f() end f()`},
		{Name: "recursion inside pcall", Script: `local function f() return 1 + f() end while true do pcall(f) end`},
		{Name: "recursion of pcall", Script: `local function f() return pcall(f) end return f()`},
		{Name: "recursion of pcall without tail calls",
			Script: `local function f() local ok = pcall(f) return ok end while true do f() end`},
		{Name: "recursion by tail calls", Script: `local function f() return f() end f()`, Limit: "cpu"},
		{Name: "recursion through gsub", Script: `local function f() return (("x"):gsub(".", f)) end f()`},
		{Name: "recursion through sort", Script: `local function f() table.sort({1, 2, 3}, f) return false end f()`},
		{Name: "recursion through __index", Script: `local t = {} setmetatable(t, {__index = function(t, k) return ` +
			`t[k .. "x"] end}) return t.x`, Process: true},
		{Name: "recursion through __newindex",
			Script: `local t = {} setmetatable(t, {__newindex = function(t, k, v) t[k] = v end}) t.x = 1`, Process: true},
		{Name: "recursion through __add", Script: `local t = setmetatable({}, {}) getmetatable(t).__add = ` +
			`function(a, b) return a + b end return t + t`, Process: true},
		{Name: "recursion through __unm", Script: `local t = setmetatable({}, {}) getmetatable(t).__unm = ` +
			`function(a) return -a end return -t`, Process: true},
		{Name: "recursion through __concat", Script: `local t = setmetatable({}, {}) getmetatable(t).__concat = ` +
			`function(a, b) return a .. b end return t .. t`, Process: true},
		{Name: "recursion through __tostring",
			Script: `local t = setmetatable({}, {}) getmetatable(t).__tostring = function(a) return tostring(a) end ` +
				`return tostring(t)`},
		{Name: "recursion through __close", Script: `local function f() local x <close> = setmetatable({}, {__close ` +
			`= f}) end f()`, Process: true},
		{Name: "recursion through __eq", Script: `local m = {} m.__eq = function(a, b) return a == b end return ` +
			`setmetatable({}, m) == setmetatable({}, m)`, Process: true},
		{Name: "recursion through __lt", Script: `local m = {} m.__lt = function(a, b) return a < b end return ` +
			`setmetatable({}, m) < setmetatable({}, m)`, Process: true},
		{Name: "recursion through __len", Script: `local m = {} m.__len = function(a) return #a end return ` +
			`#setmetatable({}, m)`, Process: true},
		{Name: "recursion through __call", Script: `local t = setmetatable({}, {}) getmetatable(t).__call = t ` +
			`return t()`, Process: true},
		{Name: "a circle of __index", Script: `local a, b = {}, {} setmetatable(a, {__index = b}) setmetatable(b, ` +
			`{__index = a}) return a.x`},
		{Name: "string doubling", Script: `local s = "x" while true do s = s .. s end`, Limit: "memory"},
		{Name: "string doubling with +", Script: `local s = "x" while true do s = s + s end`, Limit: "memory"},
		{Name: "string doubling inside pcall",
			Script: `local s = "x" while true do pcall(function() while true do s = s .. s end end) end`, Limit: "memory"},
		{Name: "a table without end, by number", Script: `local t = {} local i = 0 while true do i = i + 1 t[i] = i end`},
		{Name: "a table without end, by key", Script: `local t = {} local i = 0 while true do i = i + 1 t["k" .. i] ` +
			`= {} end`},
		{Name: "tables in tables without end", Script: `local t = {} while true do t = {t, {}, {}, {}} end`},
		{Name: "closures without end", Script: `local t = {} local i = 0 while true do i = i + 1 local j = i t[i] = ` +
			`function() return j end end`},
		{Name: "arguments without end", Script: `local function f(...) return f(1, 2, 3, 4, ...) end f()`},
		{Name: "handlers without end", Script: `while true do events.on("pre-render", function() end) end`},
		{Name: "template functions without end",
			Script: `local i = 0 while true do i = i + 1 template.func("f" .. i, print) end`},
		{Name: "print without end", Script: `while true do print(("x"):rep(1000)) end`, Limit: "output"},
		{Name: "print nothing without end", Script: `while true do print() end`},
		{Name: "print without end inside pcall", Script: `while true do pcall(print, ("x"):rep(1000)) end`, Limit: "output"},
		{Name: "one huge print", Script: `print(("x"):rep(1500000))`, Limit: "output"},
	}
}

// libraries returns scripts that call library functions with excessive arguments.
func libraries() []Attack {
	return []Attack{
		{Name: "a huge rep", Script: `return ("x"):rep(1e10)`, Limit: "memory"},
		{Name: "a huge rep inside pcall", Script: `while true do pcall(string.rep, "x", 1e10) end`, Limit: "memory"},
		{Name: "rep of nothing", Script: `return string.rep("", 2^62, "")`},
		{Name: "rep that wraps around", Script: `return string.rep("xxxxxxxx", 2^61, "yyyyyyyy")`},
		{Name: "concat over a huge range", Script: `return table.concat({}, "x", 1, 2^53)`},
		{Name: "concat over a huge range that is there",
			Script: `return table.concat(setmetatable({}, {__index = function() return "xxxxxxxxxxxxxxxx" end}), "x", 1, 2^53)`},
		{Name: "unpack over a huge range", Script: `return table.unpack({}, 1, 2^53)`},
		{Name: "unpack over all numbers", Script: `return table.unpack({}, math.mininteger, math.maxinteger)`},
		{Name: "move over a huge range", Script: `return table.move({}, 1, 2^53, 2)`},
		{Name: "byte over a huge range", Script: `local s = ("x"):rep(10000000) while true do local t = {s:byte(1, -1)} end`},
		{Name: "select over a huge range", Script: `local s = ("x"):rep(100000) local function f(...) while true do ` +
			`select(-1, ...) end end f(s:byte(1, -1))`},
		{Name: "a __len that lies to insert", Script: `table.insert(setmetatable({}, {__len = function() return ` +
			`2^53 end}), 1, 2)`},
		{Name: "a __len that lies to remove", Script: `table.remove(setmetatable({}, {__len = function() return ` +
			`2^53 end}), 1)`},
		{Name: "a __len that lies to sort", Script: `table.sort(setmetatable({}, {__len = function() return 2^39 ` +
			`end, __index = function() return 1 end}))`},
		{Name: "a __len that lies to sort, more",
			Script: `table.sort(setmetatable({}, {__len = function() return 2^62 end}))`},
		{Name: "an invalid order function", Script: `local t = {} for i = 1, 10000 do t[i] = i end while true do ` +
			`table.sort(t, function() return true end) end`, Limit: "cpu"},
		{Name: "a gsub that explodes", Script: `local s = ("x"):rep(100000) return (s:gsub("", s))`},
		{Name: "a gsub that explodes by captures",
			Script: `local s = ("x"):rep(10000) return (s:gsub(".*", ("%0"):rep(100000)))`},
		{Name: "a gsub that deletes, without end",
			Script: `local s = ("ab"):rep(100000) while true do s:gsub("a*", "") end`, Limit: "cpu"},
		{Name: "find with 30,000 a?", Script: `return (("a"):rep(30000)):find(("a?"):rep(30000) .. ("a"):rep(30000))`},
		{Name: "find with twenty a*", Script: `return (("a"):rep(5000)):find(("a*"):rep(20) .. "b")`},
		{Name: "find with twenty .-", Script: `return (("a"):rep(5000)):find((".-"):rep(20) .. "b")`},
		{Name: "gmatch of nothing", Script: `while true do for _ in (("a"):rep(100000)):gmatch("") do end end`},
		{Name: "invalid patterns", Script: `for _, p in ipairs{"[", "[^", "%", "(", ")", "%b", "%f", "(()", ` +
			`"[a-", "[]", "%1", "(%1)", "[%"} do pcall(string.find, "abc", p) pcall(string.gsub, "abc", p, "x") ` +
			`pcall(string.match, "abc", p) end`},
		{Name: "a format with a huge width", Script: `return string.format("%99999999d", 1)`},
		{Name: "a format with a huge precision", Script: `return string.format("%.99999999f", 1)`},
		{Name: "a format of a pointer", Script: `return string.format("%p")`},
		{Name: "a format with too few arguments", Script: `return string.format("%d %d %d", 1)`},
		{Name: "invalid formats", Script: `for i = 0, 255 do pcall(string.format, "%" .. string.char(i)) ` +
			`pcall(string.format, "%5" .. string.char(i), {}, {}) end`},
		{Name: "a format of much", Script: `local s = ("x"):rep(10000000) while true do local x = ` +
			`string.format("%s%s%s", s, s, s) end`},
		{Name: "pack of much", Script: `return string.pack("c1000000000", "x")`},
		{Name: "invalid pack formats", Script: `for _, f in ipairs{"i17", "!17i16", "c", "s17", "Xz", "z", "i0", ` +
			`"!0"} do pcall(string.pack, f, 1) pcall(string.unpack, f, "") pcall(string.packsize, f) end`},
		{Name: "numbers in huge strings", Script: `local s = ("9"):rep(10000000) while true do local x = ` +
			`tonumber(s) x = pcall(function() return s + 1 end) x = pcall(function() return -s end) x = ` +
			`pcall(math.floor, s) x = pcall(string.format, "%d", s) end`, Limit: "cpu"},
		{Name: "numbers in huge strings, in loops",
			Script: `local s = ("9"):rep(10000000) while true do for i = s, 1 do end end`},
		{Name: "numbers in huge strings, as bits",
			Script: `local s = ("9"):rep(10000000) while true do pcall(function() return s | 1 end) end`},
		{Name: "numbers in huge strings, as arguments",
			Script: `local s = ("9"):rep(10000000) while true do pcall(string.rep, "x", s) pcall(string.sub, "x", s) ` +
				`pcall(select, s, 1) pcall(table.concat, {}, "", s) end`},
		{Name: "comparing huge strings", Script: `local a, b = ("x"):rep(50000000) .. "a", ("x"):rep(50000000) .. ` +
			`"b" while true do local x = a < b end`},
		{Name: "huge strings as keys", Script: `local s = ("x"):rep(50000000) local t = {} while true do t[s] = 1 ` +
			`t[s] = nil end`},
		{Name: "reversing without end", Script: `local s = ("x"):rep(1000000) while true do s = s:reverse() end`},
		{Name: "utf8 of much", Script: `local s = ("ä"):rep(5000000) while true do utf8.len(s) end`, Limit: "cpu"},
		{Name: "characters of much", Script: `local t = {} for i = 1, 200 do t[i] = 65 end while true do ` +
			`string.char(table.unpack(t)) utf8.char(table.unpack(t)) end`},
		{Name: "next in a great table", Script: `local t, u = {}, {} for i = 1, 100000 do t["k" .. i] = i u["k" .. ` +
			`i] = i end while true do next(t, "k5") next(u, "k5") end`},
		{Name: "pairs that never ends", Script: `for _ in pairs(setmetatable({}, {__pairs = function() return ` +
			`function() return 1 end end})) do end`, Limit: "cpu"},
		{Name: "a table that changes under pairs",
			Script: `local t = {1, 2, 3} for k in pairs(t) do for i = 1, 1000 do t[i * k] = i end t[k] = nil end`},
		{Name: "tostring of a number that is none",
			Script: `return tostring(0/0), tostring(-(0/0)), tostring(1/0), math.tointeger(0/0), 1 // 0.0, ` +
				`pcall(function() return 1 // 0, 1 % 0 end)`},
		{Name: "the least number divided by -1",
			Script: `return math.mininteger // -1, math.mininteger % -1, math.abs(math.mininteger), -math.mininteger`},
		{Name: "random over nothing", Script: `pcall(math.random, 0, math.mininteger) pcall(math.random, ` +
			`math.mininteger, math.maxinteger) pcall(math.random, 0/0) pcall(math.randomseed, 0/0, {})`},
		{Name: "a bomb of aliases in YAML", Script: `return yaml.decode("a: &a [x,x,x,x,x,x,x,x,x]\nb: &b ` +
			`[*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: ` +
			`&e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: &g ` +
			`[*f,*f,*f,*f,*f,*f,*f,*f,*f]\nh: &h [*g,*g,*g,*g,*g,*g,*g,*g,*g]\n")`},
		{Name: "JSON that nests", Script: `return pcall(json.decode, ("["):rep(1000000))`},
		{Name: "YAML that nests", Script: `return pcall(yaml.decode, ("["):rep(1000000))`},
		{Name: "a table that holds itself, encoded",
			Script: `local t = {} t.t = t return pcall(yaml.encode, t), pcall(json.encode, t)`},
		{Name: "an expression that is large", Script: `return pcall(regex.match, ("(a{1,1000}){1,1000}"):rep(100), "a")`},
		{Name: "an expression on much", Script: `local s = ("a"):rep(10000000) while true do regex.match("(a|b)*c", s) end`},
		{Name: "sums of much", Script: `local s = ("a"):rep(10000000) while true do sha256(s) base64.encode(s) end`},
	}
}

// source returns scripts with excessive source text.
func source() []Attack {
	var out []Attack
	add := func(name, text string) { out = append(out, Attack{Name: name, Script: text}) }
	rep := strings.Repeat
	const much = 1_000_000
	for _, c := range []struct{ name, open, middle, shut string }{
		{"(", "(", "1", ")"}, {"{", "{", "", "}"}, {"not", "not ", "1", ""}, {"-", "- ", "1", ""}, {"#", "#", "x",
			""}, {"~", "~", "1", ""},
		{"..", `"x"..`, `"x"`, ""}, {"^", "2^", "2", ""}, {"calls", "f(", "", ")"}, {"indexes", "x[", "1", "]"},
		{"functions", "function() return ", "1", " end"},
		{"braces with keys", "{a=", "1", "}"}, {"calls with braces", "f{", "", "}"},
	} {
		for _, n := range []int{150, 1000, 20_000, much} {
			add(fmt.Sprintf("%d nested %s", n, c.name), "local x = "+rep(c.open, n)+c.middle+rep(c.shut, n))
		}
	}
	for _, c := range []struct{ name, open, shut string }{
		{"if", "if x then ", " end"}, {"do", "do ", " end"}, {"while", "while x do ", " end"}, {"for",
			"for i = 1, 2 do ", " end"},
		{"repeat", "repeat ", " until true"}, {"function", "function f() ", " end"}, {"local function",
			"local function f() ", " end"},
		{"else", "if x then else ", " end"},
	} {
		for _, n := range []int{150, 1000, 20_000, much} {
			add(fmt.Sprintf("%d nested %s", n, c.name), rep(c.open, n)+rep(c.shut, n))
		}
	}
	const n = 20_000
	add("a chain of calls", "f"+rep("()", 100_000))
	add("a chain of calls with text", "f"+rep(`""`, 100_000))
	add("a chain of calls with braces", "f"+rep("{}", 100_000))
	add("a chain of methods", "f"+rep(":a()", 50_000))
	add("a chain of indexes", "x"+rep(".a", 100_000)+" = 1")
	add("a chain of indexes in brackets", "x"+rep("[1]", 80_000)+" = 1")
	add("a chain of sums", "x = 1"+rep("+1", 100_000))
	add("a chain of mixed operators", "x = 1"+rep("+1-1*1", 30_000))
	add("a chain of comparisons", "x = 1"+rep("<1==1", 30_000))
	add("a chain of and and or", "x = 1"+rep(" and 1 or 2", 20_000))
	add("a chain of elseif", "if x then"+rep(" elseif x then", n/2)+" end")
	add("many constants", "x = {"+many(40_000, func(i int) string { return fmt.Sprintf("%d.5,", i) })+"}")
	add("300 constants", "return {"+many(300, func(i int) string { return fmt.Sprintf(`"k%d",`, i) })+"}")
	add("many text constants", "x = {"+many(20_000, func(i int) string { return fmt.Sprintf(`"k%d",`, i) })+"}")
	add("many locals", many(10_000, func(i int) string { return fmt.Sprintf("local a%d = %d ", i, i) }))
	add("300 locals", many(300, func(i int) string { return fmt.Sprintf("local a%d = %d ", i, i) }))
	add("many locals at once", "local "+many(10_000, func(i int) string { return fmt.Sprintf("a%d,", i) })+"z = 1")
	add("many upvalues", many(300, func(i int) string { return fmt.Sprintf("local a%d = %d ", i, i) })+
		"return function() return "+many(299, func(i int) string { return fmt.Sprintf("a%d+", i) })+"1 end")
	add("many parameters", "local function f("+many(10_000, func(i int) string { return fmt.Sprintf("a%d,", i) })+"z) end")
	add("many arguments", "print("+many(10_000, func(i int) string { return fmt.Sprintf("%d,", i) })+"1)")
	add("many functions", rep("function f() end ", 15_000))
	add("many labels", many(10_000, func(i int) string { return fmt.Sprintf("::l%d:: ", i) }))
	add("many gotos", many(8_000, func(i int) string { return fmt.Sprintf("goto l%d ::l%d:: ", i, i) }))
	add("many assignments at once", rep("a,", 50_000)+"a = 1")
	add("many statements", rep("x = x ", 40_000))
	add("a long comment", "--"+rep("x", 260_000))
	add("a long text", "x = \""+rep("x", 200_000)+"\"")
	add("a long text of escapes", "x = \""+rep(`\x41`, 50_000)+"\"")
	add("a long number", "x = "+rep("9", 200_000))
	add("a long hexadecimal number", "x = 0x"+rep("f", 200_000)+".8p1")
	add("a long name", rep("x", 200_000)+" = 1")
	add("too much text", rep("x = 1\n", 200_000))
	add("a text that is not closed", `x = "abc`)
	add("a long text that is not closed", "x = [==["+rep("]=]", 1000))
	add("a comment that is not closed", "--[[ abc")
	add("bytes that are not Lua", "\x00\x01\xff\xfe!@$`\\")
	add("bytecode", "\x1bLua\x54\x00\x19\x93\r\n\x1a\n")
	add("golua's bytecode", "\x00golua\x00\x00")
	add("an invalid escape", `x = "\q \xZZ \999 \u{110000000000}"`)
	add("invalid attributes", "local x <evil> = 1")
	add("constants that are assigned", "local x <const> = 1 x = 2")
	add("break out of nothing", "break")
	add("... in a function", "function f() return ... end")
	return out
}

func many(n int, f func(int) string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(f(i))
	}
	return b.String()
}

// escapes returns scripts that try to access more than they may.
func escapes() []Attack {
	return []Attack{
		{Name: "text's metatable", Script: `assert(not getmetatable("").__index) getmetatable("").__index = nil`},
		{Name: "text's metatable, replaced", Script: `assert(not pcall(setmetatable, "", {__index = {}}))`},
		{Name: "globals", Script: `_G.pairs = nil _G._G = nil _ENV.next = nil _ENV = {} x = 1`},
		{Name: "deleted globals", Script: `for k in pairs(_G) do _G[k] = nil end`},
		{Name: "a metatable for globals", Script: `setmetatable(_G, {__index = function(t, k) return k end, ` +
			`__newindex = function() while false do end end}) return a .. b`},
		{Name: "a library's table", Script: `string.format = nil table.insert = print math = nil for k in ` +
			`pairs(string) do string[k] = nil end return ("x"):upper()`},
		{Name: "loading code", Script: `assert(not load and not loadstring and not dofile and not loadfile and not ` +
			`string.dump)`},
		{Name: "invalid modules", Script: `for _, n in ipairs{"../x", "/etc/passwd", "os", "io", "debug", ` +
			`"package", "..", "a/../b", "", ".", "ext/lua/chart", "chart.lua", "\0", ("a/"):rep(10000)} do assert(not ` +
			`pcall(require, n), n) end`},
		{Name: "requiring itself", Script: `require("chart")`},
		{Name: "killing", Script: `os.exit(1)`},
		{Name: "killing by kill", Script: `os.execute("kill -9 $PPID")`},
		{Name: "stopping", Script: `io.popen("kill -STOP $PPID")`},
		{Name: "a file", Script: `return io.open("/etc/passwd")`},
		{Name: "coroutines", Script: `return coroutine.wrap(function() end)`},
		{Name: "the collector", Script: `setmetatable({}, {__gc = function() while true do end end}) return ` +
			`collectgarbage and collectgarbage("stop")`},
		{Name: "a finalizer", Script: `for i = 1, 1000 do setmetatable({}, {__gc = function() error("x") end}) end`},
		{Name: "an error that is a function", Script: `error(print)`},
		{Name: "an error that is a huge text", Script: `error(("x"):rep(10000000))`},
		{Name: "an error of many lines", Script: `error(("x\n\27[31m"):rep(100000))`},
		{Name: "an error that lies about its place", Script: `error("web/ext/lua/chart.lua:99999999999999999999: x", 0)`},
		{Name: "an error that lies about another's place", Script: `error("other/ext/lua/chart.lua:1: x", 0)`},
		{Name: "an init that is not a function", Script: `init = 7`},
		{Name: "an init that is callable", Script: `init = setmetatable({}, {__call = function() error("called") end})`},
		{Name: "an init that calls itself", Script: `function init(e) return init(e) end`, Limit: "cpu"},
		{Name: "an init without end", Script: `function init(events) while true do subcharts.init(events) end end`,
			Limit: "cpu"},
		{Name: "a print that prints", Script: `local t = setmetatable({}, {}) getmetatable(t).__tostring = ` +
			`function() print(t) return "x" end print(t)`},
		{Name: "a name that is a table", Script: `setmetatable(_G, {__index = _G})`},
		{Name: "marks", Script: `local t = helm.list{} assert(not pcall(setmetatable, t, {})) assert(not ` +
			`getmetatable(t)) rawset(t, "x", 1) return pcall(yaml.encode, t)`},
		{Name: "built-in functions without arguments", Script: `local function all(t, n) for k, f in pairs(t) do ` +
			`if type(f) == "function" and k ~= "print" then for _, a in ipairs{n or 0} do pcall(f) pcall(f, nil) ` +
			`pcall(f, {}) pcall(f, "") pcall(f, -1) pcall(f, 0/0) pcall(f, {}, {}) pcall(f, "", "") pcall(f, "", -1, ` +
			`{}) pcall(f, f) pcall(f, {}, f) pcall(f, "x", f, f) pcall(f, helm.null) end end end end
local safe = {} for k, v in pairs(_G) do if type(v) == "table" and v ~= _G then safe[#safe + 1] = v end end
for _, t in ipairs(safe) do all(t) end all{type=type, rawget=rawget, rawset=rawset, rawlen=rawlen, ` +
			`rawequal=rawequal, next=next, pairs=pairs, ipairs=ipairs, select=select, tonumber=tonumber, ` +
			`tostring=tostring, setmetatable=setmetatable, getmetatable=getmetatable, pcall=pcall, xpcall=xpcall, ` +
			`error=error, assert=assert, require=require}`},
	}
}
