// SPDX-License-Identifier: Apache-2.0

package script

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"

	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/script/wire"
)

// node is a map or list that is handed out under a number. What it stands for
// is never changed.
type node struct {
	id   uint64 // 0 until it is handed out
	list bool
	// value is the map or list. Nodes in it are handed out under their own
	// numbers. fetch makes it on first use.
	value any
	fetch func() (any, error)
	// kid gives what stands under a key a node of its own, nil for nothing
	// special.
	kid func(key string, v any) *node
	// more are nodes that are shown under keys that the value does not have;
	// they come to be when someone puts something in.
	more map[string]*node

	// parent holds the node at path, or is nil; kids are those that it holds.
	parent *node
	path   *step
	kids   []*node

	// special reports that value is not plain data: it holds nodes.
	special bool

	// kind is what it is an element of such a list as, holds what such a list has.
	kind, holds kind
	// fields are those that a context has and that may be replaced.
	fields map[string]event.Fields

	// part is what it belongs to, of those parts that may change; 0 is
	// read-only.
	part  event.Fields
	title string // how errors name a node without parent
	// exact reports that a float64 in it is a float; in values it may be a whole
	// number just as well.
	exact bool
	// origin is what it was made of: a *chart.File, *manifest.Object or
	// *chart.Dependency, for a scope its *chart.Chart.
	origin any

	sent  any // the level as it was handed out
	apply applied
}

// kind is what an element of a special list is.
type kind int

const (
	_ kind = iota
	aFile
	aDependency
	anObject
)

// step is one step of the way from a node's value to what one of its kids
// stands for.
type step struct {
	up    *step
	key   string
	index int // of a list, where list is set
	list  bool
}

// name is where the node stands, for errors: "values.image.tags".
func (n *node) name() string {
	if n.parent == nil {
		return n.title
	}
	var way func(s *step) string
	way = func(s *step) string {
		switch {
		case s == nil:
			return ""
		case s.list:
			return way(s.up) + "[" + strconv.Itoa(s.index+1) + "]"
		}
		return way(s.up) + "." + s.key
	}
	return clip(n.parent.name()+way(n.path), maxSource)
}

// content is the node's value.
func (n *node) content() (any, error) {
	if n.fetch != nil {
		v, err := n.fetch()
		if err != nil {
			return nil, err
		}
		n.value, n.fetch = v, nil
	}
	return n.value, nil
}

// handles are the nodes of one request.
type handles struct {
	ids  *uint64 // the last number that was given; they are never used again
	byID map[uint64]*node
}

// ref gives the node a number.
func (h *handles) ref(n *node) wire.Ref {
	if n.id == 0 {
		*h.ids++
		n.id = *h.ids
		h.byID[n.id] = n
	}
	return wire.Ref{ID: n.id, List: n.list}
}

// Small content goes along with a level, so that few questions are needed.
const (
	inlineBytes = 16 << 10
	inlineDepth = 24
)

// level is the node's value as it is handed out: scalars, refs, and small maps
// and lists below it whole, the topmost first.
func (h *handles) level(n *node) (any, error) {
	if n.sent != nil {
		return n.sent, nil
	}
	v, err := n.content()
	if err != nil {
		return nil, err
	}
	l := leveler{h: h, n: n, left: inlineBytes}
	out, err := l.expand(v, nil, 0)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", n.name(), err)
	}
	for i := 0; i < len(l.queue); i++ {
		if err := l.next(l.queue[i]); err != nil {
			return nil, fmt.Errorf("%s: %w", n.name(), err)
		}
	}
	n.sent = out
	return out, nil
}

// wide reports whether the node is a map of which single fields are worth asking
// for.
func (h *handles) wide(n *node) bool {
	v, err := n.content()
	table, isMap := v.(map[string]any)
	if err != nil || !isMap || n.special {
		return false
	}
	_, small := shallowSize(table, inlineBytes)
	return !small
}

// field is what stands under a key of the node's level. Scalars, which most of a
// wide map are, do without the level.
func (h *handles) field(n *node, key string) (v any, there bool, err error) {
	if n.sent == nil {
		v, err := n.content()
		if err != nil {
			return nil, false, err
		}
		e, there := v.(map[string]any)[key]
		if !there && n.more[key] == nil {
			return nil, false, nil
		}
		if s, plain := simple(e, n.exact); there && plain && n.more[key] == nil {
			return s, true, nil
		}
	}
	level, err := h.level(n)
	if err != nil {
		return nil, false, err
	}
	v, there = level.(map[string]any)[key]
	return v, there, nil
}

// leveler makes one level, breadth first.
type leveler struct {
	h     *handles
	n     *node
	left  int
	queue []waiting
}

// waiting is a map or list below the level's own, and where it goes in what is
// handed out.
type waiting struct {
	value any
	at    *step
	depth int
	table map[string]any // one of the two
	list  []any
}

