// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/internal/lines"
	"github.com/moonhelm/moonhelm/internal/yaml"
	"github.com/moonhelm/moonhelm/openapi"
)

// DirPolicies is the directory of a chart's ValidatingAdmissionPolicies, which Lint evaluates.
const DirPolicies = "policies"

// A PolicyRequest asks to evaluate the ValidatingAdmissionPolicies in files for objects as if they
// were created. Its JSON is the input of `policy evaluate`, the program of the plugin policy.
type PolicyRequest struct {
	// KubeVersion is the version of Kubernetes whose kinds the objects have: "1.36", or "" for
	// the newest that is known.
	KubeVersion string `json:"kubeVersion,omitempty"`
	// Namespace is that of objects without one.
	Namespace string       `json:"namespace"`
	Policies  []PolicyFile `json:"policies"`
	// Definitions are the CustomResourceDefinitions of custom resources.
	Definitions []map[string]any `json:"definitions,omitempty"`
	Objects     []map[string]any `json:"objects"`
}

// A PolicyFile has policies, bindings, parameters and namespaces.
type PolicyFile struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// A PolicyResponse is the answer to a [PolicyRequest].
type PolicyResponse struct {
	Verdicts []PolicyVerdict `json:"verdicts"`
	// Fields are those that do not pass the rules of their definitions.
	Fields   []PolicyField   `json:"fields,omitempty"`
	Problems []PolicyProblem `json:"problems"`
}

// A PolicyVerdict is a validation that an object does not pass.
type PolicyVerdict struct {
	Object  int    `json:"object"` // the index in the request
	Policy  string `json:"policy"`
	Binding string `json:"binding"`
	// Actions are the binding's: Deny, Warn, Audit.
	Actions []string `json:"actions"`
	Message string   `json:"message"`
}

// Severity returns [Error] if the binding denies such objects, [Warning] if it warns of them, else [Info].
func (v PolicyVerdict) Severity() Severity {
	switch {
	case slices.Contains(v.Actions, "Deny"):
		return Error
	case slices.Contains(v.Actions, "Warn"):
		return Warning
	}
	return Info
}

// String returns the verdict in the words of the API server.
func (v PolicyVerdict) String() string {
	by := fmt.Sprintf("ValidatingAdmissionPolicy '%s'", v.Policy)
	if v.Binding != "" {
		by += fmt.Sprintf(" with binding '%s'", v.Binding)
	}
	if v.Severity() == Error {
		return by + " denied request: " + v.Message
	}
	return "Validation failed for " + by + ": " + v.Message
}

// A PolicyField is a field of a custom resource that does not pass a rule in CEL
// (x-kubernetes-validations) of its definition.
type PolicyField struct {
	Object  int    `json:"object"` // the index in the request
	Field   string `json:"field"`  // "" is the object
	Message string `json:"message"`
}

// String returns the error in the form of other fields: ".spec.size: Invalid value: must be even".
func (f PolicyField) String() string {
	text := "Invalid value: " + f.Message
	if f.Field == "" {
		return text
	}
	return openapi.Problem{Field: f.Field, Text: text}.String()
}

// A PolicyProblem is about a policy that cannot be evaluated.
type PolicyProblem struct {
	File string `json:"file"`
	// Error is set if an API server would refuse the policy or the binding.
	Error   bool   `json:"error,omitempty"`
	Message string `json:"message"`
}

// PolicyFiles returns the files with policies among those of a chart.
func PolicyFiles(files []*chart.File) []PolicyFile {
	var out []PolicyFile
	found := false
	for _, f := range files {
		isYAML := slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(f.Name))
		if !strings.HasPrefix(f.Name, DirPolicies+"/") || !isYAML {
			continue
		}
		out = append(out, PolicyFile{f.Name, string(f.Data)})
		found = found || strings.Contains(string(f.Data), "ValidatingAdmissionPolicy")
	}
	if !found {
		return nil // a directory of something else
	}
	return out
}

// PolicyObjects are the objects that policies are evaluated for, with their places.
type PolicyObjects struct {
	Objects []map[string]any
	places  []policyPlace
}

// policyPlace is where an object is.
type policyPlace struct {
	name     string
	document *document
	lines    *lines.Map
}

// finding returns a finding without a message about a field of the object.
func (p policyPlace) finding(field string) Finding {
	line := p.document.first + max(yaml.FieldLine(p.document.node(), field), 1) - 1
	return Finding{Severity: Error, Path: p.name, Line: p.lines.Source(line)}
}

// NewPolicyObjects returns the objects in rendered files. It omits what is not an object.
func NewPolicyObjects(files []Rendered) *PolicyObjects {
	p := &PolicyObjects{}
	for i := range files {
		f := &files[i]
		var source *lines.Map
		docs := documents(f.Content)
		for n := range docs {
			d := &docs[n]
			var object map[string]any
			h, err := d.head()
			if err != nil || h == nil || h.APIVersion == "" || h.Kind == "" || yaml.Unmarshal([]byte(d.text), &object) != nil {
				continue
			}
			if source == nil {
				source = lines.New(f.Source, f.Content)
			}
			p.Objects = append(p.Objects, object)
			p.places = append(p.places, policyPlace{f.Name, d, source})
		}
	}
	return p
}

// Findings returns the findings of a response.
func (p *PolicyObjects) Findings(r *PolicyResponse) []Finding {
	var out []Finding
	for _, v := range r.Verdicts {
		if v.Object < 0 || v.Object >= len(p.places) {
			continue
		}
		f := p.places[v.Object].finding("metadata.name")
		f.Severity, f.Message = v.Severity(), v.String()
		out = append(out, f)
	}
	for _, field := range r.Fields {
		if field.Object < 0 || field.Object >= len(p.places) {
			continue
		}
		f := p.places[field.Object].finding(field.Field)
		f.Message = field.String()
		out = append(out, f)
	}
	for _, problem := range r.Problems {
		f := Finding{Severity: Info, Path: problem.File, Message: problem.Message}
		if problem.Error {
			f.Severity = Error
		}
		out = append(out, f)
	}
	return out
}
