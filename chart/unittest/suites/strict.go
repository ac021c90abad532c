// SPDX-License-Identifier: Apache-2.0

package suites

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/internal/suggest"
	"github.com/moonhelm/moonhelm/internal/yaml"
)

// fieldError is returned for an unknown field of a suite in strict mode.
type fieldError struct {
	line        int
	name, where string
	near        string
}

func (e *fieldError) Error() string {
	return fmt.Sprintf("field %s not found in %s", e.name, e.where)
}

// Hint suggests the field that was probably meant.
func (e *fieldError) Hint() string {
	if e.near == "" {
		return "without --strict, unknown fields are ignored"
	}
	return fmt.Sprintf("did you mean %s?", e.near)
}

// checkFields returns an error for the first field of doc that a suite does not have.
func checkFields(doc *yaml.Node) *fieldError {
	root := yaml.Target(doc.Content[0])
	if err := checkMap(root, reflect.TypeFor[definition](), "a suite"); err != nil {
		return err
	}
	tests := yaml.Target(yaml.Value(root, "tests"))
	if tests == nil {
		return nil
	}
	for _, t := range tests.Content {
		if err := checkMap(yaml.Target(t), reflect.TypeFor[test](), "a test"); err != nil {
			return err
		}
	}
	return nil
}

func checkMap(n *yaml.Node, t reflect.Type, where string) *fieldError {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil // decoding reports it
	}
	fields := fieldsOf(t)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		inner, ok := fields[key.Value]
		if !ok && key.Value != "<<" {
			return &fieldError{line: key.Line, name: key.Value, where: where, near: nearest(fields, key.Value)}
		}
		for inner != nil && inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if inner == nil || inner.Kind() != reflect.Struct || inner == reflect.TypeFor[yaml.Node]() {
			continue
		}
		if err := checkMap(yaml.Target(n.Content[i+1]), inner, key.Value); err != nil {
			return err
		}
	}
	return nil
}

func nearest(fields map[string]reflect.Type, name string) string {
	return suggest.Similar(slices.Sorted(maps.Keys(fields)), name, 3, strings.ToLower)
}
