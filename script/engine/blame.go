// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"strconv"

	rt "github.com/arnodel/golua/runtime"

	"github.com/moonhelm/moonhelm/script/engine/bridge"
	"github.com/moonhelm/moonhelm/script/wire"
)

// position is the place of a statement.
type position struct {
	place
	line int
}

// slot is a field of a table.
type slot struct {
	table *rt.Table
	key   rt.Value
}

// blame records where a handler assigned what it leaves in its context, so that an error
// about a value names that statement. What it leaves is known at the end alone: a list may
// have a hole for a moment, and an object may get its kind later.
type blame struct {
	at    map[slot]position
	last  map[*rt.Table]position
	owned map[*rt.Table]bool // tables that a script has put into the context
}

// Bounds of what is recorded of a request.
const (
	maxSlots = 20_000
	maxOwned = 20_000
)

func newBlame() *blame {
	return &blame{at: map[slot]position{}, last: map[*rt.Table]position{}, owned: map[*rt.Table]bool{}}
}

// newHook makes the function that scripts call after an assignment, see [rewriter].
func (e *engine) newHook() rt.Value {
	return e.value("wrote", 2, false, func(_ *rt.Thread, c *rt.GoCont) (rt.Cont, error) {
		if c.NArgs() == 2 {
			if t, ok := e.kept(c.Arg(0)); ok {
				e.wrote(c, t, c.Arg(1), e.rawField(t, c.Arg(1)))
			}
		}
		return c.Next(), nil
	})
}

// kept returns a table that is part of what the host gave, or was put there; ok is false for
// others, and where nothing is recorded.
func (e *engine) kept(v rt.Value) (t *rt.Table, ok bool) {
	if e.request == nil || e.request.blame == nil {
		return nil, false
	}
	if t, ok = v.TryTable(); !ok {
		return nil, false
	}
	if m := t.Metatable(); m != nil {
		if _, marked := e.bridge.IsList(t); marked || m == e.views {
			return t, true
		}
	}
	return t, e.request.blame.owned[t]
}

// inserted records what the caller of c gives to table.insert.
func (e *engine) inserted(c *rt.GoCont, args []rt.Value) error {
	if len(args) < 2 {
		return nil
	}
	t, ok := e.kept(args[0])
	if !ok {
		return nil
	}
	if _, err := e.load(t); err != nil {
		return err
	}
	at := rt.IntValue(t.Len() + 1)
	if len(args) > 2 {
		at = args[1]
	}
	e.wrote(c, t, at, args[len(args)-1])
	return nil
}

// wrote records that the caller of c has assigned a field of t.
func (e *engine) wrote(c *rt.GoCont, t *rt.Table, k, v rt.Value) {
	b := e.request.blame
	at, ok := e.positionOf(c.Next())
	if !ok || len(b.at) >= maxSlots {
		return
	}
	e.r.RequireMem(150)
	b.at[slot{t, k}], b.last[t] = at, at
	if in, ok := v.TryTable(); ok && in.Metatable() == nil {
		e.own(in)
	}
}

// own records a table of the script that is now part of the context, and those in it.
func (e *engine) own(t *rt.Table) {
	b := e.request.blame
	e.r.RequireCPU(2)
	if b.owned[t] || len(b.owned) >= maxOwned {
		return
	}
	e.r.RequireMem(40)
	b.owned[t] = true
	for k, v, _ := t.Next(rt.NilValue); !k.IsNil(); k, v, _ = t.Next(k) {
		e.r.RequireCPU(1)
		if inner, ok := v.TryTable(); ok && inner.Metatable() == nil {
			e.own(inner)
		}
	}
}

// rawField returns the value of a key of a table, also of one that shows a context.
func (e *engine) rawField(t *rt.Table, k rt.Value) rt.Value {
	if v, ok := e.viewOf(rt.TableValue(t)); ok {
		if ctx, isContext := v.(*handlerContext); isContext {
			name, _ := k.TryString()
			return ctx.values[name]
		}
		return rt.NilValue
	}
	return t.Get(k)
}

// A blamedError is an error about a value that a handler leaves, with the statement that put
// it there.
type blamedError struct {
	err error
	at  position
}

func (e *blamedError) Error() string { return e.err.Error() }

