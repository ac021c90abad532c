// SPDX-License-Identifier: Apache-2.0

package action

import (
	"errors"
	"path"
	"strings"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/engine"
	"github.com/moonhelm/moonhelm/internal/lines"
	"github.com/moonhelm/moonhelm/internal/yaml"
	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/kube/apply"
	"github.com/moonhelm/moonhelm/manifest"
)

// Locate sets the lines of templates in the errors of err about the fields of r's objects.
func (r *Rendered) Locate(err error) {
	if err != nil {
		newTemplates(r.Chart, r.files).locate(err)
	}
}

// templates finds the lines of templates that rendered the fields of objects.
type templates struct {
	sources map[string]string // the text of each template, by its path from the root chart
	outputs map[string]string // what it rendered, as far as it is known
	maps    map[string]*lines.Map
}

// newTemplates returns the templates of a tree of charts and what they have rendered.
func newTemplates(root *chart.Chart, files []engine.File) *templates {
	t := &templates{sources: map[string]string{}, outputs: map[string]string{}, maps: map[string]*lines.Map{}}
	if root != nil {
		root.Walk(func(c *chart.Chart) {
			for _, f := range c.Templates {
				t.sources[path.Join(c.FullPath(), f.Name)] = string(f.Data)
			}
		})
	}
	for _, f := range files {
		t.outputs[f.Name] = f.Content
	}
	return t
}

// locate sets the lines in err and the errors that it wraps or joins.
func (t *templates) locate(err error) {
	switch e := err.(type) { //nolint:errorlint // it visits each error of the tree
	case *apply.ValidationError:
		e.Locate(t.line)
	case *apply.RejectedError:
		e.Locate(t.line)
	case *manifest.SyntaxError:
		e.TemplateLine = t.source(e.Source, t.outputs[e.Source], e.Line)
	}
	switch e := err.(type) { //nolint:errorlint // as above
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			t.locate(inner)
		}
	case interface{ Unwrap() error }:
		if inner := e.Unwrap(); inner != nil {
			t.locate(inner)
		}
	}
	if e, ok := err.(*kube.ObjectError); ok { //nolint:errorlint // as above
		if field, ok := errors.AsType[fieldError](e.Err); ok {
			e.Line = t.lineOf(field)
		}
	}
}

// fieldError is an error about one field of an object.
type fieldError interface {
	error
	// Field returns the field and its object, or nil if it is not known.
	Field() (o *manifest.Object, field string)
}

func (t *templates) lineOf(e fieldError) int {
	o, field := e.Field()
	if o == nil {
		return 0
	}
	return t.line(o, field)
}

// line returns the line of the template that rendered a field of an object, or 0.
func (t *templates) line(o *manifest.Object, field string) int {
	root := yaml.Root([]byte(o.Raw))
	if root == nil {
		return 0
	}
	at := yaml.FieldLine(root, field)
	output := t.outputs[o.Source]
	before, _, found := strings.Cut(output, o.Raw)
	if !found {
		return t.source(o.Source, o.Raw, at)
	}
	return t.source(o.Source, output, at+strings.Count(before, "\n"))
}

// source returns the line of the template name that rendered a line of output, or 0.
func (t *templates) source(name, output string, line int) int {
	text, ok := t.sources[name]
	if !ok || output == "" {
		return 0
	}
	key := name
	if output != t.outputs[name] {
		key += "\n" + output
	}
	if t.maps[key] == nil {
		t.maps[key] = lines.New(text, output)
	}
	return t.maps[key].Source(line)
}
