// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"slices"
	"strings"

	rt "github.com/arnodel/golua/runtime"

	"github.com/moonhelm/moonhelm/internal/suggest"
)

// Lua says that "a nil value" was indexed or called, and golua does not say which. Here the
// key is added, and what stands before it in the script's line.

// fieldless gives nil, null, numbers and booleans an __index and a __newindex that
// name the key that was looked for.
func (e *engine) fieldless(meta *rt.Table, kind string) {
	fail := func(name, text string) {
		e.r.SetEnv(meta, name, e.value(fieldName, 3, false, func(t *rt.Thread, c *rt.GoCont) (rt.Cont, error) {
			key := rt.NilValue
			if c.NArgs() > 1 {
				key = c.Arg(1)
			}
			return nil, fmt.Errorf(text, kind, keyText(key))
		}))
	}
	fail("__index", indexed+"%s value (key %s)")
	fail("__newindex", assigned+"%s value (key %s)")
}

const (
	indexed  = "attempt to index a "
	assigned = "attempt to set a field of a "
	called   = "attempt to call a nil value"
	looped   = "(table expected, got "
	// fieldName is what functions are called that no traceback shows.
	fieldName = "(field)"
)

func keyText(k rt.Value) string {
	if s, ok := k.TryString(); ok {
		return fmt.Sprintf("%q", clip(s, 100))
	}
	s, _ := k.ToString()
	return clip(s, 100)
}

// nameOperand adds to golua's error which operand of the line it is about, where only
// one can be meant.
func (e *engine) nameOperand(text string, at place, line int) string {
	if at.chart < 0 || at.chart >= len(e.charts) {
		return text
	}
	c := e.charts[at.chart]
	source := sourceLine(c.files[strings.TrimPrefix(at.file, c.directory)], line)
	if source == "" {
		return text
	}
	s := readOperands(source)
	say := func(operands []string, format string, args ...any) string {
		name, ok := only(operands)
		if !ok {
			return text
		}
		return fmt.Sprintf(format, append([]any{name}, args...)...)
	}
	for start, format := range map[string]string{
		indexed: "%s is %s, so it has no %s", assigned: "%s is %s, so it cannot have a %s",
	} {
		rest, ok := strings.CutPrefix(text, start)
		kind, key, found := strings.Cut(strings.TrimSuffix(rest, ")"), " value (key ")
		if !ok || !found {
			continue
		}
		var holders []string
		for _, f := range s.fields {
			if f.key == strings.Trim(key, `"`) {
				holders = append(holders, f.holder)
			}
		}
		if holder, ok := only(holders); ok {
			return fmt.Sprintf(format, holder, article(kind), key) + c.advice(holder)
		}
	}
	if text == called {
		var unknown []string
		for _, name := range s.called {
			if v, root := c.global(name); name == "" || !root || v.IsNil() {
				unknown = append(unknown, name)
			}
		}
		if name, ok := only(unknown); ok {
			return strings.TrimPrefix(name, ":") + " is nil, and cannot be called" + c.advice(name)
		}
	}
	if kind, ok := strings.CutPrefix(text, "attempt to get length of a "); ok {
		return say(s.measured, "%s is %s, so it has no length", article(strings.TrimSuffix(kind, " value")))
	}
	if kind, ok := strings.CutPrefix(text, "attempt to concatenate a "); ok {
		kind, _, _ = strings.Cut(kind, " value")
		return say(s.joined, "%s is %s, which cannot be joined to text", article(kind))
	}
	if text == "attempt to call a table value" && s.iterated != "" {
		return fmt.Sprintf("%[1]s is a table: write pairs(%[1]s), or ipairs(%[1]s) if it is a list", s.iterated)
	}
	for _, name := range []string{"pairs", "ipairs"} {
		if kind, ok := strings.CutPrefix(text, "bad argument #1 to '"+name+"' "+looped); ok {
			return say(s.argument[name], "%s is %s, but %s needs a table", article(strings.TrimSuffix(kind, ")")), name)
		}
	}
	return nameOperator(text)
}

