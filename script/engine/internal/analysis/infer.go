// SPDX-License-Identifier: Apache-2.0

package analysis

import "slices"

// value is what is known of the value of an expression. The zero value is not known.
type value struct {
	shape *shape
	// path is how it is called in findings: "ctx.chart".
	path string
	// field is the field of a context that it is, or is a part of.
	field string
	// events are the events of that context; nil if they are not known.
	events []string
	// guess is set if it is a context only by its name.
	guess bool
}

func (v value) isContext() bool { return v.shape != nil && v.shape.class == "Context" }

// inference finds what is known of the values of one chart's scripts.
type inference struct {
	p       *program
	context *shape
	tables  map[string]*shape
	known   map[*variable]value
	busy    map[*variable]bool
	// made are the uses of the functions that another function makes, and extended the variables
	// whose fields are set that a context does not have.
	made     map[*function]use
	extended map[*variable]bool
}

func newInference(p *program, context *shape, tables map[string]*shape) *inference {
	in := &inference{p: p, context: context, tables: tables, known: map[*variable]value{}, busy: map[*variable]bool{},
		made: map[*function]use{}, extended: map[*variable]bool{}}
	for _, c := range p.calls {
		for i, a := range c.args {
			u := use{kind: useArgument, call: c, arg: i}
			if made, ok := a.(*call); ok && isHandler(u) {
				if f := functionOf(made, 0); f != nil {
					in.made[f] = u
				}
			}
		}
	}
	for _, w := range p.writes {
		if n, ok := w.target.of.(*identifier); ok {
			_, known := context.fields[w.target.name]
			in.extended[n.v] = in.extended[n.v] || !known
		}
	}
	return in
}

// valueOf returns what is known of the value of e.
func (in *inference) valueOf(e expression) value {
	switch e := e.(type) {
	case *identifier:
		return in.variable(e.v)
	case *index:
		return in.part(in.valueOf(e.of), e)
	}
	return value{}
}

func (in *inference) variable(v *variable) value {
	if known, ok := in.known[v]; ok {
		return known
	}
	if in.busy[v] {
		return value{}
	}
	in.busy[v] = true
	defer delete(in.busy, v)
	out := in.find(v)
	in.known[v] = out
	return out
}

func (in *inference) find(v *variable) value {
	if v.global && len(v.values) == 0 {
		if s := in.tables[v.name]; s != nil {
			return value{shape: s, path: v.name}
		}
		return value{}
	}
	o, ok := v.single()
	if !ok {
		return value{}
	}
	switch {
	case o.of != nil:
		return in.parameter(v, o)
	case o.loop != nil:
		list := iterated(o)
		if list == nil {
			return value{}
		}
		of := in.valueOf(list)
		out := value{path: v.name, field: of.field, events: of.events, guess: of.guess}
		if of.shape != nil {
			out.shape = of.shape.items
		}
		return out
	}
	return in.valueOf(o.expr)
}

// part returns what is known of a field of v.
func (in *inference) part(v value, x *index) value {
	if v.shape == nil && v.field == "" {
		return value{}
	}
	out := value{path: v.path + "." + x.name, field: v.field, events: v.events, guess: v.guess}
	if x.name == "" {
		out.path = v.path + "[...]"
	}
	if v.isContext() {
		out.field = x.name
	}
	switch {
	case v.shape == nil:
	case v.shape.fields == nil:
		out.shape = v.shape.items
	case x.name != "":
		out.shape = v.shape.fields[x.name]
	case v.isContext():
		return value{} // it may be any field
	}
	if out.isContext() {
		out.field = ""
	}
	return out
}

// parameter returns what is known of a parameter: it is the context if the function is a
// handler, what callers pass if all of them are known, and a guess if it is called ctx.
func (in *inference) parameter(v *variable, o origin) value {
	out := in.passed(o)
	switch {
	case out.shape != nil || out.field != "":
		out.path = v.name
	case v.name == "ctx" && o.at == 0 && !in.extended[v]:
		out = value{shape: in.context, path: v.name, guess: true}
	}
	return out
}

// passed returns what all uses of a function pass as a parameter.
func (in *inference) passed(o origin) value {
	uses, ok := in.uses(o.of)
	if !ok || len(uses) == 0 {
		return value{}
	}
	var out value
	for i, u := range uses {
		v := in.argument(u, o.at)
		if i == 0 {
			out = v
			continue
		}
		if v.shape != out.shape || v.field != out.field {
			return value{}
		}
		out.guess = out.guess || v.guess
		if v.events == nil || out.events == nil {
			out.events = nil
		} else {
			out.events = union(out.events, v.events)
		}
	}
	return out
}

// maxEvents is for how many events one call of events.on is followed.
const maxEvents = 100

// union returns the names of two lists, each once.
func union(a, b []string) []string {
	out := slices.Clone(a)
	for _, name := range b {
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// argument returns what a call gives a function as argument number at: the function is called,
// or is an argument of events.on.
func (in *inference) argument(u use, at int) value {
	if u.kind != useArgument {
		if at < len(u.call.args) && u.call.method == "" {
			return in.valueOf(u.call.args[at])
		}
		return value{}
	}
	if at != 0 {
		return value{}
	}
	events := textsOf(u.call.args[0], 0)
	if len(events) > maxEvents {
		events = nil
	}
	return value{shape: in.context, events: events}
}

// uses returns the calls of a function, and those of events.on that it is an argument of. ok is
// false if it may be called in other ways.
func (in *inference) uses(f *function) (uses []use, ok bool) {
	if f.use.kind != useAssigned {
		u, ok := in.direct(f)
		return []use{u}, ok
	}
	if f.v == nil || len(f.v.values) != 1 {
		return nil, false
	}
	for _, n := range f.v.reads {
		if n.use.kind != useCalled && !isHandler(n.use) {
			return nil, false
		}
		uses = append(uses, n.use)
	}
	return uses, true
}

// direct returns the use of a function that has no name.
func (in *inference) direct(f *function) (use, bool) {
	if f.use.kind == useCalled || isHandler(f.use) {
		return f.use, true
	}
	if f.use.kind != useReturned || f.in == nil {
		return use{}, false
	}
	u, ok := in.made[f]
	return u, ok
}

// isHandler reports whether a use is that of events.on's handler.
func isHandler(u use) bool {
	last := u.kind == useArgument && len(u.call.args) >= 2 && u.arg == len(u.call.args)-1
	return last && calledName(u.call) == "events.on"
}

// calledName returns the name of the function of the engine that is called, as "events.on" or
// "require".
func calledName(c *call) string {
	if c.method != "" {
		return ""
	}
	switch t := c.target.(type) {
	case *identifier:
		if t.v.global && len(t.v.values) == 0 {
			return t.v.name
		}
	case *index:
		return indexName(t)
	}
	return ""
}

// indexName returns a field of a global table as "events.on". Other names of tables count.
func indexName(x *index) string {
	of, ok := x.of.(*identifier)
	if !ok || x.name == "" || len(of.v.values) > 0 || !of.v.global {
		return ""
	}
	table := of.v.name
	switch table {
	case "event", "subchart":
		table += "s"
	}
	return table + "." + x.name
}
