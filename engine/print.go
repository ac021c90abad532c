// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"reflect"
	"strconv"
	"sync"
)

// buffer collects the output of a template. Buffers are reused.
type buffer struct{ data []byte }

var buffers = sync.Pool{New: func() any { return &buffer{data: make([]byte, 0, 4096)} }}

func newBuffer() *buffer {
	b := buffers.Get().(*buffer)
	b.data = b.data[:0]
	return b
}

func (b *buffer) free() {
	if cap(b.data) <= 1<<20 {
		buffers.Put(b)
	}
}

// write writes v like Go's templates.
func (f *frame) write(v any) {
	b := f.out
	before := len(b.data)
	switch v := v.(type) {
	case nil:
		b.data = append(b.data, noValue...)
	case string:
		b.data = append(b.data, v...)
	case int:
		b.data = strconv.AppendInt(b.data, int64(v), 10)
	case int64:
		b.data = strconv.AppendInt(b.data, v, 10)
	case bool:
		b.data = strconv.AppendBool(b.data, v)
	default:
		w := newWeight()
		if err := w.check(v); err != nil {
			f.failf("%v", err)
		}
		nodes, _ := w.used()
		f.work(nodes)
		p, ok := printable(v)
		if !ok {
			f.failf("can't print %s of type %s", f.node, typeName(reflect.TypeOf(v)))
		}
		b.data = fmt.Append(b.data, p)
	}
	f.allocate(len(b.data) - before)
	f.checkOutput()
}

// printable returns the value that fmt prints for v: the value that a pointer refers to, but
// with the methods of the pointer.
func printable(v any) (any, bool) {
	var r reflect.Value
	if b, ok := v.(boxed); ok {
		r = b.Value
	} else if r = reflect.ValueOf(v); r.Kind() == reflect.Pointer {
		r = deref(r)
	}
	if printsItself(r.Type()) {
		return r.Interface(), true
	}
	if r.CanAddr() && printsItself(reflect.PointerTo(r.Type())) {
		return r.Addr().Interface(), true
	}
	if r.Kind() == reflect.Chan || r.Kind() == reflect.Func {
		return nil, false
	}
	return r.Interface(), true
}

func printsItself(t reflect.Type) bool {
	return t.Implements(errorType) || t.Implements(reflect.TypeFor[fmt.Stringer]())
}

// typeName returns the name of a type.
func typeName(t reflect.Type) string {
	if t == nil {
		return "<nil>"
	}
	return t.String()
}
