// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"slices"
	"strings"
	"testing"
)

func TestPrintShowsTablesAsYAML(t *testing.T) {
	for line, want := range map[string]string{
		`print({a = 1, b = {2, 3}})`:      "a: 1\nb:\n- 2\n- 3",
		`print({})`:                       "{}",
		`print(helm.list{})`:              "[]",
		`print("x", {a = 1})`:             "x\ta: 1",
		`print("x", {a = 1, b = 2}, "y")`: "x\na: 1\nb: 2\ty",
		`print(ctx.values.image)`:         "name: alpine\ntag: \"3.8\"",
		`print(ctx.chart.maintainers)`:    "- name: M Butcher",
		`print(ctx.chart.maintainers[1])`: "name: M Butcher",
		`print({f = print})`:              "table: 0x",
		`local t = {} t.t = t print(t)`:   "table: 0x",
		`print(helm)`:                     "table: 0x",
		`print(ctx)`:                      "ctx, with the fields chart, release",
		`print(tostring({a = 1}))`:        "table: 0x",
		`print(setmetatable({}, {__tostring = function() return "mine" end}))`: "mine",
		`print("x", nil, 2.0, helm.null)`:                                      "x\tnil\t2\tnull",
	} {
		h := started(t, alone(on("pre-render", line)))
		if err := h.emit("pre-render", map[int]m{0: baseContext()}, "values"); err != nil {
			t.Errorf("%s: %v", line, err)
		}
		if len(h.printed) != 1 || !strings.HasPrefix(h.printed[0], want) {
			t.Errorf("%s: got %q, want %q", line, h.printed, want)
		}
	}
}

func TestReturnedValuesThatAreIgnoredWarn(t *testing.T) {
	for code, want := range map[string][]string{
		`events.on("pre-render", function(ctx) return ctx end)`: {"warning: ext/lua/chart.lua:1: the pre-render handler " +
			"returns a table, which is ignored: what it changes in its context takes effect"},
		`events.on("pre-render", function(ctx) return false end)`: {"warning: ext/lua/chart.lua:1: the pre-render handler " +
			"returns a boolean, which is ignored: what it changes in its context takes effect"},
		`events.on("pre-render", function(ctx) return end)`:     nil,
		`events.on("pre-render", function(ctx) return nil end)`: nil,
	} {
		h := started(t, alone(code))
		for range 2 {
			if err := h.emit("pre-render", map[int]m{0: baseContext()}, "values"); err != nil {
				t.Errorf("%s: %v", code, err)
			}
		}
		if !slices.Equal(h.printed, want) {
			t.Errorf("%s: got %q, want %q", code, h.printed, want)
		}
	}
}
