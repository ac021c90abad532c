// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	v1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/version"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/lazy"
	"k8s.io/apiserver/pkg/cel/library"

	"github.com/moonhelm/moonhelm/chart/lint"
)

// evaluation is the evaluation of policies for objects.
type evaluation struct {
	kinds      *kinds
	policies   []*policy
	known      map[string]map[string]any // policies and bindings, by kind and name
	parameters []*object
	namespaces map[string]*object
	response   *lint.PolicyResponse
}

// evaluate answers a request.
func evaluate(ctx context.Context, req lint.PolicyRequest) (*lint.PolicyResponse, error) {
	known, err := newKinds(req)
	if err != nil {
		return nil, err
	}
	e := &evaluation{
		kinds: known, namespaces: map[string]*object{}, known: map[string]map[string]any{},
		response: &lint.PolicyResponse{Verdicts: []lint.PolicyVerdict{}, Problems: []lint.PolicyProblem{}},
	}
	objects := make([]*object, len(req.Objects))
	for i, m := range req.Objects {
		if objects[i] = known.object(m, req.Namespace); objects[i] != nil && objects[i].is("", "Namespace") {
			e.namespaces[objects[i].name] = objects[i]
		}
	}
	if err := e.read(req.Policies); err != nil {
		return nil, err
	}
	for i, o := range objects {
		if o == nil {
			continue
		}
		e.checkRules(ctx, i, o)
		if o.isExempt() {
			continue
		}
		for _, p := range e.policies {
			if err := e.apply(ctx, i, o, p); err != nil {
				return nil, err
			}
		}
	}
	return e.response, nil
}

func (e *evaluation) problem(file string, isError bool, format string, args ...any) {
	p := lint.PolicyProblem{File: file, Error: isError, Message: fmt.Sprintf(format, args...)}
	e.response.Problems = append(e.response.Problems, p)
}

// policy is a policy that has been compiled.
type policy struct {
	*v1.ValidatingAdmissionPolicy
	file        string
	bindings    []*v1.ValidatingAdmissionPolicyBinding
	variables   []expression
	conditions  []expression
	validations []validation
}

// expression is a compiled expression with its name.
type expression struct {
	name, text string
	program    cel.Program
}

type validation struct {
	expression
	message    string
	messageExp *expression
}

// environmentOf returns the environment of a policy's expressions.
func environmentOf(hasParams bool) (*cel.Env, error) {
	variables := []string{"object", "oldObject", "request", "namespaceObject", "variables"}
	if hasParams {
		variables = append(variables, "params")
	}
	options := []cel.EnvOption{
		cel.Variable("authorizer", library.AuthorizerType),
		cel.Variable("authorizer.requestResource", library.ResourceCheckType),
	}
	for _, name := range variables {
		options = append(options, cel.Variable(name, cel.DynType))
	}
	set, err := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()).Extend(
		environment.VersionedOptions{IntroducedVersion: version.MajorMinor(1, 0), EnvOptions: options})
	if err != nil {
		return nil, err
	}
	return set.StoredExpressionsEnv(), nil
}

// compile compiles the expressions of a policy. An API server refuses a policy for which it returns
// an error.
func (p *policy) compile() error {
	env, err := environmentOf(p.Spec.ParamKind != nil)
	if err != nil {
		return err
	}
	c := compiler{env: env}
	for i, v := range p.Spec.Variables {
		field := fmt.Sprintf("spec.variables[%d].expression", i)
		p.variables = append(p.variables, c.compile(field, v.Name, v.Expression, nil))
	}
	for i, m := range p.Spec.MatchConditions {
		p.conditions = append(p.conditions,
			c.compile(fmt.Sprintf("spec.matchConditions[%d].expression", i), m.Name, m.Expression, cel.BoolType))
	}
	for i, v := range p.Spec.Validations {
		at := fmt.Sprintf("spec.validations[%d].", i)
		out := validation{expression: c.compile(at+"expression", "", v.Expression, cel.BoolType), message: v.Message}
		if v.MessageExpression != "" {
			m := c.compile(at+"messageExpression", "", v.MessageExpression, cel.StringType)
			out.messageExp = &m
		}
		p.validations = append(p.validations, out)
	}
	return c.err
}

type compiler struct {
	env *cel.Env
	err error // the first one
}

func (c *compiler) compile(field, name, text string, want *cel.Type) expression {
	out := expression{name: name, text: strings.TrimSpace(text)}
	ast, issues := c.env.Compile(text)
	err := issues.Err()
	if err == nil && want != nil && !ast.OutputType().IsExactType(want) && !ast.OutputType().IsExactType(cel.DynType) {
		err = fmt.Errorf("must evaluate to %s", want)
	}
	if err == nil {
		out.program, err = c.env.Program(ast,
			cel.EvalOptions(cel.OptOptimize, cel.OptTrackCost),
			cel.CostLimit(celconfig.PerCallLimit),
			cel.InterruptCheckFrequency(celconfig.CheckFrequency))
	}
	if err != nil && c.err == nil {
		c.err = fmt.Errorf("%s: compilation failed: %w", field, err)
	}
	return out
}

var authorizer = regexp.MustCompile(`\bauthorizer\b`)

// asksAuthorizer reports whether an expression of the policy asks for the permissions of the user.
func (p *policy) asksAuthorizer() bool {
	var texts []string
	for _, v := range p.Spec.Variables {
		texts = append(texts, v.Expression)
	}
	for _, m := range p.Spec.MatchConditions {
		texts = append(texts, m.Expression)
	}
	for _, v := range p.Spec.Validations {
		texts = append(texts, v.Expression, v.MessageExpression)
	}
	return authorizer.MatchString(strings.Join(texts, "\n"))
}

