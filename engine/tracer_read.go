// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"text/template/parse"
)

// traceRead records that the fields idents of v are read, which the node n names.
func (f *frame) traceRead(v any, n parse.Node, idents []string) {
	name, found, last := f.trace.walk(v, idents)
	if found {
		if name != nil {
			f.trace.read(f.trace.value(*name, last))
		}
		return
	}
	switch n := n.(type) {
	case *parse.FieldNode:
		f.trace.readPart(f.trace.dot, last)
	case *parse.VariableNode:
		f.trace.readPart(f.traceVar(n.Ident[0]), last)
	}
}

// walk looks up keys in v, one in the other. found is set if one of the maps is an object; name is
// then the name of what the keys lead to, or nil if it is all of the values or of the data. last is
// the value, as far as maps lead to it.
func (t *tracer) walk(v any, keys []string) (name *Value, found bool, last any) {
	for i, key := range keys {
		o, ok := t.find(v)
		switch {
		case ok && o.name.Object == "" && !isObjectKey(o.value, key): // .Capabilities
			return &Value{Object: key, Path: keys[i+1:]}, true, nil
		case ok && o.name.Object == "":
			name, found = nil, true
		case name != nil:
			name.Path = appendKey(name.Path, key)
		case ok:
			n := o.name
			n.Path = appendKey(n.Path, key)
			name, found = &n, true
		}
		m, ok := asMap(v)
		if !ok {
			return name, found, nil
		}
		v = m[key]
	}
	if o, ok := t.find(v); ok && name == nil && o.name.Object != "" && len(o.name.Path) > 0 && found {
		n := o.name // the values of a subchart, from .Subcharts
		name = &n
	}
	return name, found, v
}

// isObjectKey reports whether a key of the data of templates leads to another object.
func isObjectKey(data any, key string) bool {
	m, _ := asMap(data)
	_, ok := addressOf(m[key])
	return ok
}

// readPart records that a part of a value is read that was computed from the values from.
func (t *tracer) readPart(from reads, part any) {
	if isTable(part) {
		t.read(from...)
		return
	}
	t.read(t.partOf(from, part)...)
}

// traceValue records that v is read, dot or a variable, which was computed from the values from.
func (f *frame) traceValue(v any, from reads) {
	o, ok := f.trace.find(v)
	switch {
	case !ok:
		f.trace.readPart(from, v)
	case o.name.Object != "" && len(o.name.Path) > 0:
		f.trace.read(f.trace.value(o.name, v))
	}
}

// traceVar returns the values that a variable was computed from.
func (f *frame) traceVar(name string) reads {
	for i := len(f.vars) - 1; i >= 0; i-- {
		if f.vars[i].name == name && i < len(f.trace.vars) {
			return f.trace.vars[i]
		}
	}
	return nil
}

// traceLookup records what a function reads that looks up keys in its argument.
func (f *frame) traceLookup(fn *function, args []any) {
	var v any
	var keys []any
	switch {
	case len(args) < 2:
		return
	case fn.name == "index" || fn.name == "get" || fn.name == "hasKey":
		v, keys = args[0], args[1:]
	case fn.name == "dig" && len(args) > 2:
		v, keys = args[len(args)-1], args[:len(args)-2]
	default:
		return
	}
	o, ok := f.trace.find(v)
	if !ok || o.name.Object == "" {
		return
	}
	name := o.name
	for _, key := range keys {
		if at, isInt := key.(int); isInt {
			name.Path = appendKey(name.Path, fmt.Sprintf("[%d]", at))
			list, _ := v.([]any)
			if v = nil; at >= 0 && at < len(list) {
				v = list[at]
			}
			continue
		}
		name.Path = appendKey(name.Path, fmt.Sprint(key))
		m, _ := asMap(v)
		v = m[fmt.Sprint(key)]
	}
	f.trace.read(f.trace.value(name, v))
}
