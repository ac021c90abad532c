// SPDX-License-Identifier: Apache-2.0

package openapi

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/moonhelm/moonhelm/manifest"
)

// published is the used part of an OpenAPI 3 document.
type published struct {
	Components struct {
		Schemas map[string]*publishedSchema `json:"schemas"`
	} `json:"components"`
}

type publishedSchema struct {
	Ref        string                      `json:"$ref"`
	AllOf      []*publishedSchema          `json:"allOf"`
	OneOf      []*publishedSchema          `json:"oneOf"`
	AnyOf      []*publishedSchema          `json:"anyOf"`
	Not        *publishedSchema            `json:"not"`
	Type       string                      `json:"type"`
	Format     string                      `json:"format"`
	Properties map[string]*publishedSchema `json:"properties"`
	Additional json.RawMessage             `json:"additionalProperties"` // a schema, or true or false
	Items      *publishedSchema            `json:"items"`
	Required   []string                    `json:"required"`
	Enum       []any                       `json:"enum"`
	Default    json.RawMessage             `json:"default"`
	Preserve   bool                        `json:"x-kubernetes-preserve-unknown-fields"`
	IntOrText  bool                        `json:"x-kubernetes-int-or-string"`
	Embedded   bool                        `json:"x-kubernetes-embedded-resource"`
	Bounds
	Kinds []struct {
		Group   string `json:"group"`
		Version string `json:"version"`
		Kind    string `json:"kind"`
	} `json:"x-kubernetes-group-version-kind"`
}

const (
	refPrefix = "#/components/schemas/"
	machinery = "io.k8s.apimachinery."
	quantity  = "io.k8s.apimachinery.pkg.api.resource.Quantity"
	intOrText = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"
)

// Parse parses the OpenAPI document that an API server publishes for the group and version
// apiVersion ("v1", "apps/v1"). It returns an error for text that is not JSON of that form.
func Parse(apiVersion string, text []byte) (*Document, error) {
	var in published
	if err := json.Unmarshal(text, &in); err != nil {
		return nil, fmt.Errorf("read the OpenAPI document of %s: %w", apiVersion, err)
	}
	group, version := manifest.GroupVersion(apiVersion)
	d := &Document{Kinds: map[string]string{}, Schemas: map[string]*Schema{}}
	d.Custom = group != ""
	for name, s := range in.Components.Schemas {
		for _, k := range s.Kinds {
			if k.Group == group && k.Version == version {
				d.Kinds[k.Kind] = name
			}
		}
		// The schemas of a CRD are complete: they refer only to apimachinery's.
		d.Custom = d.Custom && (len(s.Kinds) > 0 || strings.HasPrefix(name, machinery)) &&
			!strings.HasPrefix(name, "io.k8s.api.")
	}
	for _, name := range d.Kinds {
		d.add(name, in.Components.Schemas)
	}
	return d, nil
}

// add adds the schema name and the schemas that it refers to.
func (d *Document) add(name string, from map[string]*publishedSchema) {
	in := from[name]
	if in == nil || d.Schemas[name] != nil {
		return
	}
	s := &Schema{}
	d.Schemas[name] = s
	switch {
	case name == quantity:
		*s = Schema{Types: []string{"string", "number"}, Format: "quantity"}
	case name == intOrText:
		*s = Schema{Types: []string{"integer", "string"}, Format: "int32"}
	default:
		*s = *d.reduce(in, from)
	}
}

// reduce returns the used part of a schema.
func (d *Document) reduce(in *publishedSchema, from map[string]*publishedSchema) *Schema {
	if in == nil {
		return nil
	}
	s := &Schema{Defaulted: d.defaulted(in.Default)}
	if ref := in.ref(); ref != "" {
		s.Ref = ref
		d.add(ref, from)
		return s
	}
	s.Format, s.Required, s.Enum, s.Open, s.Embedded = in.Format, in.Required, in.Enum, in.Preserve, in.Embedded
	switch {
	case in.IntOrText:
		s.Types = []string{"integer", "string"}
	case in.Type != "":
		s.Types = []string{in.Type}
	}
	s.Items = d.reduce(in.Items, from)
	for name, p := range in.Properties {
		if s.Properties == nil {
			s.Properties = make(map[string]*Schema, len(in.Properties))
		}
		s.Properties[name] = d.reduce(p, from)
	}
	switch additional := strings.TrimSpace(string(in.Additional)); additional {
	case "", "null", "false":
	case "true":
		s.Open = true
	default:
		var p publishedSchema
		if json.Unmarshal(in.Additional, &p) != nil {
			s.Open = true
		} else {
			s.Additional = d.reduce(&p, from)
		}
	}
	if d.Custom {
		s.Rules = d.rules(in, from)
	}
	if s.Types == nil && s.Properties == nil {
		if !d.Custom {
			s.Enum = nil
		}
		return &Schema{Defaulted: s.Defaulted, Rules: s.Rules, Enum: s.Enum} // of any type
	}
	return s
}

// ref returns the name of the schema that this one refers to, or "". For a field with its
// own default or description, the reference is the only element of allOf.
func (in *publishedSchema) ref() string {
	if in.Ref == "" && len(in.AllOf) == 1 && in.Type == "" && len(in.Properties) == 0 {
		in = in.AllOf[0]
	}
	name, ok := strings.CutPrefix(in.Ref, refPrefix)
	if !ok {
		return ""
	}
	return name
}

// defaulted reports whether the server sets a missing field to a default. For built-in kinds
// the zero value as the default means nothing: it is published for every field that is not a
// pointer.
func (d *Document) defaulted(value json.RawMessage) bool {
	text := strings.Join(strings.Fields(string(value)), "")
	switch text {
	case "":
		return false
	case `""`, "0", "{}", "[]", "false", "null":
		return d.Custom
	}
	return true
}
