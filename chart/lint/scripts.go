// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"path"
	"strings"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/internal/near"
)

// Problem is something wrong with a script, or with what the chart asks for
// its scripts.
type Problem struct {
	Chart   string // path in the tree, "web/charts/db"
	File    string // path in the chart, "ext/lua/chart.lua"
	Line    int    // 0 where it is not known
	Message string
}

// Use is a name that a script mentions in so many letters.
type Use struct {
	Chart string // as in Problem
	File  string
	Line  int
	Name  string
}

// ScriptInput is what is known of a chart's scripts without running them.
type ScriptInput struct {
	// Chart is the root of the tree as an operation would have it: its
	// dependencies decided, its libraries hoisted.
	Chart *chart.Chart
	// Named are the charts that a chart's scripts may name (dependency.Named).
	Named func(*chart.Chart) map[string]*chart.Chart
	// Known are the names of all events.
	Known []string

	// Problems are scripts that do not compile, and permissions that cannot be
	// read.
	Problems []Problem
	// Events are those that scripts answer, Requires what they require.
	Events, Requires []Use
}

// Scripts checks the scripts of a chart and of all charts below it: where one
// of them does not work, nothing of the chart does. Hints are given about the
// chart's own directory only.
func Scripts(in ScriptInput) []Finding {
	if in.Chart == nil {
		return nil
	}
	s := &scripts{in: in, charts: map[string]*chart.Chart{}}
	in.Chart.Walk(func(c *chart.Chart) { s.charts[c.FullPath()] = c })
	for _, p := range in.Problems {
		s.add(Error, p.Chart, p.File, p.Line, p.Message)
	}
	for _, u := range in.Events {
		s.event(u)
	}
	for _, u := range in.Requires {
		s.require(u)
	}
	s.directory()
	return s.findings
}

// scripts collects findings about the scripts of one tree.
type scripts struct {
	in       ScriptInput
	charts   map[string]*chart.Chart // by path
	findings []Finding
}

// add places a finding below the directory of the root chart.
func (s *scripts) add(sev Severity, at, file string, line int, format string, args ...any) {
	root := s.in.Chart.FullPath()
	top := strings.TrimPrefix(strings.TrimPrefix(at, root), "/")
	if len(args) > 0 {
		format = fmt.Sprintf(format, args...)
	}
	s.findings = append(s.findings, Finding{sev, path.Join(top, file), line, format})
}

func (s *scripts) event(u Use) {
	for _, name := range s.in.Known {
		if name != u.Name {
			continue
		}
		if c := s.charts[u.Chart]; c != nil && c.IsLibrary() {
			s.add(Warning, u.Chart, u.File, u.Line, "a library chart answers the event %s: who uses the library cannot see "+
				"that; let its users call events.on", u.Name)
		}
		return
	}
	s.add(Error, u.Chart, u.File, u.Line, "there is no event %q%s; the events are %s", u.Name, meant(u.Name, s.in.Known),
		strings.Join(s.in.Known, ", "))
}

// meant suggests the known name that was probably meant.
func meant(name string, known []string) string {
	plain := func(s string) string {
		return strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(s))
	}
	best := near.Pick(known, name, 2, plain)
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %q?)", best)
}

// require looks for the file that a script requires: "x.y" is x/y.lua of its
// own chart, "dep/x.y" that of a dependency or library.
func (s *scripts) require(u Use) {
	c := s.charts[u.Chart]
	if c == nil {
		return
	}
	fail := func(format string, args ...any) {
		s.add(Error, u.Chart, u.File, u.Line, "require(%q): %s", u.Name, fmt.Sprintf(format, args...))
	}
	dep, name, other := strings.Cut(u.Name, "/")
	if !other {
		if file := scriptFile(u.Name); !has(c, file) {
			fail("the chart has no %s", file)
		}
		return
	}
	var d *chart.Chart
	if s.in.Named != nil {
		d = s.in.Named(c)[dep]
	}
	switch file := scriptFile(name); {
	case d == nil:
		fail("the chart %s has no dependency and no library %q that takes part", c.Name(), dep)
	case !has(d, file):
		fail("%s has no %s", dep, file)
	}
}

// scriptFile is the file of a module.
func scriptFile(name string) string {
	return chart.DirScripts + "/" + strings.ReplaceAll(name, ".", "/") + ".lua"
}

func has(c *chart.Chart, name string) bool {
	for _, f := range c.Files {
		if f.Name == name {
			return true
		}
	}
	return false
}

// filePermissions is where a chart asks for what its scripts may do.
const filePermissions = chart.DirExt + "/permissions.yaml"

// properName is the name that a file of ext/ was probably to have, "" for none: one
// that is nearly right has its author believe that it works.
func properName(name string) string {
	switch lower := strings.ToLower(name); {
	case name == filePermissions || name == chart.FileScript:
		return ""
	case lower == filePermissions, lower == "ext/permissions.yml", lower == "ext/lua/permissions.yaml":
		return filePermissions
	case lower == chart.FileScript, lower == "ext/chart.lua":
		return chart.FileScript
	}
	return ""
}

// directory looks for files of ext/ that mean nothing.
func (s *scripts) directory() {
	c, at := s.in.Chart, s.in.Chart.FullPath()
	loads := has(c, chart.FileScript)
	luas := 0
	for _, f := range c.Files {
		switch {
		case !strings.HasPrefix(f.Name, chart.DirExt+"/"), f.Name == filePermissions:
		case properName(f.Name) != "":
			s.add(Warning, at, f.Name, 0, "the file means nothing: it must be called %s", properName(f.Name))
		case !strings.HasPrefix(f.Name, chart.DirScripts+"/"):
			s.add(Info, at, f.Name, 0, "the file means nothing to scripts: %s/ holds lua/ and permissions.yaml", chart.DirExt)
		case path.Ext(f.Name) != ".lua":
			s.add(Info, at, f.Name, 0, "the file is not a script, whose name ends in .lua")
		default:
			luas++
		}
	}
	switch {
	case loads || c.IsLibrary():
	case luas > 0:
		s.add(Info, at, chart.DirScripts, 0, "there is no chart.lua, which loads with the chart: these scripts run only "+
			"where other charts require them")
	case has(c, filePermissions):
		s.add(Info, at, filePermissions, 0, "the chart asks for permissions and has no %s that would use them",
			chart.FileScript)
	}
}