// nameOperator writes an operator as Lua does: golua's "attempt to sub a 'nil' with a 'nil'".
func nameOperator(text string) string {
	op, operands, _ := strings.Cut(strings.TrimPrefix(text, "attempt to "), " a '")
	x, y, both := strings.Cut(strings.TrimSuffix(operands, "'"), "' with a '")
	sign, ok := map[string]string{
		"add": "+", "sub": "-", "mul": "*", "div": "/", "idiv": "//", "mod": "%", "pow": "^",
	}[op]
	if !ok || !both {
		return text
	}
	return fmt.Sprintf("attempt to compute %s %s %s", x, sign, y)
}

func article(kind string) string {
	if kind == "nil" || kind == "null" || kind == "no value" {
		return kind
	}
	return "a " + kind
}

// absent are the globals of Lua that scripts do not have, with the permission that adds them.
var absent = map[string]string{
	"os": "os", "io": "io", "http": "network", "net": "network",
	"coroutine": "", "package": "", "debug": "", "load": "", "loadfile": "", "dofile": "", "loadstring": "",
	"collectgarbage": "", "warn": "", "module": "", "setfenv": "", "getfenv": "",
}

// advice returns why there is no such global, or what was likely meant.
func (c *chart) advice(expr string) string {
	if permission, ok := absent[expr]; ok {
		if permission == "" {
			return "; scripts have no " + expr
		}
		return fmt.Sprintf("; scripts have %s where ext/permissions.yaml asks for %s", expr, permission)
	}
	if strings.Contains(expr, "[") {
		return ""
	}
	table, prefix, name := c.env, "", expr
	if method, ok := strings.CutPrefix(expr, ":"); ok {
		table, _ = c.env.Get(rt.StringValue("string")).TryTable()
		name = method
	} else if i := strings.LastIndexAny(expr, ".:"); i >= 0 {
		prefix, name = expr[:i+1], expr[i+1:]
		if prefix == "ctx." {
			return didYouMean(contextFields(), prefix, name, 2)
		}
		of, _ := c.global(expr[:i])
		table, _ = of.TryTable()
	}
	if table == nil {
		return ""
	}
	var names []string
	each(table, func(known string, v rt.Value) {
		if !v.IsNil() {
			names = append(names, known)
		}
	})
	slices.Sort(names)
	if prefix != "" || table != c.env {
		return didYouMean(names, prefix, name, 2)
	}
	return didYouMean(names, prefix, name, len(name)/3)
}

func didYouMean(names []string, prefix, name string, most int) string {
	meant := suggest.Similar(names, name, most, strings.ToLower)
	if meant != "" && (len(name) > 2 || strings.EqualFold(meant, name)) {
		return fmt.Sprintf("; did you mean %s%s?", prefix, meant)
	}
	return ""
}

// global returns the value of a path of names, and whether its first name is a global. Locals
// are not known.
func (c *chart) global(expr string) (v rt.Value, root bool) {
	if strings.HasPrefix(expr, ":") {
		return rt.NilValue, false
	}
	v = rt.TableValue(c.env)
	for i, name := range strings.FieldsFunc(expr, func(r rune) bool { return r == '.' || r == ':' }) {
		t, ok := v.TryTable()
		if !ok {
			return rt.NilValue, i > 0
		}
		v = t.Get(rt.StringValue(name))
		if i == 0 && v.IsNil() {
			return v, false
		}
	}
	return v, true
}

// only returns the one name of a list that has no other.
func only(list []string) (string, bool) {
	slices.Sort(list)
	list = slices.Compact(list)
	if len(list) != 1 || list[0] == "" {
		return "", false
	}
	return list[0], true
}

// nameFunction adds the function to golua's error about an argument.
func (e *engine) nameFunction(text string) string {
	if len(e.lastTrace.frames) == 0 {
		return text
	}
	info := e.lastTrace.frames[0].at.DebugInfo()
	if info == nil || info.Source != "[Go]" || slices.Contains([]string{"error", "assert", "helm.fail"}, info.Name) {
		return text
	}
	number, rest, ok := strings.Cut(strings.TrimPrefix(text, "bad argument "), " ")
	if digits, isNumber := strings.CutPrefix(number, "#"); !ok || !isNumber || len(digits) != 1 ||
		strings.HasPrefix(rest, "to ") {
		return text
	}
	return fmt.Sprintf("bad argument %s to '%s' (%s)", number, info.Name, strings.Trim(rest, "()"))
}
