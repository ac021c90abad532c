// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"slices"
	"strings"
	"testing"
)

// What has no text of its own is numbered in the order in which text is made of
// it: the same in every run, and the same for one thing.
func TestTextOfTablesAndFunctionsIsTheSameInEveryRun(t *testing.T) {
	const script = `
local t, f = {}, function() end
local named = setmetatable({}, {__name = "My"})
local own = setmetatable({}, {__tostring = function() return "own" end})
print(tostring(t), tostring(f), tostring(named), tostring(own))
print(t, f, named, own, print)
print(string.format("%s|%8s|%-12s|%.5s|%s|%d", t, 1, own, f, nil, 7))
print(("%s"):format(ctx.values) == tostring({}))
print(select(2, pcall(table.concat, {1, t, 3})))
print(select(2, pcall(table.concat, {"at index 9 in table", own}, ", ", 1, 2)))
print(select(2, pcall(table.concat, 5)))
print(pcall(table.concat, setmetatable({}, {__len = function() return 1 end, __index = function() error("mine") end})))
print(table.concat({1, "x", 2.5}, "-"), table.concat({}), table.concat({1, 2, 3}, ",", 2, 3))
print(select(2, pcall(error, t)) == t, pcall(tostring))
for i = 1, 3 do print(tostring({}) ~= tostring({})) end
error(named)
`
	var runs []string
	for range 3 {
		_, h, err := handle(t, "pre-render", script)
		if err == nil || !strings.Contains(err.Error(), "My: 0x00010030") {
			t.Fatalf("got the error %v", err)
		}
		runs = append(runs, strings.Join(h.printed, "\n"))
	}
	const want = `table: 0x00010010	function: 0x00010020	My: 0x00010030	own
{}	function: 0x00010020	My: 0x00010030	own	gofunction: print
table: 0x00010010|       1|own         |funct|nil|7
false
web/ext/lua/chart.lua:10: invalid value (at index 2) in table for 'concat'
web/ext/lua/chart.lua:11: invalid value (at index 2) in table for 'concat'
web/ext/lua/chart.lua:12: #1 must be a table
false	web/ext/lua/chart.lua:13: mine
1-x-2.5		2,3
true	false	web/ext/lua/chart.lua:15: bad argument #1 to 'tostring' (value expected)
true
true
true`
	if i := slices.IndexFunc(runs, func(s string) bool { return s != want }); i >= 0 {
		t.Errorf("run %d printed\n%s\nwant\n%s", i+1, runs[i], want)
	}
}
