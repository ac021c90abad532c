// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"reflect"
	"text/template/parse"
)

// function is a template function with its signature, so that calling it needs little
// reflection.
type function struct {
	name   string
	fn     any
	value  reflect.Value
	params []param
	// fixed is the number of parameters before the variadic one.
	fixed    int
	variadic bool
	// native implements the function if it needs the frame of the caller; otherwise it is
	// nil.
	native func(f *frame, args []any) any
	// lazy is set for and and or, which evaluate their arguments one by one.
	lazy bool
	or   bool
	// pattern is set if the first argument is a regular expression, and parses if the function
	// creates values from text.
	pattern, parses bool
	limits
}

// param is the type of a parameter. For a variadic parameter, it is the element type.
type param struct {
	kind paramKind
	typ  reflect.Type
}

type paramKind uint8

const (
	otherKind paramKind = iota
	anyKind
	stringKind
	intKind
	boolKind
	mapKind
	sliceKind
	// valueKind takes a value with its address. and and or have such parameters, and return
	// it.
	valueKind
)

var (
	anyType   = reflect.TypeFor[any]()
	errorType = reflect.TypeFor[error]()
	anyParam  = param{kind: anyKind, typ: anyType}
	valParam  = param{kind: valueKind, typ: anyType}
)

func newParam(t reflect.Type) param {
	p := param{typ: t}
	switch t {
	case anyType:
		p.kind = anyKind
	case reflect.TypeFor[string]():
		p.kind = stringKind
	case reflect.TypeFor[int]():
		p.kind = intKind
	case reflect.TypeFor[bool]():
		p.kind = boolKind
	case reflect.TypeFor[map[string]any]():
		p.kind = mapKind
	case reflect.TypeFor[[]any]():
		p.kind = sliceKind
	}
	return p
}

// newFunction returns a function for fn, which must have one result or one and an error.
func newFunction(name string, fn reflect.Value) *function {
	t := fn.Type()
	d := &function{name: name, fn: fn.Interface(), value: fn, variadic: t.IsVariadic(), fixed: t.NumIn()}
	d.params = make([]param, t.NumIn())
	for i := range d.params {
		in := t.In(i)
		if d.variadic && i == len(d.params)-1 {
			in, d.fixed = in.Elem(), i
		}
		d.params[i] = newParam(in)
	}
	return d
}

func (fn *function) param(i int) param {
	if fn.variadic && i >= fn.fixed {
		return fn.params[fn.fixed]
	}
	return fn.params[i]
}

func (f *frame) function(dot any, n *parse.IdentifierNode, cmd parse.Node, args []parse.Node, last operand) any {
	f.node = n
	fn := f.funcs[n.Ident]
	if fn == nil {
		if c := f.customs[f.def.src.chart]; c != nil {
			fn = c.funcs[n.Ident]
		}
	}
	if fn == nil {
		f.failf("%q is not a defined function", n.Ident)
	}
	return f.callFunction(dot, fn, cmd, args, last)
}

func (f *frame) callFunction(dot any, fn *function, n parse.Node, args []parse.Node, last operand) any {
	count := len(args)
	if last.given {
		count++
	}
	switch {
	case fn.variadic && count < fn.fixed:
		f.failf("wrong number of args for %s: want at least %d got %d", fn.name, fn.fixed, len(args))
	case !fn.variadic && count != fn.fixed:
		f.failf("wrong number of args for %s: want %d got %d", fn.name, fn.fixed, count)
	}
	if fn.lazy {
		return f.lazily(dot, fn, args, last)
	}
	var few [6]any
	argv := few[:0]
	for i, a := range args {
		argv = append(argv, f.arg(dot, fn.param(i), a))
	}
	if last.given {
		argv = append(argv, f.check(last.value, fn.param(len(args))))
	}
	f.node = n
	f.charge(fn, argv)
	var v any
	if fn.native != nil {
		v = fn.native(f, argv)
	} else {
		var err error
		if v, err = f.invoke(fn, argv); err != nil {
			f.failCall(fn.name, err)
		}
	}
	if f.trace != nil {
		f.traceFunc(fn, n, argv, v)
	}
	return f.bounded(fn, v)
}

