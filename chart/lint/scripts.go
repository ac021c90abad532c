// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"path"
	"strings"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/internal/suggest"
)

// Problem is a mistake in a script or in the permissions that a chart requests for its
// scripts.
type Problem struct {
	Severity Severity
	Chart    string // path in the tree, "web/charts/db"
	File     string // path in the chart, "ext/lua/chart.lua"
	Line     int    // 0 if it is not known
	Message  string
}

// Use is a use of a name that a script has as a literal.
type Use struct {
	Chart string // as in Problem
	File  string
	Line  int
	Name  string
}

// ScriptInput has the results of analyzing a chart's scripts without running them.
type ScriptInput struct {
	// Chart is the root of the tree, with resolved dependencies and hoisted libraries.
	Chart *chart.Chart
	// Named returns the charts to which a chart's scripts may refer; see
	// dependency.Named.
	Named func(*chart.Chart) map[string]*chart.Chart
	// Known are the names of all events.
	Known []string

	// Problems are what is wrong with scripts and permissions.
	Problems []Problem
	// Events are the events that scripts handle, and Requires the modules that they
	// require.
	Events, Requires []Use
}

// Scripts checks the scripts of a chart and of all charts below it, because a single invalid
// script prevents the installation. Of other charts than in.Chart it returns what prevents it, and
// that a library handles events.
func Scripts(in ScriptInput) []Finding {
	if in.Chart == nil {
		return nil
	}
	s := &scripts{in: in, charts: map[string]*chart.Chart{}}
	in.Chart.Walk(func(c *chart.Chart) { s.charts[c.FullPath()] = c })
	for _, p := range in.Problems {
		if p.Severity == Error || p.Chart == in.Chart.FullPath() {
			s.add(p.Severity, p.Chart, p.File, p.Line, p.Message)
		}
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

// add adds a finding. at is the chart's path in the tree, and file the path in the chart.
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
			s.add(Warning, u.Chart, u.File, u.Line, "a library chart handles the event %s, which users of the library cannot "+
				"see; let its users call events.on", u.Name)
		}
		return
	}
	s.add(Error, u.Chart, u.File, u.Line, "unknown event %q%s; the events are %s", u.Name,
		didYouMean(u.Name, s.in.Known), strings.Join(s.in.Known, ", "))
}

// didYouMean returns a suggestion of the known name that is most similar to name, or "".
func didYouMean(name string, known []string) string {
	plain := func(s string) string {
		return strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(s))
	}
	best := suggest.Similar(known, name, 2, plain)
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %q?)", best)
}

// require checks that the file of a required module exists: "x.y" is x/y.lua of the script's
// chart, and "dep/x.y" is x/y.lua of a dependency or library.
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
		fail("the chart %s has no enabled dependency and no library %q", c.Name(), dep)
	case !has(d, file):
		fail("%s has no %s", dep, file)
	}
}

// scriptFile returns the path of a module's file.
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

// filePermissions is the file with the permissions that a chart requests for its scripts.
const filePermissions = chart.DirExt + "/permissions.yaml"

// properName returns the correct name for a file in ext/ whose name is almost right, or "".
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

// directory reports files in ext/ that have no effect.
func (s *scripts) directory() {
	c, at := s.in.Chart, s.in.Chart.FullPath()
	loads := has(c, chart.FileScript)
	luas := 0
	for _, f := range c.Files {
		switch {
		case !strings.HasPrefix(f.Name, chart.DirExt+"/"), f.Name == filePermissions:
		case properName(f.Name) != "":
			s.add(Warning, at, f.Name, 0, "the file has no effect: its name must be %s", properName(f.Name))
		case !strings.HasPrefix(f.Name, chart.DirScripts+"/"):
			s.add(Info, at, f.Name, 0, "the file has no effect: %s/ is for lua/ and permissions.yaml", chart.DirExt)
		case path.Ext(f.Name) != ".lua":
			s.add(Info, at, f.Name, 0, "the file is not a script: its name does not end in .lua")
		default:
			luas++
		}
	}
	switch {
	case loads || c.IsLibrary():
	case luas > 0:
		s.add(Info, at, chart.DirScripts, 0, "there is no chart.lua, which is loaded with the chart: these scripts run only "+
			"if other charts require them")
	case has(c, filePermissions):
		s.add(Info, at, filePermissions, 0, "the chart requests permissions and has no %s that would use them",
			chart.FileScript)
	}
}
