// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// matches reports whether m selects the object. Nil selects all. With equivalent, versions of the
// object's group other than its own count, too.
func (e *evaluation) matches(m *v1.MatchResources, o *object, equivalent bool) (bool, error) {
	if m == nil {
		return true, nil
	}
	for _, s := range []struct {
		selector *metav1.LabelSelector
		labels   map[string]string
		applies  bool
	}{
		{m.NamespaceSelector, e.namespaceLabels(o), o.namespaced || o.is("", "Namespace")},
		{m.ObjectSelector, o.labels, true},
	} {
		if s.selector == nil || !s.applies {
			continue
		}
		selector, err := metav1.LabelSelectorAsSelector(s.selector)
		if err != nil {
			return false, err
		}
		if !selector.Matches(labels.Set(s.labels)) {
			return false, nil
		}
	}
	selects := func(r v1.NamedRuleWithOperations) bool { return o.selectedBy(r, equivalent) }
	if slices.ContainsFunc(m.ExcludeResourceRules, selects) {
		return false, nil
	}
	return len(m.ResourceRules) == 0 || slices.ContainsFunc(m.ResourceRules, selects), nil
}

// selectedBy reports whether a rule selects the creation of the object.
func (o *object) selectedBy(r v1.NamedRuleWithOperations, equivalent bool) bool {
	has := func(list []string, value string) bool {
		return slices.Contains(list, "*") || slices.Contains(list, value)
	}
	operation := slices.Contains(r.Operations, v1.Create) || slices.Contains(r.Operations, v1.OperationAll)
	scope := r.Scope == nil || *r.Scope == v1.AllScopes || (*r.Scope == v1.NamespacedScope) == o.namespaced
	resource := slices.ContainsFunc(r.Resources, func(text string) bool {
		resource, sub, _ := strings.Cut(text, "/")
		return (resource == "*" || resource == o.resource) && (sub == "" || sub == "*")
	})
	name := len(r.ResourceNames) == 0 || slices.Contains(r.ResourceNames, o.name)
	version := has(r.APIVersions, o.version) || equivalent
	return operation && scope && resource && name && version && has(r.APIGroups, o.group)
}

// isExempt reports whether policies never apply to the object: those that could lock their own
// administrators out.
func (o *object) isExempt() bool {
	return o.group == "admissionregistration.k8s.io"
}

// namespaceLabels returns the labels of the object's namespace, or of the object if it is one.
func (e *evaluation) namespaceLabels(o *object) map[string]string {
	if o.is("", "Namespace") {
		return o.labels
	}
	out := map[string]string{}
	if meta, ok := e.namespace(o.namespace)["metadata"].(map[string]any); ok {
		if all, ok := meta["labels"].(map[string]any); ok {
			for key, value := range all {
				out[key] = fmt.Sprint(value)
			}
		}
	}
	return out
}

// nameLabel is the label that API servers set on namespaces.
const nameLabel = "kubernetes.io/metadata.name"

// namespace returns the namespace called name: that among the policies or the objects, or else one
// that has only a name.
func (e *evaluation) namespace(name string) map[string]any {
	out := map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}}
	if found := e.namespaces[name]; found != nil {
		out = found.value
	}
	meta, ok := out["metadata"].(map[string]any)
	if !ok {
		return out
	}
	all, ok := meta["labels"].(map[string]any)
	if !ok {
		all = map[string]any{}
		meta["labels"] = all
	}
	all[nameLabel] = name
	return out
}

// params returns the parameters of a binding for an object: nil if there are none to be given.
func (e *evaluation) params(p *policy, b *v1.ValidatingAdmissionPolicyBinding, o *object) ([]map[string]any, error) {
	kind, ref := p.Spec.ParamKind, b.Spec.ParamRef
	if kind == nil || ref == nil {
		return []map[string]any{nil}, nil
	}
	namespace := ref.Namespace
	if namespace == "" {
		namespace = o.namespace
	}
	selector := labels.Everything()
	if ref.Selector != nil {
		var err error
		if selector, err = metav1.LabelSelectorAsSelector(ref.Selector); err != nil {
			return nil, err
		}
	}
	var out []map[string]any
	for _, candidate := range e.parameters {
		switch {
		case candidate.apiVersion != kind.APIVersion || candidate.kind != kind.Kind:
		case candidate.namespaced && candidate.namespace != "" && candidate.namespace != namespace:
		case ref.Name != "" && ref.Name != candidate.name:
		case ref.Name == "" && !selector.Matches(labels.Set(candidate.labels)):
		default:
			out = append(out, candidate.value)
		}
	}
	if action := ref.ParameterNotFoundAction; len(out) == 0 && action != nil && *action == v1.DenyAction {
		return nil, fmt.Errorf("no params found for policy binding with `Deny` parameterNotFoundAction")
	}
	return out, nil
}
