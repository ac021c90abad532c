// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"reflect"
	"unsafe"

	chartfiles "github.com/moonhelm/moonhelm/engine/engine"
)

// Writing a value, printing it or copying it takes as long as the value is large
// when it is written out: a list that holds another one twice writes it twice,
// and a value that holds itself would be written without end. A weight finds
// out how large that is before, in time that grows with what is there only: the
// parts that it has seen it does not walk again.

const (
	// maxNodes bounds what is written or copied at a time.
	maxNodes = 4_000_000
	// maxNesting is how deep values may be nested to be written.
	maxNesting = 2000
	// nodeSize is what a node adds at least to a text that it is written to.
	nodeSize = 4
)

var (
	errTooBig = errors.New("the value is too large to be written")
	errCyclic = errors.New("the value holds itself, so writing it would not end")
)

// weight is what is left of the nodes and bytes that a function may be given.
type weight struct {
	nodes, bytes int
	// walked counts what was looked at.
	walked int
	// cyclic reports that a value holds itself.
	cyclic bool
	// seen are the maps and lists that were looked at, from a certain number on.
	seen map[part]*partSize
}

// part is a map, with the length -1, or a list.
type part struct {
	at     unsafe.Pointer
	length int
}

// partSize is what a part takes away from a weight, once that is known.
type partSize struct {
	nodes, bytes int
	known        bool
}

func newWeight() weight { return weight{nodes: maxNodes, bytes: maxText} }

// checkSize fails for values that cannot be written in bounded time.
func checkSize(v any) error {
	w := newWeight()
	return w.check(v)
}

// check takes v away and fails where there was less left.
func (w *weight) check(v any) error {
	switch {
	case w.add(v, maxNesting):
		return nil
	case w.cyclic:
		return errCyclic
	}
	return errTooBig
}

// used is what was taken away from a new weight: the nodes, and the bytes.
func (w *weight) used() (nodes, bytes int) { return maxNodes - w.nodes, maxText - w.bytes }

// add takes v away, and reports whether something was left.
func (w *weight) add(v any, depth int) bool {
	w.nodes--
	w.walked++
	if w.bytes -= nodeSize; depth < 0 || w.nodes < 0 || w.bytes < 0 {
		return false
	}
	switch v := v.(type) {
	case nil, bool, int, int64, float64:
		return true
	case string:
		w.bytes -= len(v)
		return w.bytes >= 0
	case map[string]any:
		return w.table(v, depth)
	case Values:
		return w.table(v, depth)
	case []any:
		return len(v) == 0 || w.part(part{unsafe.Pointer(unsafe.SliceData(v)), len(v)}, depth, func() bool {
			for _, e := range v {
				if !w.add(e, depth-1) {
					return false
				}
			}
			return true
		})
	case chartfiles.Files:
		return true // as large as the chart, at most
	}
	return w.other(reflect.ValueOf(v), depth)
}

func (w *weight) table(m map[string]any, depth int) bool {
	return len(m) == 0 || w.part(part{pointerOf(m), -1}, depth, func() bool {
		for k, e := range m {
			if w.bytes -= len(k); !w.add(e, depth-1) {
				return false
			}
		}
		return true
	})
}

// part walks a map or a list, unless what it takes away is known.
func (w *weight) part(p part, depth int, walk func() bool) bool {
	if w.walked < rememberAfter && depth > maxNesting-100 {
		return walk()
	}
	if size := w.seen[p]; size != nil {
		w.cyclic = w.cyclic || !size.known
		w.nodes -= size.nodes
		w.bytes -= size.bytes
		return size.known && w.nodes >= 0 && w.bytes >= 0
	}
	if w.seen == nil {
		w.seen = map[part]*partSize{}
	}
	size := &partSize{nodes: w.nodes, bytes: w.bytes}
	w.seen[p] = size
	if !walk() {
		return false
	}
	*size = partSize{nodes: size.nodes - w.nodes, bytes: size.bytes - w.bytes, known: true}
	return true
}

// other weighs lists and maps of other types, which may hold anything as well.
func (w *weight) other(r reflect.Value, depth int) bool {
	r = deref(r)
	switch r.Kind() {
	case reflect.String:
		w.bytes -= r.Len()
		return w.bytes >= 0
	case reflect.Slice, reflect.Array:
		if k := r.Type().Elem().Kind(); k <= reflect.Complex128 {
			w.bytes -= r.Len()
			return w.bytes >= 0
		}
		for i := range r.Len() {
			if !w.add(r.Index(i).Interface(), depth-1) {
				return false
			}
		}
	case reflect.Map:
		for it := r.MapRange(); it.Next(); {
			if !w.add(it.Key().Interface(), depth-1) || !w.add(it.Value().Interface(), depth-1) {
				return false
			}
		}
	}
	return true
}
