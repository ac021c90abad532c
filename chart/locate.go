// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/moonhelm/moonhelm/internal/yaml"
)

// Locate sets the file and the line of every [*InvalidError] in err that has no line:
// name, and the line of its field in data. It changes copies of the errors and returns
// them joined; other errors in err stay as they are.
func Locate(name string, data []byte, err error) error {
	if err == nil {
		return nil
	}
	var list []error
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		list = joined.Unwrap()
	} else {
		list = []error{err}
	}
	root := yaml.Root(data)
	out := make([]error, len(list))
	for i, e := range list {
		out[i] = e
		var invalid *InvalidError
		if errors.As(e, &invalid) && invalid.Line == 0 {
			found := *invalid
			found.File, found.Line = name, lineOf(root, invalid.Field)
			out[i] = &found
		}
	}
	if len(out) == 1 {
		return out[0]
	}
	return errors.Join(out...)
}

// lineOf returns the line of a field, given as a path ("dependencies[1].alias"). For a
// missing field it returns the line of the nearest ancestor, or 0 at the top level.
func lineOf(n *yaml.Node, field string) int {
	return yaml.Line(n, strings.FieldsFunc(field, func(r rune) bool { return r == '.' || r == '[' || r == ']' })...)
}

// diagnose compares YAML that could not be decoded into a Go value with the value's type
// and returns an error for every field of the wrong kind. It returns nil if data is not
// YAML or decoding failed for another reason.
func diagnose(name string, data []byte, into any) error {
	root := yaml.Root(data)
	if root == nil {
		return nil
	}
	d := diagnosis{file: name}
	d.check(root, reflect.TypeOf(into), "", 0)
	return errors.Join(d.errs...)
}

// maxDiagnoses limits the listed problems, and so the work on YAML whose nested aliases
// expand to many nodes.
const maxDiagnoses = 20

type diagnosis struct {
	file  string
	errs  []error
	steps int
}

var timeType = reflect.TypeFor[time.Time]()

func (d *diagnosis) check(n *yaml.Node, t reflect.Type, field string, depth int) {
	d.steps++
	n = yaml.Target(n)
	if n == nil || len(d.errs) >= maxDiagnoses || d.steps > 100_000 || depth > 20 || n.ShortTag() == "!!null" {
		return
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t == timeType:
		if _, err := time.Parse(time.RFC3339, n.Value); n.Kind != yaml.ScalarNode || err != nil {
			d.addError(n, field, "must be a time such as 2026-01-31T12:00:00Z")
		}
	case t.Kind() == reflect.String:
		d.checkKind(n, field, n.Kind == yaml.ScalarNode, "a string")
	case t.Kind() == reflect.Bool:
		d.checkKind(n, field, isBool(n), "true or false")
	case t.Kind() == reflect.Slice:
		if d.checkKind(n, field, n.Kind == yaml.SequenceNode, "a list") {
			for i, item := range n.Content {
				d.check(item, t.Elem(), fmt.Sprintf("%s[%d]", field, i), depth+1)
			}
		}
	case t.Kind() == reflect.Map:
		if d.checkKind(n, field, n.Kind == yaml.MappingNode, "a map") {
			for i := 0; i+1 < len(n.Content); i += 2 {
				d.check(n.Content[i+1], t.Elem(), field+"."+n.Content[i].Value, depth+1)
			}
		}
	case t.Kind() == reflect.Struct:
		if d.checkKind(n, field, n.Kind == yaml.MappingNode, "a map") {
			d.checkStruct(n, t, field, depth)
		}
	}
}

func (d *diagnosis) checkStruct(n *yaml.Node, t reflect.Type, field string, depth int) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i].Value
		if n.Content[i].ShortTag() == "!!merge" {
			d.check(n.Content[i+1], t, field, depth+1)
			continue
		}
		for j := range t.NumField() {
			tag, _, _ := strings.Cut(t.Field(j).Tag.Get("json"), ",")
			if strings.EqualFold(tag, key) {
				d.check(n.Content[i+1], t.Field(j).Type, strings.TrimPrefix(field+"."+tag, "."), depth+1)
			}
		}
	}
}

func isBool(n *yaml.Node) bool {
	// Chart.yaml is YAML 1.1, where yes, no, on and off are booleans. Their nodes
	// have the tag of a string, but they decode into a bool.
	var b bool
	quoted := n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0
	return n.Kind == yaml.ScalarNode && !quoted && n.Decode(&b) == nil
}

func (d *diagnosis) checkKind(n *yaml.Node, field string, ok bool, what string) bool {
	if !ok {
		d.addError(n, field, "must be "+what+", is "+describeNode(n))
	}
	return ok
}

func (d *diagnosis) addError(n *yaml.Node, field, problem string) {
	d.errs = append(d.errs, &InvalidError{File: d.file, Line: n.Line, Field: field, Problem: problem})
}

func describeNode(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a map"
	case yaml.SequenceNode:
		return "a list"
	}
	v := n.Value
	if len(v) > 40 {
		v = strings.ToValidUTF8(v[:40], "") + "..."
	}
	return strconv.Quote(v)
}

// syntaxError converts an error of the YAML parser into an InvalidError, with the line
// if the error names one.
func syntaxError(name string, err error) error {
	invalid := &InvalidError{File: name, Syntax: true}
	invalid.Line, invalid.Problem, _ = yaml.CutLine(yaml.Complaint(err))
	return invalid
}
