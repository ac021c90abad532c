// SPDX-License-Identifier: Apache-2.0

package bridge_test

import (
	"encoding/json"
	"errors"
	"io"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/arnodel/golua/lib/base"
	rt "github.com/arnodel/golua/runtime"

	"github.com/moonhelm/moonhelm/script/engine/bridge"
	"github.com/moonhelm/moonhelm/script/wire"
)

// script runs Lua that may use helm.null, list and map, and returns what it
// returns.
func script(t *testing.T, b *bridge.Bridge, text string) rt.Value {
	t.Helper()
	r := b.Runtime
	env := r.GlobalEnv()
	base.Load(r)
	mark := func(name string, mark func(*rt.Table) *rt.Table) {
		r.SetEnvGoFunc(env, name, func(t *rt.Thread, c *rt.GoCont) (rt.Cont, error) {
			return c.PushingNext1(t.Runtime, rt.TableValue(mark(c.Arg(0).AsTable()))), nil
		}, 1, false)
	}
	mark("list", b.List)
	mark("map", b.Map)
	r.SetEnv(env, "null", b.Null)
	chunk, err := r.CompileAndLoadLuaChunk("test", []byte(text), rt.TableValue(env))
	if err != nil {
		t.Fatal(err)
	}
	v, err := rt.Call1(r.MainThread(), rt.FunctionValue(chunk))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestLuaBecomesGo(t *testing.T) {
	type m = map[string]any
	type l = []any
	for text, want := range map[string]any{
		`return nil`:                          nil,
		`return null`:                         nil,
		`return true`:                         true,
		`return 8080`:                         int64(8080),
		`return 9007199254740993`:             int64(9007199254740993),
		`return 2.0`:                          2.0,
		`return -0.5`:                         -0.5,
		`return "a\0b"`:                       "a\x00b",
		`return {}`:                           m{},
		`return list{}`:                       l{},
		`return map{}`:                        m{},
		`return {1, 2.0, "x", null}`:          l{int64(1), 2.0, "x", nil},
		`return map{"a", "b"}`:                m{"1": "a", "2": "b"},
		`return map{[8080]="http", x=1}`:      m{"8080": "http", "x": int64(1)},
		`return {["8080"]="http"}`:            m{"8080": "http"},
		`return {a={b={{c=list{}}}}}`:         m{"a": m{"b": l{m{"c": l{}}}}},
		`return {[1.0]="one"}`:                l{"one"},
		`local t = {1, 2} t[2]=nil return t`:  l{int64(1)},
		`local t = list{1} t[1]=nil return t`: l{},
		`local t = {} return {t, t}`:          l{m{}, m{}},
	} {
		b := bridge.New(rt.New(io.Discard))
		got, err := b.ToGo(script(t, b, text))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %#v, %v; want %#v", text, got, err, want)
		}
	}
}

func TestWhatIsNoDataIsNamedWithItsPlace(t *testing.T) {
	for text, want := range map[string]string{
		`return print`:                                       "the value is a function, which is not data",
		`return {a={b={1,print}}}`:                           "the value at .a.b[2] is a function, which is not data",
		`return {["a b"]={["x-y"]=print}}`:                   `the value at ["a b"]["x-y"] is a function, which is not data`,
		`return 0/0`:                                         "the value is NaN, and data holds finite numbers only",
		`return {x=1/0}`:                                     "the value at .x is +Inf, and data holds finite numbers only",
		`return {1, nil, 3}`:                                 "the value is a list whose item 2 is missing (helm.null keeps a place, helm.map makes keys of numbers)",
		`return {[8080]="x"}`:                                "the value is a list whose item 1 is missing (helm.null keeps a place, helm.map makes keys of numbers)",
		`return {[0]="x", "y"}`:                              "the value is a list, and has an item 0; the first is 1",
		`return {1, b=2, a=3}`:                               `the value is a table with numbered items and named keys (such as "a"); it can be a list or, by helm.map, a map`,
		`return list{1, b=2}`:                                `the value is a list, and has the key "b"`,
		`return map{["1"]="x", "y"}`:                         `the value is a map that has the key "1" as text and as a number`,
		`return {[true]=1}`:                                  "the value is a table with the key true; keys of data are text",
		`return {[1.5]=1}`:                                   "the value is a table with the key 1.5; keys of data are text",
		`return {[{}]=1}`:                                    "the value is a table with the key table; keys of data are text",
		`local t = {} t.a = {b=t} return t`:                  "the value at .a.b is a table that holds itself",
		`local t for i = 1, 210 do t = {t} end return {x=t}`: "nests deeper than 200 levels",
	} {
		b := bridge.New(rt.New(io.Discard))
		_, err := b.ToGo(script(t, b, text))
		var e *bridge.Error
		if !errors.As(err, &e) || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v; want %s", text, err, want)
		}
	}
}

