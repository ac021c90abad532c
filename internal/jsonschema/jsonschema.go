// SPDX-License-Identifier: Apache-2.0

// Package jsonschema checks values against JSON Schemas of draft 4, 6, 7, 2019-09
// and 2020-12; 2020-12 where a schema does not say.
//
//	c := jsonschema.Compiler{Load: readFile}
//	s, err := c.Compile("chart:///values.schema.json", doc)
//	...
//	violations, err := s.Validate(values, jsonschema.Limits{Steps: 1e6, Time: time.Second})
//
// A schema is read in three steps. First its document is searched for identifiers and
// anchors, so that references find what they name (resource.go). Then the document is
// checked against the metaschema of its draft, which is a schema like any other and
// embedded as published (draft.go). Then the schema, and whatever it refers to, is
// turned into a graph of [Schema] (compile.go), which does not change any more and may
// be used by several goroutines at once.
//
// The package starts with nothing in memory: a metaschema is read when the first schema
// of its draft is. It asserts formats where a draft says so by default (4, 6 and 7, or
// by vocabulary), and takes contentEncoding, contentMediaType and contentSchema for
// annotations. Patterns are regular expressions of Go. It opens no file and makes no
// request; documents that a schema refers to come from [Compiler.Load].
//
// Verdicts, sentences and paths are those of github.com/santhosh-tekuri/jsonschema,
// which Helm uses; tests hold the two against each other.
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

// Violation is one way in which a value breaks a schema.
type Violation struct {
	// Path is the place in the value, as --set writes it: "image.tag", "ports[0]"; ""
	// is the whole value.
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

// InvalidError is returned when a document is not a valid schema: it breaks the
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

// LoadError is returned when a document that a schema refers to cannot be had.
type LoadError struct {
	URL string
	Err error
}

func (e *LoadError) Error() string { return fmt.Sprintf("load %q: %s", e.URL, e.Err) }
func (e *LoadError) Unwrap() error { return e.Err }

// Limits bound a validation. Zero means no bound.
type Limits struct {
	// Steps is how often a schema may be held against a value, all subschemas counted.
	Steps int
	// Time is how long a validation may take.
	Time time.Duration
}

// Compiler reads schemas. The zero value knows the metaschemas and no other document.
type Compiler struct {
	// Load returns the document at an absolute URL without a fragment, decoded as
	// [Compiler.Compile] takes it.
	Load func(url string) (any, error)
	// Limits bound each check of a document against its metaschema.
	Limits Limits
}

// Compile reads the schema doc, which is at url. Numbers in doc may be of any of
// Go's types for numbers, or json.Number; objects are map[string]any, arrays []any. The
// error is an [*InvalidError], a [*LoadError], [ErrTooSlow], or says what else is
// wrong, such as a reference that leads nowhere.
func (c *Compiler) Compile(url string, doc any) (*Schema, error) {
	return newCompilation(c).compile(url, doc)
}

// Schema is a compiled schema.
type Schema struct {
	resource *resource // that it belongs to
	pointer  string    // its place in the document

	always    *bool // of a schema that is true or false
	empty     bool  // it has no keyword that could fail
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

// address is the location of a schema as a URL.
func (s *Schema) address() string { return address(s.resource.doc.url, s.pointer) }

// address joins a document's URL and a fragment.
func address(document, fragment string) string {
	return document + "#" + strings.ReplaceAll(url.PathEscape(fragment), "%2F", "/")
}

// Validate checks v and returns all violations, in the order of the schema's keywords.
// The values are those that encoding/json makes, and Go's other types for numbers. The
// error is [ErrTooSlow], or nil.
func (s *Schema) Validate(v any, limits Limits) ([]Violation, error) {
	e := newEvaluation(limits)
	var found []Violation
	e.schema(s, v, scope{}, nil, &found)
	return found, e.err
}
