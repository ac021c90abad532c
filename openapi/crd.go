// SPDX-License-Identifier: Apache-2.0

package openapi

import (
	"encoding/json"
	"fmt"
	"maps"
)

// objectMeta is the name of the schema of metadata.
const objectMeta = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"

// crd is the used part of a CustomResourceDefinition.
type crd struct {
	Spec struct {
		Group string `json:"group"`
		Names struct {
			Kind string `json:"kind"`
		} `json:"names"`
		Versions []struct {
			Name   string `json:"name"`
			Served bool   `json:"served"`
			Schema struct {
				Root *publishedSchema `json:"openAPIV3Schema"`
			} `json:"schema"`
		} `json:"versions"`
	} `json:"spec"`
}

// ParseCRD returns the schemas of the custom resources that the CustomResourceDefinition object
// serves, by group and version. The schemas in common are those that built-in kinds have, too:
// metadata is checked if its schema is among them. ParseCRD returns an error if object does not
// have the form of a definition.
func ParseCRD(object map[string]any, common map[string]*Schema) (map[string]*Document, error) {
	text, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	var in crd
	if err := json.Unmarshal(text, &in); err != nil {
		return nil, fmt.Errorf("read the custom resource definition: %w", err)
	}
	kind, out := in.Spec.Names.Kind, map[string]*Document{}
	for _, v := range in.Spec.Versions {
		if !v.Served || v.Schema.Root == nil || kind == "" {
			continue
		}
		d := &Document{Custom: true, Kinds: map[string]string{kind: kind}, Schemas: maps.Clone(common)}
		if d.Schemas == nil {
			d.Schemas = map[string]*Schema{}
		}
		root := d.reduce(v.Schema.Root, nil)
		if root.Properties == nil {
			root.Properties = map[string]*Schema{}
		}
		for _, name := range []string{"apiVersion", "kind"} {
			root.Properties[name] = &Schema{Types: []string{"string"}}
		}
		meta := root.Properties["metadata"]
		root.Properties["metadata"] = &Schema{Ref: objectMeta}
		if meta != nil && meta.Properties != nil {
			// A definition can restrict the name only.
			open(meta)
			root.Rules = withAllOf(root.Rules, &Schema{Properties: map[string]*Schema{"metadata": meta}, Open: true})
		}
		d.Schemas[kind] = root
		out[in.Spec.Group+"/"+v.Name] = d
	}
	return out, nil
}

func withAllOf(r *Rules, s *Schema) *Rules {
	if r == nil {
		r = &Rules{}
	}
	r.AllOf = append(r.AllOf, s)
	return r
}
