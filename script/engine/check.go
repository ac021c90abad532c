// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	rt "github.com/arnodel/golua/runtime"

	"github.com/moonhelm/moonhelm/script/engine/internal/analysis"
	"github.com/moonhelm/moonhelm/script/engine/modules"
)

// check compiles scripts and runs nothing.
func (e *engine) check(body map[string]any) (map[string]any, error) {
	charts, err := readCharts(body)
	if err != nil {
		return nil, err
	}
	if e.r != nil {
		return nil, fmt.Errorf("scripts are checked before they are started, or in another process")
	}
	c := &checker{e: &engine{host: e.host, limits: e.limits, exit: e.exit, base: e.base}, problems: []any{}}
	c.e.clock.limit = e.clock.left()
	c.e.newRuntime(0)
	cover, _ := body["cover"].(bool)
	if cover {
		c.e.covered = newCovered()
	}
	for _, ch := range charts {
		ch.env = rt.NewTable()
		for _, file := range slices.Sorted(maps.Keys(ch.files)) {
			if err := c.file(ch, file); err != nil {
				e.dead = c.e.dead
				return nil, err
			}
		}
	}
	if cover {
		return map[string]any{"coverage": c.e.coverage()}, nil
	}
	tests, _ := body["tests"].(map[string]any)
	var files []*chart
	for _, file := range slices.Sorted(maps.Keys(tests)) {
		text, _ := tests[file].(string)
		f := newChart(len(charts)-1, "", "")
		f.files[file], f.env = text, rt.NewTable()
		if err := c.file(f, file); err != nil {
			e.dead = c.e.dead
			return nil, err
		}
		files = append(files, f)
	}
	return c.analyze(charts, files, body), nil
}

type checker struct {
	e        *engine
	problems []any
}

// file compiles a file.
func (c *checker) file(ch *chart, file string) error {
	if !strings.HasSuffix(file, ".lua") {
		return nil
	}
	err := c.e.inLua(ch.index, func(t *rt.Thread) error {
		_, err := c.e.compile(ch, file)
		return err
	})
	if f, ok := err.(*scriptError); ok {
		if f.limit != "" || c.e.dead != nil {
			return f
		}
		c.problems = append(c.problems, map[string]any{"chart": int64(ch.index), "file": ch.directory + file,
			"line": int64(f.line), "message": f.text, "severity": "error"})
		return nil
	}
	return err
}

// analyze adds what package analysis finds in scripts that compile, and in files of tests of the top chart.
func (c *checker) analyze(charts, tests []*chart, body map[string]any) map[string]any {
	analyzed := make([]*analysis.Chart, len(charts))
	at := make(map[*analysis.Chart]int64, len(charts))
	for i, ch := range charts {
		analyzed[i] = &analysis.Chart{Directory: ch.directory, Files: ch.files, Requires: map[string]*analysis.Chart{},
			Grants: ch.asks}
		at[analyzed[i]] = int64(i)
	}
	for i, ch := range charts {
		for name, of := range ch.requires {
			analyzed[i].Requires[name] = analyzed[of.index]
		}
	}
	for _, f := range tests {
		top := analyzed[len(charts)-1]
		a := &analysis.Chart{Files: f.files, Requires: top.Requires, Base: top}
		analyzed, at[a] = append(analyzed, a), int64(f.index)
	}
	found := analysis.Check(analyzed, c.known(body))
	for _, f := range found.Findings {
		severity := "warning"
		if f.Severity == analysis.Error {
			severity = "error"
		}
		c.problems = append(c.problems, map[string]any{"chart": at[f.Chart], "file": f.File, "line": int64(f.Line),
			"message": f.Message, "severity": severity})
	}
	uses := func(list []analysis.Use) []any {
		out := make([]any, len(list))
		for i, u := range list {
			out[i] = map[string]any{"chart": at[u.Chart], "file": u.File, "line": int64(u.Line), "name": u.Name}
		}
		return out
	}
	return map[string]any{"problems": c.problems, "requires": uses(found.Requires), "events": uses(found.Events)}
}

// known returns what scripts can use.
func (c *checker) known(body map[string]any) analysis.Known {
	k := analysis.Known{Granted: map[string]string{}, Events: map[string][]string{}, Tests: testGlobals(),
		Expectations: slices.Sorted(maps.Keys(expectations())),
		Lua:          slices.Collect(maps.Keys(c.e.lib.tables))}
	k.Absent = slices.AppendSeq(slices.Collect(maps.Keys(absent)), maps.Keys(elsewhere))
	plain, full := &chart{}, &chart{grants: []string{modules.Network, modules.IO, modules.OS}}
	c.e.newEnvironment(plain)
	c.e.newEnvironment(full)
	k.Globals = globalNames(plain.env)
	for _, name := range globalNames(full.env) {
		table, _, _ := strings.Cut(name, ".")
		if !slices.Contains(k.Globals, name) {
			k.Granted[name] = absent[table]
		}
	}
	events, _ := body["events"].(map[string]any)
	for name, fields := range events {
		k.Events[name] = texts(fields)
	}
	return k
}

// globalNames returns the names of globals, and of the fields of tables among them.
func globalNames(env *rt.Table) []string {
	var out []string
	each(env, func(name string, v rt.Value) {
		out = append(out, name)
		if t, ok := v.TryTable(); ok && t != env {
			each(t, func(field string, _ rt.Value) { out = append(out, name+"."+field) })
		}
	})
	slices.Sort(out)
	return out
}
