// SPDX-License-Identifier: Apache-2.0

// Package common defines the types of .Values and .Capabilities. The package and the types
// have the same names as in Helm, because templates print and compare names of types:
//
//	{{ printf "%T" .Values }} {{ typeOf .Capabilities }}
//
// Package engine has aliases for these types.
package common

import (
	"errors"
	"strings"

	"github.com/moonhelm/moonhelm/internal/yaml"
)

var errEmptyPath = errors.New("YAML path cannot be empty")

// Values are a chart's values in templates, with the same methods as in Helm.
type Values map[string]any

// YAML returns the values as YAML. Templates call the evaluator's implementation, which limits
// the size.
func (v Values) YAML() (string, error) {
	data, err := yaml.Marshal(map[string]any(v))
	return string(data), err
}

// AsMap returns the values as a map[string]any.
func (v Values) AsMap() map[string]any {
	if v == nil {
		return map[string]any{}
	}
	return v
}

// Table returns the table at a path such as "image.pull".
func (v Values) Table(name string) (Values, error) {
	table := v
	for _, step := range strings.Split(name, ".") {
		switch t := table[step].(type) {
		case map[string]any:
			table = t
		case Values:
			table = t
		default:
			return Values{}, &missingTableError{step}
		}
	}
	return table, nil
}

// PathValue returns the value at a path such as "image.tag", which must not be a table.
func (v Values) PathValue(name string) (any, error) {
	if name == "" {
		return nil, errEmptyPath
	}
	steps := strings.Split(name, ".")
	m, last := v, steps[len(steps)-1]
	if len(steps) > 1 {
		var err error
		if m, err = v.Table(strings.Join(steps[:len(steps)-1], ".")); err != nil {
			return nil, &missingValueError{last}
		}
	}
	found, ok := m[last]
	if _, table := found.(map[string]any); !ok || table {
		return nil, &missingValueError{last}
	}
	return found, nil
}

type missingTableError struct{ name string }

func (e *missingTableError) Error() string { return `"` + e.name + `" is not a table` }

type missingValueError struct{ name string }

func (e *missingValueError) Error() string { return `"` + e.name + `" is not a value` }
