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

// Locate returns err with the file's name and, found in its text, the line of
// every [*InvalidError] that has none. Other errors are returned as they are.
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
		var bad *InvalidError
		if errors.As(e, &bad) && bad.Line == 0 {
			found := *bad
			found.File, found.Line = name, lineOf(root, bad.Field)
			out[i] = &found
		}
	}
	if len(out) == 1 {
		return out[0]
	}
	return errors.Join(out...)
}

// lineOf finds the line of a field's path ("dependencies[1].alias"); of what
// is not there, its nearest ancestor's, and 0 for a missing top-level field.
func lineOf(n *yaml.Node, field string) int {
	return yaml.Line(n, strings.FieldsFunc(field, func(r rune) bool { return r == '.' || r == '[' || r == ']' })...)
}

// diagnose compares a YAML text with the Go type that it could not be decoded
// into and names every field of a wrong kind. It returns nil where it finds
// nothing: then the text is not YAML, or the reader stumbled over something else.
func diagnose(name string, data []byte, into any) error {
	root := yaml.Root(data)
	if root == nil {
		return nil
	}
	d := diagnosis{file: name}
	d.check(root, reflect.TypeOf(into), "", 0)
	return errors.Join(d.errs...)
}

// maxDiagnoses bounds how many problems are listed, and with them the work on
// a text whose aliases multiply.
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
			d.bad(n, field, "must be a time such as 2026-01-31T12:00:00Z")
		}
	case t.Kind() == reflect.String:
		d.want(n, field, n.Kind == yaml.ScalarNode, "a string")
	case t.Kind() == reflect.Bool:
		d.want(n, field, isBool(n), "true or false")
	case t.Kind() == reflect.Slice:
		if d.want(n, field, n.Kind == yaml.SequenceNode, "a list") {
			for i, item := range n.Content {
				d.check(item, t.Elem(), fmt.Sprintf("%s[%d]", field, i), depth+1)
			}
		}
	case t.Kind() == reflect.Map:
		if d.want(n, field, n.Kind == yaml.MappingNode, "a map") {
			for i := 0; i+1 < len(n.Content); i += 2 {
				d.check(n.Content[i+1], t.Elem(), field+"."+n.Content[i].Value, depth+1)
			}
		}
	case t.Kind() == reflect.Struct:
		if d.want(n, field, n.Kind == yaml.MappingNode, "a map") {
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
	// YAML 1.1, which Chart.yaml is read as, has more words for it than the
	// reader of nodes knows: asked for a bool, that one knows them too.
	var b bool
	return n.Kind == yaml.ScalarNode && n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) == 0 && n.Decode(&b) == nil
}

func (d *diagnosis) want(n *yaml.Node, field string, ok bool, what string) bool {
	if !ok {
		d.bad(n, field, "must be "+what+", is "+describe(n))
	}
	return ok
}

func (d *diagnosis) bad(n *yaml.Node, field, problem string) {
	d.errs = append(d.errs, &InvalidError{File: d.file, Line: n.Line, Field: field, Problem: problem})
}

func describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a map"
	case yaml.SequenceNode:
		return "a list"
	}
	v := n.Value
	if len(v) > 40 {
		v = v[:40] + "..."
	}
	return strconv.Quote(v)
}

// syntaxError turns the YAML reader's complaint into ours, with its line where
// it names one.
func syntaxError(name string, err error) error {
	bad := &InvalidError{File: name, Syntax: true}
	bad.Line, bad.Problem, _ = yaml.CutLine(yaml.Complaint(err))
	return bad
}
