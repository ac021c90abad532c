// SPDX-License-Identifier: Apache-2.0

package suites

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/moonhelm/moonhelm/chart/values"
	"github.com/moonhelm/moonhelm/internal/yaml"
)

// setValues returns the values of a set node, whose keys are paths such as "image.tag" and
// "hosts[0].name". Later keys are merged over earlier ones; keys below the first level are no paths.
func setValues(n *yaml.Node) (map[string]any, error) {
	n = yaml.Target(n)
	if n == nil || n.Kind == 0 || n.Tag == "!!null" {
		return nil, nil
	}
	if n.Kind != yaml.MappingNode {
		return nil, &setError{line: n.Line, err: fmt.Errorf("want a map of paths to values, got %s", describeNode(n))}
	}
	var out map[string]any
	for i := 0; i+1 < len(n.Content); i += 2 {
		var v any
		if err := n.Content[i+1].Decode(&v); err != nil {
			return nil, &setError{line: n.Content[i].Line, path: n.Content[i].Value, err: errors.New(yaml.Complaint(err)),
				ofValue: true}
		}
		if n.Content[i].Value == "<<" {
			merged, _ := plain(v).(map[string]any)
			out = values.Merge(out, merged)
			continue
		}
		table, err := nest(n.Content[i].Value, floats(plain(v)))
		if err != nil {
			return nil, &setError{line: n.Content[i].Line, path: n.Content[i].Value, err: err}
		}
		out = values.Merge(out, table)
	}
	return out, nil
}

// setError is returned for a set that is not valid, or for one of its keys.
type setError struct {
	line int
	path string
	err  error
	// ofValue is set if the key is valid, and its value is not.
	ofValue bool
}

func (e *setError) Error() string {
	if e.path == "" {
		return fmt.Sprintf("set: %s", e.err)
	}
	return fmt.Sprintf("set %q: %s", e.path, e.err)
}
func (e *setError) Unwrap() error { return e.err }

// Hint shows valid paths.
func (e *setError) Hint() string {
	if e.ofValue {
		return "write the value out: its aliases cannot be followed"
	}
	return "write the keys of set as image.tag or hosts[0].name"
}

// maxIndex is the largest index of a list in a path.
const maxIndex = values.MaxIndex

// nest returns the table that has v at path.
func nest(path string, v any) (map[string]any, error) {
	if path == "" {
		return nil, errors.New("set path is empty")
	}
	name, rest, err := cutName(path)
	if err != nil {
		return nil, err
	}
	inner, err := nestRest(rest, v)
	if err != nil {
		return nil, err
	}
	return map[string]any{name: inner}, nil
}

// cutName cuts the first name from a path.
func cutName(path string) (name, rest string, err error) {
	i := strings.IndexAny(path, ".[]{},=")
	if i < 0 {
		return path, "", nil
	}
	switch path[i] {
	case '.', '[':
		return path[:i], path[i:], nil
	case ']':
		return "", "", errors.New("invalid key ]")
	}
	return "", "", fmt.Errorf("invalid token found %c", path[i])
}

// nestRest returns v below the part of a path after a name.
func nestRest(rest string, v any) (any, error) {
	switch {
	case rest == "":
		return v, nil
	case rest[0] == '.':
		if rest == "." {
			return nil, errors.New("unexpected end of path")
		}
		return nest(rest[1:], v)
	case rest[0] != '[':
		return nest(rest, v)
	}
	end := strings.IndexByte(rest, ']')
	if end < 0 {
		return nil, errors.New("unexpected end of path: missing ]")
	}
	index, err := strconv.Atoi(rest[1:end])
	if err != nil || index < 0 || index > maxIndex {
		return nil, fmt.Errorf("index %q: want a number from 0 to %d", rest[1:end], maxIndex)
	}
	inner, err := nestRest(rest[end+1:], v)
	if err != nil {
		return nil, err
	}
	list := make([]any, index+1)
	list[index] = inner
	return list, nil
}

// floats returns v with all numbers as float64, and dates as strings, as in values files.
func floats(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, item := range v {
			v[k] = floats(item)
		}
	case []any:
		for i, item := range v {
			v[i] = floats(item)
		}
	case int:
		return float64(v)
	case int64:
		return float64(v)
	case uint64:
		return float64(v)
	case time.Time:
		if v.Equal(v.Truncate(24 * time.Hour)) {
			return v.Format(time.DateOnly)
		}
		return v.Format(time.RFC3339Nano)
	}
	return v
}
