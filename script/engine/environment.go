// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	rt "github.com/arnodel/golua/runtime"

	"github.com/moonhelm/moonhelm/script/engine/modules"
	"github.com/moonhelm/moonhelm/script/wire"
)

// newEnvironment makes the globals of a chart's scripts.
func (e *engine) newEnvironment(c *chart) {
	e.language(c)
	e.eventTables(c)
	e.r.SetEnv(c.env, "template", e.tableOf(map[string]rt.Value{
		"func": e.value("func", 2, false,
			func(t *rt.Thread, gc *rt.GoCont) (rt.Cont, error) { return e.templateFunc(c, gc) }),
	}))
	e.install(c, modules.Options{
		Chart: c.index, Grants: c.grants, Environ: e.environ, Ask: e.ask,
		Print: func(line string) error { e.printLine(c, line); return nil },
	})
	e.strictGlobals(c)
}

// language adds what every script has.
func (e *engine) language(c *chart) {
	env := e.tableOf(e.lib.base).AsTable()
	c.env = env
	for name, functions := range e.lib.tables {
		e.r.SetEnv(env, name, e.tableOf(functions))
	}
	e.r.SetEnv(env, "_G", rt.TableValue(env))
	e.r.SetEnv(env, "print",
		e.value("print", 0, true, func(t *rt.Thread, gc *rt.GoCont) (rt.Cont, error) { return e.luaPrint(c, t, gc) }))
	e.r.SetEnv(env, "require",
		e.value("require", 1, false, func(t *rt.Thread, gc *rt.GoCont) (rt.Cont, error) { return e.require(c, t, gc) }))
	e.r.SetEnv(env, "kube", e.tableOf(map[string]rt.Value{"lookup": e.value("lookup", 4, false, e.lookup)}))
}

// install adds the modules, and records which globals are not the scripts' own.
func (e *engine) install(c *chart, o modules.Options) {
	e.cleanup = append(e.cleanup, modules.Install(e.bridge, c.env, o))
	c.builtin = map[string]rt.Value{}
	each(c.env, func(name string, v rt.Value) { c.builtin[name] = v })
	if t, ok := c.builtin["yaml"].TryTable(); ok {
		c.encodeYAML = t.Get(rt.StringValue("encode"))
	}
	e.strictTables(c)
}

// tableOf makes a table.
func (e *engine) tableOf(fields map[string]rt.Value) rt.Value {
	t := rt.NewTable()
	for name, v := range fields {
		e.r.SetEnv(t, name, v)
	}
	return rt.TableValue(t)
}

// metatable makes a metatable that scripts cannot get hold of.
func (e *engine) metatable(fields map[string]rt.Value) *rt.Table {
	meta := e.tableOf(fields).AsTable()
	e.r.SetEnv(meta, "__metatable", rt.BoolValue(false))
	return meta
}

func (e *engine) luaPrint(c *chart, t *rt.Thread, gc *rt.GoCont) (rt.Cont, error) {
	var b strings.Builder
	for i, v := range gc.Etc() {
		s, err := e.shownText(c, t, v)
		if err != nil {
			return nil, err
		}
		if int64(len(s)) > e.limits.Output {
			e.stop(limitOutput)
		}
		switch {
		case i > 0 && strings.Contains(s, "\n") && v.Type() == rt.TableType:
			b.WriteByte('\n')
		case i > 0:
			b.WriteByte('\t')
		}
		t.RequireBytes(len(s))
		b.WriteString(s)
	}
	e.printLine(c, b.String())
	return gc.Next(), nil
}

// shownText returns a value as print shows it: a table that is data as YAML.
func (e *engine) shownText(c *chart, t *rt.Thread, v rt.Value) (string, error) {
	table, ok := v.TryTable()
	if !ok {
		return e.text(t, v)
	}
	if meta := table.Metatable(); meta != nil && meta != e.views {
		if _, marked := e.bridge.IsList(table); !marked {
			return e.text(t, v)
		}
	}
	if shown, ok := e.viewOf(v); ok {
		if ctx, isContext := shown.(*handlerContext); isContext {
			return ctx.path + ", with the fields " + strings.Join(contextFields(), ", "), nil
		}
	}
	encoded, err := rt.Call1(t, c.encodeYAML, v)
	if text, isText := encoded.TryString(); err == nil && isText {
		return strings.TrimSuffix(text, "\n"), nil
	}
	return e.text(t, v) // it is not data: it has functions, or holds itself
}

func (e *engine) printLine(c *chart, line string) {
	if e.program != nil {
		e.program.printed(line)
		return
	}
	e.chargeOutput(len(line) + wire.LineCost)
	e.notify(wire.Print, map[string]any{"chart": int64(c.index), "text": line})
}

