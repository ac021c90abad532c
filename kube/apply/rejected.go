// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moonhelm/moonhelm/internal/lazy"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/openapi"
)

// A FieldError is an error about one field of an object.
type FieldError struct {
	openapi.Problem
	// Line is the line of the template that rendered the field, or 0 if it is not known.
	Line int
}

// String returns the error: "line 7: .spec.replicas: expected an integer, got string".
func (e FieldError) String() string {
	if e.Line == 0 {
		return e.Problem.String()
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.Problem)
}

// A Locator returns the line of the template that rendered a field of an object, or 0 if it is
// not known. The field is in the notation of API servers: "spec.containers[0].name".
type Locator func(o *manifest.Object, field string) int

// A RejectedError is an API server's rejection of an object because of its fields.
type RejectedError struct {
	// Summary is the server's message without the fields: `Deployment.apps "web" is invalid`.
	Summary string
	Fields  []FieldError // none if the server does not name them
	// From is the rejected object, or nil if it is not known.
	From *manifest.Object
	Err  error // the server's answer

	// readable is set if the server's message about a single field needs no other words.
	readable bool
}

func (e *RejectedError) Error() string {
	switch {
	case len(e.Fields) == 0:
		return e.Summary
	case len(e.Fields) == 1 && e.readable:
		return e.Err.Error()
	case len(e.Fields) == 1:
		return e.Summary + ": " + e.Fields[0].Problem.String()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d errors:", e.Summary, len(e.Fields))
	for _, f := range e.Fields {
		fmt.Fprintf(&b, "\n  %s", f)
	}
	return b.String()
}

func (e *RejectedError) Unwrap() error { return e.Err }

// Field returns the field and its object if the error is about a single field, else nil.
func (e *RejectedError) Field() (o *manifest.Object, field string) {
	if len(e.Fields) != 1 {
		return nil, ""
	}
	return e.From, e.Fields[0].Field
}

// Locate sets the lines of the fields.
func (e *RejectedError) Locate(line Locator) { locate(e.Fields, e.From, line) }

// locate sets the lines of fields, and sorts them by it. Those without a line are last.
func locate(fields []FieldError, o *manifest.Object, line Locator) {
	if o == nil {
		return
	}
	for i := range fields {
		fields[i].Line = line(o, fields[i].Field)
	}
	slices.SortStableFunc(fields, func(a, b FieldError) int {
		if a.Line == 0 || b.Line == 0 {
			return cmp.Compare(b.Line, a.Line)
		}
		return cmp.Compare(a.Line, b.Line)
	})
}

// rejected returns err as a [*RejectedError] if it is the server's rejection of the object
// because of fields that can be named, else err.
func rejected(o *manifest.Object, object map[string]any, err error) error {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || errors.As(err, new(*RejectedError)) ||
		!apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err) && !isTypedPatch(err) {
		return err
	}
	a := answer{object: object}
	a.read(status.Status())
	switch {
	case len(a.problems) > 0:
	case a.unnamed != "":
		a.summary += ": " + a.unnamed
	default:
		return err
	}
	return &RejectedError{Summary: a.summary, From: o, Err: err, readable: a.readable, Fields: fieldErrors(a.problems)}
}

func fieldErrors(problems []openapi.Problem) []FieldError {
	var out []FieldError
	for _, p := range problems {
		out = append(out, FieldError{Problem: p})
	}
	return out
}

// reject is like Fail, for an answer of the server about the object's fields. Where the server
// does not name them, as for a strategic merge patch, it finds them with the server's schemas.
func (c *Applier) reject(ctx context.Context, j *job, verb string, err error) error {
	err = rejected(j.Step.Object, j.New, err)
	if e, ok := errors.AsType[*RejectedError](err); ok && len(e.Fields) == 0 {
		apiVersion := j.Key().APIVersion
		if d := c.documents(ctx, []string{apiVersion})[apiVersion]; d != nil {
			problems := d.Check(j.New)
			e.Fields = fieldErrors(slices.DeleteFunc(problems, openapi.Problem.Unknown))
		}
		if len(e.Fields) > 0 {
			e.Summary = unreadablePatch
		}
	}
	return j.Fail(verb, err)
}

