// SPDX-License-Identifier: Apache-2.0

// Package openapi validates objects before they are sent to an API server: it finds unknown
// fields, values of the wrong type, values that are not in an enum, and missing fields.
//
// The schemas are from the OpenAPI documents that API servers publish under /openapi/v3, one
// for each group and version:
//
//	d, err := openapi.Parse("apps/v1", text)
//	for _, p := range d.Check(object) {
//		fmt.Println(p) // .spec.replicas: expected an integer, got string
//	}
//
// An object that the server accepts is never rejected: if a document leaves something open, or
// is stricter than the server, it is not checked. The package does not replace the validation
// of the server, which also checks, for example, the format of names.
package openapi

import "fmt"

// Document holds the schemas of an API group and version. Its JSON is cached on disk; it is
// a tenth of the size of the published document. It is safe for concurrent use while it is not
// changed.
type Document struct {
	// Kinds maps kinds to the names of their schemas.
	Kinds map[string]string `json:"kinds"`
	// Schemas are the schemas of kinds and of their fields, by name.
	Schemas map[string]*Schema `json:"schemas"`
	// Custom is set for custom resources. The server validates them with these schemas
	// and prunes unknown fields.
	Custom bool `json:"custom,omitempty"`
}

// Schema restricts a value. The zero value allows any.
type Schema struct {
	// Ref is the name of the schema to use instead.
	Ref string `json:"r,omitempty"`
	// Types are the allowed JSON types, or nil for any.
	Types  []string `json:"t,omitempty"`
	Format string   `json:"f,omitempty"`
	// Properties are the fields of an object, Additional is the schema of all other
	// fields, and Open allows any other field.
	Properties map[string]*Schema `json:"p,omitempty"`
	Additional *Schema            `json:"a,omitempty"`
	Open       bool               `json:"o,omitempty"`
	// Embedded is set for complete objects within objects.
	Embedded bool     `json:"m,omitempty"`
	Items    *Schema  `json:"i,omitempty"`
	Required []string `json:"q,omitempty"`
	// Enum are the allowed values, or nil for any.
	Enum []any `json:"e,omitempty"`
	// Defaulted is set if the server sets a missing value to a default.
	Defaulted bool `json:"d,omitempty"`
	// Rules restrict the values of custom resources further, or nil.
	Rules *Rules `json:"x,omitempty"`
}

// Problem is one validation error of an object.
type Problem struct {
	// Field is the path of the field in the notation of API servers:
	// "spec.containers[0].ports".
	Field string
	// Text describes the error. It is empty for an unknown field.
	Text string
	// Suggestion is the name of a field that an unknown one is similar to, or "".
	Suggestion string
}

// Unknown reports whether the kind does not have the field.
func (p Problem) Unknown() bool { return p.Text == "" }

// Missing reports whether the field is required and not there.
func (p Problem) Missing() bool { return p.Text == requiredValue }

// String returns the field and the error: ".spec.replicas: expected an integer, got string".
func (p Problem) String() string {
	text := p.Text
	if p.Unknown() {
		text = "unknown field"
	}
	if p.Suggestion != "" {
		text += fmt.Sprintf("; did you mean %q?", p.Suggestion)
	}
	return "." + p.Field + ": " + text
}
