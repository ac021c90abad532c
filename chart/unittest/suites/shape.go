// SPDX-License-Identifier: Apache-2.0

package suites

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/moonhelm/moonhelm/internal/truncate"
	"github.com/moonhelm/moonhelm/internal/yaml"
)

// shapeError is returned for a field of a suite whose value has a wrong type.
type shapeError struct {
	line int
	// where is the path of the field: "tests[0].release.revision". It is "" for the suite itself.
	where, want, got string
}

func (e *shapeError) Error() string {
	where := e.where
	if where == "" {
		where = "a suite"
	}
	return fmt.Sprintf("%s: want %s, got %s", where, e.want, e.got)
}

// Hint shows how to write what is wanted.
func (e *shapeError) Hint() string {
	switch {
	case e.where == "":
		return "a suite begins with fields such as suite, templates and tests"
	case strings.HasSuffix(e.where, "tests"):
		return "each test begins with a hyphen: \"- it: ...\""
	case strings.HasSuffix(e.where, "asserts"):
		return "each assertion begins with a hyphen: \"- equal: ...\""
	case strings.HasPrefix(e.want, "a list"):
		return "write each item in a line of its own, after a hyphen"
	case e.want == "a string" && !strings.HasPrefix(e.got, "a "):
		return "put the value in quotes"
	}
	return "docs/unittest.md describes the format of suites"
}

// checkShape returns an error for the first value of a suite that has another type than its field, or nil if it finds
// none.
func checkShape(doc *yaml.Node) *shapeError {
	return checkType(doc.Content[0], reflect.TypeFor[definition](), "", 0)
}

func checkType(n *yaml.Node, t reflect.Type, where string, depth int) *shapeError {
	at := n
	n = yaml.Target(n)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if n == nil || depth > yaml.MaxDepth || t == reflect.TypeFor[yaml.Node]() || n.ShortTag() == "!!null" {
		return nil
	}
	wrong := func(want string) *shapeError { return &shapeError{at.Line, where, want, describeNode(n)} }
	switch t.Kind() {
	case reflect.Struct:
		if n.Kind != yaml.MappingNode {
			return wrong("a map of fields")
		}
		return checkStruct(n, t, where, depth)
	case reflect.Map:
		if n.Kind != yaml.MappingNode {
			return wrong("a map")
		}
		for i := 0; i+1 < len(n.Content); i += 2 {
			if e := checkType(n.Content[i+1], t.Elem(), below(where, n.Content[i].Value), depth+1); e != nil {
				return e
			}
		}
	case reflect.Slice:
		if n.Kind != yaml.SequenceNode {
			return wrong(wantList(t.Elem()))
		}
		for i, item := range n.Content {
			if e := checkType(item, t.Elem(), fmt.Sprintf("%s[%d]", where, i), depth+1); e != nil {
				return e
			}
		}
	default:
		if want := wantScalar(t.Kind()); want != "" && n.Decode(reflect.New(t).Interface()) != nil {
			return wrong(want)
		}
	}
	return nil
}

func checkStruct(n *yaml.Node, t reflect.Type, where string, depth int) *shapeError {
	fields := fieldsOf(t)
	for i := 0; i+1 < len(n.Content); i += 2 {
		name := n.Content[i].Value
		if inner := fields[name]; inner != nil {
			if e := checkType(n.Content[i+1], inner, below(where, name), depth+1); e != nil {
				return e
			}
		}
	}
	return nil
}

// fieldsOf returns the types of the fields of a struct, by their names in YAML.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(t) { // with those of settings
		if name := f.Tag.Get("yaml"); name != "" && !f.Anonymous {
			fields[name] = f.Type
		}
	}
	return fields
}

func wantList(item reflect.Type) string {
	switch {
	case item == reflect.TypeFor[test]():
		return "a list of tests"
	case item == reflect.TypeFor[yaml.Node]():
		return "a list of assertions"
	case item.Kind() == reflect.String:
		return "a list of strings"
	}
	return "a list of maps"
}

func wantScalar(k reflect.Kind) string {
	switch k {
	case reflect.String:
		return "a string"
	case reflect.Int:
		return "a whole number"
	case reflect.Bool:
		return "true or false"
	}
	return ""
}

func below(where, name string) string {
	if where == "" {
		return name
	}
	return where + "." + name
}

// describeNode returns what a node is: "a map", or a scalar with its value.
func describeNode(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a map"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.ShortTag() == "!!null":
		return "nothing"
	}
	return fmt.Sprintf("%q", truncate.Bytes(n.Value, 40, "…"))
}

// syntaxError is returned for text that is not YAML.
type syntaxError struct{ problem string }

func (e *syntaxError) Error() string { return "the file is not valid YAML: " + e.problem }

// Hint says what to do about the commonest mistake.
func (e *syntaxError) Hint() string {
	if strings.Contains(e.problem, "cannot start any token") || strings.Contains(e.problem, "tab character") {
		return "indent with spaces: YAML allows no tabs"
	}
	if strings.Contains(e.problem, "expected ',' or") {
		return "in braces, put texts with brackets or commas in quotes: {path: \"spec.ports[0].name\"}"
	}
	return "docs/unittest.md describes the format of suites"
}

// readError returns the error of a suite for one of the YAML library.
func readError(file string, err error) *Error {
	text := strings.TrimPrefix(yaml.Complaint(err), "unmarshal errors:\n  ")
	line, problem, _ := yaml.CutLine(text)
	return &Error{File: file, Line: line, Err: &syntaxError{problem}}
}
