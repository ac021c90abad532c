// SPDX-License-Identifier: Apache-2.0

package script

import (
	"reflect"
	"strings"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/values"
	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/script/wire"
)

// stage is the payload of an event as one handler sees it, piece by piece.
type stage struct {
	payload *event.Payload
	results []event.TestResult
	// kept reports that the chart is written as scripts leave it. Elsewhere a
	// script cannot change the schema that values are held against.
	kept    bool
	handles *handles

	contexts map[*chart.Chart]*node
	order    []*chart.Chart // of contexts, as they were made
	scopes   map[*chart.Chart]*node
	globals  map[uintptr]*node
	lists    map[listKey]*node
	objects  map[*manifest.Object]*node
}

// listKey names one of the lists of a chart's context.
type listKey struct {
	chart *chart.Chart
	field string
}

func newStage(e event.Event, ids *uint64) *stage {
	st := &stage{
		payload:  e.Data(),
		handles:  &handles{ids: ids, byID: map[uint64]*node{}},
		contexts: map[*chart.Chart]*node{},
		scopes:   map[*chart.Chart]*node{},
		globals:  map[uintptr]*node{},
		lists:    map[listKey]*node{},
		objects:  map[*manifest.Object]*node{},
	}
	switch e := e.(type) {
	case *event.PostTest:
		st.results = e.Results
	case *event.FailedTest:
		st.results = e.Results
	case *event.PostCreate, *event.PrePackage:
		st.kept = true
	}
	return st
}

// fieldParts are the fields of a context that can be replaced as a whole.
func fieldParts() map[string]event.Fields {
	return map[string]event.Fields{
		"values": event.Values, "files": event.Files, "templates": event.Templates,
		"dependencies": event.Dependencies, "objects": event.Objects,
	}
}

// mayNames are the parts as scripts are told of them.
func mayNames(may event.Fields, top bool) []any {
	out := []any{}
	add := func(p event.Fields, names ...any) {
		if may.Has(p) {
			out = append(out, names...)
		}
	}
	add(event.Values, "values")
	add(event.Templates, "templates")
	add(event.Files, "files")
	add(event.Objects, "objects")
	add(event.Dependencies, "dependencies")
	if top {
		add(event.Versions, "version", "appVersion")
	}
	return out
}

// context is what a handler of chart c gets. c is nil where there is no chart.
func (st *stage) context(c *chart.Chart) *node {
	if n := st.contexts[c]; n != nil {
		return n
	}
	n := &node{special: true, title: "ctx", fields: fieldParts(), exact: true, origin: c}
	if c != nil && !c.IsRoot() {
		n.title = "ctx of chart " + c.Name()
	}
	n.fetch = func() (any, error) { return st.contextFields(c), nil }
	st.contexts[c] = n
	st.order = append(st.order, c)
	return n
}

func (st *stage) contextFields(c *chart.Chart) map[string]any {
	op := st.payload.Operation
	f := map[string]any{
		"release":      releaseFields(st.payload),
		"capabilities": capabilityFields(op),
		"minimal":      c == nil,
		"dryRun":       op != nil && op.DryRun,
	}
	if st.results != nil {
		f["results"] = resultFields(st.results)
	}
	if c == nil {
		return f
	}
	f["chart"] = chartFields(c)
	f["values"] = st.scope(c)
	for _, field := range []string{"files", "templates", "dependencies", "objects"} {
		f[field] = st.list(c, field)
	}
	f["charts"] = &node{special: true, title: "ctx.charts", fetch: func() (any, error) {
		below := map[string]any{}
		for _, d := range c.Dependencies() {
			if _, twice := below[d.Name()]; !twice {
				below[d.Name()] = st.context(d)
			}
		}
		return below, nil
	}}
	return f
}

// scope are the values that c sees: a part of those of the chart above it. A
// library has none.
func (st *stage) scope(c *chart.Chart) *node {
	if n := st.scopes[c]; n != nil {
		return n
	}
	n := &node{part: event.Values, title: "values", origin: c}
	st.scopes[c] = n
	switch {
	case c.IsRoot():
		n.value = table(st.payload.Values)
	case below(c):
		n.part, n.value = 0, map[string]any{}
		return n
	default:
		up := st.scope(c.Parent())
		own, _ := up.value.(map[string]any)[c.Name()].(map[string]any)
		n.value, n.parent, n.path = table(own), up, &step{key: c.Name()}
		up.kids = append(up.kids, n)
	}
	subs := map[string]*chart.Chart{}
	for _, d := range c.Subcharts() {
		subs[d.Name()] = d
	}
	n.kid = func(key string, v any) *node {
		t, ok := v.(map[string]any)
		switch {
		case !ok:
			return nil
		case subs[key] != nil:
			return st.scope(subs[key])
		case key == values.Global:
			return st.global(n, t)
		}
		return nil
	}
	shared := len(subs) > 0 || !c.IsRoot()
	if _, has := n.value.(map[string]any)[values.Global]; !has && shared {
		n.more = map[string]*node{values.Global: n.hold(map[string]any{}, &step{key: values.Global})}
	}
	return n
}

// below reports whether c stands in library/, or below a chart that does.
func below(c *chart.Chart) bool {
	for ; c != nil; c = c.Parent() {
		if c.FromLibrary {
			return true
		}
	}
	return false
}

