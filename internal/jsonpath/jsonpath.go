// SPDX-License-Identifier: Apache-2.0

// Package jsonpath evaluates JSONPath templates as kubectl has them, with client-go's
// implementation, on text that may be hostile.
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

// Template is a parsed template. It must not be used concurrently.
type Template struct {
	path *jsonpath.JSONPath
	text string
}

// Parse parses a template, such as "{.a.b} and {.c[?(@.d=="e")].f}". A field that is not
// there is empty where absent is set, and an error of the evaluation otherwise.
func Parse(text string, absent bool) (t *Template, err error) {
	defer safely(&err)
	t = &Template{path: jsonpath.New("").AllowMissingKeys(absent), text: text}
	return t, t.path.Parse(text)
}

// safely makes an error of a panic: there are texts at which the library's parser panics.
func safely(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("it cannot be evaluated: %v", r)
	}
}

// Print evaluates t on v, which is as encoding/json decodes it, and writes what it finds as
// kubectl prints it.
func (t *Template) Print(w io.Writer, v any) (err error) {
	defer safely(&err)
	return t.path.Execute(w, v)
}

// Find evaluates t on v and returns what its paths find, in order.
func (t *Template) Find(v any) (found []any, err error) {
	defer safely(&err)
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

// maxUnion is how many values all unions of a path may select together.
const maxUnion = 256

// Path returns the name of the first field of a template that is one path in braces, "" where
// it begins with something else. Any other template is an error: text around it, loops, a
// value in the place of a path. So is a path of which what it finds would grow with the power
// of its length: one that searches all depths (..) more than once, or whose unions, such as
// [0,0] or ['a','b'], select more than 256 values together.
func (t *Template) Path() (first string, err error) {
	defer safely(&err)
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
		return "", errors.New("it must be one path in braces")
	}
	searches, selected := growth(parsed.Root)
	if searches > 1 {
		return "", errors.New("it may search all depths (..) once")
	}
	if selected > maxUnion {
		return "", fmt.Errorf("its unions may select %d values together, they select more", maxUnion)
	}
	for _, s := range steps {
		switch s.(type) {
		case *jsonpath.FieldNode, *jsonpath.ArrayNode, *jsonpath.FilterNode, *jsonpath.WildcardNode, *jsonpath.RecursiveNode,
			*jsonpath.UnionNode:
		default:
			return "", fmt.Errorf("it must name fields, which %q does not", strings.TrimSpace(t.text))
		}
	}
	if f, ok := steps[0].(*jsonpath.FieldNode); ok {
		return f.Value, nil
	}
	return "", nil
}

// growth counts the searches at all depths in a node and those within it, and multiplies the
// lengths of its unions, to a little more than [maxUnion].
func growth(n jsonpath.Node) (searches, selected int) {
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
			more, times := growth(n)
			searches, selected = searches+more, min(selected*times, maxUnion+1)
		}
	}
	return searches, min(selected, maxUnion+1)
}
