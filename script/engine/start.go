// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	rt "github.com/arnodel/golua/runtime"
)

// Bounds of one operation.
const (
	maxCharts = 10_000
	// maxFunctions bounds the functions of all charts' templates: those of a library count
	// for every chart that requires it.
	maxFunctions = 100_000
)

// start loads all charts' scripts and runs init.
func (e *engine) start(body map[string]any) (map[string]any, error) {
	if e.r != nil {
		return nil, errors.New("the scripts were started already")
	}
	charts, err := readCharts(body)
	if err != nil {
		return nil, err
	}
	e.charts = charts
	e.aliases, _ = body["aliases"].(map[string]any)
	e.events, e.environ = texts(body["events"]), texts(body["environ"])
	seed, _ := body["seed"].(int64)
	e.newRuntime(seed)
	if on, _ := body["cover"].(bool); on {
		e.cover()
	}
	e.request = e.newRequest()
	defer e.request.end()
	for _, c := range e.charts {
		e.newEnvironment(c)
	}
	defer e.flush()
	if test, ok := body["test"].(map[string]any); ok {
		return e.loadTests(test)
	}
	for _, c := range e.charts {
		if _, ok := c.files["chart.lua"]; !ok {
			continue
		}
		if err := e.inLua(c.index, func(t *rt.Thread) error {
			_, err := e.run(t, c, "chart.lua")
			return err
		}); err != nil {
			return nil, err
		}
	}
	for _, c := range e.charts {
		if c.parent != nil {
			continue
		}
		if err := e.inLua(c.index, func(t *rt.Thread) error { return e.initTree(t, c, rt.NilValue) }); err != nil {
			return nil, err
		}
	}
	return e.registry(map[string]any{}), nil
}

// flush has modules write what they buffer.
func (e *engine) flush() {
	for _, done := range e.cleanup {
		done(false)
	}
}

// withRegistry adds handlers and functions to an answer if they have changed since the last:
// those of a hundred charts are many, and they hardly ever change.
func (e *engine) withRegistry(answer map[string]any) map[string]any {
	if !e.changed {
		return answer
	}
	return e.registry(answer)
}

// registry adds handlers and functions to an answer.
func (e *engine) registry(answer map[string]any) map[string]any {
	e.changed = false
	handlers, functions := make([]any, 0, len(e.handlers)), []any{}
	for _, h := range e.handlers {
		handlers = append(handlers, map[string]any{
			"id": h.id, "chart": int64(h.chart.index), "event": h.event, "priority": h.priority, "where": h.at.String(),
		})
	}
	for _, c := range e.charts {
		for _, name := range c.functionNames() {
			if len(functions) == maxFunctions {
				break
			}
			functions = append(functions, map[string]any{"chart": int64(c.index), "name": name})
		}
	}
	answer["handlers"], answer["functions"] = handlers, functions
	return answer
}

// functionNames returns the names of the functions for the chart's templates: its own, and
// those of the libraries that it has required.
func (c *chart) functionNames() []string {
	if len(c.libraries) == 0 {
		return c.order
	}
	names := slices.Clone(c.order)
	for _, l := range c.libraries {
		names = append(names, l.order...)
	}
	seen := make(map[string]bool, len(names))
	return slices.DeleteFunc(names, func(name string) bool {
		again := seen[name]
		seen[name] = true
		return again
	})
}

// function returns a function for the chart's templates. Its own are before those of
// libraries, and the library that was required first is before the others.
func (c *chart) function(name string) (rt.Value, bool) {
	for _, of := range append([]*chart{c}, c.libraries...) {
		if f, ok := of.functions[name]; ok {
			return f, true
		}
	}
	return rt.NilValue, false
}

// readCharts returns the charts of a request.
func readCharts(body map[string]any) ([]*chart, error) {
	list, ok := body["charts"].([]any)
	if !ok || len(list) > maxCharts {
		return nil, errors.New("the request has no charts, or too many")
	}
	charts := make([]*chart, len(list))
	for i, v := range list {
		m, ok := v.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("chart %d is not a map", i)
		}
		name, _ := m["name"].(string)
		charts[i] = newChart(i, name, directory)
	}
	for i, c := range charts {
		if err := c.receive(list[i].(map[string]any), charts); err != nil {
			return nil, fmt.Errorf("chart %d: %w", i, err)
		}
	}
	for _, c := range charts {
		steps := 0
		for at := c.parent; at != nil; at = at.parent {
			if steps++; steps > len(charts) {
				return nil, errors.New("charts are their own parents")
			}
		}
		if c.parent != nil {
			c.parent.children = append(c.parent.children, c)
		}
	}
	return charts, nil
}

// receive takes in what a request says of the chart, which is one of all.
func (c *chart) receive(m map[string]any, all []*chart) error {
	if path, _ := m["path"].(string); path != "" {
		c.path = path
	}
	c.library, _ = m["library"].(bool)
	c.grants, c.asks = texts(m["grants"]), texts(m["asks"])
	if p, ok := m["parent"].(int64); ok && p >= 0 {
		if p >= int64(len(all)) {
			return errors.New("a parent must be one of the charts")
		}
		c.parent = all[p]
	}
	files, _ := m["files"].(map[string]any)
	for name, v := range files {
		text, ok := v.(string)
		if !ok {
			return fmt.Errorf("file %s is not text", name)
		}
		c.files[name] = text
	}
	requires, _ := m["requires"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(requires)) {
		n, ok := requires[name].(int64)
		if !ok || n < 0 || n >= int64(len(all)) {
			return fmt.Errorf("%s is not a chart", name)
		}
		c.requires[name] = all[n]
	}
	return nil
}

// texts returns the strings of a list.
func texts(v any) []string {
	list, _ := v.([]any)
	var out []string
	for _, x := range list {
		if s, ok := x.(string); ok {
			out = append(out, s)
		}
	}
	return out
}
