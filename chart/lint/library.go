// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"text/template/parse"

	"github.com/Masterminds/semver/v3"

	"github.com/moonhelm/moonhelm/chart"
)

// libraries checks the charts in library/ and the list of libraries. It does not check
// whether the versions satisfy all charts: package chart/dependency does, and [Libraries]
// converts its errors.
func (l *linter) libraries() {
	c := l.in.Chart
	if c == nil || c.Metadata == nil {
		return
	}
	var reported []string
	for _, lib := range c.Dependencies() {
		if !lib.FromLibrary {
			continue
		}
		name := lib.Name()
		at := chart.DirLibrary + "/" + name
		if !slices.ContainsFunc(c.Metadata.Libraries, func(e *chart.Dependency) bool { return e != nil && e.Name == name }) &&
			!slices.Contains(reported, name) {
			reported = append(reported, name)
			l.add(Info, at, 0, "the library is not listed under libraries: in %s; any version of it will do", listFile(c).Name)
		}
		if lib.Metadata != nil && !strings.EqualFold(lib.Metadata.Type, chart.TypeLibrary) {
			l.add(Warning, at+"/"+chart.FileMetadata, 0,
				"a normal chart is used as a library: only what its templates define has an effect; if it is meant to be a "+
					"library only, give it type: library")
		}
		for _, f := range lib.Templates {
			l.library(f, at+"/")
		}
	}
}

// libraryIssues returns the issues of a list of libraries. Fields of a dependency such as
// condition have no meaning there.
func libraryIssues(list []*chart.Dependency) []issue {
	var out []issue
	for i, e := range list {
		if e == nil {
			continue // Validate returns an error for it
		}
		at := fmt.Sprintf("libraries[%d]", i)
		if e.Name == "" {
			out = append(out, issue{Error, at, "each library requires a name"})
		}
		if _, err := semver.NewConstraint(e.Version); e.Version != "" && err != nil {
			out = append(out, issue{Error, at + ".version", fmt.Sprintf("library %q: '%s' is neither a "+
				"version nor a version range, such as '^1.2.0'", e.Name, e.Version)})
		}
		for _, field := range []struct {
			name string
			set  bool
		}{{"condition", e.Condition != ""}, {"tags", len(e.Tags) > 0}, {"import-values", len(e.ImportValues) > 0},
			{"export-values", len(e.ExportValues) > 0}} {
			if field.set {
				out = append(out, issue{Info, at + "." + field.name, fmt.Sprintf("%s has no meaning for a library: it has no "+
					"values, and is always used", field.name)})
			}
		}
	}
	return out
}

// Libraries returns the findings for an error from resolving a chart's libraries, one for
// each joined error. If the error has a method LibraryName() string, the finding is at the
// entry for that library in c, the chart as it was loaded.
func Libraries(c *chart.Chart, err error) []Finding {
	var out []Finding
	for _, e := range joined(err) {
		f := Finding{Severity: Error, Path: chart.FileMetadata, Message: e.Error()}
		var about interface{ LibraryName() string }
		if errors.As(e, &about) && c != nil && c.Metadata != nil {
			file := listFile(c)
			i := slices.IndexFunc(c.Metadata.Libraries,
				func(e *chart.Dependency) bool { return e != nil && e.Name == about.LibraryName() })
			if i >= 0 {
				f.Path, f.Line = file.Name, lineOf(file, fmt.Sprintf("libraries[%d]", i))
			}
		}
		out = append(out, f)
	}
	return out
}

// joined returns the errors that err joins, or err itself.
func joined(err error) []error {
	if err == nil {
		return nil
	}
	if list, ok := err.(interface{ Unwrap() []error }); ok {
		return list.Unwrap()
	}
	return []error{err}
}

// listFile returns the file in which c lists its libraries.
func listFile(c *chart.Chart) *chart.File {
	if f := c.File(chart.FileRequirements); f != nil {
		if r, err := chart.ParseRequirements(f.Name, f.Data); err == nil && r.Libraries != nil {
			return f
		}
	}
	if f := c.File(chart.FileMetadata); f != nil {
		return f
	}
	return &chart.File{Name: chart.FileMetadata}
}

// lineOf returns the line of a field, or 0 if it is not found.
func lineOf(f *chart.File, field string) int {
	var bad *chart.InvalidError
	if errors.As(chart.Locate(f.Name, f.Data, &chart.InvalidError{Field: field}), &bad) {
		return bad.Line
	}
	return 0
}

// library reports text outside of definitions in a template of a library chart, which has no
// effect. top is the path of the library's directory.
func (l *linter) library(f *chart.File, top string) {
	at := top + f.Name
	if path.Base(f.Name) == chart.FileNotes {
		l.add(Info, at, 0, "a library chart is not installed: its notes are never shown")
		return
	}
	defines, offset, found := inspect(f)
	if defines && top == "" && !strings.HasPrefix(path.Base(f.Name), "_") {
		l.add(Info, at, 0, "the file's definitions are available to charts that have this one in library/; for those that "+
			"have it as a dependency, the file's name must begin with _")
	}
	if found {
		l.add(Info, at, lineAt(string(f.Data), offset),
			"only {{define}} has an effect in a library chart; text outside of it is ignored")
	}
}

// inspect reports whether a template defines others, and whether it has something other than
// definitions and comments, and at which offset.
func inspect(f *chart.File) (defines bool, offset int, found bool) {
	t := parse.New(f.Name)
	t.Mode = parse.SkipFuncCheck
	set := map[string]*parse.Tree{}
	tree, err := t.Parse(string(f.Data), "", "", set)
	if err != nil || tree.Root == nil {
		return false, 0, false // rendering reports a better error
	}
	for name := range set {
		defines = defines || name != f.Name
	}
	for _, n := range tree.Root.Nodes {
		text := n.String()
		if strings.TrimSpace(text) == "" {
			continue
		}
		at := int(n.Position())
		if _, ok := n.(*parse.TextNode); ok {
			at += len(text) - len(strings.TrimLeft(text, " \t\r\n"))
		}
		return defines, min(at, len(f.Data)), true
	}
	return defines, 0, false
}
