// SPDX-License-Identifier: Apache-2.0

package script_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/script"
	"github.com/moonhelm/moonhelm/script/wire"
)

func TestEvaluate(t *testing.T) {
	h := luaHost()
	h.Always = true
	c := newChart("web", map[string]string{chart.FileScript: "function double(x) return 2 * x end"})
	if _, err := load(t, h, c); err != nil {
		t.Fatal(err)
	}
	e := &event.PreRender{Payload: event.Payload{Chart: c, Values: vals(t, "port: 80\nlist: [1, a]\n")}}
	for _, tt := range []struct{ line, want, err string }{
		{`1 + 1, "a\27[2J", nil`, "2|\"a\\x1b[2J\"|nil", ""},
		{`ctx.values`, "list:\n- 1\n- a\nport: 80", ""},
		{`ctx.values.port = double(40) + 1`, "", ""},
		{`ctx.values.port`, "81", ""},
		{`local x = 1; return x`, "1", ""},
		{`kept = {}`, "", ""},
		{`kept`, "{}", ""},
		{`print`, "gofunction: print", ""},
		{`ctx.chart.name = "x"`, "", "prompt:1: ctx.chart.name is read-only"},
		{`if`, "", "the line ends too early"},
		{strings.Repeat("x", 65<<10), "", "the line is longer than 64 KiB"},
	} {
		t.Run(tt.line[:min(len(tt.line), 40)], func(t *testing.T) {
			got, err := h.Evaluate(t.Context(), e, tt.line)
			if text := strings.Join(got, "|"); !strings.HasPrefix(text, tt.want) || tt.want == "" && text != "" {
				t.Errorf("got %q, want %q", text, tt.want)
			}
			if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
				t.Errorf("error %v, want %q", err, tt.err)
			}
		})
	}
	if port := e.Values["port"]; port != int64(81) {
		t.Errorf("the port is %v (%T), want 81", port, port)
	}
	if _, err := (&script.Host{}).Evaluate(t.Context(), e, "1"); !errors.Is(err, script.ErrNoScripts) {
		t.Errorf("without scripts: %v", err)
	}
}

func TestTestsAndCoverage(t *testing.T) {
	c := newChart("web", map[string]string{
		"ext/lua/chart.lua": "error('not loaded')",
		"ext/lua/lib.lua":   "local lib = {}\nfunction lib.f(x)\n  if x then\n    return 1\n  end\n  return 2\nend\nreturn lib",
	})
	hits := map[int]int64{}
	var ran []string
	tests := &script.Tests{Start: lua, Chart: c, File: "tests/a_test.lua",
		Text: `local lib = require("lib")
test("passes", function() expect(lib.f(true)).equals(1) end)
test("fails", function()
  expect(run("install", { values = { a = { 1 } } }).values).equals({ b = 2 })
end)
test("refused", function() run("nothing") end)
test("misspelled", function() expect(run("install").valus).isNil() end)
test("absent", function()
  local out = run("install")
  expect(out.error).isNil()
  out.error = "set"
  expect(out).includes({ error = "set" })
end)
test("functions", function() expect(lib.f).exists(); expect(lib.g):isNil() end)`,
		Coverage: func(chartPath, file string, line int, n int64) {
			if chartPath == "web" && file == "ext/lua/lib.lua" {
				hits[line] += n
			}
		},
		Run: func(_ context.Context, name string, options map[string]any) (map[string]any, error) {
			ran = append(ran, name)
			if name == "nothing" {
				return nil, errors.New("unknown command")
			}
			return map[string]any{"values": options["values"]}, nil
		},
	}
	defer tests.Close()
	cases, err := tests.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if want := []script.TestCase{{"passes", 2}, {"fails", 3}, {"refused", 6},
		{"misspelled", 7}, {"absent", 8}, {"functions", 14}}; !slices.Equal(cases, want) {
		t.Errorf("tests %v, want %v", cases, want)
	}
	for i, want := range []string{
		"",
		"expect(...).equals(...) fail\nExpected to equal:\nb: 2\nActual:\na:\n- 1",
		"unknown command",
		`run(...) has no field "valus"; did you mean run(...).values?`,
		"",
		"",
	} {
		err := tests.Do(t.Context(), i)
		var failed *script.Error
		switch {
		case want == "" && err == nil:
		case !errors.As(err, &failed) || failed.Message != want || failed.File != "tests/a_test.lua" || failed.Line == 0:
			t.Errorf("test %d: %#v, want %q", i, err, want)
		}
	}
	if want := map[int]int64{1: 1, 2: 1, 3: 1, 4: 1, 6: 0, 8: 1}; !maps.Equal(hits, want) {
		t.Errorf("hits %v, want %v", hits, want)
	}
	if want := []string{"install", "nothing", "install", "install"}; !slices.Equal(ran, want) {
		t.Errorf("ran %v, want %v", ran, want)
	}
}

