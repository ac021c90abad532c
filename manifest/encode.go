// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"
)

// Encode returns an object as YAML: apiVersion, kind and metadata first, then spec and
// data, all other keys sorted; text that could be read as another type is quoted, text of
// several lines is a block. The result decodes to the same values. Values are of the types
// of [Object.Map], or other types of integers, floats and strings; an error is returned for
// any other, for text that is not UTF-8, and for nesting of more than 1000 levels.
func Encode(object map[string]any) (string, error) {
	m, err := settle(object, false)
	if err != nil {
		return "", err
	}
	e := &encoder{step: 2}
	return e.document(m), nil
}

// maxDepth bounds how deep maps and lists nest.
const maxDepth = 1000

// pointed is a float64 that keeps its point where whole numbers lose it.
type pointed float64

// settle turns v into the types that the encoder knows: those of [Object.Map]
// and, of values, pointed.
func settle(m map[string]any, values bool) (map[string]any, error) {
	v, err := settleValue(m, values, 0)
	if err != nil {
		return nil, err
	}
	return v.(map[string]any), nil
}

func settleValue(v any, values bool, depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("nests deeper than %d levels", maxDepth)
	}
	switch v := v.(type) {
	case nil, bool, int64, float64:
		return v, nil
	case string:
		if !utf8.ValidString(v) {
			return nil, fmt.Errorf("holds text that is not UTF-8: %q", visible(v))
		}
		return v, nil
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			p, err := settleValue(e, values, depth+1)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", visible(k), err)
			}
			if !utf8.ValidString(k) {
				return nil, fmt.Errorf("a key is not UTF-8: %q", visible(k))
			}
			out[k] = p
		}
		return out, nil
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			p, err := settleValue(e, values, depth+1)
			if err != nil {
				return nil, fmt.Errorf("[%d]: %w", i, err)
			}
			out[i] = p
		}
		return out, nil
	}
	switch r := reflect.ValueOf(v); {
	case r.CanInt():
		return r.Int(), nil
	case r.CanUint() && r.Uint() < 1<<63:
		return int64(r.Uint()), nil
	case r.CanFloat() && values:
		return pointed(r.Float()), nil
	case r.CanFloat():
		return r.Float(), nil
	case r.Kind() == reflect.String:
		return settleValue(r.String(), values, depth)
	}
	return nil, fmt.Errorf("a %T has no place in YAML", v)
}

// encoder writes values as YAML.
type encoder struct {
	strings.Builder
	// step is how much deeper a map stands than the key that holds it; dashes is
	// that for a list.
	step, dashes int
	// values reports that whole numbers are written without a point, and that no
	// key comes first for Kubernetes' sake.
	values bool
}

// document is the whole text of a map.
func (e *encoder) document(m map[string]any) string {
	if len(m) == 0 {
		return "{}\n"
	}
	e.table(m, 0, true, e.order(m, 0))
	e.WriteByte('\n')
	return e.String()
}

// order are the keys of a map as they are written. depth is 0 for the top, 1
// for metadata.
func (e *encoder) order(m map[string]any, depth int) []string {
	keys := slices.Sorted(maps.Keys(m))
	if e.values || depth > 1 {
		return keys
	}
	first := []string{"apiVersion", "kind", "metadata", "spec", "data", "stringData"}
	if depth == 1 {
		first = []string{"name", "generateName", "namespace", "labels", "annotations"}
	}
	slices.SortStableFunc(keys, func(a, b string) int { return rankIn(first, a) - rankIn(first, b) })
	return keys
}

func rankIn(list []string, s string) int {
	if i := slices.Index(list, s); i >= 0 {
		return i
	}
	return len(list)
}

// table writes a map's entries at a column, without a line feed behind the
// last. Where the first stands behind a dash it is not indented.
func (e *encoder) table(m map[string]any, column int, indentFirst bool, keys []string) {
	for i, k := range keys {
		if i > 0 {
			e.WriteByte('\n')
		}
		if i > 0 || indentFirst {
			e.indent(column)
		}
		e.entry(k, m[k], column)
	}
}

// entry writes a key and its value.
func (e *encoder) entry(key string, v any, column int) {
	const most = 1000 // a longer key needs a mark of its own
	name := lineText(key, false)
	if len(name) > most {
		e.WriteString("? ")
		e.WriteString(name)
		e.WriteByte('\n')
		e.indent(column)
	} else {
		e.WriteString(name)
	}
	e.WriteByte(':')
	if m, ok := v.(map[string]any); ok && len(m) > 0 && key == "metadata" && column == 0 {
		e.WriteByte('\n')
		e.table(m, column+e.step, true, e.order(m, 1))
		return
	}
	e.value(v, column, false)
}

// value writes what follows a key's colon, or a dash, that stands at a column.
func (e *encoder) value(v any, column int, item bool) {
	switch v := v.(type) {
	case map[string]any:
		if len(v) == 0 {
			break
		}
		if item {
			e.WriteByte(' ')
			e.table(v, column+2, false, e.order(v, 2))
			return
		}
		e.WriteByte('\n')
		e.table(v, column+e.step, true, e.order(v, 2))
		return
	case []any:
		if len(v) == 0 {
			break
		}
		if item {
			e.WriteByte(' ')
			e.list(v, column+2, false)
			return
		}
		e.WriteByte('\n')
		e.list(v, column+e.dashes, true)
		return
	case string:
		step := e.step
		if item {
			step = 2
		}
		if header := blockHeader(v, step); header != "" {
			e.WriteByte(' ')
			e.WriteString(header)
			e.block(v, column+step)
			return
		}
	}
	e.WriteByte(' ')
	e.WriteString(e.line(v, false))
}

func (e *encoder) list(l []any, column int, indentFirst bool) {
	for i, v := range l {
		if i > 0 {
			e.WriteByte('\n')
		}
		if i > 0 || indentFirst {
			e.indent(column)
		}
		e.WriteByte('-')
		e.value(v, column, true)
	}
}

// block writes the lines of a literal block, each behind a line feed.
func (e *encoder) block(s string, column int) {
	for line := range strings.SplitSeq(strings.TrimSuffix(s, "\n"), "\n") {
		e.WriteByte('\n')
		if line != "" {
			e.indent(column)
			e.WriteString(line)
		}
	}
}

func (e *encoder) indent(column int) {
	for range column {
		e.WriteByte(' ')
	}
}

// line is a value on one line, collections in brackets.
func (e *encoder) line(v any, flow bool) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		if v {
			return "true"
		}
		return "false"
	case int64:
		return wholeText(v)
	case float64:
		return floatText(v, e.values)
	case pointed:
		return floatText(float64(v), false)
	case string:
		return lineText(v, flow)
	case []any:
		parts := make([]string, len(v))
		for i, x := range v {
			parts[i] = e.line(x, true)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case map[string]any:
		parts := make([]string, 0, len(v))
		for _, k := range e.order(v, 2) {
			parts = append(parts, lineText(k, true)+": "+e.line(v[k], true))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return "null"
}
