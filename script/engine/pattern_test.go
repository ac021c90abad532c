// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"fmt"
	"testing"
)

// What Lua's manual and its reference implementation give; golua's own functions
// give something else in most of these.
func TestPatternsAreLuas(t *testing.T) {
	for _, c := range []struct{ call, want string }{
		// The anchor holds for the whole text, not for what is left of it.
		{`("v1.2"):gsub("^v", "")`, "1.2|1"},
		{`("vv1.2"):gsub("^v", "")`, "v1.2|1"},
		{`("a b c"):gsub("^%s+", "")`, "a b c|0"},
		{`("  a b"):gsub("^%s+", "")`, "a b|1"},
		{`("a b  "):gsub("%s+$", "")`, "a b|1"},
		{`("hello world"):gsub("^%w", string.upper)`, "Hello world|1"},
		{`("abc"):gsub("^.*$", "-%0-")`, "-abc-|1"},
		{`("a^b"):gsub("b^", "")`, "a^b|0"},
		// Nothing may be what is left.
		{`("abc"):gsub("abc", "")`, "|1"},
		{`("aaa"):gsub("a", "")`, "|3"},
		{`("/api"):gsub("^/", "")`, "api|1"},
		{`(""):gsub("x", "y")`, "|0"},
		// An empty match right after a match is none.
		{`("abc"):gsub("%w*", "x")`, "x|1"},
		{`("hello"):gsub("", "-")`, "-h-e-l-l-o-|6"},
		{`("abc d"):gsub("%w*", "x")`, "x x|2"},
		{`("abc"):gsub("b*", "x")`, "xaxcx|3"},
		{`("abca"):gsub("a", "x", 1)`, "xbca|1"},
		{`("abca"):gsub("a", "x", 0)`, "abca|0"},
		{`("abca"):gsub("a", "x", nil)`, "xbcx|2"},
		// Replacements of all kinds.
		{`("hello world"):gsub("(%w+) (%w+)", "%2 %1")`, "world hello|1"},
		{`("hello"):gsub("l", "%0%1")`, "hellllo|2"},
		{`("a.b"):gsub("%.", "%%")`, "a%b|1"},
		{`("abc"):gsub("a", 5)`, "5bc|1"},
		{`("abc"):gsub("()b", "%1")`, "a2c|1"},
		{`("$a $b"):gsub("%$(%w+)", {a = 1, b = false})`, "1 $b|2"},
		{`("abc"):gsub("%w", function(c) if c == "b" then return 7 end end)`, "a7c|3"},
		{`("k=v"):gsub("(%w)=(%w)", function(k, v) return v .. "=" .. k end)`, "v=k|1"},
		{`string.gsub(12, 1, 3)`, "32|1"},
		// Places outside of the text.
		{`("abc"):match("^", 10)`, "nil"},
		{`("abc"):find("b*", 10)`, "nil"},
		{`("abc"):find("[b]", nil)`, "2|2"},
		{`("abc"):match("[b]", nil)`, "b"},
		{`("abc"):match("^b", 2)`, "b"},
		{`("abc"):match(".", -1)`, "c"},
		{`("abc"):match("()b()")`, "2|3"},
		{`("abc"):match("x")`, "nil"},
		{`("abc"):match("b", math.mininteger)`, "b"},
		{`("abc"):match("b", math.maxinteger)`, "nil"},
		{`("abc"):find("b", -99)`, "2|2"},
		{`("a.b.c"):find(".", 3, true)`, "4|4"},
		{`("a.b.c"):find(".", -3, true)`, "4|4"},
		{`("abc"):find("", 4)`, "4|3"},
		{`("abc"):find("", 5)`, "nil"},
		{`("a1"):find(1) `, "2|2"},
		{`("a1"):match(1)`, "1"},
	} {
		t.Run(c.call, func(t *testing.T) {
			started(t, alone(fmt.Sprintf(`
local got, want = table.pack(%s), %q
for i = 1, got.n do got[i] = tostring(got[i]) end
got = table.concat(got, "|")
assert(got == want, "got " .. got .. ", want " .. want)`, c.call, c.want)))
		})
	}
}

func TestReplacementsThatAreNone(t *testing.T) {
	for _, c := range []struct{ call, says string }{
		{`("abc"):gsub("b", nil)`, "bad argument #3 to 'gsub' (string, table or function expected, got nil)"},
		{`("abc"):gsub("b")`, "bad argument #3 to 'gsub'"},
		{`("abc"):gsub("b", true)`, "got boolean"},
		{`("abc"):gsub("b", "%2")`, "invalid capture index %2 in replacement string"},
		{`("abc"):gsub("b", "%x")`, "invalid use of '%' in replacement string"},
		{`("abc"):gsub("b", "%")`, "invalid use of '%' in replacement string"},
		{`("abc"):gsub("b", {b = {}})`, "invalid replacement value (a table)"},
		{`("abc"):gsub("b", function() error("no") end)`, "no"},
		{`("abc"):gsub("(b", "")`, "unfinished capture"},
	} {
		t.Run(c.call, func(t *testing.T) {
			started(t, alone(fmt.Sprintf(`
local ok, err = pcall(function() return %s end)
assert(not ok and err:find(%q, 1, true), err)`, c.call, c.says)))
		})
	}
}

func TestGsubLooksIntoValues(t *testing.T) {
	_, h, err := handle(t, "pre-render", `print((("port $port!"):gsub("%$(%w+)", ctx.values)))`)
	if err != nil || len(h.printed) != 1 || h.printed[0] != "port 8080!" {
		t.Error(err, h.printed)
	}
}

// Results that are put together from several pieces.
func TestLargeReplacements(t *testing.T) {
	for _, c := range []struct{ name, call, want string }{
		{"many small ones", `("abc"):rep(50000):gsub("b", "-")`, `("a-c"):rep(50000)`},
		{"a few large ones", `("1b2b3"):gsub("b", ("y"):rep(70000))`, `"1" .. ("y"):rep(70000) .. "2" .. ("y"):rep(70000) .. "3"`},
		{"a large text without a match", `("x"):rep(200000):gsub("y", "z")`, `("x"):rep(200000)`},
		{"a capture many times", `("<ab>"):gsub("a(b)", ("%1-%0."):rep(20000))`, `"<" .. ("b-ab."):rep(20000) .. ">"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			started(t, alone(fmt.Sprintf(`
local got, want = (%s), %s
assert(got == want, #got .. " bytes, want " .. #want)`, c.call, c.want)))
		})
	}
}
