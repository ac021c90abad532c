// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/Masterminds/sprig/v3"
)

// asError returns the value of a panic as an error.
func asError(r any) error {
	if err, ok := r.(error); ok {
		return err
	}
	return fmt.Errorf("%v", r)
}

var errCopyCyclic = errors.New("the value holds itself, so copying it would not end")

// copyFuncs returns deepCopy and mustDeepCopy. As in sprig, a part that a value contains twice
// is copied twice.
func copyFuncs() map[string]func(f *frame, args []any) any {
	other := sprig.GenericFuncMap()["mustDeepCopy"].(func(any) (any, error))
	m := map[string]func(f *frame, args []any) any{}
	for _, name := range []string{"deepCopy", "mustDeepCopy"} {
		m[name] = func(f *frame, args []any) any {
			w := newWeight()
			switch err := w.check(args[0]); {
			case errors.Is(err, errCyclic):
				f.failCall(name, errCopyCyclic)
			case err != nil:
				f.failCall(name, err)
			}
			nodes, _ := w.used()
			f.work(nodes)
			f.allocate(nodes * entrySize)
			v, err := deepCopy(args[0], other)
			if err != nil {
				f.failCall(name, err)
			}
			return v
		}
	}
	return m
}

// deepCopy copies maps and lists. other copies other values.
func deepCopy(v any, other func(any) (any, error)) (_ any, err error) {
	switch v := v.(type) {
	case string, bool, int, int64, float64:
		return v, nil
	case map[string]any:
		if v != nil {
			return copyTable(v, other)
		}
	case Values:
		if v != nil {
			m, err := copyTable(v, other)
			return Values(m), err
		}
	case []any:
		if v != nil {
			out := make([]any, len(v))
			for i, e := range v {
				if out[i], err = copyElement(e, other); err != nil {
					return nil, err
				}
			}
			return out, nil
		}
	}
	return other(v)
}

func copyTable(m map[string]any, other func(any) (any, error)) (_ map[string]any, err error) {
	out := make(map[string]any, len(m))
	for k, e := range m {
		if out[k], err = copyElement(e, other); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func copyElement(v any, other func(any) (any, error)) (any, error) {
	if r := reflect.ValueOf(v); v == nil || r.Kind() == reflect.Pointer && r.IsNil() {
		return nil, nil
	}
	return deepCopy(v, other)
}
