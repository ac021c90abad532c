// SPDX-License-Identifier: Apache-2.0

package values

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/internal/yaml"
)

// An Origin is a place that sets a value: a line of a values file, a flag, or a script.
type Origin struct {
	// Revision is the revision of a release whose record the value was taken from, as by an
	// upgrade that reuses values, or 0. The other fields are then those of that revision; they are
	// empty if its record does not have them.
	Revision int `json:"revision,omitempty"`
	// File is the name of a values file or script: as the user gave it, or, for a file of a
	// chart, the chart's path in its tree and the file's name, as in comments of templates.
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"` // 0 if unknown
	// Flag is a flag of the user with its expression, such as "--set image.tag=2". [Options.Locator] leaves the
	// expression out.
	Flag string `json:"flag,omitempty"`
	// Script is the name of the chart whose script set the value.
	Script string `json:"script,omitempty"`
	// Path is the path of the value in File if it has another name there, as an imported value
	// has; otherwise "".
	Path string `json:"path,omitempty"`
}

// String returns the place in one line, such as "prod.yaml:3", "--set image.tag=2",
// "web/ext/lua/chart.lua:5 (script of web)" or "revision 3: prod.yaml:3".
func (o Origin) String() string {
	text := clip(o.Flag)
	switch {
	case text == "" && o.Line > 0:
		text = fmt.Sprintf("%s:%d", o.File, o.Line)
	case text == "":
		text = o.File
	}
	switch {
	case o.Script != "" && text == "":
		text = "script of " + o.Script
	case o.Script != "":
		text += " (script of " + o.Script + ")"
	case o.Path != "":
		text += " (" + o.Path + ")"
	}
	if o.Revision == 0 {
		return text
	}
	return strings.TrimSuffix(fmt.Sprintf("revision %d: %s", o.Revision, text), ": ")
}

// Origins are the origins of the values of a chart tree. See [Explain].
type Origins struct {
	root  map[string]any
	lists *Lists // that merge

	mu      sync.Mutex
	indexes map[*any]*itemIndex // of lists in root that merge, by their first item
}

// Explain returns where the values that [Resolve] returns come from. It merges values whose
// leaves, scalars and lists, carry their origins, with the same code. It calls read for
// every file, like [Options.Build]. Explain takes several times the time of Resolve.
func Explain(c *chart.Chart, o Options, read func(path string) ([]byte, error)) (*Origins, error) {
	user, err := o.Origins(read)
	if err != nil {
		return nil, err
	}
	final, _, err := user.Resolve(c, nil)
	return final, err
}

// Origins returns where the values that o.Build returns come from.
func (o Options) Origins(read func(path string) ([]byte, error)) (*Origins, error) {
	user := map[string]any{}
	if err := o.build(read, user, true); err != nil {
		return nil, err
	}
	return &Origins{root: user, lists: o.Lists}, nil
}

// Resolve returns where the values that [Resolve] returns for c and the user's values come from,
// of which o are the origins, and where the defaults of its root come from, which include those of
// its subcharts. If defaults is not nil, it has the origins of c.Values; otherwise they are from
// the chart's values.yaml. o may be nil.
func (o *Origins) Resolve(c *chart.Chart, defaults *Origins) (final, ofDefaults *Origins, err error) {
	user, lists := map[string]any{}, (*Lists)(nil)
	if o != nil {
		user, lists = o.root, o.lists
	}
	if lists == nil {
		lists = ListsOf(c)
	}
	c = traceChart(c)
	if defaults != nil {
		c.Values = defaults.root
	}
	res, err := lists.Resolve(c, user)
	if err != nil {
		return nil, nil, err
	}
	return &Origins{root: res.Values, lists: lists}, &Origins{root: res.Chart.Values, lists: lists}, nil
}

// Override returns the origins of what [Override] returns for the values of o and of over.
func (o *Origins) Override(over *Origins) *Origins {
	var under, top map[string]any
	var lists *Lists
	if o != nil {
		under, lists = o.root, o.lists
	}
	if over != nil {
		top = over.root
		if over.lists != nil {
			lists = over.lists
		}
	}
	return &Origins{root: lists.Override(under, top), lists: lists}
}

// FromRevision returns the origins of values that are taken from a revision of a release, whose
// record has the origins o.
func (o *Origins) FromRevision(revision int) *Origins {
	return &Origins{root: fromRevision(o.root, revision), lists: o.lists}
}

func fromRevision(vals map[string]any, revision int) map[string]any {
	out := make(map[string]any, len(vals))
	for k, v := range vals {
		out[k] = valueFromRevision(v, revision)
	}
	return out
}

