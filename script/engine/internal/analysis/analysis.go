// SPDX-License-Identifier: Apache-2.0

// Package analysis finds mistakes in charts' scripts without running them.
//
//	for _, f := range analysis.Check(charts, known) {
//		fmt.Printf("%s:%d: %s\n", f.File, f.Line, f.Message)
//	}
//
// It follows local variables that are assigned once, the parameters of functions whose calls
// are all known, and the loops over lists. What else a variable may be is not known, and no
// finding is made about it: a finding is a mistake, as far as this can be said of a language
// without types.
//
// The package runs nothing, but parses untrusted text: call it in the process of the scripts.
// Sources must have been compiled before, which bounds how deep they nest.
package analysis

import (
	"cmp"
	"slices"
	"strings"

	"github.com/arnodel/golua/parsing"
	"github.com/arnodel/golua/scanner"
)

// Chart is a chart with its scripts.
type Chart struct {
	// Directory is that of the scripts, with a slash at its end: "ext/lua/".
	Directory string
	// Files are the sources by their names below Directory.
	Files map[string]string
	// Requires are the charts whose files it may require, by their names.
	Requires map[string]*Chart
	// Grants are the permissions that it asks for.
	Grants []string
	// Base is the chart that a file of tests is about, whose globals the file shares; nil for a chart.
	Base *Chart
}

// Known is what scripts can use.
type Known struct {
	// Globals are the names that every script has, and those of the fields of tables among
	// them: "print", "events", "events.on".
	Globals []string
	// Granted are those that a permission adds, with the permission.
	Granted map[string]string
	// Tests are the globals that files of tests have besides, and Expectations the functions of what
	// expect returns.
	Tests, Expectations []string
	// Lua are the tables of Globals that a script may add functions to.
	Lua []string
	// Absent are globals of Lua that scripts do not have.
	Absent []string
	// Events are the names of the events, with the fields of the context that may change.
	// Other names of an event are among them.
	Events map[string][]string
}

// Severity is how certain it is that a script fails.
type Severity int

// The severities.
const (
	Warning Severity = iota // the script may work all the same
	Error                   // it fails where this is run
)

// Finding is a mistake in a script.
type Finding struct {
	Chart    *Chart
	File     string // "ext/lua/chart.lua"
	Line     int
	Severity Severity
	Message  string
}

// Use is a constant that a script gives to a function.
type Use struct {
	Chart *Chart
	File  string
	Line  int
	Name  string
}

// Result is what [Check] found.
type Result struct {
	Findings []Finding
	// Requires are the names of modules that scripts require, and Events those of the events
	// that they handle.
	Requires, Events []Use
}

// Check returns the mistakes in the scripts of a tree of charts. No findings are made about a
// chart with a file that does not parse: what is in that file may be what is missed.
func Check(charts []*Chart, k Known) Result {
	c := &checker{known: k, context: contextShape(), programs: map[*Chart]*program{}, foreign: map[string]bool{},
		reported: map[Finding]bool{}}
	for _, ch := range charts {
		c.programs[ch] = parse(ch)
		c.foreigners(c.programs[ch])
	}
	for _, ch := range charts {
		c.program(c.programs[ch])
	}
	slices.SortStableFunc(c.out.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	return c.out
}

// parse returns a chart's scripts.
func parse(ch *Chart) *program {
	p := &program{chart: ch, globals: map[string]*variable{}, chunks: map[string]*function{}}
	for _, file := range sortedKeys(ch.Files) {
		if !strings.HasSuffix(file, ".lua") {
			continue
		}
		chunk, err := parsing.ParseChunk(scanner.New(file, []byte(ch.Files[file])))
		if err != nil {
			p.incomplete = true
			continue
		}
		p.lower(file, chunk)
	}
	return p
}
