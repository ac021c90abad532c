// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"

	rt "github.com/arnodel/golua/runtime"

	"github.com/moonhelm/moonhelm/script/wire"
)

// request is what one request of the host hands out.
type request struct {
	e     *engine
	event string
	chart int
	may   map[string]bool
	lint  bool

	nodes  map[uint64]*node
	tables map[*rt.Table]*node
	ahead  map[uint64]any              // levels that came with the request
	levels map[uint64]any              // what was loaded
	fields map[uint64]map[string]field // single fields of what was not
	scopes map[uint64]*scope
	order  []*scope // in the order in which the script came to them
	// whole is the table whose content is being sent rather than its Ref.
	whole *rt.Table
}

// node is a map or list of the host that scripts may change: a real table, put
// in when someone looks.
type node struct {
	request *request
	ref     wire.Ref
	table   *rt.Table
	loaded  bool
	// came is the level as it came.
	came any
	// part are the fields that came alone, before or without the level. From
	// then on the table tells what they are: nothing there means that a script
	// has taken it away.
	part map[string]field
}

// field is what stands, or does not stand, under a key of a wide map.
type field struct {
	value any
	there bool
}

// manyFields is how many fields of a wide map are asked for one by one; whoever
// wants more of them gets all.
const manyFields = 64

// marks are the metatables of tables that are not loaded yet.
type marks struct{ list, table *rt.Table }

// errEnded is what a table says that outlived its event unread.
var errEnded = errors.New("ctx is valid during its handler: what was not looked at " +
	"by then is gone (copy what you need)")

func (e *engine) makeMarks() {
	e.marks = marks{list: e.bridge.NewMark(true), table: e.bridge.NewMark(false)}
	for _, m := range []*rt.Table{e.marks.list, e.marks.table} {
		e.r.SetEnv(m, "__index", e.value("index", 2, false, func(t *rt.Thread, c *rt.GoCont) (rt.Cont, error) {
			tab, err := e.lookedAt(c)
			if err != nil {
				return nil, err
			}
			return c.PushingNext1(t.Runtime, tab.Get(c.Arg(1))), nil
		}))
		e.r.SetEnv(m, "__newindex", e.value("newindex", 3, false, func(t *rt.Thread, c *rt.GoCont) (rt.Cont, error) {
			tab, err := e.lookedAt(c)
			if err != nil {
				return nil, err
			}
			return c.Next(), t.SetTableCheck(tab, c.Arg(1), c.Arg(2))
		}))
		e.r.SetEnv(m, "__len", e.value("len", 1, false, func(t *rt.Thread, c *rt.GoCont) (rt.Cont, error) {
			tab, err := e.unloaded(c)
			if err != nil {
				return nil, err
			}
			return c.PushingNext1(t.Runtime, rt.IntValue(tab.Len())), nil
		}))
	}
}

// unloaded loads the table that a metamethod was called for.
func (e *engine) unloaded(c *rt.GoCont) (*rt.Table, error) {
	if c.NArgs() == 0 {
		return nil, errors.New("table expected")
	}
	tab, ok := c.Arg(0).TryTable()
	if !ok {
		return nil, errors.New("table expected")
	}
	return tab, e.load(tab)
}

// lookedAt loads of the table that a metamethod was called for what stands
// under the key that it was called with.
func (e *engine) lookedAt(c *rt.GoCont) (*rt.Table, error) {
	if c.NArgs() > 1 {
		tab, _ := c.Arg(0).TryTable()
		key, isText := c.Arg(1).TryString()
		if n := e.lazy[tab]; n != nil && isText && !n.ref.List {
			return tab, n.loadField(key)
		}
	}
	return e.unloaded(c)
}

// load makes a table whole.
func (e *engine) load(t *rt.Table) error {
	m := t.Metatable()
	if m == nil || m != e.marks.list && m != e.marks.table {
		return nil
	}
	n := e.lazy[t]
	if n == nil {
		return errEnded
	}
	return n.load()
}

func (e *engine) fromRef(ref wire.Ref) (rt.Value, error) {
	if e.request == nil {
		return rt.NilValue, errors.New("a reference outside of a request")
	}
	n, err := e.request.node(ref)
	if err != nil {
		return rt.NilValue, err
	}
	return rt.TableValue(n.table), nil
}

// toRef sends a table of the host's as what it is.
func (e *engine) toRef(t *rt.Table) (wire.Ref, bool) {
	if e.request == nil || t == e.request.whole {
		return wire.Ref{}, false
	}
	n := e.request.tables[t]
	if n == nil {
		return wire.Ref{}, false
	}
	return n.ref, true
}

func (e *engine) newRequest() *request {
	return &request{
		e: e, chart: -1, nodes: map[uint64]*node{}, tables: map[*rt.Table]*node{},
		levels: map[uint64]any{}, fields: map[uint64]map[string]field{}, scopes: map[uint64]*scope{},
	}
}

// end lets go of what was not looked at.
func (q *request) end() {
	for t := range q.tables {
		delete(q.e.lazy, t)
	}
	if q.e.request == q {
		q.e.request = nil
	}
}

// ended reports whether the request is over.
func (q *request) ended() bool { return q.e.request != q }

