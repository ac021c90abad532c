// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"reflect"
	"unsafe"

	"github.com/Masterminds/sprig/v3"
)

// comparison compares two values with the rules of reflect.DeepEqual and counts the steps. It
// compares each pair of maps or lists once, so the time is proportional to the size in memory,
// even for values that contain themselves.
type comparison struct {
	*frame
	walked int
	seen   map[partPair]bool
}

type partPair struct{ a, b part }

// deepEqual reports whether a and b are deeply equal.
func (f *frame) deepEqual(a, b any) bool {
	c := comparison{frame: f}
	return c.equal(a, b, 0)
}

func (c *comparison) equal(a, b any, depth int) bool {
	if depth > maxMerge {
		c.failf("the values are nested too deep to be compared")
	}
	c.work(1)
	switch x := a.(type) {
	case nil:
		return b == nil
	case string:
		y, ok := b.(string)
		c.work(len(x) >> 8)
		return ok && x == y
	case bool:
		y, ok := b.(bool)
		return ok && x == y
	case int:
		y, ok := b.(int)
		return ok && x == y
	case int64:
		y, ok := b.(int64)
		return ok && x == y
	case float64:
		y, ok := b.(float64)
		return ok && x == y
	case map[string]any:
		y, ok := b.(map[string]any)
		return ok && c.tables(x, y, depth)
	case Values:
		y, ok := b.(Values)
		return ok && c.tables(x, y, depth)
	case []any:
		y, ok := b.([]any)
		return ok && c.lists(x, y, depth)
	}
	return c.others(reflect.ValueOf(a), reflect.ValueOf(b), depth)
}

func (c *comparison) tables(a, b map[string]any, depth int) bool {
	if (a == nil) != (b == nil) || len(a) != len(b) {
		return false
	}
	pair := partPair{part{pointerOf(a), -1}, part{pointerOf(b), -1}}
	if pair.a == pair.b || c.known(pair, depth) {
		return true
	}
	for k, x := range a {
		if y, ok := b[k]; !ok || !c.equal(x, y, depth+1) {
			return false
		}
	}
	return true
}

func (c *comparison) lists(a, b []any, depth int) bool {
	if (a == nil) != (b == nil) || len(a) != len(b) {
		return false
	}
	pair := partPair{part{unsafe.Pointer(unsafe.SliceData(a)), len(a)}, part{unsafe.Pointer(unsafe.SliceData(b)), len(b)}}
	if pair.a == pair.b || c.known(pair, depth) {
		return true
	}
	for i, x := range a {
		if !c.equal(x, b[i], depth+1) {
			return false
		}
	}
	return true
}

// known reports whether the pair has been seen before. It is then equal or still being
// compared, because the comparison ends at the first difference.
func (c *comparison) known(p partPair, depth int) bool {
	if c.walked++; c.walked < rememberAfter && depth < 100 {
		return false
	}
	if c.seen[p] {
		return true
	}
	if c.seen == nil {
		c.seen = map[partPair]bool{}
	}
	c.allocate(2 * entrySize)
	c.seen[p] = true
	return false
}

// others compares values of other types. It compares lists of any type by element, because the
// elements may be maps.
func (c *comparison) others(a, b reflect.Value, depth int) bool {
	if !b.IsValid() || a.Type() != b.Type() {
		return false
	}
	if a.Kind() != reflect.Slice || a.Type().Elem().Kind() <= reflect.Complex128 {
		return reflect.DeepEqual(a.Interface(), b.Interface())
	}
	if a.IsNil() != b.IsNil() || a.Len() != b.Len() {
		return false
	}
	if a.UnsafePointer() == b.UnsafePointer() {
		return true
	}
	for i := range a.Len() {
		if !c.equal(a.Index(i).Interface(), b.Index(i).Interface(), depth+1) {
			return false
		}
	}
	return true
}

// setFuncs returns sprig's functions that compare the elements of lists.
func setFuncs() map[string]func(f *frame, args []any) any {
	all := sprig.GenericFuncMap()
	has := all["mustHas"].(func(any, any) (bool, error))
	without := all["mustWithout"].(func(any, ...any) ([]any, error))
	uniq := all["mustUniq"].(func(any) ([]any, error))
	// notList returns sprig's result for a value that is not a list, or fails with sprig's
	// error.
	notList := func(f *frame, name string, v any, err error) any {
		if err != nil {
			f.failCall(name, err)
		}
		return v
	}
	m := map[string]func(f *frame, args []any) any{}
	for _, name := range []string{"has", "mustHas"} {
		m[name] = func(f *frame, args []any) any {
			list, ok := f.elements(args[1])
			if !ok {
				v, err := has(nil, args[1])
				return notList(f, name, v, err)
			}
			return f.among(args[0], list)
		}
	}
	for _, name := range []string{"without", "mustWithout"} {
		m[name] = func(f *frame, args []any) any {
			list, ok := f.elements(args[0])
			if !ok {
				v, err := without(args[0])
				return notList(f, name, v, err)
			}
			return f.filter(list, func(_ []any, e any) bool { return !f.among(e, args[1:]) })
		}
	}
	for _, name := range []string{"uniq", "mustUniq"} {
		m[name] = func(f *frame, args []any) any {
			list, ok := f.elements(args[0])
			if !ok {
				v, err := uniq(args[0])
				return notList(f, name, v, err)
			}
			return f.filter(list, func(kept []any, e any) bool { return !f.among(e, kept) })
		}
	}
	m["deepEqual"] = func(f *frame, args []any) any { return f.deepEqual(args[0], args[1]) }
	return m
}

// elements returns the elements of a list or array of any type.
func (f *frame) elements(v any) ([]any, bool) {
	if list, ok := v.([]any); ok {
		return list, true
	}
	r := reflect.ValueOf(v)
	if r.Kind() != reflect.Slice && r.Kind() != reflect.Array {
		return nil, false
	}
	f.allocate(16 * r.Len())
	list := make([]any, r.Len())
	for i := range list {
		list[i] = r.Index(i).Interface()
	}
	return list, true
}

func (f *frame) among(v any, list []any) bool {
	for _, e := range list {
		if f.deepEqual(e, v) {
			return true
		}
	}
	return false
}

// filter returns the elements for which keep returns true. kept are the elements so far.
func (f *frame) filter(list []any, keep func(kept []any, e any) bool) []any {
	kept := []any{}
	for _, e := range list {
		if keep(kept, e) {
			kept = append(kept, e)
		}
	}
	return kept
}
