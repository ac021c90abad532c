// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	rt "github.com/arnodel/golua/runtime"

	"github.com/moonhelm/moonhelm/script/wire"
)

// frozen is a map or list of the host that scripts can read.
type frozen struct {
	request *request
	path    string
	// always reports that it is read-only at every event.
	always bool
	from   any // a map, a list, or a Ref to one
	kids   map[rt.Value]rt.Value
	// missing is what a field that is not there reads as.
	missing map[string]any
	// alias is the other name of a field.
	alias map[string]string
	// assign takes what may be assigned after all.
	assign func(field string, v rt.Value) (bool, error)
	// more are fields of our own.
	more map[string]rt.Value
}

func (f *frozen) level() (any, error) {
	if ref, ok := f.from.(wire.Ref); ok {
		v, err := f.request.level(ref)
		if err != nil {
			return nil, err
		}
		f.from = v
	}
	return f.from, nil
}

func (f *frozen) get(k rt.Value) (rt.Value, error) {
	if v, ok := f.kids[k]; ok {
		return v, nil
	}
	if name, ok := k.TryString(); ok {
		return f.field(name)
	}
	level, err := f.level()
	if err != nil {
		return rt.NilValue, err
	}
	if level, ok := level.([]any); ok {
		if i, ok := rt.ToIntNoString(k); ok && i >= 1 && i <= int64(len(level)) {
			return f.kid(k, level[i-1], f.path+"["+strconv.FormatInt(i, 10)+"]")
		}
	}
	return rt.NilValue, nil
}

// field is what a map reads as under a name.
func (f *frozen) field(name string) (rt.Value, error) {
	k := rt.StringValue(name)
	if v, ok := f.more[name]; ok {
		return v, nil
	}
	if other, ok := f.alias[name]; ok {
		name = other
	}
	got, err := f.named(name)
	if err != nil {
		return rt.NilValue, err
	}
	v := got.value
	if v == nil {
		other, known := f.missing[name]
		switch {
		case known:
			v = other
		case got.there:
			return f.request.e.bridge.Null, nil
		default:
			return rt.NilValue, nil
		}
	}
	return f.kid(k, v, f.path+"."+name)
}

// named is the field of that name; a list has none.
func (f *frozen) named(name string) (field, error) {
	if ref, ok := f.from.(wire.Ref); ok && !ref.List {
		return f.request.field(ref, name)
	}
	level, err := f.level()
	table, _ := level.(map[string]any)
	v, there := table[name]
	return field{v, there}, err
}

// kid is a value in f.
func (f *frozen) kid(k rt.Value, v any, path string) (rt.Value, error) {
	switch v.(type) {
	case map[string]any, []any, wire.Ref:
	default:
		return f.request.e.bridge.FromGo(v)
	}
	kid := f.request.e.wrap(&frozen{request: f.request, path: clip(path, 200), always: f.always, from: v})
	if f.kids == nil {
		f.kids = map[rt.Value]rt.Value{}
	}
	f.kids[k] = kid
	return kid, nil
}

func (f *frozen) set(k, v rt.Value) error {
	path := f.path
	if name, ok := k.TryString(); ok {
		if f.assign != nil {
			if done, err := f.assign(name, v); done || err != nil {
				return err
			}
		}
		path += "." + clip(name, 100)
	} else if i, ok := k.TryInt(); ok {
		path += "[" + strconv.FormatInt(i, 10) + "]"
	}
	return f.request.readOnly(path, f.always)
}

// readOnly is the error of an assignment.
func (q *request) readOnly(path string, always bool) error {
	if always || q.event == "" {
		return fmt.Errorf("%s is read-only", path)
	}
	return fmt.Errorf("%s is read-only at %s", path, q.event)
}

func (f *frozen) keys() ([]rt.Value, error) {
	level, err := f.level()
	if err != nil {
		return nil, err
	}
	e := f.request.e
	switch level := level.(type) {
	case []any:
		e.r.RequireMem(uint64(24 * len(level)))
		keys := make([]rt.Value, len(level))
		for i := range level {
			keys[i] = rt.IntValue(int64(i + 1))
		}
		return keys, nil
	case map[string]any:
		e.r.RequireMem(uint64(40 * len(level)))
		e.r.RequireCPU(uint64(4 * len(level)))
		keys := make([]rt.Value, 0, len(level))
		for _, k := range slices.Sorted(maps.Keys(level)) {
			keys = append(keys, rt.StringValue(k))
		}
		return keys, nil
	}
	return nil, nil
}

func (f *frozen) length() (int64, error) {
	level, err := f.level()
	list, _ := level.([]any)
	return int64(len(list)), err
}

// Plain implements [bridge.Plain].
func (f *frozen) Plain() (any, error) { return f.request.plain(f.from, 0) }

// plain is a value with all that it refers to.
func (q *request) plain(v any, depth int) (any, error) {
	if depth > wire.MaxDepth {
		return nil, wire.ErrDepth
	}
	q.e.r.RequireCPU(1)
	if ref, ok := v.(wire.Ref); ok {
		level, err := q.level(ref)
		if err != nil {
			return nil, err
		}
		v = level
	}
	switch v := v.(type) {
	case []any:
		q.e.r.RequireMem(uint64(64 + 16*len(v)))
		out := make([]any, len(v))
		for i, x := range v {
			p, err := q.plain(x, depth+1)
			if err != nil {
				return nil, err
			}
			out[i] = p
		}
		return out, nil
	case map[string]any:
		q.e.r.RequireMem(uint64(64 + 64*len(v)))
		out := make(map[string]any, len(v))
		for k, x := range v {
			p, err := q.plain(x, depth+1)
			if err != nil {
				return nil, err
			}
			out[k] = p
		}
		return out, nil
	}
	return v, nil
}
