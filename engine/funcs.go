// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"sync"

	"github.com/Masterminds/sprig/v3"

	"github.com/moonhelm/moonhelm/chart/values"
)

var (
	errNeedsCopy = errors.New("the values need a copy")
	// errInterfered is returned if a template modified data that the templates of other
	// charts may have read.
	errInterfered = errors.New("a template wrote to what all charts share")
)

// raised is an error from fail or required, with the template's message.
type raised struct{ message string }

func (r *raised) Error() string { return r.message }

// functions returns all functions of templates. They are created once per operation.
func functions(in *Input) map[string]*function {
	m := builtins()
	plain := func(from map[string]any) {
		for name, fn := range from {
			m[name] = newFunction(name, reflect.ValueOf(fn))
		}
	}
	plain(sprig.GenericFuncMap())
	delete(m, "env")
	delete(m, "expandenv")
	plain(durationFuncs())
	plain(map[string]any{
		"toYaml":        toYAML,
		"mustToYaml":    encodeYAML,
		"toYamlPretty":  toYAMLPretty,
		"fromYaml":      fromYAML,
		"fromYamlArray": fromYAMLArray,
		"fromJson":      fromJSON,
		"fromJsonArray": fromJSONArray,
		"toToml":        toTOML,
		"mustToToml":    mustToTOML,
		"fromToml":      fromTOML,
	})
	maps.Copy(m, inputFuncs(in))
	native := func(name string, fn func(f *frame, args []any) any, signature any) {
		d := newFunction(name, reflect.ValueOf(signature))
		d.native = fn
		m[name] = d
	}
	native("include", func(f *frame, a []any) any { return f.include(a[0].(string), a[1]) },
		func(string, any) string { return "" })
	native("tpl", func(f *frame, a []any) any { return f.tpl(a[0].(string), a[1]) },
		func(string, any) string { return "" })
	native("required", func(f *frame, a []any) any { return f.required(a[0].(string), a[1]) },
		func(string, any) any { return nil })
	native("fail", func(f *frame, a []any) any { return f.fail(a[0].(string)) }, func(string) string { return "" })
	for _, group := range []map[string]func(*frame, []any) any{mergeFuncs(), setFuncs(), copyFuncs(), encoders()} {
		for name, fn := range group {
			m[name].native = recovered(name, fn) // the signature is sprig's
		}
	}
	setLimits(m)
	return m
}

// inputFuncs returns the functions that depend on the input.
func inputFuncs(in *Input) map[string]*function {
	m := map[string]*function{}
	for name, fn := range map[string]any{"lookup": lookupFunc(in), "getHostByName": lookupHostFunc(in)} {
		m[name] = newFunction(name, reflect.ValueOf(fn))
	}
	return m
}

// recovered returns fn with panics as errors, because sprig's functions panic.
func recovered(name string, fn func(f *frame, args []any) any) func(f *frame, args []any) any {
	return func(f *frame, args []any) any {
		defer func() {
			switch r := recover().(type) {
			case nil:
			case *Error, cancelled, needsCopy:
				panic(r)
			default:
				f.failCall(name, asError(r))
			}
		}()
		return fn(f, args)
	}
}

func (f *frame) required(message string, v any) any {
	if v != nil && v != "" {
		return v
	}
	if f.in.Lint {
		f.warn("a required value is missing: %s", message)
		return ""
	}
	f.failCall("required", &raised{message})
	return nil
}

func (f *frame) fail(message string) any {
	if f.in.Lint {
		f.warn("a template failed: %s", message)
		return ""
	}
	f.failCall("fail", &raised{message})
	return nil
}

func (f *frame) warn(format string, args ...any) {
	e := f.newError()
	f.warnings = append(f.warnings, e.Position()+": "+fmt.Sprintf(format, args...))
}

func lookupFunc(in *Input) any {
	var one sync.Mutex // charts may be rendered at the same time
	return func(apiVersion, kind, namespace, name string) (map[string]any, error) {
		if in.Lookup == nil {
			return map[string]any{}, nil
		}
		one.Lock()
		defer one.Unlock()
		found, err := in.Lookup(apiVersion, kind, namespace, name)
		return values.Copy(found), err
	}
}

func lookupHostFunc(in *Input) any {
	var one sync.Mutex
	return func(host string) string {
		if in.LookupHost == nil {
			return ""
		}
		one.Lock()
		defer one.Unlock()
		return in.LookupHost(host)
	}
}
