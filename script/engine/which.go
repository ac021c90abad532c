// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"slices"
	"strings"

	rt "github.com/arnodel/golua/runtime"

	"github.com/moonhelm/moonhelm/internal/suggest"
)

// Lua says that "a nil value" was indexed or called, and golua does not say which.
// Here the key is added, and what stands before it in the script's line.

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

// which says which expression of the line it was, where only one can be meant.
func (e *engine) which(text string, at place, line int) string {
	if at.chart < 0 || at.chart >= len(e.charts) {
		return text
	}
	c := e.charts[at.chart]
	source := sourceLine(c.files[strings.TrimPrefix(at.file, c.directory)], line)
	if source == "" {
		return text
	}
	if rest, ok := strings.CutPrefix(text, indexed); ok {
		return whichIndexed(c, text, rest, source, "%s is %s, so it has no %s")
	}
	if rest, ok := strings.CutPrefix(text, assigned); ok {
		return whichIndexed(c, text, rest, source, "%s is %s, so it cannot have a %s")
	}
	if text == called {
		return whichCalled(c, text, source)
	}
	if kind, ok := strings.CutPrefix(text, "attempt to get length of a "); ok {
		if expr, ok := only(measured(source)); ok {
			return fmt.Sprintf("%s is %s, so it has no length", expr, article(strings.TrimSuffix(kind, " value")))
		}
	}
	if kind, ok := strings.CutPrefix(text, "attempt to concatenate a "); ok {
		kind, _, _ = strings.Cut(kind, " value")
		if expr, ok := only(joined(source)); ok {
			return fmt.Sprintf("%s is %s, which cannot be joined to text", expr, article(kind))
		}
	}
	if expr := iterated(source); expr != "" && text == "attempt to call a table value" {
		return fmt.Sprintf("%s is a table: write pairs(%s), or ipairs(%s) if it is a list", expr, expr, expr)
	}
	if rest, ok := strings.CutPrefix(text, "attempt to "); ok {
		// golua's own name for an operator, as in: attempt to sub a 'nil' with a 'nil'
		op, operands, _ := strings.Cut(rest, " a '")
		x, y, both := strings.Cut(strings.TrimSuffix(operands, "'"), "' with a '")
		if sign, ok := operators[op]; ok && both {
			return fmt.Sprintf("attempt to compute %s %s %s", x, sign, y)
		}
	}
	for _, name := range []string{"pairs", "ipairs"} {
		if kind, ok := strings.CutPrefix(text, "bad argument #1 to '"+name+"' "+looped); ok {
			if expr, ok := only(callArguments(source, name)); ok {
				return fmt.Sprintf("%s is %s, but %s needs a table", expr, article(strings.TrimSuffix(kind, ")")), name)
			}
		}
	}
	return text
}

func whichIndexed(c *chart, text, rest, source, says string) string {
	kind, key, ok := strings.Cut(rest, " value (key ")
	key, closed := strings.CutSuffix(key, ")")
	if !ok || !closed {
		return text
	}
	name := strings.Trim(key, `"`)
	expr, ok := only(holders(source, name))
	if !ok {
		return text
	}
	return fmt.Sprintf(says, expr, article(kind), key) + c.advice(expr)
}

func whichCalled(c *chart, text, source string) string {
	var candidates []string
	for _, expr := range callees(source) {
		if v, root := c.global(expr); !root || v.IsNil() {
			candidates = append(candidates, expr)
		}
	}
	expr, ok := only(candidates)
	if !ok {
		return text
	}
	return strings.TrimPrefix(expr, ":") + " is nil, and cannot be called" + c.advice(expr)
}

func article(kind string) string {
	if kind == "nil" || kind == "null" || kind == "no value" {
		return kind
	}
	return "a " + kind
}

// operators are what golua calls them.
var operators = map[string]string{"add": "+", "sub": "-", "mul": "*", "div": "/", "idiv": "//", "mod": "%", "pow": "^"}

// absent is what Lua has and scripts have not, or only where it was granted.
var absent = map[string]string{
	"os": "os", "io": "io", "http": "network", "net": "network",
	"coroutine": "", "package": "", "debug": "", "load": "", "loadfile": "", "dofile": "", "loadstring": "",
	"collectgarbage": "", "warn": "", "module": "", "setfenv": "", "getfenv": "",
}

// advice is why a global is not there, or what was meant instead.
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
	if meant := suggest.Similar(names, name, most, strings.ToLower); meant != "" && len(name) > 2 {
		return fmt.Sprintf("; did you mean %s%s?", prefix, meant)
	}
	return ""
}

// global is what a path of names stands for, and whether its first name is a
// global: what is local no one can tell any more.
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

// only is the one text of a list that has no other.
func only(list []string) (string, bool) {
	slices.Sort(list)
	list = slices.Compact(list)
	if len(list) != 1 {
		return "", false
	}
	return list[0], true
}

// whose names the function that golua's complaint about an argument is of.
func (e *engine) whose(text string) string {
	if len(e.faults.frames) == 0 {
		return text
	}
	info := e.faults.frames[0].at.DebugInfo()
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