// TestRunIsForTests checks that scripts cannot have the host run commands.
func TestRunIsForTests(t *testing.T) {
	h := &script.Host{Start: starter(func(c *wire.Conn) error {
		if _, err := c.Receive(); err != nil {
			return err
		}
		return c.Send(wire.Message{Kind: wire.Run, Body: map[string]any{"name": "install"}})
	})}
	_, err := load(t, h, newChart("web", map[string]string{chart.FileScript: ""}))
	if err == nil || !strings.Contains(err.Error(), "violated the protocol") {
		t.Errorf("error %v", err)
	}
}

// TestCommandsOfTestsTakeTime checks that the commands of a file may not take any time together.
func TestCommandsOfTestsTakeTime(t *testing.T) {
	limits := wire.DefaultLimits()
	limits.CPU = 100 * time.Millisecond
	ran := 0 // three, or two if the machine has much else to do
	tests := &script.Tests{
		Start: lua, Limits: limits, File: "tests/a_test.lua",
		Chart: newChart("web", map[string]string{chart.FileScript: ""}),
		Text:  `test("many", function() for i = 1, 100000 do pcall(run, "install") end end)`,
		Run: func(ctx context.Context, _ string, _ map[string]any) (map[string]any, error) {
			ran++
			select {
			case <-ctx.Done(): // a command that hangs
			case <-time.After(500 * time.Millisecond):
			}
			return nil, ctx.Err()
		},
	}
	defer tests.Close()
	if _, err := tests.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	err := tests.Do(t.Context(), 0)
	var failed *script.Error
	if !errors.As(err, &failed) {
		t.Fatalf("error %v, want that of a limit", err)
	}
	want := fmt.Sprintf("the commands that the tests ran took more than 1.2s together (%d were run)", ran)
	if failed.Message != want {
		t.Errorf("error %q, want %q", failed.Message, want)
	}
	if failed.Limit != "cpu" || failed.Hint() == "" {
		t.Errorf("limit %q with the hint %q, want cpu with a hint", failed.Limit, failed.Hint())
	}
}

func TestCountLines(t *testing.T) {
	c := newChart("web", map[string]string{
		chart.FileScript:   "error('it runs')",
		"ext/lua/lib.lua":  "-- no line\nlocal x = 1\nif x then\n  x = 2\nend\nreturn x",
		"ext/lua/bad.lua":  "if",
		"ext/lua/note.txt": "text",
	}, newChart("db", map[string]string{chart.FileScript: "\nlocal y = 1"}))
	got := map[string][]int{}
	err := script.Checker{Start: lua}.CountLines(t.Context(), c, func(of, file string, line int, hits int64) {
		if hits != 0 {
			t.Errorf("line %d of %s was run", line, file)
		}
		got[of+" "+file] = append(got[of+" "+file], line)
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, lines := range got {
		slices.Sort(lines)
	}
	want := map[string][]int{
		"web ext/lua/chart.lua": {1}, "web ext/lua/lib.lua": {2, 3, 4, 6}, "web/charts/db ext/lua/chart.lua": {2},
	}
	if !maps.EqualFunc(got, want, slices.Equal) {
		t.Errorf("lines %v, want %v", got, want)
	}
	if err := (script.Checker{}).CountLines(t.Context(), newChart("web", nil), nil); err != nil {
		t.Errorf("a chart without scripts: %v", err)
	}
}

// TestCoverageIsOfScripts checks that a process cannot have lines counted that are not there.
func TestCoverageIsOfScripts(t *testing.T) {
	lines := []any{}
	add := func(chart int64, file string, line, hits int64) {
		lines = append(lines, map[string]any{"chart": chart, "file": file, "line": line, "hits": hits})
	}
	add(0, chart.FileScript, 2, 3)
	for n := range int64(1000) {
		add(0, chart.FileScript, 100+n, 1)
		add(0, fmt.Sprintf("ext/lua/%d.lua", n), 1, 1)
	}
	add(0, chart.FileScript, 0, 1)
	add(0, chart.FileScript, 1, -1)
	add(0, "values.yaml", 1, 1)
	add(1, chart.FileScript, 1, 1)
	h := &script.Host{Start: starter(func(c *wire.Conn) error {
		if _, err := c.Receive(); err != nil {
			return err
		}
		return c.Send(wire.Message{Kind: wire.Done, Body: map[string]any{"coverage": lines}})
	})}
	var got []string
	h.Coverage = func(of, file string, line int, hits int64) {
		got = append(got, fmt.Sprintf("%s %s:%d %d", of, file, line, hits))
	}
	mustLoad(t, h, newChart("web", map[string]string{chart.FileScript: "local x = 1\nreturn x", "values.yaml": "a: b"}))
	if want := []string{"web ext/lua/chart.lua:2 3"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
