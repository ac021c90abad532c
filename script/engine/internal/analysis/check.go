// SPDX-License-Identifier: Apache-2.0

package analysis

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/internal/suggest"
)

// maxFindings is how many findings are made about a tree.
const maxFindings = 1000

// checker collects findings about a tree of charts.
type checker struct {
	known    Known
	context  *shape
	programs map[*Chart]*program
	// foreign are the names that charts set in the globals of their subcharts; anything is
	// set if foreignOpen.
	foreign     map[string]bool
	foreignOpen bool
	reported    map[Finding]bool
	out         Result

	p  *program
	in *inference
	// globalNames are the names of the globals that the chart's scripts, or tests, have.
	globalNames []string
	// inTable are the fields of _G that the scripts set, and lookedFor those fields of tables
	// of Lua of which they look whether they are there.
	inTable, lookedFor map[string]bool
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// foreigners notes what a chart may set in the globals of its subcharts.
func (c *checker) foreigners(p *program) {
	gets := slices.ContainsFunc(p.indexes, func(x *index) bool { return indexName(x) == "subcharts.get" })
	if !gets {
		return
	}
	for _, w := range p.writes {
		c.foreign[w.target.name] = true
		c.foreignOpen = c.foreignOpen || w.target.name == ""
	}
}

// program checks the scripts of one chart.
func (c *checker) program(p *program) {
	c.p = p
	c.globalNames = c.known.Globals
	if p.chart.Base != nil {
		c.globalNames = slices.Concat(c.known.Globals, c.known.Tests)
	}
	c.in = newInference(p, c.context, c.tables())
	c.inTable, c.lookedFor = map[string]bool{}, map[string]bool{}
	for _, w := range p.writes {
		if of, ok := w.target.of.(*identifier); ok && of.v.global && of.v.name == "_G" {
			c.inTable[w.target.name] = true
		}
	}
	for _, x := range p.indexes {
		if x.use.kind == useOther {
			c.lookedFor[indexName(x)] = true
		}
	}
	c.uses()
	if p.incomplete {
		return
	}
	c.globals()
	for _, x := range p.indexes {
		c.field(x)
	}
	for _, w := range p.writes {
		c.write(w)
	}
	for _, call := range p.calls {
		c.call(call)
		c.expectation(call)
	}
	for _, x := range p.compares {
		c.comparison(x)
	}
	c.unused()
}

// tables returns the shapes of the tables that the chart has, with what its scripts add. A
// table that they use in ways that are not followed is not among them.
func (c *checker) tables() map[string]*shape {
	names := slices.Clone(c.globalNames)
	for _, name := range sortedKeys(c.known.Granted) {
		if slices.Contains(c.p.chart.Grants, c.known.Granted[name]) {
			names = append(names, name)
		}
	}
	for _, w := range c.p.writes {
		if of, ok := w.target.of.(*identifier); ok && of.v.global && w.target.name != "" {
			names = append(names, of.v.name+"."+w.target.name)
		}
	}
	tables := tableShapes(names)
	for table := range tables {
		v := c.p.globals[table]
		unknown := !slices.Contains(c.globalNames, table) && c.known.Granted[table] == ""
		if c.p.open || v != nil && len(v.values) > 0 || unknown {
			delete(tables, table)
		}
	}
	for _, n := range c.p.names {
		if n.v.global && n.use.kind == useArgument {
			delete(tables, n.v.name)
		}
	}
	for _, w := range c.p.writes {
		if of, ok := w.target.of.(*identifier); ok && of.v.global && w.target.name == "" {
			delete(tables, of.v.name)
		}
	}
	return tables
}

// expectation checks a call of expect in a test, or of a function of what it returns.
func (c *checker) expectation(x *call) {
	if c.p.chart.Base == nil {
		return
	}
	if x.dropped && calledName(x) == "expect" {
		c.add(Warning, x.place, "expect(...) alone checks nothing; add what holds, such as .equals(...)")
		return
	}
	of, name := x.target, x.method
	if i, ok := x.target.(*index); ok && name == "" {
		of, name = i.of, i.name
	}
	made, ok := of.(*call)
	if !ok || name == "" || calledName(made) != "expect" || slices.Contains(c.known.Expectations, name) {
		return
	}
	meant := c.didYouMean(c.known.Expectations, name)
	if meant == "" {
		meant = "; it has " + strings.Join(c.known.Expectations, ", ")
	}
	c.add(Error, x.place, "expect(...) has no function %q%s", name, meant)
}

func (c *checker) add(s Severity, at place, format string, args ...any) {
	f := Finding{Chart: c.p.chart, File: c.p.chart.Directory + at.file, Line: at.line, Severity: s,
		Message: fmt.Sprintf(format, args...)}
	if !c.p.incomplete && !c.reported[f] && len(c.out.Findings) < maxFindings {
		c.reported[f] = true
		c.out.Findings = append(c.out.Findings, f)
	}
}

// uses notes the constants that require and events.on are given.
func (c *checker) uses() {
	for _, call := range c.p.calls {
		if len(call.args) == 0 {
			continue
		}
		t, isText := call.args[0].(*text)
		use := Use{Chart: c.p.chart, File: c.p.chart.Directory + call.file, Line: call.line}
		switch calledName(call) {
		case "require":
			if isText {
				use.Name, use.Line = t.value, t.line
				c.out.Requires = append(c.out.Requires, use)
				c.required(call, t.value)
			}
		case "events.on":
			if isText {
				use.Line = t.line
			}
			for _, use.Name = range textsOf(call.args[0], 0) {
				c.out.Events = append(c.out.Events, use)
			}
		case "events.off":
			c.off(call)
		}
	}
}

// off checks the event of events.off{event=}.
func (c *checker) off(call *call) {
	options, ok := call.args[0].(*table)
	if !ok {
		return
	}
	for _, key := range sortedKeys(options.named) {
		if key != "" && key != "chart" && key != "event" {
			c.add(Error, call.place, "events.off knows the fields chart and event, not %q", key)
		}
	}
	for _, event := range textsOf(options.named["event"], 0) {
		if _, ok := c.known.Events[event]; !ok {
			c.add(Error, call.place, "unknown event %q%s", event,
				c.didYouMean(sortedKeys(c.known.Events), event))
		}
	}
}

// field checks that a table has a field that is read.
func (c *checker) field(x *index) {
	v := c.in.valueOf(x.of)
	c.position(v, x, x.place)
	if v.shape == nil || x.name == "" {
		return
	}
	if v.shape.fields == nil {
		return
	}
	if _, ok := v.shape.fields[x.name]; ok {
		c.moment(v, x)
		return
	}
	severity := Error
	lua := slices.Contains(c.known.Lua, v.path)
	if v.guess || lua && x.use.kind != useCalled && x.use.kind != useIndexed {
		severity = Warning
	}
	if lua && (x.use.kind == useOther || c.lookedFor[v.path+"."+x.name]) {
		return
	}
	c.add(severity, x.place, "%s has no field %q%s", v.path, x.name, c.didYouMean(v.shape.names(), x.name))
}

// moment checks that a field of the context is there at the handler's event.
func (c *checker) moment(v value, x *index) {
	if x.name != "lint" || !v.isContext() || x.use.kind != useIndexed || len(v.events) == 0 {
		return
	}
	if !slices.Contains(v.events, "pre-lint") {
		c.add(Error, x.place, "%s.lint is nil at %s: it is there at pre-lint", v.path, strings.Join(v.events, " and "))
	}
}

// write checks that a field may be assigned.
func (c *checker) write(w *write) {
	if w.target.in.guarded {
		return
	}
	v := c.in.valueOf(w.target.of)
	c.position(v, w.target, w.target.place)
	switch {
	case v.isContext() && w.target.name != "":
		if _, ok := c.context.fields[w.target.name]; !ok {
			severity := Error
			if v.guess {
				severity = Warning
			}
			c.add(severity, w.target.place, "%s has no field %q that could be set%s", v.path, w.target.name,
				c.didYouMean(c.context.names(), w.target.name))
			return
		}
		c.mayChange(w.target.place, w.certain, v, w.target.name, v.path+"."+w.target.name)
	case v.field != "":
		if _, ok := c.context.fields[v.field]; !ok {
			return // a finding of its own
		}
		path := v.path + "." + w.target.name
		if w.target.name == "" {
			path = v.path + "[...]"
		}
		if v.shape != nil && v.shape.class == "Chart" && v.shape.may[w.target.name] {
			c.mayChange(w.target.place, w.certain, v, w.target.name, path)
			return
		}
		c.mayChange(w.target.place, w.certain, v, v.field, path)
	}
}

// mayChange checks that a field of the context may change at the handler's events.
func (c *checker) mayChange(at place, certain bool, v value, field, path string) {
	if v.guess || len(v.events) == 0 {
		if may := c.context.may[field]; !may && field != "version" && field != "appVersion" && !v.guess {
			c.add(Error, at, "%s is always read-only", path)
		}
		return
	}
	var not []string
	for _, event := range v.events {
		may, known := c.known.Events[event]
		if !known {
			return
		}
		if !slices.Contains(may, field) && !slices.Contains(not, event) {
			not = append(not, event)
		}
	}
	if len(not) == 0 || !certain && len(not) < len(v.events) {
		return
	}
	var others []string
	for _, event := range sortedKeys(c.known.Events) {
		if slices.Contains(c.known.Events[event], field) {
			others = append(others, event)
		}
	}
	if len(others) == 0 {
		c.add(Error, at, "%s is always read-only", path)
		return
	}
	c.add(Error, at, "%s is read-only at %s; it may change at %s", path, strings.Join(not, " and "),
		strings.Join(others, ", "))
}

// call checks the functions that change the list that they are given.
func (c *checker) call(call *call) {
	if call.in.guarded || len(call.args) == 0 {
		return
	}
	switch calledName(call) {
	case "table.insert", "table.remove", "table.sort", "rawset":
	case "ipairs", "pairs":
		c.tooEarly(call)
		return
	default:
		return
	}
	v := c.in.valueOf(call.args[0])
	if v.field != "" && !v.isContext() {
		c.mayChange(call.place, call.certain, v, v.field, v.path)
	}
}

// tooEarly warns of a loop over the objects before there are any: it does nothing, without an error.
func (c *checker) tooEarly(call *call) {
	v := c.in.valueOf(call.args[0])
	if !isObjects(v) || v.guess || len(v.events) == 0 {
		return
	}
	for _, event := range v.events {
		if !slices.Contains(beforeObjects(), event) {
			return
		}
	}
	if !c.addsObjects() {
		c.add(Warning, call.place, "%s has no rendered objects at %s: templates become objects before post-render",
			v.path, strings.Join(v.events, " and "))
	}
}

// isObjects reports whether v is the list of objects, and not a part of it.
func isObjects(v value) bool {
	return v.field == "objects" && v.shape != nil && v.shape.items != nil && v.shape.items.class == "Object"
}

// beforeObjects returns the events of commands that render, at which the templates have not been rendered.
func beforeObjects() []string {
	return []string{"chart-loaded", "pre-load", "pre-dependency-build", "post-dependency-build", "pre-render"}
}

// addsObjects reports whether the scripts of the chart may put objects into the list.
func (c *checker) addsObjects() bool {
	return slices.ContainsFunc(c.p.writes, func(w *write) bool {
		v := c.in.valueOf(w.target.of)
		return isObjects(v) || v.isContext() && w.target.name == "objects"
	}) || slices.ContainsFunc(c.p.calls, func(call *call) bool {
		return len(call.args) > 0 && calledName(call) == "table.insert" && isObjects(c.in.valueOf(call.args[0]))
	})
}

// didYouMean returns what was likely meant by a name, "" if nothing is similar.
func (c *checker) didYouMean(names []string, name string) string {
	if len(c.out.Findings) > maxSuggestions {
		return ""
	}
	limit := 2
	if len(name) < 3 {
		limit = 0
	}
	fold := strings.NewReplacer("_", "", "-", "", " ", "")
	meant := suggest.Similar(names, name, limit, func(s string) string { return fold.Replace(strings.ToLower(s)) })
	if meant == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", meant)
}