// lookup is kube.lookup, with the results of the template function lookup.
func (e *engine) lookup(t *rt.Thread, gc *rt.GoCont) (rt.Cont, error) {
	body := map[string]any{}
	for i, name := range []string{"apiVersion", "kind", "namespace", "name"} {
		body[name] = ""
		if v := arg(gc, i); !v.IsNil() {
			s, ok := v.TryString()
			if !ok {
				return nil, fmt.Errorf("bad argument #%d to 'lookup' (%s is text)", i+1, name)
			}
			body[name] = s
		}
	}
	if body["apiVersion"] == "" || body["kind"] == "" {
		return nil, errors.New("kube.lookup(apiVersion, kind, namespace, name) needs an apiVersion and a kind")
	}
	answer, err := e.ask(wire.Lookup, body)
	if err != nil {
		return nil, err
	}
	v := answer["value"]
	if v == nil {
		v = map[string]any{}
	}
	lua, err := e.bridge.FromGo(v)
	if err != nil {
		return nil, err
	}
	return gc.PushingNext1(t.Runtime, lua), nil
}

// templateFunc is template.func: a function for the chart's templates.
func (e *engine) templateFunc(c *chart, gc *rt.GoCont) (rt.Cont, error) {
	if err := gc.CheckNArgs(2); err != nil {
		return nil, errors.New("template.func(name, function) needs both")
	}
	name, ok := gc.Arg(0).TryString()
	if !ok || !isName(name) {
		return nil, errors.New("template.func needs a name of letters, digits and _")
	}
	if _, ok := gc.Arg(1).TryCallable(); !ok {
		return nil, fmt.Errorf("template.func(%q, ...) needs a function, not a %s value", name, gc.Arg(1).TypeName())
	}
	if _, known := c.functions[name]; !known {
		if len(c.order) >= maxHandlers {
			return nil, errors.New("too many template functions")
		}
		c.order = append(c.order, name)
	}
	c.functions[name] = gc.Arg(1)
	e.changed = true
	return gc.Next(), nil
}

func isName(s string) bool {
	for i := range len(s) {
		b := s[i]
		if b != '_' && (b|0x20 < 'a' || b|0x20 > 'z') && (i == 0 || b < '0' || b > '9') {
			return false
		}
	}
	return s != "" && len(s) <= 100
}

// lintTable is ctx.lint.
func (e *engine) lintTable() rt.Value {
	add := func(name, severity string) rt.Value {
		return e.value(name, 2, false, func(t *rt.Thread, gc *rt.GoCont) (rt.Cont, error) {
			if gc.NArgs() < 2 {
				return nil, fmt.Errorf("ctx.lint.%s(path, text) needs both", name)
			}
			var texts [2]string
			for i := range texts {
				s, ok := gc.Arg(i).TryString()
				if !ok && !(i == 0 && gc.Arg(i).IsNil()) {
					return nil, fmt.Errorf("ctx.lint.%s(path, text) needs text, not a %s value", name, gc.Arg(i).TypeName())
				}
				texts[i] = s
			}
			if e.request == nil || !e.request.lint {
				return nil, errEnded
			}
			e.chargeOutput(len(texts[0]) + len(texts[1]) + wire.LineCost)
			e.notify(wire.Finding, map[string]any{"severity": severity, "path": texts[0], "text": texts[1]})
			return gc.Next(), nil
		})
	}
	return e.tableOf(map[string]rt.Value{"warn": add("warn", "warning"), "error": add("error", "error")})
}

// childView is the environment of a subchart as its parent sees it. The parent can read and
// replace what the subchart defines, and does not see what it was granted.
type childView struct {
	e     *engine
	child *chart
}

// grantedTables are the globals that a permission adds.
var grantedTables = []string{"http", "net", "io", "os"}

// sharedTables are the tables of a subchart that its parent may use.
var sharedTables = []string{"events", "event", "subcharts", "subchart"}

// hidden reports whether a parent does not see a value: what a permission adds, and the tables
// of libraries. A parent that replaced string.format of a chart that may write files could
// write files itself.
func (v *childView) hidden(value rt.Value) bool {
	if _, ok := value.TryTable(); !ok {
		return false
	}
	for name, b := range v.child.builtin {
		if value.Equals(b) && name != "_G" && !slices.Contains(sharedTables, name) {
			return true
		}
	}
	return false
}

func (v *childView) get(k rt.Value) (rt.Value, error) {
	got := v.child.env.Get(k)
	if name, ok := k.TryString(); ok && name == "_G" {
		return v.e.wrap(v), nil
	}
	if got.IsNil() || v.hidden(got) {
		return rt.NilValue, nil
	}
	return got, nil
}

func (v *childView) set(k, value rt.Value) error {
	name, ok := k.TryString()
	if !ok {
		return fmt.Errorf("globals of chart %q have names", v.child.name)
	}
	if _, ours := v.child.builtin[name]; ours || slices.Contains(grantedTables, name) {
		return fmt.Errorf("%s is not something that chart %q defined, and cannot be replaced", name, v.child.name)
	}
	v.e.r.SetTable(v.child.env, k, value)
	return nil
}

func (v *childView) keys() ([]rt.Value, error) {
	var keys []rt.Value
	each(v.child.env, func(name string, value rt.Value) {
		if b, ours := v.child.builtin[name]; !ours || !value.Equals(b) {
			keys = append(keys, rt.StringValue(name))
		}
	})
	slices.SortFunc(keys, compareKeys)
	return keys, nil
}

func (v *childView) length() (int64, error) { return 0, nil }

func (v *childView) data() (any, error) { return nil, errNotData() }