// lazily implements and and or: the result is the first argument that decides.
func (f *frame) lazily(dot any, fn *function, args []parse.Node, last operand) any {
	var v any
	for _, a := range args {
		v = f.arg(dot, valParam, a)
		if truth(v) == fn.or {
			return v
		}
	}
	if last.given {
		v = last.value
	}
	return v
}

// arg evaluates one argument for a parameter.
func (f *frame) arg(dot any, p param, n parse.Node) any {
	f.node = n
	switch n := n.(type) {
	case *parse.DotNode:
		if f.trace != nil {
			f.traceValue(dot, f.trace.dot)
		}
		return f.check(dot, p)
	case *parse.FieldNode:
		return f.check(strictly(f.path(dot, dot, n, n.Ident, nil, operand{}), dot), p)
	case *parse.VariableNode:
		v := f.variablePath(dot, n, nil, operand{})
		if len(n.Ident) > 1 {
			v = strictly(v, f.variable(n.Ident[0]))
		}
		return f.check(v, p)
	case *parse.PipeNode:
		return f.check(f.pipeline(dot, n), p)
	case *parse.IdentifierNode:
		return f.check(f.function(dot, n, n, nil, operand{}), p)
	case *parse.ChainNode:
		v := f.chainBase(dot, n)
		return f.check(strictly(f.path(dot, v, n, n.Field, nil, operand{}), v), p)
	case *parse.NilNode:
		if !canBeNil(p.typ) {
			f.failf("cannot assign nil to %s", p.typ)
		}
		return zero(p)
	}
	return f.constant(p, n)
}

// constant returns a literal for a parameter.
func (f *frame) constant(p param, n parse.Node) any {
	switch p.kind {
	case anyKind, valueKind:
		switch n := n.(type) {
		case *parse.BoolNode:
			return n.True
		case *parse.StringNode:
			return n.Text
		case *parse.NumberNode:
			return f.number(n)
		}
		f.failf("can't handle assignment of %s to empty interface argument", n)
	case stringKind:
		if s, ok := n.(*parse.StringNode); ok {
			return s.Text
		}
		f.failf("expected string; found %s", n)
	case intKind:
		if i, ok := n.(*parse.NumberNode); ok && i.IsInt {
			return int(i.Int64)
		}
		f.failf("expected integer; found %s", n)
	case boolKind:
		if b, ok := n.(*parse.BoolNode); ok {
			return b.True
		}
		f.failf("expected bool; found %s", n)
	}
	v := reflect.New(p.typ).Elem()
	num, isNum := n.(*parse.NumberNode)
	switch {
	case v.CanInt():
		if isNum && num.IsInt {
			v.SetInt(num.Int64)
			return v.Interface()
		}
		f.failf("expected integer; found %s", n)
	case v.CanUint():
		if isNum && num.IsUint {
			v.SetUint(num.Uint64)
			return v.Interface()
		}
		f.failf("expected unsigned integer; found %s", n)
	case v.CanFloat():
		if isNum && num.IsFloat {
			v.SetFloat(num.Float64)
			return v.Interface()
		}
		f.failf("expected float; found %s", n)
	}
	f.failf("can't handle %s for arg of type %s", n, p.typ)
	return nil
}

// strictly returns v, the value of a path that starts at from, as an argument. A nil at the end
// of a path is accepted only by parameters of any type; if from itself is nil, maps and lists
// accept it too. text/template has the same rules.
func strictly(v, from any) any {
	if v == nil && from != nil {
		return nilElement{}
	}
	return v
}

// check converts v for a parameter, or fails.
func (f *frame) check(v any, p param) any {
	if _, ok := v.(nilElement); ok && p.typ.Kind() != reflect.Interface {
		f.failNil(p.typ)
	}
	if _, ok := v.(boxed); ok && p.kind == valueKind {
		return v
	}
	v = unboxed(v)
	switch p.kind {
	case anyKind, valueKind:
		return v
	case stringKind:
		if _, ok := v.(string); ok {
			return v
		}
	case intKind:
		if _, ok := v.(int); ok {
			return v
		}
	case boolKind:
		if _, ok := v.(bool); ok {
			return v
		}
	case mapKind:
		if m, ok := asMap(v); ok {
			return m
		}
	case sliceKind:
		if _, ok := v.([]any); ok {
			return v
		}
	}
	if v == nil {
		if !canBeNil(p.typ) {
			f.failNil(p.typ)
		}
		return zero(p)
	}
	r := reflect.ValueOf(v)
	if r.Type().AssignableTo(p.typ) {
		return r.Convert(p.typ).Interface()
	}
	if r.Kind() == reflect.Pointer && r.Type().Elem().AssignableTo(p.typ) {
		if r.IsNil() {
			f.failf("dereference of nil pointer of type %s", p.typ)
		}
		return r.Elem().Interface()
	}
	f.failf("wrong type for value; expected %s; got %s", p.typ, typeName(r.Type()))
	return nil
}

