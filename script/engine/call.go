// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	rt "github.com/arnodel/golua/runtime"

	"github.com/moonhelm/moonhelm/internal/truncate"
	"github.com/moonhelm/moonhelm/script/wire"
)

// call runs a handler.
func (e *engine) call(body map[string]any) (map[string]any, error) {
	h, err := e.called(body)
	if err != nil {
		return nil, err
	}
	if h == nil {
		return e.withRegistry(map[string]any{"gone": true, "changes": []any{}}), nil
	}
	ref, ok := body["context"].(wire.Ref)
	if !ok || ref.List {
		return nil, errors.New("the call has no context")
	}
	q := e.newRequest()
	q.event, _ = body["event"].(string)
	q.lint, _ = body["lint"].(bool)
	q.blame = newBlame()
	q.may = map[string]bool{}
	for _, name := range texts(body["may"]) {
		q.may[name] = true
	}
	var out, items, results []any
	err = q.run(body["contents"], h.chart, func(t *rt.Thread) error {
		ctx := q.context(ref, "ctx").self
		given := rt.NewTerminationWith(nil, 0, true)
		if err := rt.Call(t, h.fn, []rt.Value{ctx}, given); err != nil {
			return err
		}
		var err error
		if h.typed {
			if results, err = e.shown(t, h.chart, given.Etc()); err != nil {
				return err
			}
		} else if values := given.Etc(); len(values) > 0 {
			e.warnReturned(h, values[0])
		}
		if out, err = q.changes(); err != nil {
			return e.handlerError(h, err)
		}
		items = q.items()
		return nil
	})
	if err != nil {
		return nil, err
	}
	return e.withRegistry(map[string]any{"changes": out, "items": items, "results": results}), nil
}

// chartOf returns the chart that a request names.
func (e *engine) chartOf(body map[string]any) (*chart, error) {
	index, ok := body["chart"].(int64)
	if !ok || index < 0 || index >= int64(len(e.charts)) {
		return nil, errors.New("the request names no chart")
	}
	return e.charts[index], nil
}

// run runs a function of a chart's scripts for the request, with the contents that came along.
func (q *request) run(contents any, c *chart, work func(t *rt.Thread) error) error {
	if err := q.receive(contents); err != nil {
		return err
	}
	q.e.request = q
	defer q.end()
	defer q.e.flush()
	return q.e.inLua(c.index, work)
}

// unfinished ends the error of a line in which a block or a bracket is open.
const unfinished = " (the line ends too early)"

// promptFile is what a line that was typed is called in errors.
const promptFile = "prompt"

// called returns the handler that a call is about, nil if it was removed, or a line that was
// typed as one.
func (e *engine) called(body map[string]any) (*handler, error) {
	line, typed := body["source"].(string)
	if !typed {
		id, _ := body["handler"].(int64)
		i := slices.IndexFunc(e.handlers, func(h *handler) bool { return h.id == id })
		if i < 0 {
			return nil, nil
		}
		return e.handlers[i], nil
	}
	c, err := e.chartOf(body)
	if err != nil {
		return nil, err
	}
	h := &handler{chart: c, at: position{place{c.index, promptFile}, 1}, typed: true}
	return h, e.inLua(c.index, func(t *rt.Thread) (err error) {
		// A line is an expression or, if it is none, statements.
		if h.fn, err = e.compileLine(t, c, "local ctx = ... return "+line); err != nil {
			h.fn, err = e.compileLine(t, c, "local ctx = ... "+line)
		}
		return err
	})
}

// compileLine returns the text of a line as a function.
func (e *engine) compileLine(t *rt.Thread, c *chart, text string) (rt.Value, error) {
	chunk, err := e.compileText(c, promptFile, text)
	if err != nil {
		return rt.NilValue, err
	}
	return rt.Call1(t, rt.FunctionValue(chunk), e.hook)
}

// shown returns the values that a line gave as text to be shown: tables as YAML.
func (e *engine) shown(t *rt.Thread, c *chart, values []rt.Value) ([]any, error) {
	out := []any{}
	for _, v := range values {
		if s, ok := v.TryString(); ok {
			out = append(out, strconv.Quote(s))
			continue
		}
		text, err := e.shownText(c, t, v)
		if err != nil {
			return nil, err
		}
		out = append(out, text)
	}
	return out, nil
}

// warnReturned warns once of a handler that returns a value.
func (e *engine) warnReturned(h *handler, v rt.Value) {
	if v.IsNil() || h.warned {
		return
	}
	h.warned = true
	e.printLine(h.chart, fmt.Sprintf("warning: %s: the %s handler returns a %s, which is ignored: what it changes in "+
		"its context takes effect", h.at, h.event, v.CustomTypeName()))
}

// handlerError returns an error about the changes of a handler, at the position of the
// statement that made it or, where that is not known, of the handler.
func (e *engine) handlerError(h *handler, err error) error {
	f := &scriptError{text: truncate.Bytes(err.Error(), maxMessage, "…"), position: h.at}
	if wrong, ok := errors.AsType[*blamedError](err); ok {
		f.position = wrong.at
	}
	return f
}

// template runs a function that a script gave to templates.
func (e *engine) template(body map[string]any) (map[string]any, error) {
	c, err := e.chartOf(body)
	if err != nil {
		return nil, err
	}
	name, _ := body["name"].(string)
	fn, ok := c.function(name)
	if !ok {
		return nil, fmt.Errorf("chart %q has no template function %q", c.name, name)
	}
	args, _ := body["args"].([]any)
	q := e.newRequest()
	var result any
	err = q.run(body["contents"], c, func(t *rt.Thread) error {
		values := make([]rt.Value, len(args))
		for i, a := range args {
			if ref, isRoot := a.(wire.Ref); isRoot {
				values[i] = e.wrap(&frozen{request: q, path: "$", always: true, from: ref})
				continue
			}
			v, err := e.bridge.FromGo(a)
			if err != nil {
				return fmt.Errorf("argument %d of %s: %w", i+1, name, err)
			}
			values[i] = v
		}
		v, err := rt.Call1(t, fn, values...)
		if err != nil {
			return err
		}
		if result, err = e.bridge.ToGo(v); err != nil {
			return fmt.Errorf("the result of template function %q: %w", name, err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return e.withRegistry(map[string]any{"result": result}), nil
}
