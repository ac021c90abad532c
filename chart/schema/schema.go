// SPDX-License-Identifier: Apache-2.0

// Package schema validates the values of charts against their JSON Schemas, and derives
// schemas from values files.
//
//	resolved, err := values.Resolve(c, user)
//	...
//	err = schema.Validate(resolved.Chart, values.Rounded(resolved.Values))
//
// [Validate] supports drafts 4 to 2020-12; the default is 2020-12. A schema may refer to
// files of its own chart only: the package does not open files or make requests. [Derive]
// writes a schema for a values.yaml.
package schema

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/internal/jsonschema"
)

// Violation is a value that violates a schema.
type Violation struct {
	// Chart is the name of the chart that has the schema.
	Chart string
	// Path is the path in that chart's values in the syntax of --set: "image.tag" or
	// "ports[0]". It is "" for the values as a whole.
	Path string
	// Problem describes the violation: "got number, want string".
	Problem string
}

func (v Violation) String() string {
	if v.Path == "" {
		return v.Problem
	}
	return v.Path + ": " + v.Problem
}

// An Error is returned for values that violate a schema. Violations are sorted by chart, in
// the order of the tree with parents first, and by path.
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

// A SchemaError is returned for a schema that cannot be used: it is not valid, takes too long
// to evaluate, or refers to a document outside of its chart.
type SchemaError struct {
	Chart string
	File  string // see [FileOf]
	Err   error
}

func (e *SchemaError) Error() string {
	return fmt.Sprintf("schema of chart %s (%s): %s", e.Chart, e.File, e.Err)
}

func (e *SchemaError) Unwrap() error { return e.Err }

// Validate validates vals, the values of c, against c's schema, and the values of each
// chart below c against that chart's schema. It returns an [*Error] with all violations, or a
// [*SchemaError].
func Validate(c *chart.Chart, vals map[string]any) error { return new(Validator).Validate(c, vals) }

// Validator validates values and keeps the schemas that it has compiled, for charts that are validated
// many times. The zero value is ready to use. It is safe for concurrent use.
type Validator struct {
	mu       sync.Mutex
	compiled map[string]*jsonschema.Schema // by text, so that copies of a chart share one
}

// Validate is like the function [Validate].
func (v *Validator) Validate(c *chart.Chart, vals map[string]any) error {
	return (&validator{Validator: v}).run(c, vals)
}

// validator is a run of a Validator.
type validator struct {
	*Validator
	found []Violation
}

func (v *validator) run(c *chart.Chart, vals map[string]any) error {
	if err := v.tree(c, vals); err != nil {
		return err
	}
	if len(v.found) > 0 {
		return &Error{Violations: v.found}
	}
	return nil
}

// FileOf returns the name of the file with the schema of c: values.schema.yaml if c has it,
// otherwise values.schema.json. It returns "" if c has neither.
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
	sch, err := v.schema(c)
	if err != nil {
		return err
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

// schema returns the compiled schema of a chart.
func (v *Validator) schema(c *chart.Chart) (*jsonschema.Schema, error) {
	text := textOf(c)
	key := FileOf(c) + "\x00" + string(text)
	v.mu.Lock()
	defer v.mu.Unlock()
	if sch := v.compiled[key]; sch != nil {
		return sch, nil
	}
	sch, err := compile(c)
	if err != nil {
		return nil, err
	}
	if !refersToFiles(text) { // another chart may have the same schema and different files
		if v.compiled == nil {
			v.compiled = map[string]*jsonschema.Schema{}
		}
		v.compiled[key] = sch
	}
	return sch, nil
}
