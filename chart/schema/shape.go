// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"math"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/moonhelm/moonhelm/internal/yaml"
)

// Limits of derived schemas. Values that are nested deeper or come later are not restricted.
const (
	maxDerivedDepth = 80
	maxDerivedNodes = 50_000
	maxDefaultNodes = 500
)

// shape describes the schema for a value or for the items of a list. The empty kind allows
// any value.
type shape struct {
	kind    string
	value   any // the default
	noValue bool
	names   []string // of the properties, in order
	below   map[string]*shape
	items   *shape // nil if the items are not known
	comment comment
}

// deriver derives a schema from a values file.
type deriver struct {
	source *source
	doc    comments
	nodes  int
	// annotated are the "@schema" comments that were used, for errors.
	annotated []annotated
}

// document returns the schema for the whole file.
func (d *deriver) document() (*yaml.Node, error) {
	d.doc = readComments(d.source)
	s, err := d.shape(d.source.values, d.source.roots, "", 0)
	if err != nil {
		return nil, err
	}
	if s.comment, err = d.doc.root(d.source); err != nil {
		return nil, err
	}
	if err := d.doc.unclaimed(d.source); err != nil {
		return nil, err
	}
	n, err := d.node(s, "")
	if err != nil {
		return nil, err
	}
	for _, k := range []struct{ name, value string }{{"title", "Values"}, {"$schema", Draft}} {
		if yaml.Value(n, k.name) == nil {
			prepend(n, k.name, text(k.value))
		}
	}
	sortKeywords(n)
	return n, nil
}

// shape returns the shape of a value. nodes are the nodes of the value in the file.
func (d *deriver) shape(v any, nodes []*yaml.Node, path string, depth int) (*shape, error) {
	s := &shape{value: v}
	if d.nodes++; d.nodes > maxDerivedNodes || depth > maxDerivedDepth {
		s.noValue = true
		return s, nil
	}
	for i, n := range nodes {
		nodes[i] = yaml.Target(n)
	}
	switch v := v.(type) {
	case map[any]any:
		s.kind = "object"
		err := d.table(s, v, nodes, path, depth)
		return s, err
	case []any:
		s.kind = "array"
		err := d.list(s, v, nodes, path, depth)
		return s, err
	case string, time.Time:
		s.kind = "string"
	case bool:
		s.kind = "boolean"
	case int, int64, uint64:
		s.kind = "integer"
	case float64:
		s.kind = "number"
		s.noValue = math.IsInf(v, 0) || math.IsNaN(v)
	}
	return s, nil
}

func (d *deriver) table(s *shape, table map[any]any, nodes []*yaml.Node, path string, depth int) error {
	s.below = make(map[string]*shape, len(table))
	for _, e := range d.source.entries(table, nodes) {
		if d.nodes > maxDerivedNodes {
			return nil
		}
		field := e.name
		if path != "" {
			field = path + "." + e.name
		}
		var places []*yaml.Node
		if e.node != nil {
			places = []*yaml.Node{e.node}
		}
		c, err := d.doc.commentOf(d.source, e, field)
		if err != nil {
			return err
		}
		if c.schema.has("hidden") || !utf8.ValidString(e.name) {
			continue
		}
		if c.schema.has("skipProperties") {
			places = nil
			if _, ok := e.value.(map[any]any); ok {
				e.value = map[any]any{}
			}
		}
		below, err := d.shape(e.value, places, field, depth+1)
		if err != nil {
			return err
		}
		if c.schema.has("skipProperties") {
			below.noValue = true
		}
		below.comment = c
		s.names = append(s.names, e.name)
		s.below[e.name] = below
	}
	return nil
}

