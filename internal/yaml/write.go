// SPDX-License-Identifier: Apache-2.0

package yaml

import (
	"reflect"
	"slices"
	"unsafe"
)

// writer writes values in block style. What keys and scalars look like, and in which order
// keys come, is its manner's: [readable] for people, [library] for the bytes of [Marshal].
type writer struct {
	text []byte
	manner
	// step is how much deeper a map stands than the key that holds it; dashes is that for a
	// list.
	step, dashes int
	// lineStart is where the current line begins.
	lineStart int
	// limits are checked where set.
	limits *Limits
	// failed reports that the value has no form that the manner knows, or is too large.
	failed bool
	// open are the maps that are being written, the outermost first, where there are limits.
	open []unsafe.Pointer
}

// manner is one look of keys and scalars. A level is 0 for the whole document, 1 for its
// metadata, and 2 for what is anywhere else.
type manner interface {
	// order puts the keys of a map in order.
	order(keys []string, level int)
	// key writes a key of a map whose keys stand at column, without its colon.
	key(w *writer, key string, column int)
	// scalar writes a value that is not a map or list with something in it. Its further lines
	// stand at column, which is step deeper than what holds it.
	scalar(w *writer, v any, column, step int)
}

// Limits bound what is written of a value.
type Limits struct {
	Text  int // bytes
	Depth int // levels
	// Convert, if not nil, is asked for a map[string]any or another value that can be written
	// in the place of one of a type that is not known.
	Convert func(v any) any
}

func (w *writer) put(s string) { w.text = append(w.text, s...) }

func (w *writer) newline() {
	w.text = append(w.text, '\n')
	w.lineStart = len(w.text)
}

func (w *writer) indent(n int) {
	for range n {
		w.text = append(w.text, ' ')
	}
}

// size returns whether v is a map, or else a list, and its length; -1 for anything else.
func size(v any) (isMap bool, n int) {
	switch v := v.(type) {
	case map[string]any:
		return true, len(v)
	case map[string]string:
		return true, len(v)
	case []any:
		return false, len(v)
	case []string:
		return false, len(v)
	}
	return false, -1
}

// value writes what follows a key's colon, or a dash, that stands at column.
func (w *writer) value(v any, column int, item bool, level int) {
	isMap, n := size(v)
	if n < 0 && w.limits != nil && w.limits.Convert != nil {
		v = w.limits.Convert(v)
		isMap, n = size(v)
	}
	switch {
	case item:
		w.put(" ")
		w.node(v, column+2, 2, level)
		return
	case n <= 0:
		w.put(" ")
		w.node(v, column+w.step, w.step, level)
		return
	case isMap:
		column += w.step
	default:
		column += w.dashes
	}
	w.newline()
	w.indent(column)
	w.node(v, column, w.step, level)
}

// node writes a value whose first line is begun already, without the line feed behind it.
// Its further lines stand at column.
func (w *writer) node(v any, column, step, level int) {
	switch v := v.(type) {
	case map[string]any:
		table(w, v, column, level)
	case map[string]string:
		table(w, v, column, level)
	case []any:
		list(w, v, column)
	case []string:
		list(w, v, column)
	default:
		w.scalar(w, v, column, step)
	}
}

// table writes the entries of a map.
func table[V any](w *writer, m map[string]V, column, level int) {
	switch {
	case m == nil:
		w.put("null")
		return
	case len(m) == 0:
		w.put("{}")
		return
	case w.limits != nil:
		if !w.enter(reflect.ValueOf(m).UnsafePointer(), column) {
			return
		}
		defer func() { w.open = w.open[:len(w.open)-1] }()
	}
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	w.order(keys, level)
	for i, k := range keys {
		if w.full() {
			return
		}
		if i > 0 {
			w.newline()
			w.indent(column)
		}
		w.key(w, k, column)
		w.put(":")
		below := 2
		if level == 0 && k == "metadata" {
			below = 1
		}
		w.value(m[k], column, false, below)
	}
}

// enter notes a map; it is false for one that holds itself, and for one too deep.
func (w *writer) enter(m unsafe.Pointer, column int) bool {
	if slices.Contains(w.open, m) || column > 2*w.limits.Depth {
		w.failed = true
		return false
	}
	w.open = append(w.open, m)
	return true
}

func (w *writer) full() bool {
	w.failed = w.failed || w.limits != nil && len(w.text) > w.limits.Text
	return w.failed
}

func list[V any](w *writer, l []V, column int) {
	switch {
	case l == nil:
		w.put("null")
		return
	case len(l) == 0:
		w.put("[]")
		return
	case w.limits != nil && column > 2*w.limits.Depth:
		w.failed = true
		return
	}
	for i, v := range l {
		if w.full() {
			return
		}
		if i > 0 {
			w.newline()
			w.indent(column)
		}
		w.put("-")
		w.value(v, column, true, 2)
	}
}

// block writes the lines of a literal block at column, without its last line feed.
func (w *writer) block(header, body string, column int) {
	w.put(header)
	for at := 0; at <= len(body); {
		end := lineEnd(body, at)
		w.newline()
		if end > at {
			w.indent(column)
			w.put(body[at:end])
		}
		at = end + 1
	}
}
