// SPDX-License-Identifier: Apache-2.0

package yaml

import (
	"reflect"
	"slices"
	"unsafe"
)

// writer writes values in block style. Its manner determines the format of keys and scalars
// and the order of keys: [readable] for people, [library] for the same bytes as [Marshal].
type writer struct {
	text []byte
	manner
	// step is the indentation of a map relative to its key, and dashes that of a list.
	step, dashes int
	// lineStart is the offset of the current line.
	lineStart int
	// limits are checked unless zero.
	limits *Limits
	// failed is set if the manner cannot write the value or a limit is exceeded.
	failed bool
	// open are the maps that are being written, outermost first, if there are limits.
	open []unsafe.Pointer
}

// manner is a style for keys and scalars. A level is 0 for the whole document, 1 for its
// metadata, and 2 for all other values.
type manner interface {
	// order sorts the keys of a map.
	order(keys []string, level int)
	// key writes a key without its colon. column is that of the map's keys.
	key(w *writer, key string, column int)
	// scalar writes a scalar, or an empty map or list. Lines after the first begin at
	// column, which is indented by step.
	scalar(w *writer, v any, column, step int)
}

// Limits are the limits for writing a value.
type Limits struct {
	Text  int // bytes
	Depth int // levels
	// Convert, if not nil, converts a value of an unknown type into a map[string]any or
	// another value that can be written.
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

// size reports whether v is a map and returns the length of a map or list, or -1 for other
// values.
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

// value writes the value after a key's colon or a dash at column.
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

// node writes a value on the current line, without the line feed after it. Lines after the
// first begin at column.
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

// enter records a map. It returns false for a map that contains itself or is nested too
// deeply.
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
	for pos := 0; pos <= len(body); {
		end := lineEnd(body, pos)
		w.newline()
		if end > pos {
			w.indent(column)
			w.put(body[pos:end])
		}
		pos = end + 1
	}
}