// table is m, which is a map also where it is nil.
func table(m map[string]any) map[string]any {
	if m == nil {
		return map[string]any{}
	}
	return m
}

// global is the global table of a scope. Scopes that share one have one node.
func (st *stage) global(scope *node, t map[string]any) *node {
	at := reflect.ValueOf(t).Pointer()
	n := st.globals[at]
	if n == nil || at == 0 {
		n = scope.hold(t, &step{key: values.Global})
		st.globals[at] = n
	}
	return n
}

// list is one of the lists of a chart's context.
func (st *stage) list(c *chart.Chart, field string) *node {
	key := listKey{c, field}
	if n := st.lists[key]; n != nil {
		return n
	}
	n := &node{special: true, list: true, title: field, part: fieldParts()[field], holds: aFile}
	switch field {
	case "dependencies":
		n.holds = aDependency
	case "objects":
		n.holds = anObject
	}
	n.fetch = func() (any, error) { return list(st.items(n, c, field)), nil }
	st.lists[key] = n
	return n
}

// looked are the elements of a list that someone has asked for, or whose place
// something else takes; of one that no one looked at nothing can have changed.
func (n *node) looked() []any {
	if n.fetch != nil && !n.changed() {
		return nil
	}
	v, _ := n.content() // lists come without errors
	els, _ := v.([]any)
	return els
}

// items are the nodes of the elements of one of a chart's lists.
func (st *stage) items(n *node, c *chart.Chart, field string) []any {
	var els []any
	switch field {
	case "files":
		for _, f := range c.Files {
			if !strings.HasPrefix(f.Name, chart.DirExt+"/") {
				els = append(els, fileNode(n, f, len(els)))
			}
		}
	case "templates":
		for _, f := range c.Templates {
			els = append(els, fileNode(n, f, len(els)))
		}
	case "dependencies":
		if c.Metadata != nil {
			for _, d := range c.Metadata.Dependencies {
				if d != nil {
					els = append(els, dependencyNode(n, d, len(els)))
				}
			}
		}
	case "objects":
		// Those of the chart and of charts below it; all are the top chart's.
		// Documents that hold comments only are not objects.
		prefix := ""
		if !c.IsRoot() {
			prefix = c.FullPath() + "/"
		}
		for _, o := range st.payload.Objects {
			if !o.Empty && strings.HasPrefix(o.Source, prefix) {
				els = append(els, st.object(n, o, len(els)))
			}
		}
	}
	return els
}

func elementNode(l *node, k kind, index int, origin any, fetch func() (any, error)) *node {
	return &node{kind: k, part: l.part, exact: true, origin: origin, fetch: fetch,
		title: l.title + "[" + itoa(index+1) + "]"}
}

func fileNode(l *node, f *chart.File, index int) *node {
	return elementNode(l, aFile, index, f, func() (any, error) {
		return map[string]any{"name": f.Name, "data": string(f.Data)}, nil
	})
}

func dependencyNode(l *node, d *chart.Dependency, index int) *node {
	return elementNode(l, aDependency, index, d, func() (any, error) { return dependencyFields(d), nil })
}

// object is the node of an object, the same in the contexts of all charts that
// see it.
func (st *stage) object(l *node, o *manifest.Object, index int) *node {
	n := st.objects[o]
	if n == nil {
		n = elementNode(l, anObject, index, o, func() (any, error) {
			m, err := o.Map()
			return table(m), err
		})
		st.objects[o] = n
	}
	return n
}

// offer gives the context of c a number.
func (st *stage) offer(c *chart.Chart) wire.Ref { return st.handles.ref(st.context(c)) }

// maxAhead is how much text the manifests may have that are sent along with a call.
const maxAhead = 64 << 10

// levels are the levels that nearly every handler looks at: the context of c and
// its values, unless those are a wide map, and its objects where they may change and
// are not many. Sent along with the call they spare the process a question each.
func (st *stage) levels(c *chart.Chart, may event.Fields) []any {
	out := []any{}
	nodes := []*node{st.context(c)}
	if c != nil {
		nodes = append(nodes, st.scope(c))
		if may.Has(event.Objects) {
			nodes = append(nodes, st.objectsAhead(c)...)
		}
	}
	left := wire.MaxFrame / 4
	for _, n := range nodes {
		if st.handles.wide(n) {
			continue
		}
		v, err := st.handles.level(n)
		if err != nil {
			continue // a script that looks at it asks, and is told why
		}
		if left -= roughly(v, 0); left < 0 {
			break
		}
		out = append(out, map[string]any{"ref": st.handles.ref(n), "value": v})
	}
	return out
}

// objectsAhead are the list of c's objects and its elements; none where those are
// more than a call takes along.
func (st *stage) objectsAhead(c *chart.Chart) []*node {
	size := 0
	for _, o := range st.payload.Objects {
		if size += len(o.Raw); size > maxAhead {
			return nil
		}
	}
	list := st.list(c, "objects")
	nodes := []*node{list}
	els, _ := list.content() // lists come without errors
	for _, e := range els.([]any) {
		nodes = append(nodes, e.(*node))
	}
	return nodes
}