func valueFromRevision(v any, revision int) any {
	switch v := v.(type) {
	case map[string]any:
		return fromRevision(v, revision)
	case []any: // a list that merges
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = valueFromRevision(item, revision)
		}
		return out
	case *traced:
		origins := slices.Clone(v.origins)
		for i := range origins {
			if origins[i].Revision == 0 {
				origins[i].Revision = revision
			}
		}
		if len(origins) == 0 {
			origins = []Origin{{Revision: revision}}
		}
		return &traced{value: v.value, origins: origins}
	}
	return v
}

// Of returns the origins of the value at path, the keys from the root's values down: first the
// place that set it, then those that it took precedence over, nearest first. It returns nil
// for tables and for paths without a value. A path may go on into a list: with items as "[0]", or
// with the steps of [Origins.Items] in a list that merges. The origins of an item of another list
// are those of the list, with the item's line if that is known. o may be nil.
func (o *Origins) Of(path ...string) []Origin {
	if o == nil {
		return nil
	}
	named, leaf := o.leaf(path)
	if leaf == nil {
		return nil
	}
	origins := slices.Clone(leaf.origins)
	if line := itemLine(leaf.node, path[len(named):]); line > 0 && len(origins) > 0 {
		origins[0].Line = line
	}
	whole := "." + joinAll(named)
	for i := range origins {
		if strings.HasSuffix(whole, "."+origins[i].Path) {
			origins[i].Path = ""
		}
	}
	return origins
}

// leaf returns the leaf at path, or the list that path leads into, with the path of the leaf.
func (o *Origins) leaf(path []string) (named []string, leaf *traced) {
	for i := len(path); i > 0; i-- {
		if i < len(path) && !isItem(path[i]) {
			continue
		}
		v, _, named := o.at(path[:i])
		if leaf, ok := v.(*traced); ok {
			return named, leaf
		}
	}
	return nil, nil
}

// Update compares vals with the values of o. It gives those that differ the origin that from
// returns for their path, and removes those that vals lacks.
func (o *Origins) Update(vals map[string]any, from func(path []string) Origin) {
	o.root = update(o.root, vals, nil, from, o.lists)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.indexes = nil
}

func update(old, vals map[string]any, path []string, from func([]string) Origin, l *Lists) map[string]any {
	out := make(map[string]any, len(vals))
	for k, v := range vals {
		below := append(path[:len(path):len(path)], k)
		leaf, wasLeaf := old[k].(*traced)
		list, isList := v.([]any)
		switch table, isTable := v.(map[string]any); {
		case isTable:
			was, _ := old[k].(map[string]any)
			out[k] = update(was, table, below, from, l.field(k))
		case isList && l.field(k).list() != nil:
			was, _ := old[k].([]any)
			out[k] = updateItems(was, list, below, from, l.field(k).list())
		case wasLeaf && equal(leaf.value, v):
			out[k] = leaf
		case v != nil:
			now := &traced{value: v, origins: []Origin{from(below)}}
			out[k] = now.over(old[k])
		}
	}
	return out
}

// equal reports whether a script left a value as it was. Numbers may have changed their type.
func equal(a, b any) bool {
	wrap := func(v any) map[string]any { return Rounded(map[string]any{"": v}) }
	return reflect.DeepEqual(a, b) || reflect.DeepEqual(wrap(a), wrap(b))
}

// isItem reports whether an element of a path is an item of a list.
func isItem(key string) bool { return strings.HasPrefix(key, "[") }

// itemLine returns the line of an item of the list n, or of a value in it, or 0.
func itemLine(n *yaml.Node, items []string) (line int) {
	for _, key := range items {
		n = yaml.Target(n)
		index, err := strconv.Atoi(strings.Trim(key, "[]"))
		switch {
		case n != nil && n.Kind == yaml.SequenceNode && err == nil && index >= 0 && index < len(n.Content):
			n = n.Content[index]
			line = n.Line
		case yaml.Find(n, key, nil) >= 0:
			i := yaml.Find(n, key, nil)
			line, n = n.Content[i].Line, n.Content[i+1]
		default:
			return line
		}
	}
	return line
}

func joinAll(path []string) string {
	text := ""
	for _, key := range path {
		if strings.HasPrefix(key, "[") && text != "" {
			text += key // an item
			continue
		}
		text = join(text, key)
	}
	return text
}

// traced is a leaf of values with its origins. The functions that merge values treat it like
// any scalar, except that replace and untraced know it. A null has no origins, because a merge
// deletes keys for it. A traced value is never modified.
type traced struct {
	value   any
	origins []Origin
	// node is the node of a list in its file, or nil.
	node *yaml.Node
}

