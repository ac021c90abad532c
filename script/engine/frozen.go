// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	rt "github.com/arnodel/golua/runtime"

	"github.com/moonhelm/moonhelm/internal/scriptapi"
	"github.com/moonhelm/moonhelm/internal/truncate"
	"github.com/moonhelm/moonhelm/script/wire"
)

// frozen is a map or list of the host that scripts can read.
type frozen struct {
	request *request
	path    string
	always  bool // it is read-only at every event
	from    any  // a map, a list, or the Ref of one
	seen    map[rt.Value]rt.Value
	// class is the class of package scriptapi that a map is of, items that of a list's
	// elements; "" is none.
	class, items string

	// more returns fields that the content lacks, assign takes what can be assigned after
	// all; both report whether they did. inner makes the value of a field. All may be nil.
	more   func(field string) (rt.Value, bool)
	assign func(field string, v rt.Value) (bool, error)
	inner  func(field string, v any) (rt.Value, error)
}

func (f *frozen) content() (any, error) {
	if ref, ok := f.from.(wire.Ref); ok {
		v, err := f.request.content(ref)
		if err != nil {
			return nil, err
		}
		f.from = v
	}
	return f.from, nil
}

func (f *frozen) get(k rt.Value) (rt.Value, error) {
	if v, ok := f.seen[k]; ok {
		return v, nil
	}
	name, isText := k.TryString()
	if isText && f.more != nil {
		if v, ok := f.more(name); ok {
			return v, nil
		}
	}
	if isText {
		v, there, err := f.lookUp(name)
		switch {
		case err != nil:
			return rt.NilValue, err
		case !there:
			return f.request.e.lacking(f.class, f.path, k, f.get)
		case f.inner != nil:
			return f.inner(name, v)
		}
		return f.value(k, v, f.path+"."+name)
	}
	content, err := f.content()
	if list, ok := content.([]any); ok && err == nil {
		if i, ok := rt.ToIntNoString(k); ok && i >= 1 && i <= int64(len(list)) {
			return f.value(k, list[i-1], f.path+"["+strconv.FormatInt(i, 10)+"]")
		}
	}
	return rt.NilValue, err
}

// fieldClass returns the class of what is in a field of a class, or that of the items of a
// list there.
func fieldClass(class, field string) (of, items string) {
	c, _ := scriptapi.ClassOf(class)
	in, _ := c.Field(field)
	name, list := in.Element()
	if list {
		return "", name
	}
	return name, ""
}

func (f *frozen) lookUp(name string) (v any, there bool, err error) {
	if ref, ok := f.from.(wire.Ref); ok {
		return f.request.field(ref, name)
	}
	m, _ := f.from.(map[string]any)
	v, there = m[name]
	return v, there, nil
}

// value returns what f has under a key.
func (f *frozen) value(k rt.Value, v any, path string) (rt.Value, error) {
	if isScalar(v) {
		return f.request.e.bridge.FromGo(v)
	}
	inner := &frozen{request: f.request, path: truncate.Bytes(path, 200, "…"), always: f.always, from: v}
	if name, isText := k.TryString(); !isText {
		inner.class = f.items
	} else if f.class != "" {
		inner.class, inner.items = fieldClass(f.class, name)
	}
	in := f.request.e.wrap(inner)
	f.keep(k, in)
	return in, nil
}

func (f *frozen) keep(k, v rt.Value) {
	if f.seen == nil {
		f.seen = map[rt.Value]rt.Value{}
	}
	f.seen[k] = v
}

func (f *frozen) set(k, v rt.Value) error {
	path := f.path
	if name, ok := k.TryString(); ok {
		if f.assign != nil {
			if done, err := f.assign(name, v); done || err != nil {
				return err
			}
		}
		path += "." + truncate.Bytes(name, 100, "…")
	} else if i, ok := k.TryInt(); ok {
		path += "[" + strconv.FormatInt(i, 10) + "]"
	}
	return f.request.readOnly(path, f.always)
}

// readOnly returns the error of an assignment.
func (q *request) readOnly(path string, always bool) error {
	if always || q.event == "" {
		return fmt.Errorf("%s is read-only", path)
	}
	return fmt.Errorf("%s is read-only at %s", path, q.event)
}

func (f *frozen) keys() ([]rt.Value, error) {
	content, err := f.content()
	if err != nil {
		return nil, err
	}
	list, _ := content.([]any)
	f.request.e.r.RequireMem(uint64(24 * len(list)))
	keys := make([]rt.Value, len(list))
	for i := range list {
		keys[i] = rt.IntValue(int64(i + 1))
	}
	if m, ok := content.(map[string]any); ok {
		return f.request.e.fieldKeys(m), nil
	}
	return keys, nil
}

// fieldKeys returns the keys of a map in their order.
func (e *engine) fieldKeys(m map[string]any) []rt.Value {
	e.r.RequireMem(uint64(40 * len(m)))
	e.r.RequireCPU(uint64(4 * len(m)))
	keys := make([]rt.Value, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		keys = append(keys, rt.StringValue(k))
	}
	return keys
}

func (f *frozen) length() (int64, error) {
	content, err := f.content()
	list, _ := content.([]any)
	return int64(len(list)), err
}

func (f *frozen) data() (any, error) {
	if f.inner != nil {
		return nil, errNotData()
	}
	return f.request.plain(f.from, 0)
}

// plain returns a value with all that it refers to.
func (q *request) plain(v any, depth int) (any, error) {
	if depth > wire.MaxDepth {
		return nil, wire.ErrDepth
	}
	q.e.r.RequireCPU(1)
	if ref, ok := v.(wire.Ref); ok {
		content, err := q.content(ref)
		if err != nil {
			return nil, err
		}
		v = content
	}
	switch v := v.(type) {
	case []any:
		q.e.r.RequireMem(uint64(64 + 16*len(v)))
		out := make([]any, len(v))
		for i, x := range v {
			var err error
			if out[i], err = q.plain(x, depth+1); err != nil {
				return nil, err
			}
		}
		return out, nil
	case map[string]any:
		q.e.r.RequireMem(uint64(64 + 64*len(v)))
		out := make(map[string]any, len(v))
		for k, x := range v {
			var err error
			if out[k], err = q.plain(x, depth+1); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return v, nil
}
