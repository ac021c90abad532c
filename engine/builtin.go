// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
	"reflect"
	"text/template"
)

// builtins returns the predefined functions of text/template.
func builtins() map[string]*function {
	native := func(name string, fixed int, variadic bool, run func(f *frame, a []any) (any, error)) *function {
		fn := &function{name: name, fixed: fixed, variadic: variadic}
		for range fixed + 1 {
			fn.params = append(fn.params, anyParam)
		}
		fn.native = func(f *frame, a []any) any {
			v, err := run(f, a)
			if err != nil {
				f.failCall(name, err)
			}
			return v
		}
		return fn
	}
	m := map[string]*function{}
	add := func(name string, fixed int, variadic bool, run func(f *frame, a []any) (any, error)) {
		m[name] = native(name, fixed, variadic, run)
	}
	m["and"] = &function{name: "and", fixed: 1, variadic: true, lazy: true}
	m["or"] = &function{name: "or", fixed: 1, variadic: true, lazy: true, or: true}
	add("not", 1, false, func(_ *frame, a []any) (any, error) { return !truth(a[0]), nil })
	add("eq", 1, true, func(_ *frame, a []any) (any, error) { return equalAny(a[0], a[1:]) })
	add("ne", 2, false, func(_ *frame, a []any) (any, error) {
		eq, err := equal(a[0], a[1])
		return !eq, err
	})
	add("lt", 2, false, func(_ *frame, a []any) (any, error) { return less(a[0], a[1]) })
	add("ge", 2, false, func(_ *frame, a []any) (any, error) {
		l, err := less(a[0], a[1])
		return !l && err == nil, err
	})
	add("le", 2, false, func(_ *frame, a []any) (any, error) { return lessEqual(a[0], a[1]) })
	add("gt", 2, false, func(_ *frame, a []any) (any, error) {
		l, err := lessEqual(a[0], a[1])
		return !l && err == nil, err
	})
	add("len", 1, false, func(_ *frame, a []any) (any, error) { return length(a[0]) })
	add("index", 1, true, func(_ *frame, a []any) (any, error) {
		if _, ok := a[0].(boxed); ok && len(a) == 1 {
			return a[0], nil
		}
		return index(unboxed(a[0]), a[1:])
	})
	m["index"].params[0] = valParam
	add("call", 1, true, func(f *frame, a []any) (any, error) { return f.call(a[0], a[1:]) })
	add("print", 0, true, func(_ *frame, a []any) (any, error) { return fmt.Sprint(a...), nil })
	add("println", 0, true, func(_ *frame, a []any) (any, error) { return fmt.Sprintln(a...), nil })
	add("html", 0, true, func(_ *frame, a []any) (any, error) { return template.HTMLEscaper(a...), nil })
	add("js", 0, true, func(_ *frame, a []any) (any, error) { return template.JSEscaper(a...), nil })
	add("urlquery", 0, true, func(_ *frame, a []any) (any, error) { return template.URLQueryEscaper(a...), nil })
	add("printf", 1, true, func(f *frame, a []any) (any, error) {
		if err := f.checkFormat(a[0].(string), a[1:]); err != nil {
			return nil, err
		}
		return fmt.Sprintf(a[0].(string), a[1:]...), nil
	})
	m["printf"].params[0] = newParam(reflect.TypeFor[string]())
	return m
}

var (
	errNoComparison = errors.New("missing argument for comparison")
	errBadType      = errors.New("invalid type for comparison")
)

func equalAny(v any, others []any) (bool, error) {
	if len(others) == 0 {
		return false, errNoComparison
	}
	for _, o := range others {
		if eq, err := equal(v, o); eq || err != nil {
			return eq, err
		}
	}
	return false, nil
}

// basic is a group of types that can be compared with each other.
type basic int

const (
	noBasic basic = iota
	boolBasic
	complexBasic
	intBasic
	floatBasic
	stringBasic
	uintBasic
)