// next hands a map or list out, as it is or as a ref.
func (l *leveler) next(w waiting) error {
	var out any
	size, ok := shallowSize(w.value, l.left)
	if ok && w.depth <= inlineDepth {
		l.left -= size
		var err error
		if out, err = l.expand(w.value, w.at, w.depth); err != nil {
			return err
		}
	} else {
		out = l.h.ref(l.n.hold(w.value, w.at))
	}
	if w.table != nil {
		w.table[w.at.key] = out
	} else {
		w.list[w.at.index] = out
	}
	return nil
}

// hold makes a node for a map or list below n.
func (n *node) hold(v any, at *step) *node {
	_, isList := v.([]any)
	k := &node{list: isList, value: v, parent: n, path: at, part: n.part, exact: n.exact}
	n.kids = append(n.kids, k)
	return k
}

// expand hands out a map's or list's own content; the maps and lists in it
// have to wait.
func (l *leveler) expand(v any, at *step, depth int) (any, error) {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		var rest []string
		for k, e := range v {
			var plain bool
			if out[k], plain = simple(e, l.n.exact); !plain {
				rest = append(rest, k)
			}
		}
		slices.Sort(rest) // the same numbers on every run
		if at == nil {
			for k, own := range l.n.more {
				out[k] = l.h.ref(own)
			}
		}
		for _, k := range rest {
			if l.n.kid != nil && at == nil {
				if own := l.n.kid(k, v[k]); own != nil {
					out[k] = l.h.ref(own)
					continue
				}
			}
			if err := l.element(v[k], waiting{at: &step{up: at, key: k}, depth: depth + 1, table: out}); err != nil {
				return nil, fmt.Errorf("%s: %w", k, err)
			}
		}
		return out, nil
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			var plain bool
			if out[i], plain = simple(e, l.n.exact); plain {
				continue
			}
			if err := l.element(e, waiting{at: &step{up: at, index: i, list: true}, depth: depth + 1, list: out}); err != nil {
				return nil, fmt.Errorf("[%d]: %w", i, err)
			}
		}
		return out, nil
	}
	return nil, fmt.Errorf("%T is neither a map nor a list", v)
}

func (l *leveler) element(e any, w waiting) error {
	var out any
	switch e := e.(type) {
	case *node:
		out = l.h.ref(e)
	case map[string]any, []any:
		w.value = e
		l.queue = append(l.queue, w)
		return nil
	default:
		var err error
		if out, err = scalar(e, l.n.exact); err != nil {
			if out, err = plain(e, l.n.exact, 0); err != nil {
				return err
			}
			switch out.(type) {
			case map[string]any, []any: // something of Go's, such as []string
				w.value = out
				l.queue = append(l.queue, w)
				return nil
			}
		}
	}
	if w.table != nil {
		w.table[w.at.key] = out
	} else {
		w.list[w.at.index] = out
	}
	return nil
}

// shallowSize is about how many bytes a map or list takes without what is in
// the maps and lists in it. It is not ok if that is more than most.
func shallowSize(v any, most int) (n int, ok bool) {
	add := func(e any) {
		n += 9
		if s, isText := e.(string); isText {
			n += len(s)
		}
	}
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			n += len(k) + 2
			if add(e); n > most {
				return n, false
			}
		}
	case []any:
		for _, e := range v {
			if add(e); n > most {
				return n, false
			}
		}
	}
	return n, n <= most
}

// simple is [scalar] for what is one for sure.
func simple(v any, exact bool) (any, bool) {
	switch v.(type) {
	case nil, bool, string, int64, float64:
		s, _ := scalar(v, exact)
		return s, true
	}
	return nil, false
}

// scalar is a scalar as it is sent. Where numbers are not exact, a float64 that
// is a whole number is sent as one: the values of a chart know no others.
func scalar(v any, exact bool) (any, error) {
	switch v := v.(type) {
	case nil, bool, string, int64:
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
		return rv.Float(), nil // a type of its own says that it is a float
	}
	return nil, fmt.Errorf("a %T cannot be given to a script", v)
}

// plain is a value of Go as maps, lists and scalars. What has no such form is
// an error.
func plain(v any, exact bool, depth int) (any, error) {
	if depth > wire.MaxDepth-2 {
		return nil, wire.ErrDepth
	}
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			p, err := plain(e, exact, depth+1)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", clip(k, 80), err)
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
	}
	if s, err := scalar(v, exact); err == nil {
		return s, nil
	}
	rv := reflect.ValueOf(v)
	switch rv.Kind() {
	case reflect.Pointer, reflect.Interface:
		if rv.IsNil() {
			return nil, nil
		}
	case reflect.Map:
		if rv.Type().Key().Kind() == reflect.String {
			out := make(map[string]any, rv.Len())
			for it := rv.MapRange(); it.Next(); {
				out[it.Key().String()] = it.Value().Interface()
			}
			return plain(out, exact, depth)
		}
	case reflect.Slice, reflect.Array:
		if text, ok := v.([]byte); ok {
			return string(text), nil
		}
		out := make([]any, rv.Len())
		for i := range out {
			out[i] = rv.Index(i).Interface()
		}
		return plain(out, exact, depth)
	}
	return nil, fmt.Errorf("a %T cannot be given to a script", v)
}