const unreadablePatch = "the patch is invalid"

const typedPatch = "failed to create typed patch object"

// isTypedPatch reports whether server-side apply could not read the object. The server answers
// it with the code 500.
func isTypedPatch(err error) bool { return strings.Contains(err.Error(), typedPatch) }

// answer takes a server's rejection of an object apart.
type answer struct {
	object   map[string]any
	summary  string
	problems []openapi.Problem
	readable bool   // the messages of the causes are shown as they are
	unnamed  string // a problem of a field that the server does not name
}

func (a *answer) read(status metav1.Status) {
	if d := status.Details; status.Reason == metav1.StatusReasonInvalid && d != nil && len(d.Causes) > 0 {
		a.summary = invalidSummary(status)
		for _, c := range d.Causes {
			a.cause(c)
		}
		return
	}
	for _, end := range []string{" cannot be handled as a ", typedPatch} {
		at := strings.Index(status.Message, end)
		if at < 0 {
			continue
		}
		head, rest, _ := strings.Cut(status.Message[at+len(end):], ": ")
		a.summary = status.Message[:at] + end + head
		a.text(rest)
	}
}

// invalidSummary returns the message of an Invalid status without its causes.
func invalidSummary(status metav1.Status) string {
	head, _, found := strings.Cut(status.Message, " is invalid: ")
	switch {
	case !found:
		return "the object is invalid"
	case strings.Trim(head, ` "`) == "": // of a patch that cannot be read
		return unreadablePatch
	}
	return head + " is invalid"
}

// cause adds the problems of one cause of an Invalid status.
func (a *answer) cause(c metav1.StatusCause) {
	message := withShortValue(c.Message)
	if c.Field != "" && c.Field != "patch" && c.Field != "<nil>" {
		a.readable = message == c.Message
		a.problems = append(a.problems, openapi.Problem{Field: c.Field, Text: message})
		return
	}
	rest := strings.TrimPrefix(c.Message, invalidValue)
	rest = strings.TrimPrefix(rest[valueEnd(rest):], ": ")
	before := len(a.problems)
	if a.text(rest); len(a.problems) == before {
		a.unnamed = "a field has a value of the wrong type (" + rest + ")"
	}
}

// text adds the problems in the text of a message: of the decoder of JSON, of its strict mode, or
// of server-side apply.
func (a *answer) text(text string) {
	const decoder = "strict decoding error"
	if strict, ok := strings.CutPrefix(text, decoder+": "); ok {
		a.summary += ": " + decoder
		a.strict(strict)
		return
	}
	if p, ok := a.unmarshal(text); ok {
		a.problems = append(a.problems, p)
		return
	}
	for line := range strings.Lines(strings.TrimPrefix(text, "errors:")) {
		field, problem, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if ok && strings.HasPrefix(field, ".") {
			a.problems = append(a.problems, openapi.Problem{Field: strings.TrimPrefix(field, "."), Text: typedText(problem)})
		}
	}
}

// strictPart is a part of the strict decoder's message: a kind of problem with a quoted field.
var strictPart = lazy.Regexp(`(unknown|duplicate) field "((?:[^"\\]|\\.)*)"`)

func (a *answer) strict(text string) {
	for _, m := range strictPart().FindAllStringSubmatch(text, -1) {
		p := openapi.Problem{Field: m[2]}
		if m[1] != "unknown" {
			p.Text = m[1] + " field"
		}
		a.problems = append(a.problems, p)
	}
}

// typedMismatch is the message of server-side apply about a value of another type.
var typedMismatch = lazy.Regexp(`^expected (numeric \(int or float\)|\w+), got (?:&value\.\w+\{Value:)?(.*?)\}?$`)

func typedText(problem string) string {
	m := typedMismatch().FindStringSubmatch(problem)
	if m == nil {
		return problem
	}
	want, got := m[1], m[2]
	if strings.HasPrefix(want, "numeric") {
		want = "number"
	}
	switch {
	case got == "true", got == "false":
		got = "boolean"
	case strings.HasPrefix(got, "map["):
		got = "map"
	case strings.HasPrefix(got, "[]"):
		got = "list"
	case strings.Trim(got, "0123456789.e+-") == "":
		got = "number"
	}
	return fmt.Sprintf("expected a %s, got %s", want, got)
}

