// SPDX-License-Identifier: Apache-2.0

// Package engine renders a chart's templates.
//
//	res, err := values.Resolve(c, user) // package chart/values
//	...
//	out, err := engine.Render(ctx, engine.Input{
//		Chart: res.Chart, Values: res.Values,
//		Release:      engine.Release{Name: "web", Namespace: "shop", Revision: 1, IsInstall: true},
//		Capabilities: engine.DefaultCapabilities(),
//	})
//
// The output has the text of every template and the notes. An [*Error] has the template, the
// line and the calls that led to it. The package does not read files, resolve values or access
// a cluster: the functions of [Input] look up objects for templates.
package engine

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"
	"unsafe"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/values"
)

// Release is the .Release of templates.
type Release struct {
	Name      string
	Namespace string
	// Service is the name of the program that renders the release. The default is "Helm".
	Service   string
	Revision  int
	IsInstall bool
	IsUpgrade bool
	// History are earlier revisions of the release, the newest first. Templates have them if one of
	// them names .Release.History; see [NamesHistory].
	History []PastRelease
}

// Input is the input of [Render].
type Input struct {
	// Chart is the root of a resolved tree; see values.Resolve.
	Chart *chart.Chart
	// Values are the root's final values, with those of its subcharts below their names.
	// Render does not modify them: templates that write to them get a copy.
	Values map[string]any
	// Rounded is set if Values are the result of values.Rounded. Otherwise Render calls it.
	Rounded bool
	Release Release
	// Capabilities are those of the cluster. The default is DefaultCapabilities.
	Capabilities *Capabilities
	// Lookup implements the template function lookup. It returns an object, or a list
	// under "items" if name is "". If it is nil, lookup finds no objects.
	Lookup func(apiVersion, kind, namespace, name string) (map[string]any, error)
	// LookupHost implements getHostByName. If it is nil, the function returns "".
	LookupHost func(host string) string
	// Functions are additional functions for the templates of single charts, by the
	// chart's path (chart.Chart.FullPath) and by name. A name that is not valid, or is
	// that of an existing function, is a [*FunctionError]. Render calls the functions
	// one at a time, in the same order on every run. In their results, templates can
	// access maps, lists, scalars and the fields of structs, but only methods of the
	// types that Helm's templates have, such as time.Time.
	Functions map[string]map[string]func(args ...any) (any, error)
	// Replace are functions in the place of those that all templates have, by their names.
	// Their limits are those of the functions they replace. A name of none is a
	// [*FunctionError].
	Replace map[string]func(args ...any) (any, error)
	// Strict makes a missing key of a map an error.
	Strict bool
	// Trace has Render record what rendered each part of the output. It then takes several times
	// as long.
	Trace bool
	// Cache keeps parsed templates for further renderings. It may be nil.
	Cache *Cache
	// Coverage records what runs. It may be nil.
	Coverage *Coverage
	// Thorough lets [FindUsage] follow templates that take seconds. Render ignores it.
	Thorough bool
	// Goal may end [FindUsage] early. Render ignores it.
	Goal UsageGoal
	// Lint lets templates continue after a call of fail or required, and adds the
	// messages to Warnings.
	Lint bool
}

// File is the output of a template. Name is the template's path from the root chart:
// "web/templates/pod.yaml".
type File struct {
	Name    string
	Content string
}

// Output is the output of [Render].
type Output struct {
	// Files are the outputs of all templates except partials and notes, sorted by name,
	// including those with only white space.
	Files []File
	// Notes are the outputs of the NOTES.txt of the root chart and of its subcharts: the
	// root's first, and then those with the deepest paths first.
	Notes []File
	// Warnings are the messages of fail and required if Input.Lint is set.
	Warnings []string
	// Traces say what rendered Files and Notes, by their names, if Input.Trace is set.
	Traces map[string]*Trace
}

// Render renders all templates of in.Chart and of the charts below it. The error of a
// template is an [*Error], that of a name in Input.Functions a [*FunctionError]; if ctx ends,
// Render returns its error. It may be called concurrently, with the same chart too.
func Render(ctx context.Context, in Input) (*Output, error) {
	if in.Chart == nil {
		return nil, errors.New("render: there is no chart")
	}
	if in.Capabilities == nil {
		in.Capabilities = DefaultCapabilities()
	}
	if !in.Rounded {
		in.Values = values.Rounded(in.Values)
	}
	e := newEngine(&in)
	if err := e.replace(in.Replace); err != nil {
		return nil, err
	}
	if err := e.customize(in.Functions); err != nil {
		return nil, err
	}
	jobs := e.jobs(false)
	if err := e.parse(jobs); err != nil {
		return nil, err
	}
	if err := e.runJobs(ctx, jobs); err != nil {
		return nil, err
	}
	return output(in.Chart, jobs), nil
}

