// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	rt "github.com/arnodel/golua/runtime"

	"github.com/moonhelm/moonhelm/script/wire"
)

var errNotStarted = errors.New("the scripts were not started")

// call runs a handler.
func (e *engine) call(body map[string]any) (map[string]any, error) {
	if e.r == nil {
		return nil, errNotStarted
	}
	id, _ := body["handler"].(int64)
	i := slices.IndexFunc(e.handlers, func(h *handler) bool { return h.id == id })
	if i < 0 {
		return e.withRegistry(map[string]any{"gone": true, "changes": []any{}}), nil
	}
	h := e.handlers[i]
	ref, ok := body["context"].(wire.Ref)
	if !ok || ref.List {
		return nil, errors.New("the call has no context")
	}
	q := e.newRequest()
	q.event, _ = body["event"].(string)
	q.chart = h.chart.index
	q.lint, _ = body["lint"].(bool)
	q.blame = newBlame()
	q.may = map[string]bool{}
	for _, name := range texts(body["may"]) {
		q.may[name] = true
	}
	if err := q.receive(body["contents"]); err != nil {
		return nil, err
	}
	e.request = q
	defer q.end()
	defer e.flush()
	var out, items []any
	err := e.inLua(h.chart.index, func(t *rt.Thread) error {
		ctx := q.context(ref, "ctx").self
		v, err := rt.Call1(t, h.fn, ctx)
		if err != nil {
			return err
		}
		e.warnReturned(h, v)
		if out, err = q.changes(); err != nil {
			return e.handlerError(h, err)
		}
		items = q.items()
		return nil
	})
	if err != nil {
		return nil, err
	}
	return e.withRegistry(map[string]any{"changes": out, "items": items}), nil
}

// warnReturned warns once of a handler that returns a value.
func (e *engine) warnReturned(h *handler, v rt.Value) {
	if v.IsNil() || h.warned {
		return
	}
	h.warned = true
	e.printLine(h.chart, fmt.Sprintf("warning: %s: the %s handler returns a %s, which is ignored: what it changes in "+
		"its context takes effect", h.where, h.event, v.CustomTypeName()))
}

// handlerError returns an error about the changes of a handler, at the position of the
// statement that made it or, where that is not known, of the handler.
func (e *engine) handlerError(h *handler, err error) error {
	if wrong, ok := errors.AsType[*blamedError](err); ok {
		return &scriptError{text: clip(err.Error(), maxMessage), chart: wrong.at.chart, file: wrong.at.file,
			line: wrong.at.line}
	}
	f := &scriptError{text: clip(err.Error(), maxMessage), chart: h.chart.index, file: h.where}
	if i := strings.LastIndexByte(h.where, ':'); i >= 0 {
		f.file = h.where[:i]
		f.line, _ = strconv.Atoi(h.where[i+1:])
	}
	return f
}

// template runs a function that a script gave to templates.
func (e *engine) template(body map[string]any) (map[string]any, error) {
	if e.r == nil {
		return nil, errNotStarted
	}
	index, ok := body["chart"].(int64)
	if !ok || index < 0 || index >= int64(len(e.charts)) {
		return nil, errors.New("the request names no chart")
	}
	c := e.charts[index]
	name, _ := body["name"].(string)
	fn, ok := c.functions[name]
	if !ok {
		return nil, fmt.Errorf("chart %q has no template function %q", c.name, name)
	}
	args, _ := body["args"].([]any)
	q := e.newRequest()
	if err := q.receive(body["contents"]); err != nil {
		return nil, err
	}
	e.request = q
	defer q.end()
	defer e.flush()
	var result any
	err := e.inLua(c.index, func(t *rt.Thread) error {
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
