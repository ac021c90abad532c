// SPDX-License-Identifier: Apache-2.0

package openapi

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/moonhelm/moonhelm/internal/lazy"
	"github.com/moonhelm/moonhelm/internal/suggest"
	"github.com/moonhelm/moonhelm/internal/yaml"
)

// Check validates an object and returns its problems, ordered by field name. It returns nil if
// d does not contain the object's kind.
func (d *Document) Check(object map[string]any) []Problem {
	kind, _ := object["kind"].(string)
	name := d.Kinds[kind]
	if name == "" {
		return nil
	}
	c := &check{Document: d, patterns: map[string]*regexp.Regexp{}}
	c.value("", &Schema{Ref: name}, object)
	return c.problems
}

type check struct {
	*Document
	problems []Problem
	patterns map[string]*regexp.Regexp // compiled patterns of rules
}

func (c *check) found(field, format string, args ...any) {
	c.problems = append(c.problems, Problem{Field: field, Text: fmt.Sprintf(format, args...)})
}

// maxRefs limits the length of a chain of references.
const maxRefs = 8

// resolve follows references. It returns the schema, or nil if it allows anything, and its
// name, or "" if it has none.
func (c *check) resolve(s *Schema) (to *Schema, name string) {
	for range maxRefs {
		if s == nil || s.Ref == "" {
			return s, name
		}
		s, name = c.Schemas[s.Ref], s.Ref
	}
	return nil, ""
}

// value checks the value v of a field. Null counts as missing.
func (c *check) value(field string, s *Schema, v any) {
	s, name := c.resolve(s)
	if s == nil || v == nil {
		return
	}
	if !s.allows(v) {
		c.found(field, "expected %s, got %s%s", typeNames(s.Types), typeName(v), quoting(s.Types, v))
		return
	}
	switch v := v.(type) {
	case map[string]any:
		c.object(field, s, v)
		c.required(field, name, s, v)
	case []any:
		for i, item := range v {
			c.value(field+"["+strconv.Itoa(i)+"]", s.Items, item)
		}
	case string:
		c.text(field, s, v)
	case bool:
	default:
		if n, ok := number(v); ok && s.Format == "int32" && (n < math.MinInt32 || n > math.MaxInt32) {
			c.found(field, "expected a 32-bit integer, got a larger number")
		}
	}
	c.enum(field, s, v)
	if s.Rules != nil {
		c.rules(field, s.Rules, v)
	}
}

func (c *check) object(field string, s *Schema, v map[string]any) {
	for _, key := range slices.Sorted(maps.Keys(v)) {
		path := fieldPath(field, key)
		switch p := s.Properties[key]; {
		case p != nil:
			c.value(path, p, v[key])
		case s.Additional != nil:
			c.value(path, s.Additional, v[key])
		case s.Open, s.Embedded && (key == "apiVersion" || key == "kind" || key == "metadata"):
		case !c.Custom && len(s.Properties) == 0: // an object of any kind, or a map of anything
		default:
			c.problems = append(c.problems, Problem{Field: path, Suggestion: similar(s, key)})
		}
	}
}

// similar returns the field of s that is most similar to key, or "" if none is.
func similar(s *Schema, key string) string {
	limit := (len(key) + 1) / 3
	return suggest.Similar(slices.Sorted(maps.Keys(s.Properties)), key, limit, strings.ToLower)
}

// requiredValue is the API server's text about a required field.
const requiredValue = "Required value"

// required checks that an object has the fields that the server requires. name is the name
// of the schema. A custom resource may have null if the schema is nullable.
func (c *check) required(field, name string, s *Schema, v map[string]any) {
	for _, key := range s.Required {
		if value, ok := v[key]; value != nil || ok && c.Custom || !c.Custom && !requiredFields()[name+" "+key] {
			continue
		}
		if p := s.Properties[key]; p != nil && p.Defaulted {
			continue
		}
		c.found(fieldPath(field, key), requiredValue)
	}
}

// quantities is the format of quantities according to the API server.
var quantities = lazy.Regexp(`^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$`)

func (c *check) text(field string, s *Schema, v string) {
	switch s.Format {
	case "quantity":
		if !quantities().MatchString(strings.TrimSpace(v)) {
			c.found(field, "expected a quantity, such as 500m or 1.5Gi")
		}
	case "byte":
		if c.Custom {
			return
		}
		if _, err := base64.StdEncoding.DecodeString(v); err != nil {
			c.found(field, "expected text in base64")
		}
	default:
		if valid := formats[s.Format]; c.Custom && valid != nil && valid(v) != nil {
			c.found(field, "must be of type %s", s.Format)
		}
	}
}

// enum checks that v is one of the allowed values. For built-in kinds an empty string counts
// as missing.
func (c *check) enum(field string, s *Schema, v any) {
	if len(s.Enum) == 0 || !c.Custom && v == "" {
		return
	}
	have, err := json.Marshal(v)
	if err != nil {
		return
	}
	all := make([]string, len(s.Enum))
	for i, e := range s.Enum {
		text, err := json.Marshal(e)
		if err != nil || string(text) == string(have) {
			return
		}
		all[i] = string(text)
	}
	c.found(field, "Unsupported value: %s: supported values: %s", have, strings.Join(all, ", "))
}

// allows reports whether v has one of the types.
func (s *Schema) allows(v any) bool {
	if len(s.Types) == 0 {
		return true
	}
	for _, t := range s.Types {
		switch v.(type) {
		case map[string]any:
			if t == "object" {
				return true
			}
		case []any:
			if t == "array" {
				return true
			}
		case string:
			if t == "string" {
				return true
			}
		case bool:
			if t == "boolean" {
				return true
			}
		default:
			n, ok := number(v)
			if !ok || t == "number" || t == "integer" && n == math.Trunc(n) {
				return true // not a JSON value: not checked
			}
		}
	}
	return false
}

func number(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case int64:
		return float64(v), true
	case int:
		return float64(v), true
	case uint64:
		return float64(v), true
	case json.Number:
		n, err := v.Float64()
		return n, err == nil
	}
	return 0, false
}

// typeNames returns the names of types, with an article.
func typeNames(types []string) string {
	words := map[string]string{
		"object": "a map", "array": "a list", "string": "a string", "boolean": "a boolean", "integer": "an integer",
		"number": "a number",
	}
	out := make([]string, len(types))
	for i, t := range types {
		if out[i] = words[t]; out[i] == "" {
			out[i] = t
		}
	}
	return strings.Join(out, " or ")
}

// typeName returns the name of the type of a value. The value itself may be a secret.
func typeName(v any) string {
	switch v.(type) {
	case map[string]any:
		return "map"
	case []any:
		return "list"
	case string:
		return "string"
	case bool:
		return "boolean"
	}
	return "number"
}

// quoting returns what to do if v has a wrong type only because of its quotes, else "".
func quoting(types []string, v any) string {
	switch v := v.(type) {
	case map[string]any, []any:
		return ""
	case string:
		other, ok := yaml.Resolve(v)
		if _, isString := other.(string); ok && !isString && other != nil && (&Schema{Types: types}).allows(other) {
			return "; remove the quotes"
		}
		return ""
	}
	if slices.Contains(types, "string") {
		return "; put it in quotes"
	}
	return ""
}

// fieldPath returns the path of a field of an object.
func fieldPath(field, key string) string {
	switch {
	case strings.ContainsAny(key, ".[]/ \"") && field != "":
		return field + "[" + key + "]"
	case field == "":
		return key
	}
	return field + "." + key
}
