// SPDX-License-Identifier: Apache-2.0

// Package jsonpath evaluates kubectl's JSONPath templates with client-go's implementation. It
// accepts untrusted templates.
//
//	t, err := jsonpath.Parse("{.image.tag}")
//	err = t.Print(os.Stdout, values)
package jsonpath

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"k8s.io/client-go/util/jsonpath"
)

// Template is a parsed template. It is not safe for concurrent use.
type Template struct {
	path *jsonpath.JSONPath
	text string
}

// Parse parses a template, such as "{.a.b} and {.c[?(@.d=="e")].f}". If absent is set, a
// missing field evaluates to nothing, otherwise to an error.
func Parse(text string, absent bool) (t *Template, err error) {
	defer recoverError(&err)
	t = &Template{path: jsonpath.New("").AllowMissingKeys(absent), text: text}
	return t, t.path.Parse(text)
}

// recoverError converts a panic to an error: client-go's parser panics on some templates.
func recoverError(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("it cannot be evaluated: %v", r)
	}
}

// Print evaluates t on v, which is decoded as by encoding/json, and writes the result in
// kubectl's format.
func (t *Template) Print(w io.Writer, v any) (err error) {
	defer recoverError(&err)
	return t.path.Execute(w, v)
}

// Find evaluates t on v and returns the values that its paths select, in order.
func (t *Template) Find(v any) (found []any, err error) {
	defer recoverError(&err)
	results, err := t.path.FindResults(v)
	for _, list := range results {
		for _, r := range list {
			if r.IsValid() && r.CanInterface() {
				found = append(found, r.Interface())
			}
		}
	}
	return found, err
}

// maxUnion is the maximum number of values that all unions of a path may select together.
const maxUnion = 256

// Path checks that a template is a single path in braces, and returns the name of its first
// field, or "" if the path begins with something else. Text around the path, loops and literals
// are errors. So is a path whose result can grow exponentially with its length: one with more
// than one recursive descent (..), or with unions, such as [0,0] or ['a','b'], that select more
// than 256 values together.
func (t *Template) Path() (first string, err error) {
	defer recoverError(&err)
	parsed, err := jsonpath.Parse("", t.text)
	if err != nil {
		return "", err
	}
	var steps []jsonpath.Node
	if len(parsed.Root.Nodes) == 1 {
		if list, ok := parsed.Root.Nodes[0].(*jsonpath.ListNode); ok {
			steps = list.Nodes
		}
	}
	if len(steps) == 0 {
		return "", errors.New("want one path in braces")
	}
	searches, selected := countSelections(parsed.Root)
	if searches > 1 {
		return "", errors.New("more than one recursive descent (..)")
	}
	if selected > maxUnion {
		return "", fmt.Errorf("the unions select more than %d values", maxUnion)
	}
	for _, s := range steps {
		switch s.(type) {
		case *jsonpath.FieldNode, *jsonpath.ArrayNode, *jsonpath.FilterNode, *jsonpath.WildcardNode, *jsonpath.RecursiveNode,
			*jsonpath.UnionNode:
		default:
			return "", fmt.Errorf("want a path of fields, got %q", strings.TrimSpace(t.text))
		}
	}
	if f, ok := steps[0].(*jsonpath.FieldNode); ok {
		return f.Value, nil
	}
	return "", nil
}

// countSelections returns the number of recursive descents in a node and its descendants, and the
// product of the lengths of their unions, at most maxUnion+1.
func countSelections(n jsonpath.Node) (searches, selected int) {
	var inner []jsonpath.Node
	selected = 1
	switch n := n.(type) {
	case *jsonpath.RecursiveNode:
		searches = 1
	case *jsonpath.ListNode:
		inner = n.Nodes
	case *jsonpath.FilterNode:
		inner = []jsonpath.Node{n.Left, n.Right}
	case *jsonpath.UnionNode:
		selected = max(1, len(n.Nodes))
		for _, l := range n.Nodes {
			inner = append(inner, l)
		}
	}
	for _, n := range inner {
		if !reflect.ValueOf(n).IsNil() {
			more, times := countSelections(n)
			searches, selected = searches+more, min(selected*times, maxUnion+1)
		}
	}
	return searches, min(selected, maxUnion+1)
}