// node is the table for a Ref: always the same one.
func (q *request) node(ref wire.Ref) (*node, error) {
	if n := q.nodes[ref.ID]; n != nil {
		if n.ref != ref {
			return nil, fmt.Errorf("reference %d is a list and a map", ref.ID)
		}
		return n, nil
	}
	q.e.r.RequireMem(400)
	n := &node{request: q, ref: ref, table: rt.NewTable()}
	n.table.SetMetatable(q.e.marks.table)
	if ref.List {
		n.table.SetMetatable(q.e.marks.list)
	}
	q.nodes[ref.ID], q.tables[n.table], q.e.lazy[n.table] = n, n, n
	return n, nil
}

// takeLevels takes in the levels that came with a request. They count as loaded,
// and take the script's memory, when a script looks at them.
func (q *request) takeLevels(v any) error {
	levels, _ := v.([]any)
	for _, l := range levels {
		level, _ := l.(map[string]any)
		ref, ok := level["ref"].(wire.Ref)
		if !ok {
			return errors.New("the call has a level of nothing")
		}
		if q.ahead == nil {
			q.ahead = map[uint64]any{}
		}
		q.ahead[ref.ID] = level["value"]
	}
	return nil
}

// level is what a Ref stands for; the host is asked where it did not come along.
func (q *request) level(ref wire.Ref) (any, error) {
	if v, ok := q.levels[ref.ID]; ok {
		return v, nil
	}
	if q.ended() {
		return nil, errEnded
	}
	if v, ok := q.ahead[ref.ID]; ok {
		return q.keep(ref, v)
	}
	answer, err := q.e.ask(wire.Load, map[string]any{"id": int64(ref.ID)})
	if err != nil {
		return nil, err
	}
	return q.keep(ref, answer["value"])
}

// keep takes in the level that a Ref stands for.
func (q *request) keep(ref wire.Ref, v any) (any, error) {
	_, isList := v.([]any)
	_, isMap := v.(map[string]any)
	if !isList && !isMap || isList != ref.List {
		return nil, fmt.Errorf("the host's answer for reference %d is of the wrong kind", ref.ID)
	}
	q.e.r.RequireMem(sizeOf(v))
	q.levels[ref.ID] = v
	return v, nil
}

// field asks the host for what stands under a key of a map. It keeps the whole
// level where that is what the host answers.
func (q *request) field(ref wire.Ref, key string) (field, error) {
	known := q.fields[ref.ID]
	level, loaded := q.levels[ref.ID].(map[string]any)
	if f, asked := known[key]; asked && !loaded {
		return f, nil
	}
	if _, came := q.ahead[ref.ID]; !loaded && (came || len(known) >= manyFields) {
		v, err := q.level(ref)
		if err != nil {
			return field{}, err
		}
		level, loaded = v.(map[string]any)
	}
	if loaded {
		v, there := level[key]
		return field{v, there}, nil
	}
	if q.ended() {
		return field{}, errEnded
	}
	answer, err := q.e.ask(wire.Load, map[string]any{"id": int64(ref.ID), "key": key})
	if err != nil {
		return field{}, err
	}
	if wide, _ := answer["wide"].(bool); !wide {
		v, err := q.keep(ref, answer["value"])
		if err != nil {
			return field{}, err
		}
		level, _ := v.(map[string]any)
		e, there := level[key]
		return field{e, there}, nil
	}
	var f field
	f.value, f.there = answer["field"]
	q.e.r.RequireMem(96 + uint64(len(key)) + sizeOf(f.value))
	if known == nil {
		known = map[string]field{}
		q.fields[ref.ID] = known
	}
	known[key] = f
	return f, nil
}

// sizeOf is about what a Go value takes.
func sizeOf(v any) uint64 {
	switch v := v.(type) {
	case string:
		return 16 + uint64(len(v))
	case []any:
		n := uint64(64)
		for _, x := range v {
			n += 16 + sizeOf(x)
		}
		return n
	case map[string]any:
		n := uint64(64)
		for k, x := range v {
			n += 48 + uint64(len(k)) + sizeOf(x)
		}
		return n
	}
	return 16
}

// loadField makes sure that the table tells what stands under a key.
func (n *node) loadField(key string) error {
	if _, asked := n.part[key]; asked {
		return nil
	}
	f, err := n.request.field(n.ref, key)
	if err != nil {
		return err
	}
	if _, whole := n.request.levels[n.ref.ID]; whole {
		return n.load()
	}
	if n.part == nil {
		n.part = map[string]field{}
	}
	n.part[key] = f
	if !f.there {
		return nil
	}
	return n.put(rt.StringValue(key), f.value)
}

// load makes the table whole.
func (n *node) load() error {
	v, err := n.request.level(n.ref)
	if err != nil {
		return err
	}
	e := n.request.e
	switch v := v.(type) {
	case []any:
		for i, item := range v {
			if err := n.put(rt.IntValue(int64(i+1)), item); err != nil {
				return err
			}
		}
		e.bridge.List(n.table)
	case map[string]any:
		for k, item := range v {
			if _, there := n.part[k]; there {
				continue
			}
			if err := n.put(rt.StringValue(k), item); err != nil {
				return err
			}
		}
		e.bridge.Map(n.table)
	}
	n.loaded, n.came = true, v
	delete(e.lazy, n.table)
	return nil
}

func (n *node) put(k rt.Value, item any) error {
	v, err := n.request.e.bridge.FromGo(item)
	if err != nil {
		return err
	}
	n.request.e.r.RequireMem(80)
	n.request.e.r.SetTable(n.table, k, v)
	return nil
}
