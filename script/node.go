// SPDX-License-Identifier: Apache-2.0

package script

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"

	"github.com/moonhelm/moonhelm/engine/common"
	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/internal/truncate"
	"github.com/moonhelm/moonhelm/script/wire"
)

// node is a map or list of a payload that scripts know by a number. What it stands for is
// never changed: changes.resolve returns what becomes of it.
type node struct {
	wire.Node
	// value is the map or list, with Refs in place of nodes; fetch returns it on first use.
	value any
	fetch func() (any, error)

	parent *node
	key    string // in the parent's map
	index  int    // in the parent's list
	// title is how errors name a node, where that is not parent and key.
	title string
	// field is the field of the payload that it is a part of. 0 is read-only.
	field event.Fields
	// exact is set where a float64 is a float. In values it may be a whole number.
	exact bool
	// origin is the *chart.File, *chart.Dependency or *manifest.Object that it shows.
	origin any
	// items is set for a list of such nodes, context for the context of a chart.
	items, context bool

	// inner returns the node for the value of a key, nil for what has none.
	inner func(key string, v any) *node
	// added are nodes under keys that the value lacks. They become part of it when a script
	// changes them; until then scripts see those that are shown.
	added []*node
	shown bool

	sent       bool    // the content was sent
	now        any     // the content after its change, nil for none
	dirty      bool    // it or a node below it has changed
	dirtyBelow []*node // the dirty nodes whose parent it is
	busy       bool    // it is being resolved
	done       bool    // out is what it has become
	out        any
}

// name returns where the node is, for errors: "values.image.tags".
func (n *node) name() string {
	switch {
	case n.title != "":
		return n.title
	case n.parent.List:
		return truncate.Bytes(n.parent.name()+"["+strconv.Itoa(n.index+1)+"]", maxSource, "…")
	}
	return truncate.Bytes(n.parent.name()+"."+n.key, maxSource, "…")
}

func (n *node) get() (any, error) {
	if n.fetch != nil {
		v, err := n.fetch()
		if err != nil {
			return nil, err
		}
		n.value, n.fetch = v, nil
	}
	return n.value, nil
}

// below returns a new node for a map or list in n, which is at its key or index.
func (n *node) below(v any, key string, index int) *node {
	_, isList := v.([]any)
	return &node{Node: wire.Node{Ref: wire.Ref{List: isList}}, value: v, parent: n, key: key, index: index,
		field: n.field, exact: n.exact}
}

// add adds a node under a key that n's value lacks.
func (n *node) add(k *node, shown bool) {
	k.shown = shown
	n.added = append(n.added, k)
}

// markDirty marks the node and what holds it as changed.
func (n *node) markDirty() {
	for ; n != nil && !n.dirty; n = n.parent {
		n.dirty = true
		if n.parent != nil {
			n.parent.dirtyBelow = append(n.parent.dirtyBelow, n)
		}
	}
}

// nodes are the nodes of one request by their numbers, from 1 on.
type nodes map[uint64]*node

// ref returns the node's Ref. The first call numbers it.
func (s nodes) ref(n *node) wire.Ref {
	if n.ID == 0 {
		n.ID = uint64(len(s)) + 1
		s[n.ID] = n
	}
	return n.Ref
}

const (
	// maxInline is how much of a node's content are the maps and lists in it, in bytes of
	// memory. Those beyond it are nodes of their own: a script that looks at one of them has
	// not to wait for the others.
	maxInline = 64 << 10
	// maxInlineDepth is how deep values nest that are not nodes of their own.
	maxInlineDepth = wire.MaxDepth / 2
)

// content returns the node's content as it is sent.
func (s nodes) content(n *node) (any, error) {
	if n.Content != nil {
		return n.Content, nil
	}
	v, err := n.get()
	if err != nil {
		return nil, err
	}
	c := content{nodes: s, of: n, left: maxInline}
	var sent any
	switch v := v.(type) {
	case map[string]any:
		sent, err = c.table(v)
	case []any:
		sent, err = c.list(v)
	default:
		err = fmt.Errorf("a %T is neither a map nor a list", v)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", n.name(), err)
	}
	n.Content = sent
	return sent, nil
}

// manyKeys is how many keys a map has of which single ones are sent.
const manyKeys = 2000

// scalarOf returns the answer to the question for the value of a key of a map of many that
// was not sent, for a script that reads a few of them. It is not ok for other nodes, and for
// what is not a scalar.
func (n *node) scalarOf(key string) (answer map[string]any, ok bool) {
	m, _ := n.value.(map[string]any)
	v, there := m[key]
	if n.Content != nil || len(m) < manyKeys || !isScalar(v) ||
		slices.ContainsFunc(n.added, func(k *node) bool { return k.key == key }) {
		return nil, false
	}
	if !there {
		return map[string]any{}, true
	}
	v, _ = scalar(v, n.exact)
	return map[string]any{"field": v}, true
}

// along returns the contents of the nodes that n's content leads to, up to a size in all. It
// leaves out the contexts of charts, what would not be sent whole, what was sent before, and
// objects if they are not wanted.
func (s nodes) along(n *node, left int, objects bool) []any {
	out := []any{}
	n.sent = true
	var queue []*node
	add := func(r wire.Ref) { queue = append(queue, s[r.ID]) }
	wire.Refs(n.Content, add)
	for i := 0; i < len(queue); i++ {
		n := queue[i]
		if n.sent || n.context || !objects && n.field == event.Objects && !n.items ||
			n.parent != nil && wire.Size(n.value, left, wire.MaxDepth) > left {
			continue
		}
		v, err := s.content(n)
		if err != nil {
			continue // the script asks for it, and gets the error
		}
		size := wire.Size(v, left, wire.MaxDepth)
		if size > left {
			continue
		}
		left -= size
		n.sent = true
		out = append(out, map[string]any{"ref": n.Ref, "value": v})
		wire.Refs(v, add)
	}
	return out
}

