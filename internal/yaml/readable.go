// SPDX-License-Identifier: Apache-2.0

package yaml

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Encode returns an object as readable YAML: apiVersion, kind and metadata come first, then
// spec and data, and then all other keys in order; strings that could be read as another type
// are quoted, and strings with several lines are blocks. The result decodes to the same
// values.
//
// Values may be maps, lists, nil, booleans, and all types of integers, floats and strings.
// Encode returns an error for other types, for strings that are not UTF-8, and for values
// nested deeper than 1000 levels.
func Encode(object map[string]any) (string, error) {
	m, err := normalize(object, false)
	if err != nil {
		return "", err
	}
	return readable{}.document(m, 2, 0), nil
}

// maxDepth limits the nesting of maps and lists.
const maxDepth = 1000

// pointed is a float64 that is written with a decimal point even if it has an integer value.
type pointed float64

// normalize returns a map in the types that the encoder supports, which is m itself if it has no others.
// If values is set, these include pointed.
func normalize(m map[string]any, values bool) (map[string]any, error) {
	v, _, err := normalizeValue(m, values, 0)
	if err != nil {
		return nil, err
	}
	return v.(map[string]any), nil
}

// normalizeValue copies only the maps and lists that have something to convert.
func normalizeValue(v any, values bool, depth int) (out any, changed bool, err error) {
	if depth > maxDepth {
		return nil, false, fmt.Errorf("nests deeper than %d levels", maxDepth)
	}
	switch v := v.(type) {
	case nil, bool, int64, float64:
		return v, false, nil
	case string:
		if !utf8.ValidString(v) {
			return nil, false, fmt.Errorf("is a string that is not UTF-8: %q", Visible(v))
		}
		return v, false, nil
	case map[string]any:
		return normalizeMap(v, values, depth)
	case []any:
		return normalizeList(v, values, depth)
	}
	switch r := reflect.ValueOf(v); {
	case r.CanInt():
		return r.Int(), true, nil
	case r.CanUint() && r.Uint() < 1<<63:
		return int64(r.Uint()), true, nil
	case r.CanFloat() && values:
		return pointed(r.Float()), true, nil
	case r.CanFloat():
		return r.Float(), true, nil
	case r.Kind() == reflect.String:
		out, _, err = normalizeValue(r.String(), values, depth)
		return out, true, err
	}
	return nil, false, fmt.Errorf("a %T cannot be written as YAML", v)
}

func normalizeMap(m map[string]any, values bool, depth int) (out any, changed bool, err error) {
	if m == nil {
		return map[string]any{}, true, nil
	}
	result := m
	for k, e := range m {
		p, converted, err := normalizeValue(e, values, depth+1)
		if err != nil {
			return nil, false, fmt.Errorf("%s: %w", Visible(k), err)
		}
		if !utf8.ValidString(k) {
			return nil, false, fmt.Errorf("a key is not UTF-8: %q", Visible(k))
		}
		if converted && !changed {
			result, changed = maps.Clone(m), true
		}
		if converted {
			result[k] = p
		}
	}
	return result, changed, nil
}

func normalizeList(list []any, values bool, depth int) (out any, changed bool, err error) {
	if list == nil {
		return []any{}, true, nil
	}
	result := list
	for i, e := range list {
		p, converted, err := normalizeValue(e, values, depth+1)
		if err != nil {
			return nil, false, fmt.Errorf("[%d]: %w", i, err)
		}
		if converted && !changed {
			result, changed = slices.Clone(list), true
		}
		if converted {
			result[i] = p
		}
	}
	return result, changed, nil
}

// readable is the style of [Encode] and [Edit].
type readable struct {
	// values is set for the values of a chart: floats with integer values are written
	// without a decimal point, and all keys are sorted.
	values bool
}

// document returns the whole text of a map.
func (r readable) document(m map[string]any, step, dashes int) string {
	w := &writer{manner: r, step: step, dashes: dashes}
	w.node(m, 0, step, 0)
	w.newline()
	return string(w.text)
}

func (r readable) order(keys []string, level int) {
	slices.Sort(keys)
	if r.values || level > 1 {
		return
	}
	first := []string{"apiVersion", "kind", "metadata", "spec", "data", "stringData"}
	if level == 1 {
		first = []string{"name", "generateName", "namespace", "labels", "annotations"}
	}
	slices.SortStableFunc(keys, func(a, b string) int { return rankIn(first, a) - rankIn(first, b) })
}

func rankIn(list []string, s string) int {
	if i := slices.Index(list, s); i >= 0 {
		return i
	}
	return len(list)
}

func (r readable) key(w *writer, key string, column int) {
	const most = 1000 // a longer key needs a "?" indicator
	name := lineText(key, false)
	if len(name) > most {
		w.put("? ")
		w.put(name)
		w.newline()
		w.indent(column)
	} else {
		w.put(name)
	}
}

func (r readable) scalar(w *writer, v any, column, step int) {
	if s, ok := v.(string); ok {
		if header := blockHeader(s, step); header != "" {
			w.block(header, strings.TrimSuffix(s, "\n"), column)
			return
		}
	}
	w.put(r.line(v, false))
}

// line returns a value on one line in flow style. flow is set if it is in a flow collection.
func (r readable) line(v any, flow bool) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		if v {
			return "true"
		}
		return "false"
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return floatText(v, r.values)
	case pointed:
		return floatText(float64(v), false)
	case string:
		return lineText(v, flow)
	case []any:
		parts := make([]string, len(v))
		for i, x := range v {
			parts[i] = r.line(x, true)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case map[string]any:
		parts := make([]string, 0, len(v))
		for _, k := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, lineText(k, true)+": "+r.line(v[k], true))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return "null"
}
