// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"strings"
	"testing"
)

// A function that a loop makes keeps the variables of its turn.
func TestEveryTurnOfALoopHasVariablesOfItsOwn(t *testing.T) {
	h := started(t, alone(`
for _, name in ipairs{"pre-render", "post-render"} do
  events.on(name, function() print(name) end)
end
local f = {}
for k, v in pairs{a = 1, b = 2} do f[k] = function() v = v + 1 return k .. v end end
assert(f.a() == "a2" and f.a() == "a3" and f.b() == "b3")
for _, n in ipairs{1, 2, 3} do
  if n == 2 then goto continue end
  f[n] = function() return n end
  ::continue::
end
assert(f[1]() == 1 and f[2] == nil and f[3]() == 3)
for _, n in ipairs{1, 2, 3} do f[n] = function() return n end if n == 2 then break end end
assert(f[1]() == 1 and f[2]() == 2)
for _, a in (function() for _, x in ipairs{1} do f.x = function() return x end end return ipairs{"p", "q"} end)() do
  for _, b in ipairs{"r", "s"} do while true do f[a .. b] = function() return a .. b end break end end
end
assert(f.x() == 1 and f.pr() == "pr" and f.ps() == "ps" and f.qr() == "qr" and f.qs() == "qs")
for a in function() return nil end do local g = function() return a end end
for i = 1, 2 do f[i] = function() i = i + 1 return i end end
assert(f[1]() == 2 and f[1]() == 3 and f[2]() == 3)
local s = "for k in x do" -- for k in x do
for _, k in ipairs{s} do --[[ do ]] local t = {["end"] = function() return k end} f.t = t["end"] end
assert(f.t() == s)
local o = ""
for k, v in pairs{a = 1} do local k = k .. "!" o = o .. (function() return k .. v end)() end
assert(o == "a!1")`))
	for _, name := range []string{"pre-render", "post-render"} {
		if err := h.emit(name, map[int]m{0: baseContext()}); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Join(h.printed, " "); got != "pre-render post-render" {
		t.Error(got)
	}
}

// Errors in such loops are at the lines where they were.
func TestErrorsInLoopsKeepTheirLines(t *testing.T) {
	for script, line := range map[string]int64{
		"for _, n in ipairs{1} do\n  local f = function() error(n) end\n  f() end":  2,
		"for _, n in ipairs{1} do local f = function() end\n  error('x') end":       2,
		"for _, n in ipairs{1} do local f = function() end\n":                       2,
		"for n in do function() end\nend":                                           1,
		"end for x in y do function() end until for in do function end end end end": 1,
	} {
		err := newHost(t, alone(script)).start()
		f, ok := err.(*failure)
		if !ok || f.m["line"] != line {
			t.Errorf("%q: %v", script, err)
		}
	}
}

// golua gives the errors of escape sequences no line.
func TestErrorsOfEscapeSequencesHaveLines(t *testing.T) {
	for script, want := range map[string]string{
		"local x = 1\nlocal y =\n  'a\\273'\n": `decimal escape sequence out of range near '\273'`,
		"local x = 1\n\nprint 'a\\999' ":       `decimal escape sequence out of range near '\999'`,
	} {
		err := newHost(t, alone(script)).start()
		f, ok := err.(*failure)
		if !ok || f.m["line"] != int64(3) || f.Error() != want {
			t.Errorf("%q: %v (%v)", script, err, f.m["line"])
		}
	}
}
