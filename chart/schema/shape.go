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

// Bounds of what is derived: what lies deeper or comes later is left open.
const (
	maxDerivedDepth = 80
	maxDerivedNodes = 50_000
	maxDefaultNodes = 500
)

// shape is what one value, or several that are in one list, say about a
// schema. The empty kind is anything.
type shape struct {
	kind    string
	value   any // the default
	noValue bool
	names   []string // of the properties, in order
	below   map[string]*shape
	items   *shape // nil for a list that tells nothing of its items
	comment comment
}

// deriver makes a schema of a values file.
type deriver struct {
	source *source
	doc    comments
	nodes  int
	// annotated are the "@schema" comments that were used, for errors.
	annotated []annotated
}

// document derives the schema of the whole file.
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

// shape looks at a value; nodes are the places that it is at.
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
		return s, d.table(s, v, nodes, path, depth)
	case []any:
		s.kind = "array"
		return s, d.list(s, v, nodes, path, depth)
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
		at := e.name
		if path != "" {
			at = path + "." + e.name
		}
		var places []*yaml.Node
		if e.node != nil {
			places = []*yaml.Node{e.node}
		}
		c, err := d.doc.at(d.source, e, at)
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
		below, err := d.shape(e.value, places, at, depth+1)
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
		if s.items = agree(s.items, item); s.items.kind == "" {
			return nil
		}
	}
	return nil
}

// agree is what two shapes of one list have in common; a may be nil.
func agree(a, b *shape) *shape {
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
		a.items = agree(a.items, b.items)
	}
	for _, name := range b.names {
		if have := a.below[name]; have != nil {
			a.below[name] = agree(have, b.below[name])
			continue
		}
		a.names = append(a.names, name)
		a.below[name] = b.below[name]
	}
	return a
}

// node writes a shape as a schema. Items of lists have no defaults: their list
// has.
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
		at := name
		if path != "" {
			at = path + "." + name
		}
		below, err := d.write(s.below[name], at, defaults)
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

// mergeProperties writes one schema for all members of a map.
func (d *deriver) mergeProperties(n *yaml.Node, s *shape, path string) error {
	var all *shape
	for _, name := range s.names {
		below := *s.below[name]
		below.comment = comment{}
		all = agree(all, &below)
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

// types is the schema's type: the value's own, and what a comment adds to it.
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
		return nil // nullable, and anything is allowed already
	}
	return typeList(kinds)
}