func zero(p param) any {
	if p.typ.Kind() == reflect.Interface {
		return nil
	}
	return reflect.Zero(p.typ).Interface()
}

func canBeNil(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Chan, reflect.Func, reflect.Interface, reflect.Map, reflect.Pointer, reflect.Slice:
		return true
	}
	return false
}

// invoke calls fn, without reflection for common signatures. It returns a panic as an error.
func (f *frame) invoke(fn *function, a []any) (v any, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = asError(r)
		}
	}()
	switch g := fn.fn.(type) {
	case func(any) string:
		return g(a[0]), nil
	case func(string) string:
		return g(a[0].(string)), nil
	case func(...any) string:
		return g(copyArgs(a)...), nil
	case func(any, ...any) any:
		return g(a[0], copyArgs(a[1:])...), nil
	case func(int, string) string:
		return g(a[0].(int), a[1].(string)), nil
	case func(int, string) (string, error):
		return g(a[0].(int), a[1].(string))
	case func(string, string) string:
		return g(a[0].(string), a[1].(string)), nil
	case func(string, string, string) string:
		return g(a[0].(string), a[1].(string), a[2].(string)), nil
	case func(string, string) bool:
		return g(a[0].(string), a[1].(string)), nil
	case func(string, any) bool:
		return g(a[0].(string), a[1]), nil
	case func(any) bool:
		return g(a[0]), nil
	case func(any) any:
		return g(a[0]), nil
	case func(any, any) bool:
		return g(a[0], a[1]), nil
	case func(any) int:
		return g(a[0]), nil
	case func(any) int64:
		return g(a[0]), nil
	case func(any, any) int64:
		return g(a[0], a[1]), nil
	case func(...any) int64:
		return g(copyArgs(a)...), nil
	case func(...any) map[string]any:
		return g(copyArgs(a)...), nil
	case func(...any) []any:
		return g(copyArgs(a)...), nil
	case func(...any) any:
		return g(copyArgs(a)...), nil
	case func(...any) (any, error):
		return g(copyArgs(a)...)
	case func(any, any, bool) any:
		return g(a[0], a[1], a[2].(bool)), nil
	case func(string, any) string:
		return g(a[0].(string), a[1]), nil
	case func(map[string]any, string) bool:
		return g(a[0].(map[string]any), a[1].(string)), nil
	case func(map[string]any, string) any:
		return g(a[0].(map[string]any), a[1].(string)), nil
	case func(map[string]any, string, any) map[string]any:
		return g(a[0].(map[string]any), a[1].(string), a[2]), nil
	case func(any, any) []any:
		return g(a[0], a[1]), nil
	case func(any) []any:
		return g(a[0]), nil
	case func(string) map[string]any:
		return g(a[0].(string)), nil
	case func(string, string) (bool, error):
		return g(a[0].(string), a[1].(string))
	case func(any) (string, error):
		return g(a[0])
	}
	return reflectCall(fn, a)
}

// copyArgs copies arguments for a function that may keep its variadic slice.
func copyArgs(a []any) []any { return append(make([]any, 0, len(a)), a...) }

func reflectCall(fn *function, a []any) (any, error) {
	in := make([]reflect.Value, len(a))
	for i, v := range a {
		p := fn.param(i)
		if v == nil {
			in[i] = reflect.Zero(p.typ)
		} else {
			in[i] = reflect.ValueOf(v)
		}
	}
	out := fn.value.Call(in)
	if len(out) == 2 && !out[1].IsNil() {
		if err, ok := out[1].Interface().(error); ok {
			return nil, err
		}
	}
	r := out[0]
	if r.Kind() == reflect.Interface && r.IsNil() {
		return nil, nil
	}
	return r.Interface(), nil
}
