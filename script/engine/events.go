// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	rt "github.com/arnodel/golua/runtime"

	"github.com/moonhelm/moonhelm/internal/suggest"
	"github.com/moonhelm/moonhelm/internal/truncate"
)

const (
	defaultPriority = 0.5
	// maxHandlers bounds the handlers of one operation.
	maxHandlers = 10_000
)

// handler is a function that answers an event.
type handler struct {
	id       int64
	chart    *chart
	event    string
	priority float64
	at       position // of the call of events.on
	fn       rt.Value
	warned   bool // that what it returns is ignored
	typed    bool // it is a line of a prompt
}

// eventTables puts events and subcharts into a chart's environment, with their
// other names.
func (e *engine) eventTables(c *chart) {
	bound := func(name string, args int, f func(*chart, *rt.Thread, *rt.GoCont) (rt.Cont, error)) rt.Value {
		return e.value(name, args, false, func(t *rt.Thread, gc *rt.GoCont) (rt.Cont, error) { return f(c, t, gc) })
	}
	c.events = e.tableOf(map[string]rt.Value{"on": bound("on", 3, e.on), "off": bound("off", 1, e.off)})
	subcharts := e.tableOf(map[string]rt.Value{"init": bound("init", 2, e.initChildren),
		"get": bound("get", 1, e.childEnv)})
	for name, v := range map[string]rt.Value{"events": c.events, "event": c.events, "subcharts": subcharts,
		"subchart": subcharts} {
		e.r.SetEnv(c.env, name, v)
	}
}

// on is events.on(name[, priority], function).
func (e *engine) on(c *chart, t *rt.Thread, gc *rt.GoCont) (rt.Cont, error) {
	args := gc.Args()
	if len(args) < 2 {
		return nil, errors.New("events.on(name[, priority], function) needs a name and a function")
	}
	name, ok := args[0].TryString()
	if args[0].Equals(c.events) {
		return nil, errors.New("write events.on, with a dot, not events:on")
	}
	if !ok {
		return nil, fmt.Errorf("events.on needs an event's name, not a %s value", args[0].TypeName())
	}
	name, err := e.eventName(name)
	if err != nil {
		return nil, err
	}
	priority, fn := defaultPriority, args[1]
	if len(args) > 2 {
		fn = args[2]
		if !args[1].IsNil() {
			p, ok := rt.ToFloat(args[1])
			if ok = ok && args[1].Type() != rt.StringType; !ok || !(p >= 0 && p <= 1) {
				return nil, fmt.Errorf("events.on(%q, ...): the priority is a number from 0 to 1", name)
			}
			priority = p
		}
	}
	if _, ok := fn.TryCallable(); !ok {
		return nil, fmt.Errorf("events.on(%q, ...) needs a function, not a %s value", name, fn.TypeName())
	}
	if len(e.handlers) >= maxHandlers {
		return nil, fmt.Errorf("more than %d handlers", maxHandlers)
	}
	at, ok := e.positionOf(gc.Next())
	if !ok {
		at.chart = c.index
	}
	e.nextID++
	e.handlers = append(e.handlers, &handler{id: e.nextID, chart: c, event: name, priority: priority, at: at, fn: fn})
	e.changed = true
	t.RequireMem(200)
	return gc.Next(), nil
}

// eventName returns the name of an event that may be given by an alias. An error is returned
// for an unknown event.
func (e *engine) eventName(name string) (string, error) {
	if slices.Contains(e.events, name) {
		return name, nil
	}
	if of, ok := e.aliases[name].(string); ok {
		return of, nil
	}
	meant := ""
	fold := strings.NewReplacer("_", "-", " ", "-")
	if is := suggest.Similar(e.events, name, 2,
		func(s string) string { return fold.Replace(strings.ToLower(s)) }); is != "" {
		meant = fmt.Sprintf(" (did you mean %q?)", is)
	}
	return "", fmt.Errorf("unknown event %q%s; the events are %s",
		truncate.Bytes(name, 60, "…"), meant, strings.Join(e.events, ", "))
}

// off is events.off{chart=, event=}: it removes handlers of the chart and of its subcharts.
func (e *engine) off(c *chart, t *rt.Thread, gc *rt.GoCont) (rt.Cont, error) {
	of, event := c, ""
	if !arg(gc, 0).IsNil() {
		options, err := e.tableArg(gc, 0, "off")
		if err != nil {
			return nil, errors.New(`events.off takes a table: events.off{chart="mysql", event="pre-render"}`)
		}
		for _, k := range sortedKeys(t, options) {
			key, _ := k.TryString()
			v, ok := options.Get(k).TryString()
			switch {
			case key != "chart" && key != "event":
				return nil, errors.New(`events.off knows the fields chart and event`)
			case !ok:
				return nil, fmt.Errorf("events.off: %s is a name", key)
			case key == "chart":
				if of, err = c.find(v); err != nil {
					return nil, fmt.Errorf("events.off: %w", err)
				}
			default:
				if event, err = e.eventName(v); err != nil {
					return nil, fmt.Errorf("events.off: %w", err)
				}
			}
		}
	}
	t.RequireCPU(uint64(len(e.handlers)))
	e.handlers = slices.DeleteFunc(e.handlers, func(h *handler) bool {
		return (event == "" || h.event == event) && (h.chart == of || of.isAncestorOf(h.chart))
	})
	e.changed = true
	return gc.Next(), nil
}

