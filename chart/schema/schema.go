// SPDX-License-Identifier: Apache-2.0

// Package schema holds the final values of a chart and of all charts below it
// against their JSON Schemas (drafts 4 to 2020-12; 2020-12 where a schema does
// not say).
//
// In come a resolved chart tree and its values; out comes nil, or every
// violation with its place; and a schema can be derived from a values.yaml, as
// its text, see [Derive]. References resolve inside the chart that makes them
// and nowhere else: the package opens no file and makes no request.
package schema

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/internal/jsonschema"
)

// Violation is one place at which values break a schema.
type Violation struct {
	// Chart is the name of the chart whose schema it is.
	Chart string
	// Path is the place in that chart's values, as --set would write it:
	// "image.tag", "ports[0]"; "" is all of them.
	Path string
	// Problem completes the sentence: "got number, want string".
	Problem string
}

func (v Violation) String() string {
	if v.Path == "" {
		return v.Problem
	}
	return v.Path + ": " + v.Problem
}

// Error lists every violation, by chart in the order of the tree (parents
// first), then by path.
type Error struct {
	Violations []Violation
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("values don't meet the specifications of the schema(s) in the following chart(s):")
	last := ""
	for i, v := range e.Violations {
		if i == 0 || v.Chart != last {
			fmt.Fprintf(&b, "\n%s:", v.Chart)
			last = v.Chart
		}
		fmt.Fprintf(&b, "\n- %s", v)
	}
	return b.String()
}

// A SchemaError is returned when a schema itself cannot be used: it is malformed, goes
// on without end, or refers to something outside of its chart.
type SchemaError struct {
	Chart string
	File  string // see [FileOf]
	Err   error
}

func (e *SchemaError) Error() string {
	return fmt.Sprintf("schema of chart %s (%s): %s", e.Chart, e.File, e.Err)
}

func (e *SchemaError) Unwrap() error { return e.Err }

// Validate holds vals, the values of c, against c's schema, and the values of
// each chart below c, which stand under its name, against its own. The error is
// an [*Error] with all violations, or a [*SchemaError]. Charts without a schema
// cost nothing.
func Validate(c *chart.Chart, vals map[string]any) error {
	v := validator{compiled: map[string]*jsonschema.Schema{}}
	if err := v.tree(c, vals); err != nil {
		return err
	}
	if len(v.found) > 0 {
		return &Error{Violations: v.found}
	}
	return nil
}

// FileOf names the file that holds the schema of c: values.schema.yaml, else
// values.schema.json, which is the same in JSON; "" where it has neither.
func FileOf(c *chart.Chart) string {
	switch {
	case len(bytes.TrimSpace(c.SchemaYAML)) > 0:
		return chart.FileSchemaYAML
	case len(bytes.TrimSpace(c.Schema)) > 0:
		return chart.FileSchema
	}
	return ""
}

func textOf(c *chart.Chart) []byte {
	if FileOf(c) == chart.FileSchemaYAML {
		return c.SchemaYAML
	}
	return c.Schema
}

type validator struct {
	// compiled schemas by their text: copies of one chart are compiled once.
	compiled map[string]*jsonschema.Schema
	found    []Violation
}

func (v *validator) tree(c *chart.Chart, vals map[string]any) error {
	if file := FileOf(c); file != "" {
		if err := v.one(c, vals); err != nil {
			return &SchemaError{Chart: c.Name(), File: file, Err: err}
		}
	}
	for _, d := range c.Subcharts() { // libraries have no values
		scope, _ := vals[d.Name()].(map[string]any)
		if scope == nil {
			scope = map[string]any{}
		}
		if err := v.tree(d, scope); err != nil {
			return err
		}
	}
	return nil
}

func (v *validator) one(c *chart.Chart, vals map[string]any) error {
	text := textOf(c)
	key := FileOf(c) + "\x00" + string(text)
	sch := v.compiled[key]
	if sch == nil {
		var err error
		if sch, err = compile(c); err != nil {
			return err
		}
		if !refersToFiles(text) { // the same text may mean another chart's files
			v.compiled[key] = sch
		}
	}
	if vals == nil {
		vals = map[string]any{}
	}
	found, err := sch.Validate(vals, jsonschema.Limits{Steps: maxSteps, Time: maxTime})
	if err != nil {
		return err
	}
	slices.SortStableFunc(found, func(a, b jsonschema.Violation) int { return strings.Compare(a.Path, b.Path) })
	for _, f := range found {
		v.found = append(v.found, Violation{c.Name(), f.Path, f.Problem})
	}
	return nil
}
