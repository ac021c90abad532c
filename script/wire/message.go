// SPDX-License-Identifier: Apache-2.0

package wire

import "cmp"

// Kind is what a message is. The comments give the fields of its Body; a field
// that is not there has its type's zero value.
type Kind byte

// Requests of the host, each answered with [Done] or [Fail].
const (
	_ Kind = iota

	// Start is the first request: load all charts' scripts, run init.
	//
	//	limits   map: cpu (milliseconds), memory (bytes), output (bytes)
	//	seed     int, for math.random
	//	events   list of the event names that exist
	//	aliases  map, another name of an event → its name
	//	environ  list of "NAME=value", given where a chart has the permission os
	//	charts   list, in the order in which they load (subcharts first, the top
	//	         chart last), each a map:
	//	           name      string, as values know it (the alias)
	//	           path      string, from the root: "web/charts/mysql"
	//	           parent    int, index in charts, -1 for the top chart
	//	           library   bool
	//	           files     map, name below ext/lua ("chart.lua", "a/b.lua") → text
	//	           requires  map, name or alias of a direct dependency or library
	//	                     → index in charts
	//	           grants    list of permissions: "network", "io", "os"
	//	test     map chart (index), file, text: a file of tests to load in place of
	//	         the charts' scripts, which it may require
	//	cover    bool: answers say which lines were run
	//
	// Done: handlers (see below); tests, a list of maps name, line.
	Start

	// Call runs a handler.
	//
	//	handler  int, its id
	//	source   string, in place of handler: a line that was typed, an expression
	//	         or statements, to run with ctx
	//	event    string
	//	chart    int, index of the chart whose handler it is
	//	context  Ref to the chart's context, a map:
	//	           chart, release, capabilities   maps, always read-only
	//	           values                         map
	//	           files, templates               lists of maps name, data
	//	           dependencies, objects          lists of maps
	//	           charts                         map: child's name → Ref of its context
	//	           minimal, dryRun                bool
	//	           results                        list of maps (tests)
	//	         a field that has no meaning at this moment is missing
	//	contents list of maps ref, value: what [Load] would answer for these
	//	         Refs, so that scripts of small charts need not ask
	//	may      list of the context's fields that may change: "values",
	//	         "templates", "files", "objects", "dependencies"; "version" and
	//	         "appVersion" of chart
	//	lint     bool: the context has lint.warn and lint.error
	//
	// Done: changes; items, a list of maps id, index (of an element of that
	// list), item (the element's id, if it has one), chart, where ("ext/lua/chart.lua:12"): the statement that
	// assigned it, for errors. Gone, bool, where the handler was taken off before
	// its turn. Results, a list of strings, is what source gave, to be shown.
	//
	// changes is a list of maps, one for every map or list of the host that the
	// script changed:
	//
	//	id    int, of its Ref
	//	set   map key → value, for a map
	//	drop  list of keys, for a map
	//	list  list, the whole new content, for a list
	//
	// [Node.Diff] makes a change and [Node.Apply] carries it out. Values in it may be
	// Refs of this request: what the script did not look into or did not change, and
	// what it did change, whose changes are under their own id. There is one change
	// of an id at most.
	Call

	// Template runs a function that a script gave to templates.
	//
	//	chart  int
	//	name   string
	//	args   list of values; the Ref of a map is the root context of
	//	       templates, which is read-only
	//	contents  as in [Call]
	//
	// Done: result.
	Template

	// Check compiles scripts and runs nothing.
	//
	//	charts  as in Start, without grants, and with
	//	          asks  list of permissions that the chart would be granted
	//	events  map, name or other name of an event → list of what may change, as
	//	        may of Call
	//	limits  as in Start
	//	tests   map, name of a file of the top chart's tests → text
	//	cover   bool, only list the lines that can be run
	//
	// Done: with cover, coverage alone. Otherwise problems, a list of maps chart (int), file, line, message, severity
	// ("warning", "error"); requires, a list of maps chart, file, line, name: the
	// calls of require with a constant; events, likewise: those of events.on.
	Check

	// Test runs a test.
	//
	//	index  int, in the list of tests
	//
	// Done: nothing more.
	Test
)

// Answers of the engine.
const (
	// Done ends a request.
	//
	//	handlers   list of maps, where it is there: all handlers that are
	//	           registered now, in the order of their registration. It is
	//	           there after start, and where a handler or function was added
	//	           or taken off since it was last told:
	//	             id, chart  int
	//	             event      string
	//	             priority   float
	//	             where      string, "ext/lua/chart.lua:12"
	//	functions  list of maps, beside handlers: chart, name
	//	coverage   list of maps chart, file, line, hits: how often a line was run
	//	           since it was last told, where Start asked for it; 0 for a line
	//	           that can be run
	//	...        what the request's comment says
	Done Kind = iota + 16

	// Fail ends a request that went wrong.
	//
	//	message    string, without the place
	//	chart      int, whose script, -1 where no one knows
	//	file       string, "ext/lua/chart.lua"
	//	line       int
	//	traceback  string
	//	limit      string: "cpu", "memory", "output", "stack", where one was hit;
	//	           then the engine is of no more use
	Fail
)

// What the engine says in the middle of a request.
const (
	// Load asks for the content of a Ref: id (int), and where one field of a map is wanted
	// key (string). Answer: value, a map or list whose larger maps and lists may be Refs
	// again, and contents, as in [Call]. Of a map of many keys whose field is not a map or
	// list, the answer is field alone, or nothing where there is none.
	Load Kind = iota + 32
	// Lookup asks the cluster: apiVersion, kind, namespace, name. Answer: value.
	Lookup
	// HTTP makes a request for a chart with the permission network: chart (int),
	// method, url, headers (map name → string), body, timeout (milliseconds, 0 is
	// the host's own). Answer: status (int), headers (map name → string), body.
	HTTP
	// Host looks up a host name likewise: chart, name. Answer: addresses, a list.
	Host
	// Print shows text on standard error: chart, text. There is no answer.
	Print
	// Finding adds to what lint found: severity ("warning", "error"), path,
	// text. There is no answer.
	Finding
	// Assign sets a field of the context's chart that may change: context (the
	// id of the context's Ref), field ("version", "appVersion"), value. Answer:
	// nothing.
	Assign
	// Run runs a command or an event for a test: name, options (a map). Answer:
	// value, a map.
	Run
)

// Answers of the host to the engine's questions.
const (
	// Answer holds what the question's comment says.
	Answer Kind = iota + 48
	// Refuse says why there is no answer: message.
	Refuse

	last = Refuse
)

// String returns the kind's name.
func (k Kind) String() string {
	names := map[Kind]string{
		Start: "start", Call: "call", Template: "template", Check: "check", Test: "test",
		Done: "done", Fail: "fail",
		Load: "load", Lookup: "lookup", HTTP: "http", Host: "host", Print: "print", Finding: "finding",
		Assign: "assign", Run: "run",
		Answer: "answer", Refuse: "refuse",
	}
	return cmp.Or(names[k], "unknown")
}