// contents returns the content of n, and of what it leads to as along does.
func (s nodes) contents(n *node, left int, objects bool) ([]any, error) {
	v, err := s.content(n)
	if err != nil {
		return nil, err
	}
	return append(s.along(n, left, objects), map[string]any{"ref": s.ref(n), "value": v}), nil
}

// content is what a node is sent as.
type content struct {
	nodes
	of   *node
	left int
}

func (c *content) table(v map[string]any) (map[string]any, error) {
	out := make(map[string]any, len(v)+len(c.of.added))
	var rest []string
	for k, e := range v {
		if isScalar(e) {
			out[k], _ = scalar(e, c.of.exact)
		} else {
			rest = append(rest, k)
		}
	}
	for _, k := range c.of.added {
		if k.shown {
			out[k.key] = c.ref(k)
		}
	}
	slices.Sort(rest) // the same numbers in every run
	for _, k := range rest {
		var err error
		if c.of.inner != nil {
			if in := c.of.inner(k, v[k]); in != nil {
				out[k] = c.ref(in)
				continue
			}
		}
		if out[k], err = c.item(v[k], k, 0); err != nil {
			return nil, fmt.Errorf("%s: %w", truncate.Bytes(k, 80, "…"), err)
		}
	}
	return out, nil
}

func (c *content) list(v []any) ([]any, error) {
	out := make([]any, len(v))
	for i, e := range v {
		var err error
		if out[i], err = c.item(e, "", i); err != nil {
			return nil, fmt.Errorf("[%d]: %w", i, err)
		}
	}
	return out, nil
}

// item returns an element as it is sent: whole, or as a Ref.
func (c *content) item(v any, key string, index int) (any, error) {
	v = generic(v)
	switch v.(type) {
	case map[string]any, []any:
	default:
		return scalar(v, c.of.exact)
	}
	if size := wire.Size(v, c.left, maxInlineDepth); size <= c.left {
		c.left -= size
		return plain(v, c.of.exact, 0)
	}
	return c.ref(c.of.below(v, key, index)), nil
}

func isScalar(v any) bool {
	switch v.(type) {
	case nil, bool, string, int64, float64:
		return true
	}
	return false
}

// scalar returns a scalar as it is sent. Where numbers are not exact, a float64 without a
// fraction is a whole number: the values of a chart have no others.
func scalar(v any, exact bool) (any, error) {
	switch v := v.(type) {
	case nil, bool, string, int64, wire.Ref:
		return v, nil
	case float64:
		if !exact && v == math.Trunc(v) && math.Abs(v) < 1<<63 {
			return int64(v), nil
		}
		return v, nil
	case int:
		return int64(v), nil
	}
	rv := reflect.ValueOf(v)
	switch rv.Kind() {
	case reflect.Bool:
		return rv.Bool(), nil
	case reflect.String:
		return rv.String(), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return rv.Int(), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		if u := rv.Uint(); u <= math.MaxInt64 {
			return int64(u), nil
		}
		return float64(rv.Uint()), nil
	case reflect.Float32, reflect.Float64:
		return rv.Float(), nil // a type of its own, values.Real, is a float
	}
	return nil, fmt.Errorf("a %T cannot be given to a script", v)
}

// plain returns a value of Go as new maps, lists and scalars. An error is returned for what
// has no such form, and for what nests too deep.
func plain(v any, exact bool, depth int) (any, error) {
	if depth > wire.MaxDepth-2 {
		return nil, wire.ErrDepth
	}
	switch v := generic(v).(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			p, err := plain(e, exact, depth+1)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", truncate.Bytes(k, 80, "…"), err)
			}
			out[k] = p
		}
		return out, nil
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			p, err := plain(e, exact, depth+1)
			if err != nil {
				return nil, fmt.Errorf("[%d]: %w", i, err)
			}
			out[i] = p
		}
		return out, nil
	default:
		return scalar(v, exact)
	}
}

// generic returns a map with text as keys as a map[string]any, a list as []any, bytes as text
// a nil pointer as nil, and .Capabilities as scripts see it. Anything else is returned as it is.
func generic(v any) any {
	switch v := v.(type) {
	case nil, bool, string, int64, float64, map[string]any, []any:
		return v
	case []byte:
		return string(v)
	case *common.Capabilities:
		return capabilitiesOf(v)
	}
	rv := reflect.ValueOf(v)
	switch rv.Kind() {
	case reflect.Pointer:
		if rv.IsNil() {
			return nil
		}
	case reflect.Map:
		if same := reflect.TypeFor[map[string]any](); rv.CanConvert(same) {
			return rv.Convert(same).Interface()
		}
		if rv.Type().Key().Kind() != reflect.String {
			return v
		}
		out := make(map[string]any, rv.Len())
		for it := rv.MapRange(); it.Next(); {
			out[it.Key().String()] = it.Value().Interface()
		}
		return out
	case reflect.Slice, reflect.Array:
		out := make([]any, rv.Len())
		for i := range out {
			out[i] = rv.Index(i).Interface()
		}
		return out
	}
	return v
}
