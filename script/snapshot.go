// SPDX-License-Identifier: Apache-2.0

package script

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/values"
	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/script/wire"
)

// snapshot is the payload of an event as one handler sees it, made as it is looked at.
type snapshot struct {
	nodes
	payload *event.Payload
	results []event.TestResult
	// written is set where the chart is written as scripts leave it. Elsewhere a script
	// cannot change the schema that values are validated against.
	written bool

	contexts map[*chart.Chart]*node
	scopes   map[*chart.Chart]*node
	globals  map[uintptr]*node
	lists    map[listKey]*node
	objects  map[*manifest.Object]*node
	versions map[string]string // that the script has set
}

// listKey names one of the lists of a chart's context.
type listKey struct {
	chart *chart.Chart
	field string
}

func newSnapshot(e event.Event) *snapshot {
	s := &snapshot{
		nodes:    nodes{},
		payload:  e.Data(),
		contexts: map[*chart.Chart]*node{},
		scopes:   map[*chart.Chart]*node{},
		globals:  map[uintptr]*node{},
		lists:    map[listKey]*node{},
		objects:  map[*manifest.Object]*node{},
		versions: map[string]string{},
	}
	switch e := e.(type) {
	case *event.PostTest:
		s.results = e.Results
	case *event.FailedTest:
		s.results = e.Results
	case *event.PostCreate, *event.PrePackage:
		s.written = true
	}
	return s
}

// listField is a field of a context that is a list, and the field of the payload that it shows.
type listField struct {
	name  string
	field event.Fields
}

func listFields() []listField {
	return []listField{
		{"dependencies", event.Dependencies},
		{"files", event.Files},
		{"objects", event.Objects},
		{"templates", event.Templates},
	}
}

// mutable returns the names of the fields that may change, as [wire.Call] has them.
func mutable(may event.Fields, top bool) []any {
	out := []any{}
	for _, l := range listFields() {
		if may.Has(l.field) {
			out = append(out, l.name)
		}
	}
	if may.Has(event.Values) {
		out = append(out, "values")
	}
	if top && may.Has(event.Versions) {
		out = append(out, "version", "appVersion")
	}
	return out
}

// contextOf returns the context that a handler of chart c gets. c is nil where there is no
// chart.
func (s *snapshot) contextOf(c *chart.Chart) *node {
	if n := s.contexts[c]; n != nil {
		return n
	}
	n := &node{context: true, title: "ctx", exact: true}
	if c != nil && !c.IsRoot() {
		n.title = "ctx of chart " + c.Name()
	}
	n.fetch = func() (any, error) { return s.contextFields(c), nil }
	s.contexts[c] = n
	return n
}

func (s *snapshot) contextFields(c *chart.Chart) map[string]any {
	op := s.payload.Operation
	f := map[string]any{
		"release":      releaseFields(s.payload),
		"capabilities": capabilityFields(op),
		"minimal":      c == nil,
		"dryRun":       op != nil && op.DryRun,
	}
	if s.results != nil {
		f["results"] = resultFields(s.results)
	}
	if c == nil {
		return f
	}
	f["chart"] = chartFields(c)
	f["values"] = s.ref(s.scope(c))
	for _, l := range listFields() {
		f[l.name] = s.ref(s.list(c, l))
	}
	charts := map[string]any{}
	for _, d := range c.Dependencies() {
		if charts[d.Name()] == nil {
			charts[d.Name()] = s.ref(s.contextOf(d))
		}
	}
	f["charts"] = charts
	return f
}

// scope returns the values that c sees, which are part of those of the chart above it. A
// library chart has none.
func (s *snapshot) scope(c *chart.Chart) *node {
	if n := s.scopes[c]; n != nil {
		return n
	}
	var n *node
	switch {
	case c.IsRoot():
		n = &node{title: "values", field: event.Values, value: table(s.payload.Values)}
	case inLibrary(c):
		n = &node{title: "values", value: map[string]any{}}
		s.scopes[c] = n
		return n
	default:
		up := s.scope(c.Parent())
		own, isMap := up.value.(map[string]any)[c.Name()].(map[string]any)
		n = up.below(table(own), c.Name(), 0)
		if !isMap {
			up.add(n, false)
		}
	}
	s.scopes[c] = n
	subs := c.Subcharts()
	n.inner = func(key string, v any) *node {
		t, isMap := v.(map[string]any)
		at := slices.IndexFunc(subs, func(d *chart.Chart) bool { return d.Name() == key })
		switch {
		case isMap && at >= 0:
			return s.scope(subs[at])
		case isMap && key == values.Global:
			return s.global(n, t)
		}
		return nil
	}
	shared := len(subs) > 0 || !c.IsRoot()
	if _, has := n.value.(map[string]any)[values.Global]; !has && shared {
		n.add(n.below(map[string]any{}, values.Global, 0), true)
	}
	return n
}

