// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	rt "github.com/arnodel/golua/runtime"

	"github.com/moonhelm/moonhelm/script/wire"
)

// What a value is charged in Go.
const (
	goTableSize = 64
	goItemSize  = 16
	goFieldSize = 64
)

// ToGo makes v a Go value that shares nothing but text with it. Null becomes
// nil, and so does Lua's nil. What is not data (functions, numbers that are not
// finite, a table that holds itself or cannot be told to be a list or a map) is
// an error of type [*Error] that names the place.
func (b *Bridge) ToGo(v rt.Value) (any, error) {
	w := walk{Bridge: b}
	return w.value(v)
}

// ToWire is ToGo, but a table for which [Bridge.ToRef] returns a Ref becomes that Ref.
func (b *Bridge) ToWire(v rt.Value) (any, error) {
	w := walk{Bridge: b, refs: b.ToRef != nil}
	return w.value(v)
}

// Lend is ToGo for a value that is needed for a short time. It returns the memory that was
// charged, also with an error: release it once.
func (b *Bridge) Lend(v rt.Value) (value any, charged uint64, err error) {
	w := walk{Bridge: b}
	value, err = w.value(v)
	return value, w.charged, err
}

// walk is the traversal of a value.
type walk struct {
	*Bridge
	refs    bool
	charged uint64
	inside  []*rt.Table // the tables around the one that is read
}

func (w *walk) value(v rt.Value) (any, error) {
	switch v.Type() {
	case rt.NilType:
		return nil, nil
	case rt.BoolType:
		return v.AsBool(), nil
	case rt.IntType:
		return v.AsInt(), nil
	case rt.FloatType:
		f := v.AsFloat()
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, &Error{Problem: fmt.Sprintf("is %v, and data holds finite numbers only", f)}
		}
		return f, nil
	case rt.StringType:
		return v.AsString(), nil
	case rt.TableType:
		return w.content(v.AsTable())
	case rt.UserDataType:
		if w.IsNull(v) {
			return nil, nil
		}
	}
	return nil, &Error{Problem: "is a " + v.CustomTypeName() + ", which is not data"}
}

// content reads a table.
func (w *walk) content(t *rt.Table) (any, error) {
	w.Runtime.RequireCPU(4)
	if w.refs {
		if ref, ok := w.ToRef(t); ok {
			return ref, nil
		}
	}
	if slices.Contains(w.inside, t) {
		return nil, &Error{Problem: "is a table that holds itself"}
	}
	if len(w.inside) > wire.MaxDepth {
		return nil, tooDeep()
	}
	if w.Load != nil {
		if v, err := w.Load(t); err != nil || v != nil {
			return v, err
		}
	}
	w.inside = append(w.inside, t)
	defer func() { w.inside = w.inside[:len(w.inside)-1] }()

	k, err := w.count(t)
	if err != nil {
		return nil, err
	}
	list, known := w.IsList(t)
	if !known {
		if k.items > 0 && k.fields > 0 {
			return nil, &Error{Problem: fmt.Sprintf("is a table with numbered items and named keys (such as %q); it can be a "+
				"list or, by helm.map, a map", k.name)}
		}
		list = k.items > 0
	}
	if !list {
		return w.fields(t, k.items+k.fields)
	}
	switch {
	case k.fields > 0:
		return nil, &Error{Problem: fmt.Sprintf("is a list, and has the key %q", k.name), Key: k.name}
	case k.least < 1:
		return nil, &Error{Problem: fmt.Sprintf("is a list, and has an item %d; the first is 1", k.least)}
	case k.most != k.items:
		hole := missing(t)
		return nil, &Error{Missing: hole, Problem: fmt.Sprintf("is a list whose item %d is missing (helm.null keeps a "+
			"place, helm.map makes keys of numbers)", hole)}
	}
	return w.items(t, k.items)
}

// keys summarizes the keys of a table.
type keys struct {
	items, fields int64  // whole numbers, text
	least, most   int64  // of the whole numbers, at least one where there are none
	name          string // one of the text keys, the first by the alphabet
}

func (w *walk) count(t *rt.Table) (keys, error) {
	k := keys{least: 1}
	for key, _, _ := t.Next(rt.NilValue); !key.IsNil(); key, _, _ = t.Next(key) {
		w.Runtime.RequireCPU(1)
		switch key.Type() {
		case rt.IntType:
			n := key.AsInt()
			k.items, k.least, k.most = k.items+1, min(k.least, n), max(k.most, n)
		case rt.StringType:
			if name := key.AsString(); k.fields == 0 || name < k.name {
				k.name = name
			}
			k.fields++
		default:
			text, _ := key.ToString()
			if key.Type() != rt.FloatType && key.Type() != rt.BoolType {
				text = key.TypeName()
			}
			return k, &Error{Problem: fmt.Sprintf("is a table with the key %s; keys of data are text", text)}
		}
	}
	return k, nil
}

// missing returns the first index without an item.
func missing(t *rt.Table) int64 {
	n := int64(1)
	for !t.Get(rt.IntValue(n)).IsNil() {
		n++
	}
	return n
}

func (w *walk) charge(mem uint64) {
	w.Runtime.RequireMem(mem)
	w.charged += mem
}

func (w *walk) items(t *rt.Table, n int64) (any, error) {
	w.Runtime.RequireCPU(uint64(n))
	w.charge(goTableSize + goItemSize*uint64(n))
	out := make([]any, n)
	for i := range n {
		v, err := w.value(t.Get(rt.IntValue(i + 1)))
		if err != nil {
			return nil, Below(i+1, err)
		}
		out[i] = v
	}
	return out, nil
}

func (w *walk) fields(t *rt.Table, n int64) (any, error) {
	w.Runtime.RequireCPU(2 * uint64(n))
	w.charge(goTableSize + goFieldSize*uint64(n))
	out := make(map[string]any, n)
	for key, v, _ := t.Next(rt.NilValue); !key.IsNil(); key, v, _ = t.Next(key) {
		name, ok := key.TryString()
		if !ok {
			name = strconv.FormatInt(key.AsInt(), 10)
		}
		if _, twice := out[name]; twice {
			return nil, &Error{Problem: fmt.Sprintf("is a map that has the key %q as text and as a number", name)}
		}
		field, err := w.value(v)
		if err != nil {
			return nil, Below(name, err)
		}
		out[name] = field
	}
	return out, nil
}
