// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"maps"
	"slices"

	"github.com/arnodel/golua/ast"
	"github.com/arnodel/golua/token"

	rt "github.com/arnodel/golua/runtime"
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
	c := &checker{e: &engine{host: e.host, limits: e.limits, exit: e.exit, base: e.base}, problems: []any{},
		requires: []any{}, events: []any{}}
	c.e.clock.limit = e.clock.left()
	c.e.newRuntime(0)
	for _, ch := range charts {
		ch.env = rt.NewTable()
		for _, file := range slices.Sorted(maps.Keys(ch.files)) {
			if err := c.file(ch, file); err != nil {
				e.dead = c.e.dead
				return nil, err
			}
		}
	}
	return map[string]any{"problems": c.problems, "requires": c.requires, "events": c.events}, nil
}

type checker struct {
	e                          *engine
	problems, requires, events []any
}

func (c *checker) file(ch *chart, file string) error {
	if len(file) < 5 || file[len(file)-4:] != ".lua" {
		return nil
	}
	at := map[string]any{"chart": int64(ch.index), "file": ch.directory + file}
	note := func(list *[]any, line int, key, text string) {
		m := maps.Clone(at)
		m["line"], m[key] = int64(line), text
		*list = append(*list, m)
	}
	err := c.e.inLua(ch.index, func(t *rt.Thread) error {
		_, err := c.e.compile(ch, file)
		return err
	})
	if f, ok := err.(*scriptError); ok {
		if f.limit != "" || c.e.dead != nil {
			return f
		}
		note(&c.problems, f.line, "message", f.text)
		return nil
	}
	if err != nil {
		return err
	}
	var last [4]*token.Token // the tokens before, the latest last
	return tokens(ch.files[file], func(t *token.Token) error {
		if t.Type == token.STRING || t.Type == token.LONGSTRING {
			if name, ok := literal(t); ok {
				switch calledFunction(last) {
				case "require":
					note(&c.requires, t.Line, "name", name)
				case "events.on":
					note(&c.events, t.Line, "name", name)
				}
			}
		}
		copy(last[:], last[1:])
		last[3] = t
		return nil
	})
}

func literal(t *token.Token) (string, bool) {
	if t.Type == token.LONGSTRING {
		return string(ast.NewLongString(t).Val), true
	}
	s, err := ast.NewString(t)
	return string(s.Val), err == nil
}

// calledFunction returns the function whose first argument is next: require or events.on,
// "" for all others.
func calledFunction(last [4]*token.Token) string {
	is := func(t *token.Token, text string) bool { return t != nil && string(t.Lit) == text }
	n := 3
	if is(last[n], "(") {
		n--
	}
	switch {
	case is(last[n], "require") && (n == 0 || !is(last[n-1], ".") && !is(last[n-1], ":") && !is(last[n-1], "function")):
		return "require"
	case n >= 2 && is(last[n], "on") && is(last[n-1], ".") && (is(last[n-2], "events") || is(last[n-2], "event")):
		return "events.on"
	}
	return ""
}