// inLibrary reports whether c or a chart above it is in library/.
func inLibrary(c *chart.Chart) bool {
	for ; c != nil; c = c.Parent() {
		if c.FromLibrary {
			return true
		}
	}
	return false
}

// table returns m, or an empty map for nil.
func table(m map[string]any) map[string]any {
	if m == nil {
		return map[string]any{}
	}
	return m
}

// global returns the node of a scope's global table. Scopes that share a table share it.
func (s *snapshot) global(scope *node, t map[string]any) *node {
	at := reflect.ValueOf(t).Pointer()
	n := s.globals[at]
	if n == nil || at == 0 {
		n = scope.below(t, values.Global, 0)
		s.globals[at] = n
	}
	return n
}

// list returns the node of one of the lists of a chart's context.
func (s *snapshot) list(c *chart.Chart, l listField) *node {
	key := listKey{c, l.name}
	n := s.lists[key]
	if n == nil {
		n = &node{Node: wire.Node{Ref: wire.Ref{List: true}}, items: true, title: l.name, field: l.field}
		n.fetch = func() (any, error) { return s.items(n, s.origins(c, l.name)), nil }
		s.lists[key] = n
	}
	return n
}

// origins returns what the elements of one of a chart's lists show: files, dependencies or
// objects.
func (s *snapshot) origins(c *chart.Chart, field string) (out []any) {
	switch field {
	case "files", "templates":
		for _, f := range *fileList(c, field) {
			if field == "templates" || !strings.HasPrefix(f.Name, chart.DirExt+"/") {
				out = append(out, f)
			}
		}
	case "dependencies":
		for _, d := range metadata(c).Dependencies {
			if d != nil {
				out = append(out, d)
			}
		}
	case "objects":
		// The root chart has all objects, other charts those of their subtree. Documents
		// of comments alone are not objects.
		prefix := ""
		if !c.IsRoot() {
			prefix = c.FullPath() + "/"
		}
		for _, o := range s.payload.Objects {
			if !o.Empty && strings.HasPrefix(o.Source, prefix) {
				out = append(out, o)
			}
		}
	}
	return out
}

// fileList returns the chart's files or templates.
func fileList(c *chart.Chart, field string) *[]*chart.File {
	if field == "templates" {
		return &c.Templates
	}
	return &c.Files
}

// items returns the Refs of the elements of list l. An object has one node in all lists.
func (s *snapshot) items(l *node, origins []any) []any {
	refs := make([]any, len(origins))
	for i, origin := range origins {
		object, _ := origin.(*manifest.Object)
		n := s.objects[object]
		if n == nil {
			n = &node{parent: l, index: i, field: l.field, exact: true, origin: origin}
			n.fetch = func() (any, error) { return itemFields(origin) }
		}
		if object != nil {
			s.objects[object] = n
		}
		refs[i] = s.ref(n)
	}
	return refs
}

const (
	// maxAlong is how much is sent along with a call, in bytes of memory.
	maxAlong = 512 << 10
	// maxObjects is how much text the objects may have that are: they are decoded for it.
	maxObjects = 64 << 10
)

// message returns the fields of [wire.Call] that show a handler of c its context: that, and
// what it leads to as long as it is small.
func (s *snapshot) message(c *chart.Chart, may event.Fields) map[string]any {
	n := s.contextOf(c)
	ref := s.ref(n)
	withObjects := may.Has(event.Objects) && s.objectText() <= maxObjects
	contents, err := s.contents(n, maxAlong, withObjects)
	if err != nil {
		contents = []any{} // the script asks for it, and gets the error
	}
	return map[string]any{"context": ref, "contents": contents, "may": mutable(may, c != nil && c.IsRoot())}
}

func (s *snapshot) objectText() (size int) {
	for _, o := range s.payload.Objects {
		size += len(o.Raw)
	}
	return size
}

// changed returns the charts of which a list has changed, or an element of it: those above
// before those below.
func (s *snapshot) changed(field string) []*chart.Chart {
	var out []*chart.Chart
	for key, n := range s.lists {
		if key.field == field && n.dirty {
			out = append(out, key.chart)
		}
	}
	slices.SortFunc(out, func(a, b *chart.Chart) int {
		pa, pb := a.FullPath(), b.FullPath()
		return cmp.Or(strings.Count(pa, "/")-strings.Count(pb, "/"), strings.Compare(pa, pb))
	})
	return out
}