// mismatch is the message of Go's decoder of JSON about a value of another type.
var mismatch = lazy.Regexp(
	`json: cannot unmarshal (\w+)(?: \S+)? into Go (?:struct field \w+\.(\S+)|value) of type (\S+)`)

// unmarshal returns the problem of a message of Go's decoder of JSON, which names the path of the
// field without the indexes of lists.
func (a *answer) unmarshal(text string) (openapi.Problem, bool) {
	m := mismatch().FindStringSubmatch(text)
	if m == nil {
		return openapi.Problem{}, false
	}
	got := jsonName(m[1])
	field := m[2]
	if at := fieldsOfType(a.object, strings.Split(field, "."), m[1], ""); len(at) == 1 {
		field = at[0]
	}
	return openapi.Problem{Field: field, Text: fmt.Sprintf("expected %s, got %s", goName(m[3]), got)}, true
}

func jsonName(kind string) string {
	switch kind {
	case "object":
		return "map"
	case "array":
		return "list"
	case "bool":
		return "boolean"
	}
	return kind
}

// goName returns the name of a type of Go in the words of YAML.
func goName(kind string) string {
	switch kind = strings.TrimPrefix(kind, "*"); {
	case strings.HasPrefix(kind, "int"), strings.HasPrefix(kind, "uint"):
		return "an integer"
	case strings.HasPrefix(kind, "float"):
		return "a number"
	case strings.HasPrefix(kind, "map["):
		return "a map"
	case strings.HasPrefix(kind, "[]"):
		return "a list"
	case kind == "string":
		return "a string"
	case kind == "bool":
		return "a boolean"
	}
	return "a value of type " + kind
}

// fieldsOfType returns the fields at path whose values have the given type of JSON, with the
// indexes of the lists on the way.
func fieldsOfType(v any, path []string, kind, field string) []string {
	var out []string
	switch v := v.(type) {
	case []any:
		if len(path) == 0 {
			break
		}
		for i, item := range v {
			out = append(out, fieldsOfType(item, path, kind, field+"["+strconv.Itoa(i)+"]")...)
		}
		return out
	case map[string]any:
		if len(path) == 0 {
			break
		}
		if below, ok := v[path[0]]; ok {
			return fieldsOfType(below, path[1:], kind, strings.TrimPrefix(field+"."+path[0], "."))
		}
		for _, key := range slices.Sorted(maps.Keys(v)) { // the keys of a map are not in the path
			if len(path) == 1 && path[0] == "" {
				out = append(out, fieldsOfType(v[key], nil, kind, field+"."+key)...)
			}
		}
		return out
	}
	if len(path) == 0 && jsonKind(v) == kind {
		return []string{field}
	}
	return nil
}

func jsonKind(v any) string {
	switch v.(type) {
	case map[string]any:
		return "object"
	case []any:
		return "array"
	case string:
		return "string"
	case bool:
		return "bool"
	case nil:
		return "null"
	}
	return "number"
}

const invalidValue = "Invalid value: "

// maxValue is the length of the longest value in a message that is shown in full.
const maxValue = 60

// withShortValue shortens the value in the message of a cause, which may be a whole object.
func withShortValue(message string) string {
	rest, ok := strings.CutPrefix(message, invalidValue)
	if !ok {
		return message
	}
	end := valueEnd(rest)
	if end <= maxValue {
		return message
	}
	return invalidValue + "..." + rest[end:]
}

// valueEnd returns the length of the value that text begins with: a quoted string, JSON, or a
// dump of Go, which ends before the last ": ".
func valueEnd(text string) int {
	if quoted, err := strconv.QuotedPrefix(text); err == nil {
		return len(quoted)
	}
	var raw json.RawMessage
	dec := json.NewDecoder(bytes.NewReader([]byte(text)))
	if dec.Decode(&raw) == nil {
		return int(dec.InputOffset())
	}
	return max(strings.LastIndex(text, ": "), 0)
}
