// SPDX-License-Identifier: Apache-2.0

package engine_test

import "testing"

// Strings are numbers where Lua takes them for such, but for very long ones.
func TestArithmeticOfStrings(t *testing.T) {
	started(t, alone(`
assert("7" - 2 == 5 and 7 * "2" == 14 and "7" / "2" == 3.5 and "7" // "2" == 3 and "7" % "4" == 3 and "2" ^ 3 == 8)
assert(-"2" == -2 and "0x10" + 1 == 17 and "a" + "b" == "ab" and "1" + "2" == 3)
local long = ("1"):rep(401)
local function fails(f, ...) local ok, err = pcall(f, ...) assert(not ok) return (err:gsub("^.-:%d+: ", "")) end
local function say(got, want) assert(got == want, got) end
say(fails(function() return long - 1 end), "attempt to perform arithmetic on a string value")
say(fails(function() return "1" * long end), "attempt to perform arithmetic on a string value")
say(fails(function() return "x" % long end), "attempt to mod a 'string' with a 'string'")
say(fails(function() return -long end), "attempt to unm a 'string'")
say(fails(function() return "x" - 1 end), "attempt to perform arithmetic on a string value")
say(fails(function() return "1" // 0 end), "attempt to divide by zero")
say(fails(math.floor, long), "bad argument #1 to 'floor' (number expected, got string)")
say(fails(string.format, "%d", long), "bad argument #2 to 'format' (number expected, got string)")
assert(tonumber(long) == nil and math.type(long) == nil)
local table = setmetatable({}, {__sub = function(a, b) return a end, __unm = function() return 1 end})
assert(long - table == long and "1" - table == "1" and -table == 1)
`))
}
