// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/moonhelm/moonhelm/internal/jsonpath"
	"github.com/moonhelm/moonhelm/kube/internal/api"
	"github.com/moonhelm/moonhelm/manifest"
)

// The annotations with an object's own conditions for success and failure, in the format of
// Helm's proposal 25: a JSON list of strings like "{.phase} == Ready".
const (
	annotationSuccess = "helm.sh/readiness-success"
	annotationFailure = "helm.sh/readiness-failure"
)

// Limits of annotations.
const (
	maxExpressions = 32
	maxExpression  = 1 << 10
)

// A ReadinessError is returned for an invalid readiness annotation.
type ReadinessError struct {
	Object     string // "Job/migrate"
	Source     string // the template
	Annotation string
	Expression string // "" if the list is invalid
	Err        error
}

func (e *ReadinessError) Error() string {
	s := fmt.Sprintf("%s (%s), annotation %s", e.Object, e.Source, e.Annotation)
	if e.Expression != "" {
		s += fmt.Sprintf(", %q", e.Expression)
	}
	return s + ": " + e.Err.Error()
}

func (e *ReadinessError) Unwrap() error { return e.Err }

// CheckReadiness parses the annotations helm.sh/readiness-success and helm.sh/readiness-failure
// of objects. It joins a [*ReadinessError] for each that is invalid.
//
// An annotation contains a JSON list of expressions and is true if one of them is. An
// expression is a JSONPath in braces, one of ==, !=, <, <=, >, >=, and a value. The path is
// relative to the object's status, unless it begins with .status, .spec or .metadata. Numbers
// are compared as numbers; other values only for equality. If the path selects nothing, the
// expression is false; if it selects several values, it is true if one of them matches (for !=,
// if all differ). Paths must satisfy [jsonpath.Template.Path]. The annotations are not
// evaluated before the controller has observed the object's latest generation.
//
// The failure annotation is evaluated first, and ends the wait if it is true. The success
// annotation alone decides whether the object is ready. Helm's proposal ignores an annotation
// without the other; here, with success alone, the usual rules decide about failure, and
// failure alone is added to the usual rules.
func CheckReadiness(objects []*manifest.Object) error {
	all, err := api.ParseTargets(objects)
	if err != nil {
		return err
	}
	_, err = expressionsOf(all)
	return err
}

// expressions are the parsed annotations of one object.
type expressions struct{ success, failure []*expression }

// expressionsOf parses the annotations of targets that have some.
func expressionsOf(targets []*api.Target) (map[*api.Target]*expressions, error) {
	var out map[*api.Target]*expressions
	var errs []error
	for _, t := range targets {
		annotations, _ := api.Field(t.Object, "metadata", "annotations").(map[string]any)
		if annotations[annotationSuccess] == nil && annotations[annotationFailure] == nil {
			continue
		}
		x := &expressions{}
		for name, list := range map[string]*[]*expression{annotationSuccess: &x.success, annotationFailure: &x.failure} {
			if annotations[name] == nil {
				continue
			}
			parsed, wrong, err := parseExpressions(annotations[name])
			if err != nil {
				errs = append(errs, &ReadinessError{t.Short(), t.Source, name, wrong, err})
			}
			*list = parsed
		}
		if out == nil {
			out = map[*api.Target]*expressions{}
		}
		out[t] = x
	}
	return out, errors.Join(errs...)
}

func parseExpressions(value any) (out []*expression, wrong string, err error) {
	const form = `want a JSON list of strings, such as '["{.phase} == Ready"]'`
	s, ok := value.(string)
	var list []string
	if !ok || json.Unmarshal([]byte(s), &list) != nil || len(list) == 0 {
		return nil, "", errors.New(form)
	}
	if len(list) > maxExpressions {
		return nil, "", fmt.Errorf("it has %d expressions, the limit is %d", len(list), maxExpressions)
	}
	for _, s := range list {
		x, err := parseExpression(s)
		if err != nil {
			return nil, s, err
		}
		out = append(out, x)
	}
	return out, "", nil
}

// expression is "{path} op value".
type expression struct {
	source string
	path   *jsonpath.Template
	whole  bool // the path is relative to the object, not to its status
	op     string
	value  string
}

