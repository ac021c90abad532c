// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
	"math"

	rt "github.com/arnodel/golua/runtime"

	"github.com/moonhelm/moonhelm/script/wire"
)

// request is what one request of the host shows to scripts.
type request struct {
	e     *engine
	event string
	chart int
	may   map[string]bool
	lint  bool

	nodes    map[uint64]*node
	tables   map[*rt.Table]*node
	contexts map[uint64]*handlerContext
	order    []*handlerContext // in the order in which the script came to them
	// whole is the table whose content is sent, and not its Ref.
	whole *rt.Table
}

// node is a map or list of the host. Scripts see it as a table, which is filled when they
// look at it.
type node struct {
	wire.Node
	request *request
	table   *rt.Table
	charged bool // the content was charged to the scripts' memory
	loaded  bool // the table is filled
}

// marks are the metatables of tables that are not loaded yet.
type marks struct{ list, table *rt.Table }

// errEnded is returned for a table that was not looked at before its handler ended.
var errEnded = errors.New("ctx is valid during its handler: what was not looked at " +
	"by then is gone (copy what you need)")

func (e *engine) makeMarks() {
	e.marks = marks{list: e.bridge.NewMark(true), table: e.bridge.NewMark(false)}
	for _, m := range []*rt.Table{e.marks.list, e.marks.table} {
		on := func(name string, args int, f func(t *rt.Thread, c *rt.GoCont, tab *rt.Table) (rt.Cont, error)) {
			e.r.SetEnv(m, "__"+name, e.value(name, args, false, func(t *rt.Thread, c *rt.GoCont) (rt.Cont, error) {
				if err := c.CheckNArgs(args); err != nil {
					return nil, err
				}
				tab, err := c.TableArg(0)
				if err != nil {
					return nil, err
				}
				if name == "index" {
					if v, ok, err := e.peek(tab, c.Arg(1)); ok || err != nil {
						return c.PushingNext1(t.Runtime, v), err
					}
				}
				if err := e.load(tab); err != nil {
					return nil, err
				}
				return f(t, c, tab)
			}))
		}
		on("index", 2, func(t *rt.Thread, c *rt.GoCont, tab *rt.Table) (rt.Cont, error) {
			return c.PushingNext1(t.Runtime, tab.Get(c.Arg(1))), nil
		})
		on("newindex", 3, func(t *rt.Thread, c *rt.GoCont, tab *rt.Table) (rt.Cont, error) {
			return c.Next(), t.SetTableCheck(tab, c.Arg(1), c.Arg(2))
		})
		on("len", 1, func(t *rt.Thread, c *rt.GoCont, tab *rt.Table) (rt.Cont, error) {
			return c.PushingNext1(t.Runtime, rt.IntValue(tab.Len())), nil
		})
	}
}

// peek returns what stands under a key of a table that is not loaded, where that is not a
// table: to read it, the table need not be filled and compared.
func (e *engine) peek(t *rt.Table, key rt.Value) (v rt.Value, ok bool, err error) {
	name, isText := key.TryString()
	if !isText || e.request == nil || e.request.tables[t] == nil {
		return rt.NilValue, false, nil
	}
	content, err := e.request.content(e.request.tables[t].Ref)
	m, isMap := content.(map[string]any)
	item, there := m[name]
	switch {
	case err != nil || !isMap || !isScalar(item):
		return rt.NilValue, false, err
	case !there:
		return rt.NilValue, true, nil
	}
	v, err = e.bridge.FromGo(item)
	return v, true, err
}

// load fills a table that is not loaded yet.
func (e *engine) load(t *rt.Table) error {
	m := t.Metatable()
	if m == nil || m != e.marks.list && m != e.marks.table {
		return nil
	}
	if e.request == nil || e.request.tables[t] == nil {
		return errEnded
	}
	return e.request.tables[t].load()
}

// fromRef returns the table of a node.
func (e *engine) fromRef(ref wire.Ref) (rt.Value, error) {
	if e.request == nil {
		return rt.NilValue, errors.New("a reference outside of a request")
	}
	n, err := e.request.node(ref)
	if err != nil {
		return rt.NilValue, err
	}
	return rt.TableValue(n.asTable()), nil
}

// toRef returns the Ref of a node's table.
func (e *engine) toRef(t *rt.Table) (wire.Ref, bool) {
	if e.request == nil || t == e.request.whole {
		return wire.Ref{}, false
	}
	n := e.request.tables[t]
	if n == nil {
		return wire.Ref{}, false
	}
	return n.Ref, true
}

func (e *engine) newRequest() *request {
	return &request{e: e, chart: -1, nodes: map[uint64]*node{}, tables: map[*rt.Table]*node{},
		contexts: map[uint64]*handlerContext{}}
}

// end drops what scripts did not look at.
func (q *request) end() {
	if q.e.request == q {
		q.e.request = nil
	}
}

func (q *request) ended() bool { return q.e.request != q }

// node returns the node of a Ref, always the same one.
func (q *request) node(ref wire.Ref) (*node, error) {
	n := q.nodes[ref.ID]
	if n == nil {
		n = &node{Node: wire.Node{Ref: ref}, request: q}
		q.nodes[ref.ID] = n
	}
	if n.Ref != ref {
		return nil, fmt.Errorf("reference %d is a list and a map", ref.ID)
	}
	return n, nil
}

// receive takes in the contents that came with a call. They are charged to the scripts'
// memory when a script looks at them.
func (q *request) receive(contents any) error {
	list, _ := contents.([]any)
	for _, c := range list {
		body, _ := c.(map[string]any)
		ref, ok := body["ref"].(wire.Ref)
		if !ok {
			return errors.New("the call has contents of nothing")
		}
		n, err := q.node(ref)
		if err == nil {
			err = n.Receive(body["value"])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// content returns what a Ref stands for, which the host is asked for if it has not sent it.
func (q *request) content(ref wire.Ref) (any, error) {
	n, err := q.node(ref)
	if err != nil || n.charged {
		return n.Content, err
	}
	if q.ended() {
		return nil, errEnded
	}
	if n.Content == nil {
		answer, err := q.e.ask(wire.Load, map[string]any{"id": int64(ref.ID)})
		if err != nil {
			return nil, err
		}
		if err := n.Receive(answer["value"]); err != nil {
			return nil, err
		}
	}
	q.e.r.RequireMem(uint64(wire.Size(n.Content, math.MaxInt/2, wire.MaxDepth)))
	n.charged = true
	return n.Content, nil
}

func (n *node) asTable() *rt.Table {
	if n.table == nil {
		q := n.request
		q.e.r.RequireMem(400)
		n.table = rt.NewTable()
		n.table.SetMetatable(q.e.marks.table)
		if n.List {
			n.table.SetMetatable(q.e.marks.list)
		}
		q.tables[n.table] = n
	}
	return n.table
}

// load fills the node's table.
func (n *node) load() error {
	v, err := n.request.content(n.Ref)
	if err != nil || n.loaded {
		return err
	}
	e, table := n.request.e, n.asTable()
	put := func(k rt.Value, item any) error {
		v, err := e.bridge.FromGo(item)
		if err != nil {
			return err
		}
		e.r.RequireMem(80)
		e.r.SetTable(table, k, v)
		return nil
	}
	switch v := v.(type) {
	case []any:
		for i, item := range v {
			if err := put(rt.IntValue(int64(i+1)), item); err != nil {
				return err
			}
		}
		e.bridge.List(table)
	case map[string]any:
		for k, item := range v {
			if err := put(rt.StringValue(k), item); err != nil {
				return err
			}
		}
		e.bridge.Map(table)
	}
	n.loaded = true
	return nil
}
