// SPDX-License-Identifier: Apache-2.0

package values

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v2"
)

// ParseError tells that a values file is not what values can be read from.
type ParseError struct {
	Name    string // the file, as the caller named it
	Line    int    // 1-based, 0 where no single line is to blame
	Problem string
}

func (e *ParseError) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("read %s, line %d: %s", e.Name, e.Line, e.Problem)
	}
	return fmt.Sprintf("read %s: %s", e.Name, e.Problem)
}

// maxDepth bounds how deep maps and lists may nest in a values file; nothing
// that a person writes comes near it, and what walks values recursively stays
// far from the end of its stack.
const maxDepth = 1000

// Parse reads the values of one YAML or JSON file: maps are map[string]any,
// lists []any, scalars string, bool, float64 (every number) or nil, as
// templates know them from Helm. YAML is read by the rules of version 1.1 that
// Helm charts are written for: yes, no, on and off are booleans, 0777 is octal,
// dates are strings, of two equal keys the last wins. Keys that are numbers or
// booleans become strings. Nothing but comments is an empty map.
//
// name stands for the file in errors, which are of type [*ParseError]. The
// result shares nothing with data.
func Parse(name string, data []byte) (map[string]any, error) {
	return parse(name, data)
}

func parse(name string, data []byte) (map[string]any, error) {
	var doc any
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, syntaxError(name, err)
	}
	v, err := plain(doc, "", 0)
	if err != nil {
		return nil, &ParseError{Name: name, Problem: err.Error()}
	}
	switch v := v.(type) {
	case map[string]any:
		return v, nil
	case nil:
		return map[string]any{}, nil
	default:
		return nil, &ParseError{Name: name, Line: 1, Problem: fmt.Sprintf("holds %s, must hold keys and values (key: value)", kind(v))}
	}
}

// syntaxError turns the YAML reader's error into ours.
func syntaxError(name string, err error) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	text = strings.TrimPrefix(text, "unmarshal errors:\n  ")
	if rest, ok := strings.CutPrefix(text, "line "); ok {
		if num, problem, ok := strings.Cut(rest, ": "); ok {
			if line, err := strconv.Atoi(num); err == nil {
				return &ParseError{Name: name, Line: line, Problem: problem}
			}
		}
	}
	return &ParseError{Name: name, Problem: text}
}

// plain turns what the YAML reader makes of a document into the types of
// values.
func plain(v any, at string, depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("%s nests deeper than %d levels", clip(at), maxDepth)
	}
	switch v := v.(type) {
	case map[any]any:
		out := make(map[string]any, len(v))
		for k, val := range v {
			key, ok := keyText(k)
			if !ok {
				return nil, fmt.Errorf("the key %v%s is %s, must be text, a number or a boolean", k, under(at), kind(k))
			}
			p, err := plain(val, join(at, key), depth+1)
			if err != nil {
				return nil, err
			}
			out[key] = p
		}
		return out, nil
	case []any:
		for i, e := range v {
			p, err := plain(e, at+"["+strconv.Itoa(i)+"]", depth+1)
			if err != nil {
				return nil, err
			}
			v[i] = p
		}
		return v, nil
	case int:
		return float64(v), nil
	case int64:
		return float64(v), nil
	case uint64:
		return float64(v), nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("%s is %v, values can only hold finite numbers", at, v)
		}
		return v, nil
	case string:
		if !utf8.ValidString(v) { // from a !!binary
			return strings.ToValidUTF8(v, "\ufffd"), nil
		}
		return v, nil
	default:
		return v, nil
	}
}

// keyText is the text of a YAML key, false where it has none that JSON could
// hold.
func keyText(k any) (string, bool) {
	switch k := k.(type) {
	case string:
		return k, true
	case int:
		return strconv.Itoa(k), true
	case int64:
		return strconv.FormatInt(k, 10), true
	case float64:
		switch {
		case math.IsInf(k, 1):
			return ".inf", true
		case math.IsInf(k, -1):
			return "-.inf", true
		case math.IsNaN(k):
			return ".nan", true
		}
		return strconv.FormatFloat(k, 'g', -1, 32), true
	case bool:
		return strconv.FormatBool(k), true
	}
	return "", false
}

// kind names the kind of a value for a person.
func kind(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case map[string]any, map[any]any:
		return "a table"
	case []any:
		return "a list"
	case string:
		return "text"
	case bool:
		return "a boolean"
	case int, int64, uint64, float64:
		return "a number"
	}
	return fmt.Sprintf("a %T", v)
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func under(path string) string {
	if path == "" {
		return ""
	}
	return " below " + clip(path)
}

// clip shortens a path that would make an error unreadable.
func clip(path string) string {
	const most = 120
	if len(path) <= most {
		return path
	}
	return strings.ToValidUTF8(path[:most], "") + "…"
}