func parseExpression(s string) (*expression, error) {
	if len(s) > maxExpression {
		return nil, fmt.Errorf("it has %d bytes, the limit is %d", len(s), maxExpression)
	}
	inner, ok := strings.CutPrefix(strings.TrimSpace(s), "{")
	end := indexUnquoted(inner, '}')
	if !ok || end < 0 {
		return nil, errors.New(`want a JSONPath in braces, such as {.phase}, at the beginning`)
	}
	text, rest := "{"+strings.TrimSpace(inner[:end])+"}", strings.TrimSpace(inner[end+1:])
	x := &expression{source: s}
	path, err := jsonpath.Parse(text, true)
	if err != nil {
		return nil, fmt.Errorf("%s is not a JSONPath: %w", text, err)
	}
	first, err := path.Path()
	if err != nil {
		return nil, fmt.Errorf("%s is not a JSONPath: %w", text, err)
	}
	x.path, x.whole = path, first == "status" || first == "spec" || first == "metadata"
	x.op, x.value, err = parseComparison(rest)
	return x, err
}

// parseComparison parses "== value".
func parseComparison(s string) (op, value string, err error) {
	for _, op := range []string{"==", "!=", "<=", ">=", "<", ">"} {
		rest, ok := strings.CutPrefix(s, op)
		if !ok {
			continue
		}
		value := strings.TrimSpace(rest)
		if n := len(value); n >= 2 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
			value = value[1 : n-1]
		} else if value == "" {
			return "", "", fmt.Errorf("the value after %s is missing", op)
		}
		if _, err := strconv.ParseFloat(value, 64); err != nil && op != "==" && op != "!=" {
			return "", "", fmt.Errorf("only numbers can be compared with %s, and %q is not a number", op, value)
		}
		return op, value, nil
	}
	return "", "", errors.New("want one of ==, !=, <, <=, >, >= and a value after the path")
}

// indexUnquoted returns the index of end outside of quotes, or -1.
func indexUnquoted(s string, end byte) int {
	quote := byte(0)
	for i := range len(s) {
		switch {
		case quote != 0:
			if s[i] == quote {
				quote = 0
			}
		case s[i] == '"' || s[i] == '\'':
			quote = s[i]
		case s[i] == end:
			return i
		}
	}
	return -1
}

// find returns the strings, numbers and booleans that the path selects in o, as strings. If the
// path does not fit the object, it returns none.
func (x *expression) find(o map[string]any) []string {
	var root any = o
	if !x.whole {
		root = o["status"]
	}
	found, err := x.path.Find(root)
	if err != nil {
		return nil
	}
	var out []string
	for _, v := range found {
		switch v.(type) {
		case string, bool, int64, float64:
			out = append(out, fmt.Sprint(v))
		}
	}
	return out
}

// isTrue reports whether the expression is true for o, and the value that decided it.
func (x *expression) isTrue(o map[string]any) (bool, string) {
	found := x.find(o)
	if len(found) == 0 {
		return false, ""
	}
	for _, v := range found {
		if x.op != "!=" && compare(v, x.op, x.value) {
			return true, v
		}
		if x.op == "!=" && compare(v, "==", x.value) {
			return false, v
		}
	}
	return x.op == "!=", found[0]
}

func compare(have, op, want string) bool {
	a, errA := strconv.ParseFloat(have, 64)
	b, errB := strconv.ParseFloat(want, 64)
	if errA != nil || errB != nil {
		return op == "==" && have == want
	}
	switch op {
	case "==":
		return a == b
	case "<":
		return a < b
	case "<=":
		return a <= b
	case ">":
		return a > b
	}
	return a >= b
}

// evaluate returns the result of the expressions for o. usual returns the result of the usual
// rules.
func (x *expressions) evaluate(o map[string]any, usual func() verdict) verdict {
	if api.String(o, "metadata", "deletionTimestamp") != "" {
		return verdict{missing: "is being deleted"}
	}
	if observed, ok := api.Field(o, "status", "observedGeneration").(int64); ok &&
		observed != api.Int(o, "metadata", "generation") {
		return verdict{missing: notObserved}
	}
	for _, f := range x.failure {
		if ok, value := f.isTrue(o); ok {
			return verdict{failed: fmt.Sprintf("%s (it is %q), which is a failure according to its annotation %s", f.source,
				value,
				annotationFailure)}
		}
	}
	if len(x.success) == 0 {
		return usual()
	}
	var missing []string
	for _, s := range x.success {
		ok, value := s.isTrue(o)
		if ok {
			return verdict{ready: true}
		}
		if value == "" {
			missing = append(missing, s.source+" (no value)")
		} else {
			missing = append(missing, fmt.Sprintf("%s (it is %q)", s.source, value))
		}
	}
	var v verdict
	if len(x.failure) == 0 {
		v = usual()
	}
	v.ready, v.missing = false, shortLine(strings.Join(missing, " or "))
	return v
}
