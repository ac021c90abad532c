// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"reflect"
	"unsafe"

	chartfiles "github.com/moonhelm/moonhelm/engine/engine"
)

// Encoding, printing or copying a value takes time in proportion to its expanded size: a list
// that contains another one twice is encoded with both, and encoding a value that contains
// itself does not terminate. A weight computes the expanded size in advance, in time
// proportional to the value in memory, because it walks every part only once.

const (
	// maxNodes limits the nodes of a value that is encoded or copied.
	maxNodes = 4_000_000
	// maxNesting limits the nesting of a value that is encoded.
	maxNesting = 2000
	// nodeSize is the minimum number of bytes of an encoded node.
	nodeSize = 4
)

var (
	errTooBig = errors.New("the value is too large to be written")
	errCyclic = errors.New("the value holds itself, so writing it would not end")
)

// weight is the remaining number of nodes and bytes for the arguments of a function.
type weight struct {
	nodes, bytes int
	// walked counts the walked nodes.
	walked int
	// cyclic is set if a value contains itself.
	cyclic bool
	// seen are the maps and lists that were walked, recorded from a certain number on.
	seen map[part]*partSize
}

// part is a list, or a map if its length is -1.
type part struct {
	at     unsafe.Pointer
	length int
}

// partSize is the size of a part, once it is known.
type partSize struct {
	nodes, bytes int
	known        bool
}

func newWeight() weight { return weight{nodes: maxNodes, bytes: maxText} }

// checkSize returns an error for a value that is too large to encode.
func checkSize(v any) error {
	w := newWeight()
	return w.check(v)
}

// check subtracts the size of v and returns an error if it exceeds the weight.
func (w *weight) check(v any) error {
	switch {
	case w.add(v, maxNesting):
		return nil
	case w.cyclic:
		return errCyclic
	}
	return errTooBig
}

// used returns the nodes and bytes that were subtracted.
func (w *weight) used() (nodes, bytes int) { return maxNodes - w.nodes, maxText - w.bytes }

// add subtracts the size of v and reports whether the weight sufficed.
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

// part subtracts the size of a map or a list, which it walks unless the size is known.
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

// other subtracts the size of lists and maps of other types.
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
		for iter := r.MapRange(); iter.Next(); {
			if !w.add(iter.Key().Interface(), depth-1) || !w.add(iter.Value().Interface(), depth-1) {
				return false
			}
		}
	}
	return true
}
