// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
	"math"

	rt "github.com/arnodel/golua/runtime"

	"github.com/moonhelm/moonhelm/script/engine/bridge"
	"github.com/moonhelm/moonhelm/script/wire"
)

// request is what one request of the host shows to scripts.
type request struct {
	e     *engine
	event string
	may   map[string]bool
	lint  bool

	nodes    map[uint64]*node
	tables   map[*rt.Table]*node
	contexts map[uint64]*handlerContext
	order    []*handlerContext // in the order in which the script came to them
	// whole is the table whose content is sent, and not its Ref.
	whole *rt.Table
	// blame records assignments; nil where there is no context to change.
	blame *blame
}

// node is a map or list of the host. Scripts see it as a table, which is filled when they
// look at it.
type node struct {
	wire.Node
	request *request
	table   *rt.Table
	charged bool // the content was charged to the scripts' memory
	loaded  bool // the table is filled
	fields  int  // that the host was asked for one by one

	// items is the class of the elements of a list of a context, class and path are those of
	// such an element; "" is none.
	items, class, path string
}

// errEnded is returned for a table that was not looked at before its handler ended.
var errEnded = errors.New("ctx is valid during its handler: what was not looked at " +
	"by then is gone (copy what you need)")

// fromRef returns the table of a node.
func (e *engine) fromRef(ref wire.Ref) (rt.Value, error) {
	if e.request == nil {
		return rt.NilValue, errors.New("a reference outside of a request")
	}
	n, err := e.request.node(ref)
	if err != nil {
		return rt.NilValue, err
	}
	return rt.TableValue(n.shown()), nil
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
	return &request{e: e, nodes: map[uint64]*node{}, tables: map[*rt.Table]*node{},
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

// receive takes in the contents that came along. They are charged to the scripts' memory when
// a script looks at them.
func (q *request) receive(contents any) error {
	list, _ := contents.([]any)
	for _, c := range list {
		body, _ := c.(map[string]any)
		ref, ok := body["ref"].(wire.Ref)
		if !ok {
			return errors.New("the host sent contents without a reference")
		}
		n, err := q.node(ref)
		if err == nil && n.Content == nil {
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
		if _, err := q.load(n, map[string]any{"id": int64(ref.ID)}); err != nil {
			return nil, err
		}
		if n.Content == nil {
			return nil, fmt.Errorf("the host sent no content of number %d", n.ID)
		}
	}
	q.e.r.RequireMem(uint64(wire.Size(n.Content, math.MaxInt/2, wire.MaxDepth)))
	n.charged = true
	return n.Content, nil
}

// maxFields is how many fields of a map the host is asked for one by one.
const maxFields = 50

// field returns the value of a key of a map.
func (q *request) field(ref wire.Ref, name string) (v any, there bool, err error) {
	n, err := q.node(ref)
	if err != nil {
		return nil, false, err
	}
	if n.Content == nil && n.fields < maxFields && !q.ended() {
		n.fields++
		answer, err := q.load(n, map[string]any{"id": int64(ref.ID), "key": name})
		if err != nil || n.Content == nil {
			v, there = answer["field"]
			return v, there, err
		}
	}
	content, err := q.content(ref)
	m, _ := content.(map[string]any)
	v, there = m[name]
	return v, there, err
}

// load asks the host for a node's content. The answer to a question for one key may be that
// field alone.
func (q *request) load(n *node, question map[string]any) (map[string]any, error) {
	answer, err := q.e.ask(wire.Load, question)
	if err != nil {
		return nil, err
	}
	if v, ok := answer["value"]; ok {
		if err := n.Receive(v); err != nil {
			return nil, err
		}
	}
	return answer, q.receive(answer["contents"])
}

// shown returns the node's table.
func (n *node) shown() *rt.Table {
	if n.table == nil {
		n.table = n.request.e.show(n)
		n.request.tables[n.table] = n
	}
	return n.table
}

// data fills the node's table.
func (n *node) data() (any, error) {
	v, err := n.request.content(n.Ref)
	if err != nil || n.loaded {
		return nil, err
	}
	e, table := n.request.e, n.shown()
	e.unwrap(table)
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
		e.bridge.List(table)
		if err := n.classify(v); err != nil {
			return nil, err
		}
		for i, item := range v {
			if err := put(rt.IntValue(int64(i+1)), item); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		e.bridge.Map(table)
		if meta := e.classes[n.class]; meta != nil {
			table.SetMetatable(meta)
		}
		for k, item := range v {
			if err := put(rt.StringValue(k), item); err != nil {
				return nil, err
			}
		}
	}
	n.loaded = true
	return nil, nil
}

// get returns the value of a key. To read what is not a table, the node's own need not
// be filled and compared.
func (n *node) get(k rt.Value) (rt.Value, error) {
	if name, isText := k.TryString(); isText && !n.loaded {
		v, there, err := n.request.field(n.Ref, name)
		switch {
		case err == nil && !there && n.class != "":
			return n.request.e.lacking(n.class, n.path, k, n.get)
		case err != nil || !there:
			return rt.NilValue, err
		case isScalar(v):
			return n.request.e.bridge.FromGo(v)
		}
	}
	if _, err := n.data(); err != nil {
		return rt.NilValue, err
	}
	if v := n.table.Get(k); !v.IsNil() || n.class == "" {
		if list, _ := n.request.e.bridge.IsList(n.table); list && v.IsNil() {
			return v, bridge.CheckIndex(k)
		}
		return v, nil
	}
	return n.request.e.lacking(n.class, n.path, k, n.get)
}

func (n *node) set(k, v rt.Value) error {
	if _, err := n.data(); err != nil {
		return err
	}
	if n.class != "" && n.table.Get(k).IsNil() {
		return n.request.e.addField(n.class, n.table, k, v)
	}
	return n.request.e.r.SetTableCheck(n.table, k, v)
}

func (n *node) keys() ([]rt.Value, error) {
	if _, err := n.data(); err != nil {
		return nil, err
	}
	return sortedKeys(n.request.e.r.MainThread(), n.table), nil
}

func (n *node) length() (int64, error) {
	if _, err := n.data(); err != nil {
		return 0, err
	}
	return n.table.Len(), nil
}