func basicOf(r reflect.Value) basic {
	switch {
	case !r.IsValid():
		return noBasic
	case r.Kind() == reflect.Bool:
		return boolBasic
	case r.CanInt():
		return intBasic
	case r.CanUint():
		return uintBasic
	case r.CanFloat():
		return floatBasic
	case r.CanComplex():
		return complexBasic
	case r.Kind() == reflect.String:
		return stringBasic
	}
	return noBasic
}

func equal(a, b any) (bool, error) {
	switch x := a.(type) {
	case string:
		if y, ok := b.(string); ok {
			return x == y, nil
		}
	case bool:
		if y, ok := b.(bool); ok {
			return x == y, nil
		}
	case int:
		if y, ok := b.(int); ok {
			return x == y, nil
		}
	case float64:
		if y, ok := b.(float64); ok {
			return x == y, nil
		}
	}
	ra, rb := reflect.ValueOf(a), reflect.ValueOf(b)
	ka, kb := basicOf(ra), basicOf(rb)
	if ka != kb {
		switch {
		case ka == intBasic && kb == uintBasic:
			return ra.Int() >= 0 && uint64(ra.Int()) == rb.Uint(), nil
		case ka == uintBasic && kb == intBasic:
			return rb.Int() >= 0 && ra.Uint() == uint64(rb.Int()), nil
		case ra.IsValid() && rb.IsValid():
			return false, incompatible(ra, rb)
		}
		return false, nil
	}
	switch ka {
	case boolBasic:
		return ra.Bool() == rb.Bool(), nil
	case complexBasic:
		return ra.Complex() == rb.Complex(), nil
	case floatBasic:
		return ra.Float() == rb.Float(), nil
	case intBasic:
		return ra.Int() == rb.Int(), nil
	case uintBasic:
		return ra.Uint() == rb.Uint(), nil
	case stringBasic:
		return ra.String() == rb.String(), nil
	}
	return equalOther(ra, rb)
}

// equalOther compares values other than numbers, strings and booleans. They can only be compared
// with nil, unless they are comparable in Go.
func equalOther(a, b reflect.Value) (bool, error) {
	if a.IsValid() && b.IsValid() && a.Kind() != b.Kind() {
		return false, fmt.Errorf("non-comparable types %s: %v, %s: %v", shown(a), typeName(a.Type()), typeName(b.Type()),
			shown(b))
	}
	if isNil(a) || isNil(b) {
		return isNil(a) == isNil(b), nil
	}
	if !b.Type().Comparable() {
		return false, fmt.Errorf("non-comparable type %s: %v", shown(b), typeName(b.Type()))
	}
	return a.Interface() == b.Interface(), nil
}

// shown returns a value for a message, if it can be printed.
func shown(r reflect.Value) any {
	v := r.Interface()
	if checkSize(v) != nil {
		return "(a value too large to be shown)"
	}
	return v
}

func isNil(r reflect.Value) bool {
	return !r.IsValid() || canBeNil(r.Type()) && r.IsNil()
}

func incompatible(a, b reflect.Value) error {
	return fmt.Errorf("incompatible types for comparison: %v and %v", typeName(a.Type()), typeName(b.Type()))
}

func less(a, b any) (bool, error) {
	ra, rb := reflect.ValueOf(a), reflect.ValueOf(b)
	ka, kb := basicOf(ra), basicOf(rb)
	switch {
	case ka == noBasic || kb == noBasic:
		return false, errBadType
	case ka == intBasic && kb == uintBasic:
		return ra.Int() < 0 || uint64(ra.Int()) < rb.Uint(), nil
	case ka == uintBasic && kb == intBasic:
		return rb.Int() >= 0 && ra.Uint() < uint64(rb.Int()), nil
	case ka != kb:
		return false, incompatible(ra, rb)
	}
	switch ka {
	case floatBasic:
		return ra.Float() < rb.Float(), nil
	case intBasic:
		return ra.Int() < rb.Int(), nil
	case uintBasic:
		return ra.Uint() < rb.Uint(), nil
	case stringBasic:
		return ra.String() < rb.String(), nil
	}
	return false, errBadType
}

