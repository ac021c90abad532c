// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"reflect"
	"slices"

	v1 "k8s.io/api/admissionregistration/v1"

	"github.com/moonhelm/moonhelm/chart/lint"
	"github.com/moonhelm/moonhelm/manifest"
)

const registration = "admissionregistration.k8s.io"

// read reads policies, bindings, parameters and namespaces, and compiles the policies. Those that
// cannot be evaluated become problems.
func (e *evaluation) read(files []lint.PolicyFile) error {
	var bindings []*v1.ValidatingAdmissionPolicyBinding
	sources := map[*v1.ValidatingAdmissionPolicyBinding]string{}
	for _, f := range files {
		objects, err := manifest.Parse(f.Name, f.Text)
		if err == nil {
			objects, err = manifest.Flatten(objects)
		}
		if err != nil {
			e.problem(f.Name, true, "unable to parse YAML: %s", err)
			continue
		}
		for _, o := range objects {
			m, err := o.Map()
			if err != nil {
				e.problem(f.Name, true, "%s", err)
				continue
			}
			if e.isKnown(f.Name, o, m) {
				continue
			}
			e.kinds.define(m)
			group := manifest.Group(o.APIVersion)
			switch {
			case group == registration && o.Kind == "ValidatingAdmissionPolicy":
				p := &policy{file: f.Name, ValidatingAdmissionPolicy: &v1.ValidatingAdmissionPolicy{}}
				if e.decode(f.Name, o, m, p.ValidatingAdmissionPolicy) {
					e.policies = append(e.policies, p)
				}
			case group == registration && o.Kind == "ValidatingAdmissionPolicyBinding":
				b := &v1.ValidatingAdmissionPolicyBinding{}
				if e.decode(f.Name, o, m, b) {
					bindings, sources[b] = append(bindings, b), f.Name
				}
			default:
				if p := e.kinds.object(m, ""); p != nil {
					e.parameters = append(e.parameters, p)
					if p.is("", "Namespace") && e.namespaces[p.name] == nil {
						e.namespaces[p.name] = p
					}
				}
			}
		}
	}
	for _, b := range bindings {
		i := slices.IndexFunc(e.policies, func(p *policy) bool { return p.Name == b.Spec.PolicyName })
		if i < 0 {
			e.problem(sources[b], false, "ValidatingAdmissionPolicyBinding %q is of the policy %q, which is not there",
				b.Name, b.Spec.PolicyName)
			continue
		}
		e.policies[i].bindings = append(e.policies[i].bindings, b)
	}
	e.policies = slices.DeleteFunc(e.policies, func(p *policy) bool { return !e.usable(p) })
	return nil
}

// isKnown reports whether a policy or binding of that name has been read. That it is another one is a
// problem.
func (e *evaluation) isKnown(file string, o *manifest.Object, m map[string]any) bool {
	if manifest.Group(o.APIVersion) != registration {
		return false
	}
	before := e.known[o.String()]
	if before == nil {
		e.known[o.String()] = m
		return false
	}
	if !reflect.DeepEqual(before, m) {
		e.problem(file, true, "%s is defined twice", o)
	}
	return true
}

// decode reads m into the policy or binding into, and reports whether it has its form. It is strict, as
// an install is.
func (e *evaluation) decode(file string, o *manifest.Object, m map[string]any, into any) bool {
	if d := e.kinds.release.Document(o.APIVersion); d != nil {
		problems := d.Check(m)
		for _, p := range problems {
			e.problem(file, true, "%s: %s", o, p)
		}
		if len(problems) > 0 {
			return false
		}
	}
	text, err := json.Marshal(m)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		e.problem(file, true, "%s: %s", o, err)
	}
	return err == nil
}

// usable compiles a policy and reports whether it can be evaluated.
func (e *evaluation) usable(p *policy) bool {
	if err := p.compile(); err != nil {
		e.problem(p.file, true, "ValidatingAdmissionPolicy %q: %s", p.Name, err)
		return false
	}
	switch {
	case len(p.bindings) == 0:
		e.problem(p.file, false, "ValidatingAdmissionPolicy %q has no binding: it is not evaluated", p.Name)
		return false
	case p.asksAuthorizer():
		e.problem(p.file, false, "ValidatingAdmissionPolicy %q asks the authorizer of a cluster: it is not evaluated", p.Name)
		return false
	}
	return true
}
