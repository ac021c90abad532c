// SPDX-License-Identifier: Apache-2.0

//go:build !race

package subprocess_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/moonhelm/moonhelm/script/sandbox"
	"github.com/moonhelm/moonhelm/script/wire"
)

// Scripts that exhaust resources run in a real engine in a real process. The engine ends them if it
// can; at a limit of Go's stack or of the machine's memory the process exits instead. In any case
// the limit is reported soon, with bounded memory.
func TestAttackLimits(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	recursing := func(event, use string) string {
		return `local t = setmetatable({}, {}); getmetatable(t).` + event + ` = function(a, b) return ` + use + ` end; local a, b = t, t; return ` + use
	}
	const harmless = "nothing" // Lua's own limits end it first
	for _, tt := range []struct{ name, script, limits string }{
		{"an endless loop", `while true do end`, "cpu"},
		{"an endless loop that catches its end", `while true do pcall(function() while true do end end) end`, "cpu"},
		{"a function that calls itself", `local function f() return 1 + f() end; f()`, "stack memory"},
		{"the same, caught", `local function f() return 1 + f() end; while true do pcall(f) end`, "stack memory cpu"},
		{"pcall in pcall", `local function f() return pcall(f) end; f()`, "stack memory cpu " + harmless},
		{"an index that indexes", recursing("__index", "a.x"), "stack memory"},
		{"a sum that adds", recursing("__add", "a + b"), "stack memory"},
		{"a negation that negates", recursing("__unm", "-a"), "stack memory"},
		{"a concatenation that concatenates", recursing("__concat", "a .. b"), "stack memory"},
		{"a text that asks for its text", recursing("__tostring", "tostring(a)"), "stack memory " + harmless},
		{"a comparison that compares", recursing("__lt", "a < b"), "stack memory"},
		{"a call that calls", recursing("__call", "a()"), "stack memory cpu"},
		{"a close that closes", `local m = {}; m.__close = function() local x <close> = setmetatable({}, m) end; do local x <close> = setmetatable({}, m) end`, "stack memory"},
		{"an error whose text never comes", `error(setmetatable({}, {__tostring = function() while true do end end}))`, "cpu"},
		{"a text that doubles", `local s = "x"; while true do s = s .. s end`, "memory"},
		{"a text in one instruction", `local s = ("x"):rep(1e10)`, "memory"},
		{"a table without end", `local t = {}; for i = 1, math.maxinteger do t[i] = i end`, "memory cpu"},
		{"a table of keys without end", `local t = {}; for i = 1, math.maxinteger do t["k" .. i] = {} end`, "memory cpu"},
		{"tables turned into text", `while true do tostring({}) end`, "memory cpu"},
		{"functions turned into text", `while true do tostring(function() end) end`, "memory cpu"},
		{"tables in tables", `local t = {}; while true do t = {t} end`, "memory cpu"},
		{"a join of much", `local t = {}; for i = 1, 1000 do t[i] = ("x"):rep(1000000) end; local s = table.concat(t)`, "memory"},
		{"printing without end", `while true do print("x") end`, "output cpu"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := wire.Limits{CPU: time.Second, Memory: 96 << 20, Output: 1 << 18}
			c := begin(t, l)
			peak := watchPeak(c)
			began := time.Now()
			how := c.fate(l, tt.script)
			if !strings.Contains(" "+tt.limits+" ", " "+how+" ") {
				t.Errorf("ended by %s, want one of: %s", how, tt.limits)
			}
			took, used := time.Since(began), peak()
			if took > 20*time.Second {
				t.Errorf("took %s", took)
			}
			if used > l.Memory+200<<20 {
				t.Errorf("used %d MiB", used>>20)
			}
			t.Logf("%s: %s, %d MiB at most", how, took.Round(time.Millisecond), used>>20)
		})
	}
}

// fate runs a script and returns the limit that ended it, if any, as the engine or the exit of the
// process reports it.
func (c *conversation) fate(l wire.Limits, script string) string {
	answer, err := c.start(l, []any{}, script)
	if err == nil {
		if limit, _ := answer.Body["limit"].(string); limit != "" {
			return limit
		}
		return "nothing"
	}
	how := c.p.Wait()
	var exit *sandbox.ExitError
	if !errors.As(how, &exit) || exit.Limit == "" {
		c.t.Logf("%+v", how)
		return "who knows"
	}
	return exit.Limit
}
