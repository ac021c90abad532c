// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"fmt"

	rt "github.com/arnodel/golua/runtime"

	"github.com/moonhelm/moonhelm/script/wire"
)

// What a value is charged in Lua. For a table that is more than golua charges, since its hash
// has up to twice the slots that it needs.
const (
	luaTableSize = 128
	luaItemSize  = 32
	luaFieldSize = 96
)

// FromGo makes v a Lua value. Tables are new and share nothing with v. An
// rt.Value is taken as it is; of other types an int is an integer and anything
// else an error of type [*Error]. Depth is bounded by [wire.MaxDepth].
func (b *Bridge) FromGo(v any) (rt.Value, error) { return b.fromGo(v, 0) }

func (b *Bridge) fromGo(v any, depth int) (rt.Value, error) {
	if depth > wire.MaxDepth {
		return rt.NilValue, tooDeep()
	}
	switch v := v.(type) {
	case nil:
		return b.Null, nil
	case bool:
		return rt.BoolValue(v), nil
	case int64:
		return rt.IntValue(v), nil
	case int:
		return rt.IntValue(int64(v)), nil
	case float64:
		return rt.FloatValue(v), nil
	case string:
		b.Runtime.RequireCPU(1)
		b.Runtime.RequireBytes(len(v))
		return rt.StringValue(v), nil
	case []any:
		return b.fromList(v, depth)
	case map[string]any:
		return b.fromMap(v, depth)
	case wire.Ref:
		if b.FromRef != nil {
			return b.FromRef(v)
		}
	case rt.Value:
		return v, nil
	}
	return rt.NilValue, &Error{Problem: fmt.Sprintf("a %T has no form in Lua", v)}
}

func (b *Bridge) fromList(v []any, depth int) (rt.Value, error) {
	b.Runtime.RequireCPU(uint64(len(v)) + 1)
	b.Runtime.RequireMem(luaTableSize + luaItemSize*uint64(len(v)))
	t := rt.NewTable()
	for i, e := range v {
		item, err := b.fromGo(e, depth+1)
		if err != nil {
			return rt.NilValue, Below(int64(i+1), err)
		}
		t.Set(rt.IntValue(int64(i+1)), item)
	}
	return rt.TableValue(b.List(t)), nil
}

func (b *Bridge) fromMap(v map[string]any, depth int) (rt.Value, error) {
	b.Runtime.RequireCPU(uint64(len(v)) + 1)
	b.Runtime.RequireMem(luaTableSize + luaFieldSize*uint64(len(v)))
	t := rt.NewTable()
	for k, e := range v {
		b.Runtime.RequireBytes(len(k))
		item, err := b.fromGo(e, depth+1)
		if err != nil {
			return rt.NilValue, Below(k, err)
		}
		t.Set(rt.StringValue(k), item)
	}
	return rt.TableValue(b.Map(t)), nil
}
