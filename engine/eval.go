// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"reflect"
	"strings"
	"text/template/parse"
)

// operand is the value that the previous command of a pipeline returned, if there is one.
type operand struct {
	value any
	given bool
}

// pipeline returns the value of p, or nil if p is nil.
func (f *frame) pipeline(dot any, p *parse.PipeNode) any {
	if p == nil {
		return nil
	}
	var last operand
	f.enter()
	if f.trace != nil {
		f.trace.begin()
	}
	for _, cmd := range p.Cmds {
		v := f.command(dot, cmd, last)
		if _, ok := v.(nilElement); ok {
			v = nil
		}
		last = operand{v, true}
	}
	f.leave()
	for _, d := range p.Decl {
		if p.IsAssign {
			f.assign(d.Ident[0], last.value)
		} else {
			f.push(d.Ident[0], last.value)
		}
	}
	if f.trace != nil {
		f.traceDecl(p)
	}
	return last.value
}

func (f *frame) command(dot any, cmd *parse.CommandNode, last operand) any {
	first := cmd.Args[0]
	switch n := first.(type) {
	case *parse.FieldNode:
		return f.path(dot, dot, n, n.Ident, cmd.Args[1:], last)
	case *parse.ChainNode:
		return f.chain(dot, n, cmd.Args[1:], last)
	case *parse.IdentifierNode:
		return f.function(dot, n, cmd, cmd.Args[1:], last)
	case *parse.PipeNode:
		f.noArguments(cmd.Args, last)
		return f.pipeline(dot, n)
	case *parse.VariableNode:
		return f.variablePath(dot, n, cmd.Args[1:], last)
	}
	f.node = first
	f.noArguments(cmd.Args, last)
	switch n := first.(type) {
	case *parse.BoolNode:
		return n.True
	case *parse.DotNode:
		if f.trace != nil {
			f.traceValue(dot, f.trace.dot)
		}
		return dot
	case *parse.NumberNode:
		return f.number(n)
	case *parse.StringNode:
		return n.Text
	case *parse.NilNode:
		f.failf("nil is not a command")
	}
	f.failf("can't evaluate command %q", first)
	return nil
}

func (f *frame) noArguments(args []parse.Node, last operand) {
	if len(args) > 1 || last.given {
		f.failf("can't give argument to non-function %s", args[0])
	}
}

// number returns the value of a constant for a parameter of any type.
func (f *frame) number(n *parse.NumberNode) any {
	f.node = n
	switch {
	case n.IsComplex:
		return n.Complex128
	case n.IsFloat && !isHex(n.Text) && !isRune(n.Text) && strings.ContainsAny(n.Text, ".eEpP"):
		return n.Float64
	case n.IsInt:
		v := int(n.Int64)
		if int64(v) != n.Int64 {
			f.failf("%s overflows int", n.Text)
		}
		return v
	case n.IsUint:
		f.failf("%s overflows int", n.Text)
	}
	return nil
}

func isRune(s string) bool { return s != "" && s[0] == '\'' }

func isHex(s string) bool {
	return len(s) > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X') && !strings.ContainsAny(s, "pP")
}

func (f *frame) chain(dot any, n *parse.ChainNode, args []parse.Node, last operand) any {
	return f.path(dot, f.chainBase(dot, n), n, n.Field, args, last)
}

// chainBase returns the value in which the fields of n are looked up.
func (f *frame) chainBase(dot any, n *parse.ChainNode) any {
	f.node = n
	if n.Node.Type() == parse.NodeNil {
		f.failf("indirection through explicit nil in %s", n)
	}
	return f.arg(dot, anyParam, n.Node)
}

func (f *frame) variablePath(dot any, n *parse.VariableNode, args []parse.Node, last operand) any {
	f.node = n
	v := f.variable(n.Ident[0])
	if len(n.Ident) == 1 {
		f.noArguments(append([]parse.Node{n}, args...), last)
		if f.trace != nil {
			f.traceValue(v, f.traceVar(n.Ident[0]))
		}
		return v
	}
	return f.path(dot, v, n, n.Ident[1:], args, last)
}

// path looks up idents, one in the other, starting from v. If the last one is a method, it is
// called with the arguments.
func (f *frame) path(dot, v any, n parse.Node, idents []string, args []parse.Node, last operand) any {
	f.node = n
	if f.trace != nil {
		f.traceRead(v, n, idents)
	}
	for i, name := range idents {
		switch m := v.(type) {
		case map[string]any:
			e, ok := m[name]
			if !ok && f.strict {
				f.missingKey(v, n, idents[:i], name)
			}
			if i == len(idents)-1 {
				f.noMethod(name, args, last)
				return e
			}
			if e == nil {
				f.missing(m, n, idents, i, ok)
			}
			v = e
			continue
		case nil:
			// Only the first step of a path may be a lookup in nil.
			if f.strict {
				f.failf("nil data; no entry for key %q", name)
			}
			return nil
		}
		rest, lastArgs, lastFinal := i == len(idents)-1, []parse.Node(nil), operand{}
		if rest {
			lastArgs, lastFinal = args, last
		}
		e := f.field(dot, v, n, idents, i, lastArgs, lastFinal)
		if !rest && e == nil {
			m, _ := asMap(v)
			_, ok := m[name]
			f.missing(m, n, idents, i, ok)
		}
		v = e
	}
	return v
}