// over returns t with the origins of old, which it takes precedence over.
func (t *traced) over(old any) *traced {
	under, ok := old.(*traced)
	if !ok || under == t {
		return t
	}
	origins := t.origins[:len(t.origins):len(t.origins)]
	for _, o := range under.origins {
		if !slices.Contains(origins, o) {
			origins = append(origins, o)
		}
	}
	return &traced{value: t.value, origins: origins, node: t.node}
}

// replace returns the value that is used where v takes precedence over old: v, with its
// origins if it is traced.
func replace(v, old any) any {
	if t, ok := v.(*traced); ok {
		return t.over(old)
	}
	return v
}

// untraced returns v without its origins.
func untraced(v any) any {
	if t, ok := v.(*traced); ok {
		return t.value
	}
	return v
}

// traceChart returns a copy of the tree of c whose default values are traced.
func traceChart(c *chart.Chart) *chart.Chart {
	out := c.Shallow()
	file := source{name: c.FullPath() + "/" + chart.FileValues}
	if f := c.File(chart.FileValues); f != nil {
		file.root = rootLines(f.Data)
	}
	out.Values = file.table(c.Values, file.root, 0, "", ListsOf(c))
	below := make([]*chart.Chart, len(c.Dependencies()))
	for i, d := range c.Dependencies() {
		below[i] = traceChart(d)
	}
	out.SetDependencies(below...)
	return out
}

// source is a values file.
type source struct {
	name string
	root *yaml.Node // nil if the text is not known
}

// table returns vals with traced leaves. n is the node of vals, or nil; line is that of its
// key, for leaves whose own line is not known.
func (s source) table(vals map[string]any, n *yaml.Node, line int, path string, l *Lists) map[string]any {
	nodes := children(n)
	out := make(map[string]any, len(vals))
	for k, v := range vals {
		at, value := line, (*yaml.Node)(nil)
		if pair, ok := nodes[k]; ok {
			at, value = pair[0].Line, pair[1]
		}
		below := join(path, k)
		switch v := v.(type) {
		case nil:
			out[k] = nil
		case map[string]any:
			out[k] = s.table(v, value, at, below, l.field(k))
		default:
			t := &traced{value: v, origins: []Origin{{File: s.name, Line: at, Path: below}}}
			list, ok := v.([]any)
			if ok && l.field(k).list() != nil {
				out[k] = s.list(list, value, at, below, l.field(k).list())
				continue
			}
			if ok {
				t.node = value
			}
			out[k] = t
		}
	}
	return out
}

// traceFile returns vals, the values of a values file of the user, traced.
func traceFile(name string, data []byte, vals map[string]any, l *Lists) map[string]any {
	s := source{name: name, root: rootLines(data)}
	return s.table(vals, s.root, 0, "", l)
}

// applyTraced is [Apply] for traced values. What the expression sets gets the flag as its origin.
func (l *Lists) applyTraced(dst map[string]any, mode Mode, expr string, read func(path string) ([]byte, error)) error {
	before := untraceLists(dst, l)
	if err := l.Apply(dst, mode, expr, read); err != nil {
		return err
	}
	traceChanges(dst, before, mode.String()+" "+expr, "", l)
	return nil
}

// untraceLists replaces the traced lists of vals by copies without origins, whose items an
// expression can set. It returns the values as they were.
func untraceLists(vals map[string]any, l *Lists) (before map[string]any) {
	before = make(map[string]any, len(vals))
	for k, v := range vals {
		before[k] = v
		switch v := v.(type) {
		case map[string]any:
			before[k] = untraceLists(v, l.field(k))
		case []any:
			if r := l.field(k).list(); r != nil {
				vals[k] = untraceItems(v, r.items)
			}
		case *traced:
			if list, ok := v.value.([]any); ok {
				vals[k] = copyValue(list)
			}
		}
	}
	return before
}

// traceChanges traces the leaves of vals that are not traced: what a flag has set, and lists.
func traceChanges(vals, before map[string]any, flag, path string, l *Lists) {
	for k, v := range vals {
		below := join(path, k)
		switch v := v.(type) {
		case nil, *traced:
		case map[string]any:
			was, _ := before[k].(map[string]any)
			traceChanges(v, was, flag, below, l.field(k))
		default:
			if list, ok := v.([]any); ok && l.field(k).list() != nil {
				was, _ := before[k].([]any)
				traceItems(list, was, flag, below, l.field(k).list())
				continue
			}
			leaf, wasLeaf := before[k].(*traced)
			if _, isList := v.([]any); isList && wasLeaf && reflect.DeepEqual(leaf.value, v) {
				vals[k] = leaf
				continue
			}
			t := &traced{value: v, origins: []Origin{{Flag: flag, Path: below}}}
			vals[k] = t.over(before[k])
		}
	}
}