func lessEqual(a, b any) (bool, error) {
	if l, err := less(a, b); l || err != nil {
		return l, err
	}
	return equal(a, b)
}

func length(v any) (int, error) {
	r := reflect.ValueOf(v)
	if r.Kind() == reflect.Pointer || r.Kind() == reflect.Interface {
		if r.IsNil() {
			return 0, errors.New("len of nil pointer")
		}
		r = deref(r)
	}
	switch r.Kind() {
	case reflect.Invalid:
		return 0, errors.New("len of nil pointer")
	case reflect.Slice, reflect.Map, reflect.Array, reflect.String, reflect.Chan:
		return r.Len(), nil
	}
	return 0, fmt.Errorf("len of type %s", typeName(r.Type()))
}

func index(v any, indices []any) (any, error) {
	if v == nil {
		return nil, errors.New("index of untyped nil")
	}
	for _, i := range indices {
		var err error
		if m, ok := asMap(v); ok {
			if key, ok := i.(string); ok {
				v = m[key]
				continue
			}
		}
		if v, err = indexOne(v, i); err != nil {
			return nil, err
		}
	}
	return v, nil
}

func indexOne(v, index any) (any, error) {
	r := deref(reflect.ValueOf(v))
	switch r.Kind() {
	case reflect.Slice, reflect.Array, reflect.String:
		i, err := position(index)
		if err != nil {
			return nil, err
		}
		if i < 0 || i >= int64(r.Len()) {
			return nil, fmt.Errorf("index out of range: %d", i)
		}
		return r.Index(int(i)).Interface(), nil
	case reflect.Map:
		key, err := mapKey(index, r.Type().Key())
		if err != nil {
			return nil, err
		}
		if e := r.MapIndex(key); e.IsValid() {
			return e.Interface(), nil
		}
		return zero(newParam(r.Type().Elem())), nil
	case reflect.Invalid, reflect.Pointer:
		return nil, errors.New("index of nil pointer")
	}
	return nil, fmt.Errorf("can't index item of type %s", typeName(r.Type()))
}

func position(v any) (int64, error) {
	r := reflect.ValueOf(v)
	switch {
	case !r.IsValid():
		return 0, errors.New("cannot index slice/array with nil")
	case r.CanInt():
		return r.Int(), nil
	case r.CanUint():
		return int64(r.Uint()), nil
	}
	return 0, fmt.Errorf("cannot index slice/array with type %s", typeName(r.Type()))
}

func mapKey(v any, t reflect.Type) (reflect.Value, error) {
	r := reflect.ValueOf(v)
	switch {
	case !r.IsValid():
		if !canBeNil(t) {
			return r, fmt.Errorf("value is nil; should be of type %s", t)
		}
		return reflect.Zero(t), nil
	case r.Type().AssignableTo(t):
		return r, nil
	case (r.CanInt() || r.CanUint()) && isInteger(t) && r.Type().ConvertibleTo(t):
		return r.Convert(t), nil
	}
	return r, fmt.Errorf("value has type %s; should be %s", typeName(r.Type()), t)
}

func isInteger(t reflect.Type) bool {
	z := reflect.Zero(t)
	return z.CanInt() || z.CanUint()
}

// call calls a value that is a function.
func (f *frame) call(v any, args []any) (any, error) {
	r := reflect.ValueOf(v)
	switch {
	case !r.IsValid():
		return nil, errors.New("call of nil")
	case r.Kind() != reflect.Func:
		return nil, fmt.Errorf("non-function of type %s", typeName(r.Type()))
	}
	fn := newFunction("call", r)
	if len(args) < fn.fixed || !fn.variadic && len(args) > fn.fixed {
		return nil, fmt.Errorf("wrong number of args: got %d want %d", len(args), fn.fixed)
	}
	for i := range args {
		args[i] = f.check(args[i], fn.param(i))
	}
	return f.invoke(fn, args)
}
