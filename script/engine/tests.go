// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	rt "github.com/arnodel/golua/runtime"

	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/script/wire"
)

// test is a test of a file of tests.
type test struct {
	name string
	line int
	fn   rt.Value
}

// maxTests bounds the tests of a file.
const maxTests = 10_000

// loadTests loads a file of tests, in the environment of the chart whose scripts it tests.
func (e *engine) loadTests(body map[string]any) (map[string]any, error) {
	c, err := e.chartOf(body)
	if err != nil {
		return nil, err
	}
	file, _ := body["file"].(string)
	text, _ := body["text"].(string)
	for name, v := range map[string]rt.Value{
		"test":   e.value("test", 2, false, e.addTest),
		"run":    e.value("run", 2, false, e.runCommand),
		"find":   e.value("find", 2, false, e.findItem),
		"expect": e.value("expect", 1, false, e.expectFor(c)),
	} {
		e.r.SetEnv(c.env, name, v)
		c.builtin[name] = v
	}
	err = e.inLua(c.index, func(t *rt.Thread) error {
		chunk, err := e.compileText(c, file, text)
		if err != nil {
			return err
		}
		main, err := rt.Call1(t, rt.FunctionValue(chunk), e.hook)
		if err == nil {
			_, err = rt.Call1(t, main)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	tests := make([]any, len(e.tests))
	for i, t := range e.tests {
		tests[i] = map[string]any{"name": t.name, "line": int64(t.line)}
	}
	return e.registry(map[string]any{"tests": tests}), nil
}

// testGlobals returns the names that files of tests have besides those of scripts.
func testGlobals() []string { return []string{"expect", "find", "run", "test"} }

// addTest is test(name, function).
func (e *engine) addTest(_ *rt.Thread, gc *rt.GoCont) (rt.Cont, error) {
	if err := gc.CheckNArgs(2); err != nil {
		return nil, errors.New("test(name, function) needs both")
	}
	name, ok := gc.Arg(0).TryString()
	if _, callable := gc.Arg(1).TryCallable(); !ok || !callable {
		return nil, errors.New("test(name, function) needs a text and a function")
	}
	if e.testing { // it would not run
		return nil, errors.New("test is called in a test: write tests one after the other")
	}
	if len(e.tests) >= maxTests {
		return nil, fmt.Errorf("more than %d tests", maxTests)
	}
	at, _ := e.positionOf(gc.Next())
	e.tests = append(e.tests, test{name, at.line, gc.Arg(1)})
	return gc.Next(), nil
}

// runTest runs one test.
func (e *engine) runTest(body map[string]any) (map[string]any, error) {
	index, ok := body["index"].(int64)
	if !ok || index < 0 || index >= int64(len(e.tests)) {
		return nil, errors.New("unknown test")
	}
	e.testing = true
	defer func() { e.testing = false }()
	err := e.newRequest().run(nil, e.charts[len(e.charts)-1], func(t *rt.Thread) error {
		_, err := rt.Call1(t, e.tests[index].fn)
		return err
	})
	return map[string]any{}, err
}

// runCommand is run(name, options): the host runs a command or an event.
func (e *engine) runCommand(t *rt.Thread, gc *rt.GoCont) (rt.Cont, error) {
	name, err := textArg(gc, 0)
	if err != nil {
		return nil, errors.New("run(name[, options]) needs the name of a command or of an event")
	}
	options := map[string]any{}
	if v := arg(gc, 1); !v.IsNil() {
		v, err := e.bridge.ToGo(v)
		if err != nil {
			return nil, fmt.Errorf("the options of run: %w", err)
		}
		if options, _ = v.(map[string]any); options == nil {
			return nil, errors.New("the options of run are a table")
		}
	}
	answer, err := e.ask(wire.Run, map[string]any{"name": name, "options": options})
	if err != nil {
		return nil, err
	}
	v, err := e.bridge.FromGo(answer["value"])
	if err != nil {
		return nil, err
	}
	if table, ok := v.TryTable(); ok {
		table.SetMetatable(e.outcomes())
	}
	return gc.PushingNext1(t.Runtime, v), nil
}

// outcomeFields returns the names of the fields that results of run can have.
func outcomeFields() []string {
	return []string{"chart", "dependencies", "error", "files", "findings", "objects", "printed", "requests", "templates",
		"values"}
}

// outcomes returns the metatable of results of run.
func (e *engine) outcomes() *rt.Table {
	if e.outcome == nil {
		e.outcome = e.strict("run(...)", outcomeFields())
		e.bridge.MapsOf(e.outcome)
	}
	return e.outcome
}

// findItem is find(list, want): the first item that has all that want has.
func (e *engine) findItem(t *rt.Thread, gc *rt.GoCont) (rt.Cont, error) {
	if err := gc.CheckNArgs(2); err != nil {
		return nil, errors.New("find(list, want) needs both")
	}
	list, err := e.tableArg(gc, 0, "find")
	if err != nil {
		return nil, err
	}
	want, err := e.bridge.ToGo(gc.Arg(1))
	if err != nil {
		return nil, err
	}
	for i := int64(1); i <= list.Len(); i++ {
		t.RequireCPU(10)
		item := list.Get(rt.IntValue(i))
		if v, err := e.bridge.ToGo(item); err == nil && includes(v, want) {
			return gc.PushingNext1(t.Runtime, item), nil
		}
	}
	return gc.PushingNext1(t.Runtime, rt.NilValue), nil
}

// includes reports whether v has all that want has: of a map the keys, of other values all.
func includes(v, want any) bool {
	w, ok := want.(map[string]any)
	if !ok {
		return sameData(v, want)
	}
	m, ok := v.(map[string]any)
	for k, x := range w {
		if y, there := m[k]; !ok || !there || !includes(y, x) {
			return false
		}
	}
	return true
}

// sameData reports whether two values are equal. Numbers are compared by value, and an empty
// table is an empty list as well as an empty map.
func sameData(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		m, ok := b.(map[string]any)
		if list, isList := b.([]any); isList {
			return len(a) == 0 && len(list) == 0
		}
		if !ok || len(a) != len(m) {
			return false
		}
		for k, v := range a {
			if w, ok := m[k]; !ok || !sameData(v, w) {
				return false
			}
		}
		return true
	case []any:
		if _, isMap := b.(map[string]any); isMap {
			return sameData(b, a)
		}
		l, ok := b.([]any)
		return ok && slices.EqualFunc(a, l, sameData)
	case int64:
		if f, ok := b.(float64); ok {
			return float64(a) == f
		}
	case float64:
		if n, ok := b.(int64); ok {
			return a == float64(n)
		}
	}
	return a == b
}

// expectation is a function of what expect returns.
type expectation struct {
	args int
	// says is what is said if holds reports that a value is not as expected. text is the value as
	// print shows it.
	says  string
	holds func(got, want any, text string) (bool, error)
}

// expectations returns the functions of what expect returns, by their names.
func expectations() map[string]expectation {
	always := func(holds bool) (bool, error) { return holds, nil }
	return map[string]expectation{
		"equals":   {1, "to equal", func(got, want any, _ string) (bool, error) { return always(sameData(got, want)) }},
		"differs":  {1, "not to equal", func(got, want any, _ string) (bool, error) { return always(!sameData(got, want)) }},
		"includes": {1, "to include", func(got, want any, _ string) (bool, error) { return always(includes(got, want)) }},
		"contains": {1, "to contain", containsValue},
		"isNil":    {0, "to be nil", func(_, _ any, text string) (bool, error) { return always(text == "nil") }},
		"exists":   {0, "not to be nil", func(_, _ any, text string) (bool, error) { return always(text != "nil") }},
	}
}

func containsValue(got, want any, printed string) (bool, error) {
	switch got := got.(type) {
	case string:
		text, ok := want.(string)
		if !ok {
			return false, errors.New("a text contains texts only")
		}
		return strings.Contains(got, text), nil
	case []any:
		return slices.ContainsFunc(got, func(v any) bool { return includes(v, want) }), nil
	}
	return false, fmt.Errorf("contains looks into a text or a list, and this is %s", term.SafeLine(printed))
}

// expectFor is expect(value), which returns a table of functions, to be called with a dot or
// a colon.
func (e *engine) expectFor(c *chart) goFunc {
	return func(t *rt.Thread, gc *rt.GoCont) (rt.Cont, error) {
		got := arg(gc, 0)
		functions := map[string]rt.Value{}
		for name, x := range expectations() {
			functions[name] = e.value(name, 2, false, func(t *rt.Thread, gc *rt.GoCont) (rt.Cont, error) {
				return gc.Next(), e.checkExpectation(c, t, name, x, got, gc)
			})
		}
		table := e.tableOf(functions)
		table.AsTable().SetMetatable(e.strict("expect(...)", slices.Collect(maps.Keys(functions))))
		return gc.PushingNext1(t.Runtime, table), nil
	}
}

// checkExpectation checks one expectation. Its error has the values in the lines after the first.
func (e *engine) checkExpectation(c *chart, t *rt.Thread, name string, x expectation, got rt.Value,
	gc *rt.GoCont) error {
	args := gc.Args()
	if len(args) < x.args {
		return fmt.Errorf("expect(value).%s needs a value", name)
	}
	gotText, gotData, err := e.textAndData(c, t, got)
	if err != nil {
		return err
	}
	var want any
	wantText := ""
	if x.args > 0 { // with a colon, the table itself is the first argument
		if wantText, want, err = e.textAndData(c, t, args[len(args)-1]); err != nil {
			return err
		}
	}
	holds, err := x.holds(gotData, want, gotText)
	switch {
	case err != nil:
		return err
	case holds:
		return nil
	case x.args == 0:
		return fmt.Errorf("expect(...).%s() fail\nExpected %s:\n%s", name, x.says, gotText)
	}
	return fmt.Errorf("expect(...).%s(...) fail\nExpected %s:\n%s\nActual:\n%s", name, x.says, wantText, gotText)
}

// textAndData returns a value as print shows it, and as data.
func (e *engine) textAndData(c *chart, t *rt.Thread, v rt.Value) (text string, data any, err error) {
	if text, err = e.shownText(c, t, v); err != nil {
		return "", nil, err
	}
	if _, ok := v.TryCallable(); ok {
		return text, text, nil // a function is no data
	}
	data, err = e.bridge.ToGo(v)
	return text, data, err
}