func TestGoBecomesLuaAndComesBack(t *testing.T) {
	for _, v := range []any{
		nil, true, false, int64(0), int64(8080), int64(9007199254740993), int64(math.MinInt64), 2.0, 0.1, math.MaxFloat64,
		"", "text", "a\x00b\xff", []any{}, map[string]any{}, []any{nil}, []any{[]any{}, map[string]any{}},
		map[string]any{"1": "x", "2": "y"}, map[string]any{"": nil, "a": []any{int64(1), 1.0, map[string]any{"b": false}}},
	} {
		b := bridge.New(rt.New(io.Discard))
		lua, err := b.FromGo(v)
		if err != nil {
			t.Fatal(err)
		}
		got, err := b.ToGo(lua)
		if err != nil || !reflect.DeepEqual(got, v) {
			t.Errorf("%#v came back as %#v, %v", v, got, err)
		}
	}
}

// An empty map and list stay what they are when something is put into them.
func TestMarksStay(t *testing.T) {
	b := bridge.New(rt.New(io.Discard))
	v, err := b.FromGo(map[string]any{"map": map[string]any{}, "list": []any{}})
	if err != nil {
		t.Fatal(err)
	}
	b.Runtime.SetEnv(b.Runtime.GlobalEnv(), "v", v)
	got, err := b.ToGo(script(t, b, `v.map[1] = "x" v.list[1] = "x" return v`))
	want := map[string]any{"map": map[string]any{"1": "x"}, "list": []any{"x"}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%#v, %v", got, err)
	}
	if v := script(t, b, `return (pcall(setmetatable, v.map, {}))`); rt.Truth(v) {
		t.Error("a script took a mark off")
	}
	if v := script(t, b, `return getmetatable(v.list)`); rt.Truth(v) {
		t.Error("a script got hold of the marks' metatable")
	}
}

func TestNullReadsNull(t *testing.T) {
	b := bridge.New(rt.New(io.Discard))
	if v := script(t, b, `return tostring(null)`); v.AsString() != "null" {
		t.Error(v.ToString())
	}
	if v := script(t, b, `return null == null and null ~= nil and type(null) == "userdata" and not getmetatable(null)`); !rt.Truth(v) {
		t.Error("null is not what it should be")
	}
	if !b.IsNull(b.Null) || b.IsNull(rt.NilValue) || b.IsNull(bridge.New(b.Runtime).Null) {
		t.Error("null is mistaken for another")
	}
}

func TestRefsTakeTheHooks(t *testing.T) {
	b := bridge.New(rt.New(io.Discard))
	if _, err := b.FromGo([]any{wire.Ref{ID: 7}}); err == nil {
		t.Error("took a Ref without a hook")
	}
	refs := map[*rt.Table]wire.Ref{}
	b.FromRef = func(r wire.Ref) (rt.Value, error) {
		tab := rt.NewTable()
		if b.Map(tab); r.List {
			b.List(tab)
		}
		refs[tab] = r
		return rt.TableValue(tab), nil
	}
	b.ToRef = func(t *rt.Table) (wire.Ref, bool) { r, ok := refs[t]; return r, ok }
	b.Load = func(t *rt.Table) (any, error) {
		if _, ok := refs[t]; ok {
			t.Set(rt.IntValue(1), rt.StringValue("loaded"))
		}
		return nil, nil
	}
	sent := map[string]any{"list": wire.Ref{ID: 7, List: true}, "map": wire.Ref{ID: 8}}
	v, err := b.FromGo(sent)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := b.ToWire(v); err != nil || !reflect.DeepEqual(got, sent) {
		t.Errorf("%#v, %v", got, err)
	}
	want := map[string]any{"list": []any{"loaded"}, "map": map[string]any{"1": "loaded"}}
	if got, err := b.ToGo(v); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%#v, %v", got, err)
	}
}

