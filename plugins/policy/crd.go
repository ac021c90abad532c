// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"github.com/moonhelm/moonhelm/chart/lint"
	"github.com/moonhelm/moonhelm/openapi"
)

// noField is the field of errors about a whole object.
const noField = "<nil>"

// customRules are the rules in CEL (x-kubernetes-validations) of a custom resource.
type customRules struct {
	schema    *schema.Structural
	validator *cel.Validator
	document  *openapi.Document
}

// readRules returns the rules of a CustomResourceDefinition by apiVersion and kind. It omits versions
// without rules, and those that cannot be read: they do not match their own schema.
func readRules(definition map[string]any, common map[string]*openapi.Schema) map[string]customRules {
	var crd apiextensionsv1.CustomResourceDefinition
	if text, err := json.Marshal(definition); err != nil || json.Unmarshal(text, &crd) != nil {
		return nil
	}
	documents, err := openapi.ParseCRD(definition, common)
	if err != nil {
		return nil
	}
	out := map[string]customRules{}
	for _, v := range crd.Spec.Versions {
		if v.Schema == nil || v.Schema.OpenAPIV3Schema == nil {
			continue
		}
		var props apiextensions.JSONSchemaProps
		from := v.Schema.OpenAPIV3Schema
		if apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(from, &props, nil) != nil {
			continue
		}
		s, err := schema.NewStructural(&props)
		if err != nil {
			continue
		}
		apiVersion := crd.Spec.Group + "/" + v.Name
		validator := cel.NewValidator(s, true, celconfig.PerCallLimit)
		if d := documents[apiVersion]; d != nil && validator != nil {
			out[apiVersion+" "+crd.Spec.Names.Kind] = customRules{s, validator, d}
		}
	}
	return out
}

// checkRules checks the rules in CEL of the custom resource with the index i, unless it does not match its
// schema: the rules expect its types.
func (e *evaluation) checkRules(ctx context.Context, i int, o *object) {
	r, ok := e.kinds.rules[o.apiVersion+" "+o.kind]
	if !ok {
		return
	}
	defaulting.Default(o.value, r.schema)
	if len(r.document.Check(o.value)) > 0 {
		return
	}
	errs, _ := r.validator.Validate(ctx, nil, r.schema, o.value, nil, celconfig.RuntimeCELCostBudget)
	for _, err := range errs {
		f := lint.PolicyField{Object: i, Field: err.Field, Message: err.Detail}
		if f.Field == noField {
			f.Field = ""
		}
		e.response.Fields = append(e.response.Fields, f)
	}
}
