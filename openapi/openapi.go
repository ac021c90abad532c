// SPDX-License-Identifier: Apache-2.0

// Package openapi finds what is wrong with an object before an API server is
// asked to write it: fields that its kind does not have, values of another type,
// values that are none of those that are allowed, and fields that are missing.
//
// What a kind is comes from the documents that API servers publish under
// /openapi/v3, one for each group and version:
//
//	d, err := openapi.Parse("apps/v1", text)
//	for _, p := range d.Check(object) {
//		fmt.Println(p) // unknown field "spec.colour"
//	}
//
// It never refuses what the server takes: what the documents leave open, and
// what they say more strictly than the server is, passes. It does not replace
// the server's own validation, which knows more, such as how names are written.
package openapi

// Document is what one group and version of an API consists of. Its JSON is
// what is cached on disk: a tenth of what the server publishes.
type Document struct {
	// Kinds are the names of the schemas of objects, by kind.
	Kinds map[string]string `json:"kinds"`
	// Schemas are those that objects consist of, by name.
	Schemas map[string]*Schema `json:"schemas"`
	// Custom is set for kinds that are defined by custom resource definitions.
	// For them the server validates by these very schemas, and removes what they
	// do not name.
	Custom bool `json:"custom,omitempty"`
}

// Schema is what a value may be. The zero value allows any.
type Schema struct {
	// Ref is the name of the schema in place of this one.
	Ref string `json:"r,omitempty"`
	// Types are the JSON types that are allowed, none for any.
	Types  []string `json:"t,omitempty"`
	Format string   `json:"f,omitempty"`
	// Properties are the fields of an object, Additional is what any other field
	// is, and Open lets other fields be anything.
	Properties map[string]*Schema `json:"p,omitempty"`
	Additional *Schema            `json:"a,omitempty"`
	Open       bool               `json:"o,omitempty"`
	// Embedded is set for whole objects in other objects.
	Embedded bool     `json:"m,omitempty"`
	Items    *Schema  `json:"i,omitempty"`
	Required []string `json:"q,omitempty"`
	// Enum are the values that are allowed, none for any.
	Enum []any `json:"e,omitempty"`
	// Defaulted is set where the server fills in a value that is missing.
	Defaulted bool `json:"d,omitempty"`
}

// Problem is one thing that is wrong with an object.
type Problem struct {
	// Field is the path of the field as API servers write it:
	// "spec.containers[0].ports".
	Field string
	// Text says what is wrong; "" where the field is not known.
	Text string
}

// Unknown reports whether the field is one that the kind does not have.
func (p Problem) Unknown() bool { return p.Text == "" }

// String is the problem in the words of an API server.
func (p Problem) String() string {
	if p.Unknown() {
		return `unknown field "` + p.Field + `"`
	}
	return p.Field + ": " + p.Text
}
