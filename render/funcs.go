// SPDX-License-Identifier: Apache-2.0

package render

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/Masterminds/sprig/v3"
)

var (
	errEmptyPath = errors.New("YAML path cannot be empty")
	errNeedsCopy = errors.New("the values need a copy")
)

// raised is an error that a template asked for, with fail or required. Its
// text is the chart author's own.
type raised struct{ message string }

func (r *raised) Error() string { return r.message }

// functions are all that templates may call. The map is made once per
// operation.
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
	plain(boundedFuncs())
	plain(map[string]any{
		"toYaml":        toYAML,
		"mustToYaml":    mustToYAML,
		"toYamlPretty":  toYAMLPretty,
		"fromYaml":      fromYAML,
		"fromYamlArray": fromYAMLArray,
		"toJson":        toJSON,
		"mustToJson":    mustToJSON,
		"fromJson":      fromJSON,
		"fromJsonArray": fromJSONArray,
		"toToml":        toTOML,
		"mustToToml":    mustToTOML,
		"fromToml":      fromTOML,
		"lookup":        lookupFunc(in),
		"getHostByName": lookupHostFunc(in),
		"typeOf":        typeOf,
		"typeIs":        typeIs,
		"typeIsLike":    typeIsLike,
	})
	native := func(name string, fn func(f *frame, args []any) any, signature any) {
		d := newFunction(name, reflect.ValueOf(signature))
		d.native = fn
		m[name] = d
	}
	native("include", func(f *frame, a []any) any { return f.include(a[0].(string), a[1]) }, func(string, any) string { return "" })
	native("tpl", func(f *frame, a []any) any { return f.tpl(a[0].(string), a[1]) }, func(string, any) string { return "" })
	native("required", func(f *frame, a []any) any { return f.required(a[0].(string), a[1]) }, func(string, any) any { return nil })
	native("fail", func(f *frame, a []any) any { return f.fail(a[0].(string)) }, func(string) string { return "" })
	return m
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
	f.warnings = append(f.warnings, e.Place()+": "+fmt.Sprintf(format, args...))
}

func lookupFunc(in *Input) any {
	return func(apiVersion, kind, namespace, name string) (map[string]any, error) {
		if in.Lookup == nil {
			return map[string]any{}, nil
		}
		found, err := in.Lookup(apiVersion, kind, namespace, name)
		if found == nil && err == nil {
			found = map[string]any{}
		}
		return found, err
	}
}

func lookupHostFunc(in *Input) any {
	return func(host string) string {
		if in.LookupHost == nil {
			return ""
		}
		return in.LookupHost(host)
	}
}

// maxItems bounds the lists that functions make from nothing but a number.
const maxItems = 10_000_000

// boundedFuncs are sprig's functions whose result may be of any size, with a
// limit on it.
func boundedFuncs() map[string]any {
	all := sprig.GenericFuncMap()
	repeat := all["repeat"].(func(int, string) string)
	until := all["until"].(func(int) []int)
	untilStep := all["untilStep"].(func(int, int, int) []int)
	indent := all["indent"].(func(int, string) string)
	seq := all["seq"].(func(...int) string)
	bounded := func(name string) any {
		random := all[name].(func(int) string)
		return func(n int) (string, error) {
			if n > maxItems {
				return "", tooLarge(n)
			}
			return random(n), nil
		}
	}
	indented := func(n int, text string) (string, error) {
		if n > maxText || n*(strings.Count(text, "\n")+1) > maxText {
			return "", tooLarge(n)
		}
		return indent(n, text), nil
	}
	return map[string]any{
		"repeat": func(n int, text string) (string, error) {
			if n > 0 && len(text) > maxText/n {
				return "", tooLarge(n)
			}
			return repeat(n, text), nil
		},
		"until": func(n int) ([]int, error) {
			if n > maxItems || n < -maxItems {
				return nil, tooLarge(n)
			}
			return until(n), nil
		},
		"untilStep": func(from, to, step int) ([]int, error) {
			if step != 0 && abs(to-from)/abs(step) > maxItems {
				return nil, tooLarge(abs(to - from))
			}
			return untilStep(from, to, step), nil
		},
		"seq": func(params ...int) (string, error) {
			for _, n := range params {
				if abs(n) > maxItems {
					return "", tooLarge(n)
				}
			}
			return seq(params...), nil
		},
		"indent": indented,
		"nindent": func(n int, text string) (string, error) {
			text, err := indented(n, text)
			return "\n" + text, err
		},
		"randAlpha":    bounded("randAlpha"),
		"randAlphaNum": bounded("randAlphaNum"),
		"randAscii":    bounded("randAscii"),
		"randNumeric":  bounded("randNumeric"),
	}
}

func tooLarge(n int) error { return fmt.Errorf("%d is more than templates may ask for", n) }

func abs(n int) int {
	if n < 0 {
		return -n
	}
	return n
}