// Unwrap returns the error without its place.
func (e *blamedError) Unwrap() error { return e.err }

// blamed adds the statement to an error about what is in t below keys, which are text and
// int64. The tables that hold t are tried where the script did not assign there.
func (c *changes) blamed(err error, t *rt.Table, keys ...any) error {
	at, ok := c.request.find(t, keys)
	for i := len(c.trail) - 1; i >= 0 && !ok; i-- {
		at, ok = c.request.find(c.trail[i].table, c.trail[i].keys)
	}
	if !ok {
		return err
	}
	return &blamedError{err, at}
}

// step is a way down from a table that the comparison has gone.
type step struct {
	table *rt.Table
	keys  []any
}

// find returns where the script last assigned on the way down from t, the deepest such place.
func (q *request) find(t *rt.Table, keys []any) (found position, ok bool) {
	for _, key := range keys {
		k := keyValue(key)
		if at, here := q.blame.at[slot{t, k}]; here {
			found, ok = at, true
		}
		var isTable bool
		if t, isTable = q.e.rawField(t, k).TryTable(); !isTable {
			break
		}
	}
	return found, ok
}

// keyValue returns a key that is a text or an int64.
func keyValue(key any) rt.Value {
	if i, ok := key.(int64); ok {
		return rt.IntValue(i)
	}
	s, _ := key.(string)
	return rt.StringValue(s)
}

// culprit returns the keys that lead to what is wrong: for a hole in a list the item that was
// taken away, or the one that was put after it.
func (q *request) culprit(t *rt.Table, wrong *bridge.Error) []any {
	keys := wrong.Keys
	for _, key := range keys {
		var ok bool
		if t, ok = t.Get(keyValue(key)).TryTable(); !ok {
			return keys
		}
	}
	if wrong.Missing == 0 {
		if wrong.Key != "" {
			return append(keys[:len(keys):len(keys)], wrong.Key)
		}
		return keys
	}
	i := wrong.Missing
	if _, taken := q.blame.at[slot{t, rt.IntValue(i)}]; !taken {
		for k, _, _ := t.Next(rt.NilValue); !k.IsNil(); k, _, _ = t.Next(k) {
			if n, ok := k.TryInt(); ok && n > wrong.Missing && (n < i || i == wrong.Missing) {
				i = n
			}
		}
	}
	return append(keys[:len(keys):len(keys)], i)
}

// items returns where a handler assigned what is in the lists of its contexts, for the
// host, which checks what the engine does not know: names of files, fields of dependencies.
func (q *request) items() []any {
	out := []any{}
	if len(q.blame.at) == 0 {
		return out
	}
	for _, ctx := range q.order {
		for _, field := range changeable() {
			list, ok := ctx.values[field].TryTable()
			ref, isRef := ctx.fields[field].(wire.Ref)
			if !ok || !isRef || !ref.List || !q.may[field] {
				continue
			}
			whole := q.blame.at[slot{ctx.self.AsTable(), rt.StringValue(field)}]
			for i := int64(1); !list.Get(rt.IntValue(i)).IsNil(); i++ {
				q.e.r.RequireCPU(2)
				if of := q.item(list, i, ref, whole); of != nil {
					out = append(out, of)
				}
			}
		}
	}
	return out
}

// item returns where the handler assigned an element of a list, or something in it; whole is
// where it assigned the list.
func (q *request) item(list *rt.Table, i int64, ref wire.Ref, whole position) map[string]any {
	at, ok := q.blame.at[slot{list, rt.IntValue(i)}]
	if !ok {
		at = whole
	}
	id := wire.Ref{}
	if t, isTable := list.Get(rt.IntValue(i)).TryTable(); isTable {
		id, _ = q.e.toRef(t)
		if inner, changed := q.blame.last[t]; changed {
			at = inner
		}
	}
	if at.file == "" {
		return nil
	}
	return map[string]any{"id": int64(ref.ID), "index": i - 1, "item": int64(id.ID), "chart": int64(at.chart),
		"where": at.String()}
}

// String returns file and line, "ext/lua/chart.lua:12".
func (p position) String() string {
	if p.line == 0 {
		return p.file
	}
	return p.file + ":" + strconv.Itoa(p.line)
}
