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
	q.chart = h.chart.index
	q.lint, _ = body["lint"].(bool)
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
	var out, results []any
	err = e.inLua(h.chart.index, func(t *rt.Thread) error {
		ctx := q.context(ref, "ctx").self
		given := rt.NewTerminationWith(nil, 0, true)
		if err := rt.Call(t, h.fn, []rt.Value{ctx}, given); err != nil {
			return err
		}
		var err error
		if results, err = e.shown(t, body, h.chart, given.Etc()); err != nil {
			return err
		}
		if out, err = q.changes(); err != nil {
			return e.handlerError(h, err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return e.withRegistry(map[string]any{"changes": out, "results": results}), nil
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
	index, ok := body["chart"].(int64)
	if !ok || index < 0 || index >= int64(len(e.charts)) {
		return nil, errors.New("the request names no chart")
	}
	c := e.charts[index]
	h := &handler{chart: c, where: promptFile + ":1"}
	at := place{chart: c.index, file: promptFile}
	e.sources[c.path+"/"+promptFile] = at
	return h, e.inLua(c.index, func(*rt.Thread) error {
		var wrong *scriptError
		for _, before := range []string{"local ctx = ... return ", "local ctx = ... "} {
			text := before + line
			b, err := readBlocks(text)
			if err == nil {
				e.r.RequireCPU(uint64(len(text)) * 20)
				e.r.RequireMem(uint64(len(text)) * 20)
				var chunk *rt.Closure
				if chunk, err = e.compileText(c.path+"/"+promptFile, text, b, rt.TableValue(c.env)); err == nil {
					h.fn = rt.FunctionValue(chunk)
					return nil
				}
			}
			wrong = newSyntaxError(at, text, err)
			if len(b.open) > 0 {
				wrong.text += unfinished
			}
		}
		return wrong
	})
}

// shown returns the values that a line gave as text to be shown: tables as YAML.
func (e *engine) shown(t *rt.Thread, body map[string]any, c *chart, values []rt.Value) ([]any, error) {
	out := []any{}
	if _, typed := body["source"]; !typed {
		return out, nil
	}
	for _, v := range values {
		text, err := e.shownText(t, c, v)
		if err != nil {
			return nil, err
		}
		out = append(out, text)
	}
	return out, nil
}

func (e *engine) shownText(t *rt.Thread, c *chart, v rt.Value) (string, error) {
	if s, ok := v.TryString(); ok {
		return strconv.Quote(s), nil
	}
	if view, ok := e.viewOf(v); ok {
		if s, ok := view.(*handlerContext); ok {
			return s.fieldsText()
		}
	}
	if _, ok := v.TryTable(); ok {
		if module, ok := c.builtin["yaml"].TryTable(); ok {
			encoded, err := rt.Call1(t, module.Get(rt.StringValue("encode")), v)
			if text, ok := encoded.TryString(); err == nil && ok {
				return strings.TrimSuffix(text, "\n"), nil
			}
		}
	}
	return e.text(t, v)
}

// fieldsText describes a context by its fields.
func (s *handlerContext) fieldsText() (string, error) {
	keys, err := s.keys()
	if err != nil {
		return "", err
	}
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = k.AsString()
	}
	return "the context, with the fields " + strings.Join(names, ", "), nil
}

// handlerError returns an error about the changes of a handler, at its position.
func (e *engine) handlerError(h *handler, err error) error {
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
	e.request = q
	defer q.end()
	defer e.flush()
	var result any
	err := e.inLua(c.index, func(t *rt.Thread) error {
		values := make([]rt.Value, len(args))
		for i, a := range args {
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