func (d *deriver) list(s *shape, list []any, nodes []*yaml.Node, path string, depth int) error {
	for i, e := range list {
		var places []*yaml.Node
		if len(nodes) > 0 && nodes[0].Kind == yaml.SequenceNode && i < len(nodes[0].Content) {
			places = []*yaml.Node{nodes[0].Content[i]}
		}
		item, err := d.shape(e, places, path+"["+strconv.Itoa(i)+"]", depth+1)
		if err != nil {
			return err
		}
		if s.items = combine(s.items, item); s.items.kind == "" {
			return nil
		}
	}
	return nil
}

// combine returns the shape for both a and b, which are items of a list. a may be nil.
func combine(a, b *shape) *shape {
	if a == nil {
		return b
	}
	numbers := func(k string) bool { return k == "integer" || k == "number" }
	switch {
	case a.kind == b.kind:
	case numbers(a.kind) && numbers(b.kind):
		a.kind = "number"
		return a
	default:
		return &shape{noValue: true, comment: a.comment}
	}
	switch {
	case b.items == nil:
	case a.items == nil:
		a.items = b.items
	default:
		a.items = combine(a.items, b.items)
	}
	for _, name := range b.names {
		if have := a.below[name]; have != nil {
			a.below[name] = combine(have, b.below[name])
			continue
		}
		a.names = append(a.names, name)
		a.below[name] = b.below[name]
	}
	return a
}

// node returns the schema for a shape. Items of lists have no defaults, because the list has.
func (d *deriver) node(s *shape, path string) (*yaml.Node, error) {
	return d.write(s, path, true)
}

func (d *deriver) write(s *shape, path string, defaults bool) (*yaml.Node, error) {
	n := mapping()
	if s.comment.description != "" {
		add(n, "description", text(s.comment.description))
	}
	types := s.types()
	if types != nil {
		add(n, "type", types)
	}
	if defaults && !s.noValue && s.value != nil && path != "" && (s.kind != "object" || len(s.names) == 0) {
		if v := literal(s.value, maxDefaultNodes); v != nil {
			add(n, "default", v)
		}
	}
	if s.items != nil && s.items.kind != "" {
		items, err := d.write(s.items, path+"[]", false)
		if err != nil {
			return nil, err
		}
		add(n, "items", items)
	}
	props, required := mapping(), &yaml.Node{Kind: yaml.SequenceNode}
	for _, name := range s.names {
		field := name
		if path != "" {
			field = path + "." + name
		}
		below, err := d.write(s.below[name], field, defaults)
		if err != nil {
			return nil, err
		}
		add(props, name, below)
		if ann := s.below[name].comment.schema; ann != nil && ann.required {
			required.Content = append(required.Content, text(name))
		}
	}
	merge := s.comment.schema.has("mergeProperties")
	if len(props.Content) > 0 && !merge {
		add(n, "properties", props)
	}
	if len(required.Content) > 0 {
		add(n, "required", required)
	}
	if merge {
		if err := d.mergeProperties(n, s, path); err != nil {
			return nil, err
		}
	}
	return d.annotate(n, s, path)
}

// mergeProperties adds a single schema for all members of a map.
func (d *deriver) mergeProperties(n *yaml.Node, s *shape, path string) error {
	var all *shape
	for _, name := range s.names {
		below := *s.below[name]
		below.comment = comment{}
		all = combine(all, &below)
	}
	if all == nil || all.kind == "" {
		return nil
	}
	each, err := d.write(all, path+".*", false)
	if err == nil {
		add(n, "additionalProperties", each)
	}
	return err
}

// types returns the value of the keyword type: the value's type and those of its comment.
func (s *shape) types() *yaml.Node {
	var kinds []string
	if s.kind != "" {
		kinds = append(kinds, s.kind)
	}
	for _, k := range s.comment.types {
		if !slices.Contains(kinds, k) {
			kinds = append(kinds, k)
		}
	}
	if s.kind == "" && len(kinds) > 0 && !slices.Contains(kinds, "null") {
		kinds = append(kinds, "null")
	}
	if s.kind == "" && len(kinds) == 1 {
		return nil // any value is allowed, including null
	}
	return typeList(kinds)
}