// failsOpen reports whether errors of the evaluation let an object pass.
func (p *policy) failsOpen() bool {
	return p.Spec.FailurePolicy != nil && *p.Spec.FailurePolicy == v1.Ignore
}

// equivalent reports whether a policy selects the object in another version only, to which an API
// server would convert it.
func (e *evaluation) equivalent(m *v1.MatchResources, o *object) bool {
	if m == nil || m.MatchPolicy != nil && *m.MatchPolicy == v1.Exact {
		return false
	}
	matches, err := e.matches(m, o, true)
	return err == nil && matches && e.kinds.otherVersions(o)
}

// apply evaluates a policy for the object with the index i.
func (e *evaluation) apply(ctx context.Context, i int, o *object, p *policy) error {
	matches, err := e.matches(p.Spec.MatchConstraints, o, false)
	if err != nil {
		e.deny(i, p, nil, fmt.Errorf("failed to configure policy: %w", err))
		return nil
	}
	if !matches {
		if e.equivalent(p.Spec.MatchConstraints, o) {
			e.problem(p.file, false,
				"ValidatingAdmissionPolicy %q is about another version of %s %s: it is not evaluated for %s",
				p.Name, o.apiVersion, o.kind, o.name)
		}
		return nil
	}
	for _, b := range p.bindings {
		if matches, err := e.matches(b.Spec.MatchResources, o, false); err != nil || !matches {
			if err != nil {
				e.deny(i, p, b, fmt.Errorf("failed to configure binding: %w", err))
			}
			continue
		}
		params, err := e.params(p, b, o)
		if err != nil {
			e.deny(i, p, b, fmt.Errorf("failed to configure binding: %w", err))
			continue
		}
		for _, param := range params {
			for _, message := range p.validate(ctx, e.activation(p, o, param)) {
				e.verdict(i, p, b, message)
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
	}
	return nil
}

// deny adds a verdict about a policy or a binding that cannot be applied.
func (e *evaluation) deny(i int, p *policy, b *v1.ValidatingAdmissionPolicyBinding, err error) {
	if p.failsOpen() {
		return
	}
	v := lint.PolicyVerdict{Object: i, Policy: p.Name, Actions: []string{string(v1.Deny)}, Message: err.Error()}
	if b != nil {
		v.Binding = b.Name
	}
	e.response.Verdicts = append(e.response.Verdicts, v)
}

func (e *evaluation) verdict(i int, p *policy, b *v1.ValidatingAdmissionPolicyBinding, message string) {
	v := lint.PolicyVerdict{Object: i, Policy: p.Name, Binding: b.Name, Message: message}
	for _, a := range b.Spec.ValidationActions {
		v.Actions = append(v.Actions, string(a))
	}
	e.response.Verdicts = append(e.response.Verdicts, v)
}

// activation returns the variables of the expressions.
func (e *evaluation) activation(p *policy, o *object, param map[string]any) map[string]any {
	in := map[string]any{"object": o.value, "oldObject": nil, "request": o.request(), "namespaceObject": nil}
	if p.Spec.ParamKind != nil {
		in["params"] = nil
		if param != nil {
			in["params"] = param
		}
	}
	if o.namespaced {
		in["namespaceObject"] = e.namespace(o.namespace)
	}
	return in
}

// validate returns the messages of the validations that fail.
func (p *policy) validate(ctx context.Context, in map[string]any) []string {
	variables := lazy.NewMapValue(types.DynType)
	in["variables"] = variables
	for _, v := range p.variables {
		variables.Append(v.name, func(*lazy.MapValue) ref.Val {
			out, _, err := v.program.ContextEval(ctx, in)
			if err != nil {
				return types.NewErr("composited variable %q fails to evaluate: %v", v.name, err)
			}
			return out
		})
	}
	var failed error
	for _, c := range p.conditions {
		ok, err := c.isTrue(ctx, in)
		switch {
		case err != nil && failed == nil:
			failed = fmt.Errorf("match condition %q: %w", c.name, err)
		case err == nil && !ok:
			return nil
		}
	}
	if failed != nil {
		return p.failure(failed)
	}
	var out []string
	for _, v := range p.validations {
		ok, err := v.isTrue(ctx, in)
		switch {
		case err != nil:
			out = append(out, p.failure(err)...)
		case !ok:
			out = append(out, v.text(ctx, in))
		}
	}
	return out
}

// failure returns the message of an error, unless the policy fails open.
func (p *policy) failure(err error) []string {
	if p.failsOpen() {
		return nil
	}
	return []string{err.Error()}
}

func (x *expression) isTrue(ctx context.Context, in map[string]any) (bool, error) {
	out, _, err := x.program.ContextEval(ctx, in)
	if err != nil {
		return false, fmt.Errorf("expression '%s' resulted in error: %w", x.text, err)
	}
	ok, isBool := out.Value().(bool)
	if !isBool {
		return false, fmt.Errorf("expression '%s' is of type %s, want bool", x.text, out.Type().TypeName())
	}
	return ok, nil
}

// text returns the message of a validation that fails: that of the message expression, if it has one
// line, else the message or the expression.
func (v *validation) text(ctx context.Context, in map[string]any) string {
	if v.messageExp != nil {
		out, _, err := v.messageExp.program.ContextEval(ctx, in)
		if err == nil {
			text, ok := out.Value().(string)
			text = strings.TrimSpace(text)
			const most = celconfig.MaxEvaluatedMessageExpressionSizeBytes
			if ok && text != "" && !strings.Contains(text, "\n") && len(text) <= most {
				return text
			}
		}
	}
	if message := strings.TrimSpace(v.message); message != "" {
		return message
	}
	return "failed expression: " + v.expression.text
}