// jobs returns the templates of the tree with new data. If own is set, their values are a
// copy that templates may modify.
func (e *engine) jobs(copied bool) []job {
	e.ownsValues = copied
	vals := rootValues(e.in)
	if copied {
		vals = values.Copy(vals)
	}
	release := releaseData(e.in.Release)
	if !e.searched { // once: the second time, vals are a copy
		e.searched, e.namesHistory = true, NamesHistory(e.in.Chart, vals)
	}
	if e.namesHistory { // without it, .Release as a whole is that of Helm
		release["History"] = historyData(e.in.Release.History)
	}
	return collect(newScope(e.in.Chart, vals, e.in, release))
}

// job is a template file of the tree.
type job struct {
	name  string
	depth int
	text  string
	scope *scope
	chart string // the path of its chart, once it is parsed
	// library is the 1-based index of the library chart for a file of one. Such a file
	// only defines templates, whatever its name.
	library int
	output  string
	trace   *Trace
	// warnings are the template's messages if Input.Lint is set.
	warnings []string
}

// partial reports whether the file only defines templates for others.
func (j *job) partial() bool { return j.library > 0 || strings.HasPrefix(path.Base(j.name), "_") }

func (j *job) notes() bool { return strings.HasSuffix(j.name, chart.FileNotes) }

// collect lists the templates of the tree in the order in which Helm parses and runs them: deep
// paths before shallow ones and, at the same depth, in reverse alphabetical order. So a
// parent's definition replaces its subcharts' of the same name, and templates that run later
// see changes that a template makes to the values.
//
// Charts in library/ come before all others, and a library's libraries before itself, so that
// all charts can replace their definitions.
func collect(root *scope) []job {
	var jobs []job
	libraries := 0
	var walk func(s *scope, inLibrary bool)
	walk = func(s *scope, inLibrary bool) {
		for _, sub := range s.subs {
			walk(sub, inLibrary || sub.chart.FromLibrary)
		}
		dir, place := s.chart.FullPath(), 0
		if inLibrary {
			libraries++
			place = libraries
		}
		for _, t := range s.chart.Templates {
			j := job{name: path.Join(dir, t.Name), text: fileText(t.Data), scope: s}
			j.depth, j.library = strings.Count(j.name, "/"), place
			if s.chart.IsLibrary() && !j.partial() || inLibrary && j.notes() {
				continue
			}
			jobs = append(jobs, j)
		}
	}
	walk(root, false)
	slices.SortStableFunc(jobs, func(a, b job) int { return inTurn(&a, &b) })
	return lastOfName(jobs)
}

// fileText returns data as a string without copying it, because the files of a chart are never
// modified (see [chart.Chart]).
func fileText(data []byte) string { return unsafe.String(unsafe.SliceData(data), len(data)) }

// lastOfName returns jobs with only the last of several files with the same name. Two charts in
// charts/ may have the same name, and in Helm the later's files replace the earlier's.
func lastOfName(jobs []job) []job {
	out := jobs[:0]
	for i := range jobs {
		if i+1 == len(jobs) || jobs[i].name != jobs[i+1].name || jobs[i].library != jobs[i+1].library {
			out = append(out, jobs[i])
		}
	}
	return out
}

// inTurn compares two jobs by the order in which they run.
func inTurn(a, b *job) int {
	switch {
	case (a.library > 0) != (b.library > 0):
		return boolRank(b.library > 0) - boolRank(a.library > 0)
	case a.library != b.library:
		return a.library - b.library
	case a.depth != b.depth:
		return b.depth - a.depth
	}
	return strings.Compare(b.name, a.name)
}

func before(a, b *job) bool { return inTurn(a, b) < 0 }

func output(root *chart.Chart, jobs []job) *Output {
	out := &Output{}
	for _, j := range jobs {
		out.Warnings = append(out.Warnings, j.warnings...)
	}
	for _, j := range jobs {
		if j.trace != nil {
			out.trace(j.name, j.trace)
		}
		switch {
		case j.partial():
		case j.notes():
			out.Notes = append(out.Notes, File{j.name, j.output})
		default:
			out.Files = append(out.Files, File{j.name, j.output})
		}
	}
	slices.SortFunc(out.Files, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	rootNotes := path.Join(root.FullPath(), chart.DirTemplates, chart.FileNotes)
	slices.SortStableFunc(out.Notes, func(a, b File) int {
		return boolRank(b.Name == rootNotes) - boolRank(a.Name == rootNotes)
	})
	return out
}
