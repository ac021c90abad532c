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
// The output is the text of every template, and the notes. An [*Error] names the template,
// the line and the calls that led there. The package reads no files, resolves no values and
// asks no cluster: what templates look up comes through functions of [Input].
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

// Release is what templates see as .Release.
type Release struct {
	Name      string
	Namespace string
	// Service is who makes the release; "" stands for "Helm".
	Service   string
	Revision  int
	IsInstall bool
	IsUpgrade bool
}

// Input is what one rendering needs. Nothing in it is kept.
type Input struct {
	// Chart is the root of a resolved tree (see values.Resolve).
	Chart *chart.Chart
	// Values are the root's final values, with those of its subcharts below
	// their names. They are not changed: templates that write get a copy.
	Values map[string]any
	// Rounded is set where Values went through values.Rounded already; otherwise Render
	// calls it.
	Rounded bool
	Release Release
	// Capabilities of the cluster; nil stands for DefaultCapabilities.
	Capabilities *Capabilities
	// Lookup answers the template function of that name: one object, or a list
	// under "items" where name is "". nil finds nothing, ever.
	Lookup func(apiVersion, kind, namespace, name string) (map[string]any, error)
	// LookupHost answers getHostByName; nil answers "".
	LookupHost func(host string) string
	// Functions are further functions for templates, by the path of the chart
	// (chart.Chart.FullPath) whose texts may call them, and by name. They cannot
	// replace those that there are, nor be called like a word of templates: that
	// is a [*FunctionError]. They are called one at a time, in the same order on
	// every run, with what templates have as arguments. Of what they return, templates see
	// maps, lists, plain values and the fields of structs; methods only of the types that
	// templates meet anyway, such as time.Time.
	Functions map[string]map[string]func(args ...any) (any, error)
	// Strict makes a missing key of a map an error.
	Strict bool
	// Lint lets templates that call fail or required run on, and turns those
	// messages into Warnings.
	Lint bool
}

// File is the text that one template rendered. Name is the template's path
// from the root chart: "web/templates/pod.yaml".
type File struct {
	Name    string
	Content string
}

// Output is what one rendering made.
type Output struct {
	// Files are all templates but partials and notes, sorted by name. Those
	// that rendered nothing but white space are there too.
	Files []File
	// Notes are the NOTES.txt of the root chart and of its subcharts: the
	// root's first, then those with the deepest paths.
	Notes []File
	// Warnings are what templates complained about while linting.
	Warnings []string
}

// Render runs all templates of in.Chart and of the charts below it. The error
// of a template is an [*Error].
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

// jobs are the templates of the tree with fresh data. Where templates may
// write to their values these are a copy.
func (e *engine) jobs(own bool) []job {
	e.ownsValues = own
	vals := rootValues(e.in)
	if own {
		vals = values.Copy(vals)
	}
	return collect(newScope(e.in.Chart, vals, e.in, releaseData(e.in.Release)))
}

// job is one template file of the tree.
type job struct {
	name  string
	depth int
	text  string
	scope *scope
	chart string // its path, once it is parsed
	// library is the place among the charts of library/ for a file of one of
	// them, from 1; such a file only defines templates, whatever its name.
	library int
	output  string
	// warnings are what the template said while it was linted.
	warnings []string
}

// partial reports whether the file only defines templates for others.
func (j *job) partial() bool { return j.library > 0 || strings.HasPrefix(path.Base(j.name), "_") }

func (j *job) notes() bool { return strings.HasSuffix(j.name, chart.FileNotes) }

// collect lists the templates of the tree in the order in which Helm parses
// and runs them: deep paths before shallow ones and, at one depth, z before a.
// So a parent's definition replaces its subcharts' of the same name, and what
// a template writes to the values is seen by those that run after it.
//
// Charts of library/ come before all others, a library's libraries before
// itself: what they define is for everybody to replace.
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

// fileText is data as text, without a copy: the files of a chart are not changed
// once they are read (see [chart.Chart]).
func fileText(data []byte) string { return unsafe.String(unsafe.SliceData(data), len(data)) }

// lastOfName leaves one of several files of the same name, the last: two charts of
// charts/ may have one name, and for Helm the later's file takes the place of the
// earlier's.
func lastOfName(jobs []job) []job {
	out := jobs[:0]
	for i := range jobs {
		if i+1 == len(jobs) || jobs[i].name != jobs[i+1].name || jobs[i].library != jobs[i+1].library {
			out = append(out, jobs[i])
		}
	}
	return out
}

// inTurn compares the places of two jobs in the order of running.
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
		switch {
		case j.partial():
		case j.notes():
			out.Notes = append(out.Notes, File{j.name, j.output})
		default:
			out.Files = append(out.Files, File{j.name, j.output})
		}
	}
	slices.SortFunc(out.Files, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	own := path.Join(root.FullPath(), chart.DirTemplates, chart.FileNotes)
	slices.SortStableFunc(out.Notes, func(a, b File) int { return boolRank(b.Name == own) - boolRank(a.Name == own) })
	return out
}