// isAncestorOf reports whether d is a subchart of c, at any depth.
func (c *chart) isAncestorOf(d *chart) bool {
	for d = d.parent; d != nil && d != c; d = d.parent {
	}
	return d == c
}

// find returns a chart by its name relative to c: c itself, a subchart, or a subchart of
// that as "web/mysql".
func (c *chart) find(name string) (*chart, error) {
	if name == c.name {
		return c, nil
	}
	at := c
	for _, part := range strings.Split(name, "/") {
		next, err := at.child(part)
		if err != nil {
			return nil, err
		}
		at = next
	}
	return at, nil
}

// child returns a subchart of c, or a library that c may require.
func (c *chart) child(name string) (*chart, error) {
	var names []string
	for _, k := range c.children {
		if k.name == name {
			return k, nil
		}
		names = append(names, k.name)
	}
	if of := c.requires[name]; of != nil && of.library {
		return of, nil
	}
	have := "none with scripts"
	if len(names) > 0 {
		have = strings.Join(names, ", ")
	}
	return nil, fmt.Errorf("chart %q has no subchart %q; it has %s", c.name, truncate.Bytes(name, 60, "…"), have)
}

// childEnv is subcharts.get.
func (e *engine) childEnv(c *chart, t *rt.Thread, gc *rt.GoCont) (rt.Cont, error) {
	name, ok := arg(gc, 0).TryString()
	if !ok {
		return nil, errors.New("subcharts.get(name) needs a name")
	}
	child, err := c.find(name)
	if err != nil {
		return nil, err
	}
	return gc.PushingNext1(t.Runtime, e.wrap(&childView{e: e, child: child})), nil
}

// initChildren is subcharts.init(events[, names]).
func (e *engine) initChildren(c *chart, t *rt.Thread, gc *rt.GoCont) (rt.Cont, error) {
	events, children := arg(gc, 0), c.children
	if events.Equals(c.events) {
		events = rt.NilValue
	}
	if names := arg(gc, 1); !names.IsNil() {
		var err error
		if children, err = e.childrenNamed(c, names); err != nil {
			return nil, err
		}
	}
	for _, k := range children {
		if err := e.initTree(t, k, events); err != nil {
			return nil, err
		}
	}
	return gc.Next(), nil
}

// childrenNamed returns the subcharts of a name or a list of names.
func (e *engine) childrenNamed(c *chart, names rt.Value) ([]*chart, error) {
	v, err := e.bridge.ToGo(names)
	if err != nil {
		return nil, err
	}
	list, isList := v.([]any)
	if m, isMap := v.(map[string]any); !isList && (!isMap || len(m) > 0) {
		list = []any{v}
	}
	var out []*chart
	for _, n := range list {
		name, ok := n.(string)
		if !ok {
			return nil, errors.New("subcharts.init(events, names) takes a list of names")
		}
		k, err := c.child(name)
		if err != nil {
			return nil, err
		}
		out = append(out, k)
	}
	return out, nil
}

// initTree runs a chart's init, which decides about its subcharts. For a chart without one it
// runs those of all subcharts, depth first.
func (e *engine) initTree(t *rt.Thread, c *chart, events rt.Value) error {
	if err := c.checkInit(); err != nil {
		return err
	}
	if e.hasInit(c) {
		return e.initOne(t, c, events)
	}
	for _, k := range c.children {
		if err := e.initAll(t, k, events); err != nil {
			return err
		}
	}
	return nil
}

// checkInit returns an error for a global init that cannot be called.
func (c *chart) checkInit() error {
	v := c.env.Get(rt.StringValue("init"))
	if _, ok := v.TryCallable(); ok || v.IsNil() || v.Type() == rt.TableType {
		return nil
	}
	at, ok := c.names.assigned["init"]
	if !ok {
		at.place = place{c.index, c.directory + "chart.lua"}
	}
	return &scriptError{text: "init is " + article(v.CustomTypeName()) + "; it must be a function: it runs when all " +
		"scripts are loaded", position: at}
}

// initAll runs every init below c and then its own.
func (e *engine) initAll(t *rt.Thread, c *chart, events rt.Value) error {
	for _, k := range c.children {
		if err := e.initAll(t, k, events); err != nil {
			return err
		}
	}
	return e.initOne(t, c, events)
}

func (e *engine) hasInit(c *chart) bool {
	_, ok := c.env.Get(rt.StringValue("init")).TryCallable()
	return ok
}

// initOne runs a chart's init, once in an operation, with the chart's own events unless its
// parent passes others.
func (e *engine) initOne(t *rt.Thread, c *chart, events rt.Value) error {
	if !e.hasInit(c) || c.initiated {
		return nil
	}
	c.initiated = true
	if events.IsNil() {
		events = c.events
	}
	_, err := rt.Call1(t, c.env.Get(rt.StringValue("init")), events)
	return err
}