func TestTablesThatStandForOthers(t *testing.T) {
	b := bridge.New(rt.New(io.Discard))
	b.Load = func(*rt.Table) (any, error) { return []any{"x"}, nil }
	if got, err := b.ToGo(rt.TableValue(rt.NewTable())); err != nil || !reflect.DeepEqual(got, []any{"x"}) {
		t.Errorf("%#v, %v", got, err)
	}
}

// within runs f under a budget and reports whether that ended it.
func within(limits rt.RuntimeResources, f func(b *bridge.Bridge)) (ended bool) {
	r := rt.New(io.Discard)
	b := bridge.New(r)
	ctx, _ := r.MainThread().CallContext(rt.RuntimeContextDef{HardLimits: limits}, func() error {
		f(b)
		return nil
	})
	return ctx.Status() == rt.StatusKilled
}

func TestBudgetEnds(t *testing.T) {
	big := make([]any, 100_000)
	if !within(rt.RuntimeResources{Memory: 1 << 20}, func(b *bridge.Bridge) { b.FromGo(big) }) {
		t.Error("100,000 items fit into 1 MB")
	}
	if !within(rt.RuntimeResources{Memory: 1 << 20}, func(b *bridge.Bridge) { b.FromGo(strings.Repeat("x", 2<<20)) }) {
		t.Error("2 MB of text fit into 1 MB")
	}
	// Two lists in each of forty tables are 2^40 lists.
	bomb := func(b *bridge.Bridge) {
		v := rt.TableValue(b.List(rt.NewTable()))
		for range 40 {
			t := rt.NewTable()
			t.Set(rt.IntValue(1), v)
			t.Set(rt.IntValue(2), v)
			v = rt.TableValue(t)
		}
		b.ToGo(v)
	}
	if !within(rt.RuntimeResources{Cpu: 1_000_000}, bomb) || !within(rt.RuntimeResources{Memory: 10 << 20}, bomb) {
		t.Error("2^40 lists fit")
	}
}

func TestWhatIsLentIsGivenBack(t *testing.T) {
	ended := within(rt.RuntimeResources{Memory: 4 << 20}, func(b *bridge.Bridge) {
		v, _ := b.FromGo(make([]any, 10_000))
		for range 1000 {
			_, charged, err := b.Lend(v)
			if err != nil {
				t.Error(err)
			}
			b.Runtime.ReleaseMem(charged)
		}
	})
	if ended {
		t.Error("the budget ran out")
	}
}

func FuzzRoundTrip(f *testing.F) {
	for _, s := range []string{`null`, `{"a":[1,2.5,"x",{},[],null,true]}`, `[[[]]]`, `{"1":{"2":[]}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var v any
		if json.Unmarshal(data, &v) != nil {
			return
		}
		v = whole(v)
		b := bridge.New(rt.New(io.Discard))
		lua, err := b.FromGo(v)
		var tooDeep *bridge.Error
		if errors.As(err, &tooDeep) {
			return
		}
		if got, err := b.ToGo(lua); err != nil || !reflect.DeepEqual(got, v) {
			t.Fatalf("%#v came back as %#v, %v", v, got, err)
		}
	})
}

// whole makes every second whole number an int64.
func whole(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			v[k] = whole(e)
		}
	case []any:
		for i, e := range v {
			v[i] = whole(e)
		}
	case float64:
		if i := int64(v); float64(i) == v && i%2 == 0 {
			return i
		}
	}
	return v
}
