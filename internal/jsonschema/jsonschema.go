// SPDX-License-Identifier: Apache-2.0

// Package jsonschema validates values against JSON Schemas of draft 4, 6, 7, 2019-09 and
// 2020-12, which is the default.
//
//	c := jsonschema.Compiler{Load: readFile}
//	s, err := c.Compile("chart:///values.schema.json", doc)
//	...
//	violations, err := s.Validate(values, jsonschema.Limits{Steps: 1e6, Time: time.Second})
//
// A schema is compiled in three steps. First, the identifiers and anchors of its document are
// collected, for resolving references (resource.go). Then the document is checked against the
// metaschema of its draft, which is embedded as published (draft.go). Then the schema and the
// schemas to which it refers are compiled into a graph of [Schema] (compile.go), which is
// immutable and safe for concurrent use.
//
// A metaschema is compiled on first use. Formats are asserted in drafts 4, 6 and 7, and later
// if a vocabulary requires it. The keywords contentEncoding, contentMediaType and
// contentSchema are annotations. Patterns are regular expressions of Go. The package opens no
// files and makes no requests; [Compiler.Load] returns the documents to which a schema
// refers.
//
// Results, messages and paths are the same as those of github.com/santhosh-tekuri/jsonschema,
// which Helm uses; tests compare the two.
package jsonschema

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
)

// ErrTooSlow is returned when a validation exceeds its [Limits].
var ErrTooSlow = errors.New("takes too long to check: it branches or refers to itself too often")

// Violation is a violation of a schema by a value.
type Violation struct {
	// Path is the path in the value in the syntax of --set: "image.tag" or "ports[0]". It
	// is "" for the whole value.
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

// InvalidError is returned for a document that is not a valid schema according to the
// metaschema of its draft.
type InvalidError struct {
	URL        string
	Violations []Violation
}

func (e *InvalidError) Error() string {
	parts := make([]string, len(e.Violations))
	for i, v := range e.Violations {
		parts[i] = v.String()
	}
	return fmt.Sprintf("%q is not a valid schema: %s", e.URL, strings.Join(parts, "; "))
}

// LoadError is returned if a document to which a schema refers cannot be loaded.
type LoadError struct {
	URL string
	Err error
}

func (e *LoadError) Error() string { return fmt.Sprintf("load %q: %s", e.URL, e.Err) }
func (e *LoadError) Unwrap() error { return e.Err }

// Limits are the limits of a validation. Zero means no limit.
type Limits struct {
	// Steps limits how often schemas, including subschemas, are applied to values.
	Steps int
	// Time limits the duration.
	Time time.Duration
}

// Compiler compiles schemas. With the zero value, schemas can only refer to metaschemas and
// to themselves.
type Compiler struct {
	// Load returns the document at an absolute URL without a fragment, decoded as for
	// [Compiler.Compile].
	Load func(url string) (any, error)
	// Limits apply to each check of a document against its metaschema.
	Limits Limits
}

// Compile compiles the schema doc, which is at url. Numbers in doc may have any of Go's
// numeric types or be a json.Number; objects are map[string]any and arrays []any. Errors are
// [*InvalidError], [*LoadError], [ErrTooSlow], or of no particular type, for example for a
// reference without a target.
func (c *Compiler) Compile(url string, doc any) (*Schema, error) {
	return newCompilation(c).compile(url, doc)
}

// Schema is a compiled schema.
type Schema struct {
	resource *resource // the resource that contains it
	pointer  string    // its location in the document

	always    *bool // set for the schemas true and false
	empty     bool  // no keyword can fail
	metaOf    *draft
	assertion assertions
	refs      references
	logic     logic
	object    *objectKeywords
	array     *arrayKeywords
	text      *stringKeywords
	number    *numberKeywords

	unevaluatedProperties, unevaluatedItems *Schema
}

// address returns the location of a schema as a URL.
func (s *Schema) address() string { return address(s.resource.doc.url, s.pointer) }

// address joins a document's URL and a fragment.
func address(document, fragment string) string {
	return document + "#" + strings.ReplaceAll(url.PathEscape(fragment), "%2F", "/")
}

// Validate validates v and returns all violations, in the order of the schema's keywords. v
// may have the types of encoding/json and all numeric types. The only error is [ErrTooSlow].
func (s *Schema) Validate(v any, limits Limits) ([]Violation, error) {
	e := newEvaluation(limits)
	var found []Violation
	e.schema(s, v, scope{}, nil, &found)
	return found, e.err
}
