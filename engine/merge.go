// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"maps"
	"math"
	"reflect"
	"slices"
	"unsafe"

	"github.com/Masterminds/sprig/v3"
)

// The functions of this file merge maps like sprig's merge family, with which a fuzz test
// compares them. Sprig's implementation overflows the stack for a map that contains itself.
// Templates can create such maps, and so can a merge, if its first source makes the destination
// contain itself.

// merge is the state of a call of a merge function.
type merge struct {
	*frame
	overwrite bool
	// walked counts the merged maps. From rememberAfter on, pairs are recorded.
	walked int
	// changes counts the entries that were changed.
	changes int
	// pairs are the pairs of maps that are being merged or were merged.
	pairs map[mapPair]*merged
	// single merges an entry of a type that is rare in charts.
	single func(map[string]any, ...map[string]any) (any, error)
}

// mapPair is a destination and a source.
type mapPair struct{ dst, src unsafe.Pointer }

// merged is the state of a pair: the number of changes when merging it began, and whether it
// has ended.
type merged struct {
	changes int
	ended   bool
}

const (
	// rememberAfter is the number of walked maps and lists from which on they are
	// recorded. Nearly all walks are shorter.
	rememberAfter = 4096
	// maxMerge limits the nesting of merged maps.
	maxMerge = 10_000
	// entrySize is the approximate size of a map entry in bytes.
	entrySize = 50
)

var (
	errEndless    = errors.New("the maps hold themselves, so merging them would not end")
	errMergeDepth = errors.New("the maps are nested too deep to be merged")
)

// mergeFuncs returns the merge functions. Those without the prefix must return "" if two
// entries cannot be merged.
func mergeFuncs() map[string]func(f *frame, args []any) any {
	all := sprig.GenericFuncMap()
	m := map[string]func(f *frame, args []any) any{}
	add := func(name, mustName string, overwrite bool) {
		single := all[mustName].(func(map[string]any, ...map[string]any) (any, error))
		call := func(name string, must bool) func(f *frame, args []any) any {
			return func(f *frame, args []any) any {
				run := merge{frame: f, overwrite: overwrite, single: single}
				v, err := run.all(args)
				var broke *panicError
				switch {
				case err == nil:
					return v
				case must, errors.As(err, &broke), errors.Is(err, errEndless), errors.Is(err, errMergeDepth):
					f.failCall(name, err)
				}
				return ""
			}
		}
		m[name], m[mustName] = call(name, false), call(mustName, true)
	}
	add("merge", "mustMerge", false)
	add("mergeOverwrite", "mustMergeOverwrite", true)
	return m
}

// all merges the further arguments into the first one and returns it.
func (m *merge) all(args []any) (map[string]any, error) {
	dst, _ := args[0].(map[string]any)
	for _, a := range args[1:] {
		src, _ := a.(map[string]any)
		if src == nil {
			continue
		}
		if dst == nil {
			dst = map[string]any{}
		}
		if err := m.tables(dst, src, 0); err != nil {
			return nil, err
		}
	}
	return dst, nil
}

// tables merges src into dst, which are not nil.
func (m *merge) tables(dst, src map[string]any, depth int) error {
	m.work(1 + len(src))
	m.walked++
	if m.walked > rememberAfter || depth > 100 {
		p := mapPair{pointerOf(dst), pointerOf(src)}
		known, end := m.begin(p)
		switch {
		case end && known.ended:
			return nil
		case end:
			return errEndless
		case depth > maxMerge:
			return errMergeDepth
		}
		defer func() { known.ended = true }()
	}
	for _, key := range slices.Sorted(maps.Keys(src)) {
		if err := m.entry(dst, key, src[key], depth); err != nil {
			return err
		}
	}
	return nil
}

// begin reports whether merging the pair again would have no effect, because there were no
// changes since merging it last began.
func (m *merge) begin(p mapPair) (known *merged, end bool) {
	if m.pairs == nil {
		m.pairs = map[mapPair]*merged{}
	}
	known = m.pairs[p]
	if known != nil && known.changes == m.changes {
		return known, true
	}
	m.allocate(2 * entrySize)
	known = &merged{changes: m.changes}
	m.pairs[p] = known
	return known, false
}