func (f *frame) noMethod(name string, args []parse.Node, last operand) {
	if len(args) > 0 || last.given {
		f.failf("%s is not a method but has arguments", name)
	}
}

// field returns idents[i] of v, which is not a map[string]any: the result of a method, a field
// of a struct, or an entry of a map of another type.
func (f *frame) field(dot, v any, n parse.Node, idents []string, i int, args []parse.Node, last operand) any {
	name := idents[i]
	if m, ok := v.(Values); ok && !isValuesMethod(name) {
		e, ok := m[name]
		if !ok && f.strict {
			f.missingKey(map[string]any(m), n, idents[:i], name)
		}
		f.noMethod(name, args, last)
		return e
	}
	if _, ok := v.(nilElement); ok {
		f.failf("nil pointer evaluating interface {}.%s", name)
	}
	r, ok := v.(boxed)
	if !ok {
		r = boxed{reflect.ValueOf(v)}
	}
	recv := deref(r.Value)
	ptr := recv
	if ptr.Kind() != reflect.Interface && ptr.Kind() != reflect.Pointer && ptr.CanAddr() {
		ptr = ptr.Addr()
	}
	if method := f.method(ptr, name); method != nil {
		return f.callFunction(dot, newFunction(name, reflect.ValueOf(method)), n, args, last)
	}
	has := len(args) > 0 || last.given
	switch recv.Kind() {
	case reflect.Struct:
		if sf, ok := recv.Type().FieldByName(name); ok && sf.IsExported() {
			if has {
				f.failf("%s has arguments but cannot be invoked as function", name)
			}
			field, err := recv.FieldByIndexErr(sf.Index)
			if err != nil {
				f.failf("%v", err)
			}
			return box(field)
		}
	case reflect.Map:
		if recv.Type().Key().Kind() == reflect.String {
			f.noMethod(name, args, last)
			e := recv.MapIndex(reflect.ValueOf(name).Convert(recv.Type().Key()))
			if !e.IsValid() {
				if f.strict {
					f.missingKey(v, n, idents[:i], name)
				}
				e = reflect.Zero(recv.Type().Elem())
			}
			return e.Interface()
		}
	case reflect.Pointer:
		f.failf("nil pointer evaluating %s.%s", r.Type(), name)
	}
	f.noSuchField(v, n, idents, i)
	return nil
}

// box returns a field as a plain value, or boxed if its address matters.
func box(r reflect.Value) any {
	for r.Kind() == reflect.Interface && !r.IsNil() {
		r = r.Elem()
	}
	if r.Kind() == reflect.Struct && r.CanAddr() {
		return boxed{r}
	}
	if r.Kind() == reflect.Interface {
		return nil
	}
	return r.Interface()
}

func unboxed(v any) any {
	switch b := v.(type) {
	case boxed:
		return b.Interface()
	case nilElement:
		return nil
	}
	return v
}

// deref returns the value to which pointers and interfaces refer. It returns a nil pointer or
// interface itself.
func deref(r reflect.Value) reflect.Value {
	for (r.Kind() == reflect.Pointer || r.Kind() == reflect.Interface) && !r.IsNil() {
		r = r.Elem()
	}
	return r
}

func asMap(v any) (map[string]any, bool) {
	switch m := v.(type) {
	case map[string]any:
		return m, true
	case Values:
		return m, true
	}
	return nil, false
}

// truth reports whether a value is true for if, with, and and or.
func truth(v any) bool {
	switch v := v.(type) {
	case nil, nilElement:
		return false
	case bool:
		return v
	case string:
		return v != ""
	case map[string]any:
		return len(v) > 0
	case []any:
		return len(v) > 0
	case Values:
		return len(v) > 0
	case int:
		return v != 0
	case int64:
		return v != 0
	case float64:
		return v != 0
	case boxed:
		return true // a struct
	}
	r := reflect.ValueOf(v)
	switch r.Kind() {
	case reflect.Slice, reflect.Map, reflect.Array, reflect.String, reflect.Chan:
		return r.Len() > 0
	case reflect.Pointer, reflect.Func, reflect.UnsafePointer:
		return !r.IsNil()
	case reflect.Struct:
		return true
	}
	return !r.IsZero()
}
