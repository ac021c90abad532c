// SPDX-License-Identifier: Apache-2.0

// Package common holds types that templates see: a chart's values and the
// capabilities of a cluster. They bear the names that they have in Helm, for
// templates print and compare names of types:
//
//	{{ printf "%T" .Values }} {{ typeOf .Capabilities }}
//
// Everything else is in package engine, which has them under the same names.
package common

import (
	"errors"
	"strings"

	"github.com/moonhelm/moonhelm/internal/yaml"
)

var errEmptyPath = errors.New("YAML path cannot be empty")

// Values are a chart's values as templates see them, with the methods that
// Helm gives them.
type Values map[string]any

// YAML are the values as YAML text. Templates get it from the evaluator, which
// bounds it.
func (v Values) YAML() (string, error) {
	data, err := yaml.Marshal(map[string]any(v))
	return string(data), err
}

// AsMap are the values as a plain map.
func (v Values) AsMap() map[string]any {
	if v == nil {
		return map[string]any{}
	}
	return v
}

// Table is the table at a path such as "image.pull".
func (v Values) Table(name string) (Values, error) {
	at := v
	for _, step := range strings.Split(name, ".") {
		switch t := at[step].(type) {
		case map[string]any:
			at = t
		case Values:
			at = t
		default:
			return Values{}, &missingTableError{step}
		}
	}
	return at, nil
}

// PathValue is the value at a path such as "image.tag", which must not be a
// table.
func (v Values) PathValue(name string) (any, error) {
	if name == "" {
		return nil, errEmptyPath
	}
	steps := strings.Split(name, ".")
	at, last := v, steps[len(steps)-1]
	if len(steps) > 1 {
		var err error
		if at, err = v.Table(strings.Join(steps[:len(steps)-1], ".")); err != nil {
			return nil, &missingValueError{last}
		}
	}
	found, ok := at[last]
	if _, table := found.(map[string]any); !ok || table {
		return nil, &missingValueError{last}
	}
	return found, nil
}

type missingTableError struct{ name string }

func (e *missingTableError) Error() string { return `"` + e.name + `" is not a table` }

type missingValueError struct{ name string }

func (e *missingValueError) Error() string { return `"` + e.name + `" is not a value` }