// entry merges s into the entry of dst.
func (m *merge) entry(dst map[string]any, key string, s any, depth int) error {
	d, had := dst[key]
	if s == nil {
		if m.overwrite {
			m.set(dst, key, nil)
		}
		return nil
	}
	if !mergeable(s) || had && !mergeable(d) {
		return m.other(dst, key, s)
	}
	if over, ok := asMap(s); ok {
		if under, ok := asMap(d); ok && under != nil {
			if err := m.tables(under, over, depth+1); err != nil {
				return err
			}
			if len(under) > 0 {
				return nil
			}
		}
	}
	if m.overwrite || !had || !truth(d) {
		m.set(dst, key, s)
	}
	return nil
}

func (m *merge) set(dst map[string]any, key string, v any) {
	old, had := dst[key]
	if had && identical(old, v) {
		return
	}
	if !had {
		m.allocate(entrySize)
	}
	m.changes++
	dst[key] = v
}

// mergeable reports whether entry supports the type of v. Sprig has special rules for pointers,
// structs and maps of other types.
func mergeable(v any) bool {
	switch v.(type) {
	case nil, string, bool, int, int64, float64, map[string]any, Values, []any, []string:
		return true
	}
	switch reflect.ValueOf(v).Kind() {
	case reflect.Slice, reflect.String, reflect.Bool,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return true
	}
	return false
}

// panicError is the value of a recovered panic.
type panicError struct{ error }

// other merges an entry with sprig, which looks only one level deep into maps of other types.
func (m *merge) other(dst map[string]any, key string, s any) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &panicError{asError(r)}
		}
	}()
	one := map[string]any{}
	d, had := dst[key]
	if had {
		one[key] = d
	}
	size := oddSize(d)
	_, err = m.single(one, map[string]any{key: s})
	if v, ok := one[key]; ok {
		if !had || !sameOdd(d, v) || oddSize(v) != size {
			m.changes++
		}
		dst[key] = v
	}
	return err
}

// sameOdd is identical for values of other kinds.
func sameOdd(a, b any) bool {
	ra, rb := reflect.ValueOf(a), reflect.ValueOf(b)
	if !ra.IsValid() || !rb.IsValid() || ra.Type() != rb.Type() {
		return ra.IsValid() == rb.IsValid()
	}
	switch ra.Kind() {
	case reflect.Map, reflect.Pointer, reflect.Slice, reflect.Func:
		return ra.UnsafePointer() == rb.UnsafePointer()
	}
	return ra.Comparable() && ra.Equal(rb)
}

// oddSize returns the length of a map.
func oddSize(v any) int {
	if r := reflect.ValueOf(v); r.Kind() == reflect.Map {
		return r.Len()
	}
	return 0
}

// identical reports whether a and b are the same value, or the same map or list.
func identical(a, b any) bool {
	switch a := a.(type) {
	case nil:
		return b == nil
	case string:
		b, ok := b.(string)
		return ok && a == b
	case bool:
		b, ok := b.(bool)
		return ok && a == b
	case int:
		b, ok := b.(int)
		return ok && a == b
	case float64:
		b, ok := b.(float64)
		return ok && math.Float64bits(a) == math.Float64bits(b)
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && pointerOf(a) == pointerOf(b)
	case Values:
		b, ok := b.(Values)
		return ok && pointerOf(a) == pointerOf(b)
	case []any:
		b, ok := b.([]any)
		return ok && len(a) == len(b) && unsafe.SliceData(a) == unsafe.SliceData(b) && (a == nil) == (b == nil)
	}
	return false
}

// pointerOf returns a pointer that identifies a map.
func pointerOf[M ~map[string]any](m M) unsafe.Pointer { return reflect.ValueOf(m).UnsafePointer() }
