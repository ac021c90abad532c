// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"k8s.io/client-go/util/jsonpath"

	"github.com/moonhelm/moonhelm/manifest"
)

// The annotations by which an object says itself when it is ready and when it
// has failed. The form is that of Helm's proposal 25: a JSON list of texts like
// "{.phase} == Ready".
const (
	annotationSuccess = "helm.sh/readiness-success"
	annotationFailure = "helm.sh/readiness-failure"
)

// Bounds of what annotations may ask.
const (
	maxExpressions = 32
	maxExpression  = 1 << 10
)

// ReadinessError tells which readiness annotation cannot be used.
type ReadinessError struct {
	Object     string // "Job/migrate"
	Source     string // the template that it comes from
	Annotation string
	Expression string // "" where the list itself is wrong
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

// CheckReadiness reads the annotations helm.sh/readiness-success and
// helm.sh/readiness-failure of objects and joins a [*ReadinessError] for each
// that cannot be used.
//
// Each holds a JSON list of expressions, of which one that is true is enough: a
// JSONPath in braces, one of ==, !=, <, <=, >, >=, and a value. The path is
// relative to the object's status, unless it begins with .status, .spec or
// .metadata. Where both sides are numbers they compare as such; other than
// numbers can be equal or not. An expression whose path finds nothing is not
// true, and where it finds several values, one is enough (for !=, all must
// differ). What the object's controller has not seen yet is not asked.
//
// Failure is asked first, and ends the wait at once. Success decides alone
// whether the object is ready. Helm's proposal wants both annotations and
// ignores one that is alone; here success alone leaves it to the usual rules to
// say what has failed, and failure alone is added to them.
func CheckReadiness(objects []*manifest.Object) error {
	all, err := unplaced(objects)
	if err != nil {
		return err
	}
	_, err = expressionsOf(all)
	return err
}

// expressions are those of one object.
type expressions struct{ success, failure []*expression }

// expressionsOf parses the annotations of those targets that have some.
func expressionsOf(targets []*target) (map[*target]*expressions, error) {
	var out map[*target]*expressions
	var errs []error
	for _, t := range targets {
		annotations, _ := field(t.object, "metadata", "annotations").(map[string]any)
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
				errs = append(errs, &ReadinessError{t.short(), t.source, name, wrong, err})
			}
			*list = parsed
		}
		if out == nil {
			out = map[*target]*expressions{}
		}
		out[t] = x
	}
	return out, errors.Join(errs...)
}

func parseExpressions(value any) (out []*expression, wrong string, err error) {
	const form = `it must be a JSON list of texts, such as '["{.phase} == Ready"]'`
	s, ok := value.(string)
	var list []string
	if !ok || json.Unmarshal([]byte(s), &list) != nil || len(list) == 0 {
		return nil, "", errors.New(form)
	}
	if len(list) > maxExpressions {
		return nil, "", fmt.Errorf("it has %d expressions, may have %d", len(list), maxExpressions)
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
	path   *jsonpath.JSONPath
	whole  bool // the path is relative to the object, not to its status
	op     string
	value  string
}

func parseExpression(s string) (*expression, error) {
	if len(s) > maxExpression {
		return nil, fmt.Errorf("it has %d bytes, may have %d", len(s), maxExpression)
	}
	end := closingBrace(s)
	if !strings.HasPrefix(s, "{") || end < 0 {
		return nil, errors.New(`it must begin with a JSONPath in braces, such as {.phase}`)
	}
	x := &expression{source: s}
	inner := strings.TrimPrefix(strings.TrimSpace(s[1:end]), "$")
	if !strings.HasPrefix(inner, ".") && !strings.HasPrefix(inner, "[") || strings.Count(inner, "..") > 1 {
		return nil, fmt.Errorf("{%s} is no path: it must begin with a dot, and may search all depths (..) once", inner)
	}
	for _, root := range []string{".status", ".spec", ".metadata"} {
		if rest, ok := strings.CutPrefix(inner, root); ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			x.whole = true
		}
	}
	x.path = jsonpath.New("").AllowMissingKeys(true)
	if err := x.path.Parse("{" + inner + "}"); err != nil {
		return nil, fmt.Errorf("{%s} is no JSONPath: %w", inner, err)
	}
	rest := strings.TrimSpace(s[end+1:])
	for _, op := range []string{"==", "!=", "<=", ">=", "<", ">"} {
		if value, ok := strings.CutPrefix(rest, op); ok {
			x.op, x.value = op, strings.TrimSpace(value)
			return x, x.checkValue()
		}
	}
	return nil, errors.New("after the path it needs one of ==, !=, <, <=, >, >= and a value")
}

// closingBrace is where the path that s begins with ends, -1 where it does not.
func closingBrace(s string) int {
	quote := rune(0)
	for i, r := range s {
		switch {
		case quote != 0:
			if r == quote {
				quote = 0
			}
		case r == '"' || r == '\'':
			quote = r
		case r == '}':
			return i
		}
	}
	return -1
}

func (x *expression) checkValue() error {
	if n := len(x.value); n >= 2 && (x.value[0] == '"' || x.value[0] == '\'') && x.value[n-1] == x.value[0] {
		x.value = x.value[1 : n-1]
	} else if n == 0 {
		return fmt.Errorf("the value after %s is missing", x.op)
	}
	if _, err := strconv.ParseFloat(x.value, 64); err != nil && x.op != "==" && x.op != "!=" {
		return fmt.Errorf("only numbers can be compared with %s, and %q is none", x.op, x.value)
	}
	return nil
}

// find returns what the path finds in o: texts, numbers and booleans, as text.
func (x *expression) find(o map[string]any) []string {
	var root any = o
	if !x.whole {
		root = o["status"]
	}
	if root == nil {
		return nil
	}
	results, err := x.path.FindResults(root)
	if err != nil {
		return nil // such as an index beyond the end
	}
	var out []string
	for _, list := range results {
		for _, v := range list {
			if s, ok := plainValue(v); ok {
				out = append(out, s)
			}
		}
	}
	return out
}

func plainValue(v reflect.Value) (string, bool) {
	for v.IsValid() && (v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer) {
		v = v.Elem()
	}
	if !v.IsValid() {
		return "", false
	}
	switch v.Kind() {
	case reflect.String, reflect.Bool, reflect.Int64, reflect.Float64, reflect.Int:
		return fmt.Sprint(v.Interface()), true
	}
	return "", false
}

// holds tells whether the expression is true of o, and the value that made it
// so, or that it has instead.
func (x *expression) holds(o map[string]any) (bool, string) {
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

// judge is what the expressions say of o. usual is what the rules for its kind
// say.
func (x *expressions) judge(o map[string]any, usual func() verdict) verdict {
	if str(o, "metadata", "deletionTimestamp") != "" {
		return verdict{missing: "is being deleted"}
	}
	if observed, ok := field(o, "status", "observedGeneration").(int64); ok && observed != integer(o, "metadata", "generation") {
		return verdict{missing: unseen}
	}
	for _, f := range x.failure {
		if ok, value := f.holds(o); ok {
			return verdict{failed: fmt.Sprintf("%s (it is %q), which is a failure by its annotation %s", f.source, value, annotationFailure)}
		}
	}
	if len(x.success) == 0 {
		return usual()
	}
	var missing []string
	for _, s := range x.success {
		ok, value := s.holds(o)
		if ok {
			return verdict{ready: true}
		}
		if value == "" {
			missing = append(missing, s.source+" (it is not there)")
		} else {
			missing = append(missing, fmt.Sprintf("%s (it is %q)", s.source, value))
		}
	}
	var v verdict
	if len(x.failure) == 0 {
		v = usual()
	}
	v.ready, v.missing = false, brief(strings.Join(missing, " or "))
	return v
}
