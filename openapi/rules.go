// SPDX-License-Identifier: Apache-2.0

package openapi

import (
	"encoding/json"
	"fmt"
	"math"
	"net/netip"
	"regexp"
	"strconv"
	"time"
	"unicode/utf8"
)

// Bounds restrict a value beyond its type, in the words of JSON Schema. The zero value allows any.
type Bounds struct {
	Minimum          *float64 `json:"minimum,omitempty"`
	Maximum          *float64 `json:"maximum,omitempty"`
	ExclusiveMinimum bool     `json:"exclusiveMinimum,omitempty"`
	ExclusiveMaximum bool     `json:"exclusiveMaximum,omitempty"`
	MultipleOf       *float64 `json:"multipleOf,omitempty"`
	MinLength        *int     `json:"minLength,omitempty"`
	MaxLength        *int     `json:"maxLength,omitempty"`
	Pattern          string   `json:"pattern,omitempty"`
	MinItems         *int     `json:"minItems,omitempty"`
	MaxItems         *int     `json:"maxItems,omitempty"`
	MinProperties    *int     `json:"minProperties,omitempty"`
	MaxProperties    *int     `json:"maxProperties,omitempty"`
	// ListType is "set", "map" or "atomic"; ListKeys are the keys of the items of a map.
	ListType string   `json:"x-kubernetes-list-type,omitempty"`
	ListKeys []string `json:"x-kubernetes-list-map-keys,omitempty"`
}

// Rules restrict a value of a custom resource: by bounds, and by schemas that it must satisfy. The
// zero value allows any. Rules in CEL (x-kubernetes-validations) are not checked.
type Rules struct {
	Bounds

	AllOf []*Schema `json:"allOf,omitempty"`
	AnyOf []*Schema `json:"anyOf,omitempty"`
	OneOf []*Schema `json:"oneOf,omitempty"`
	Not   *Schema   `json:"not,omitempty"`
}

// rules returns the rules of a schema, or nil if it has none.
func (d *Document) rules(in *publishedSchema, from map[string]*publishedSchema) *Rules {
	r := &Rules{Bounds: in.Bounds, AllOf: d.nested(in.AllOf, from), OneOf: d.nested(in.OneOf, from)}
	if !in.IntOrText { // anyOf then has the two types
		r.AnyOf = d.nested(in.AnyOf, from)
	}
	if in.Not != nil {
		r.Not = d.nested([]*publishedSchema{in.Not}, from)[0]
	}
	if text, err := json.Marshal(r); err == nil && string(text) == "{}" {
		return nil
	}
	return r
}

// nested returns schemas that only add rules to the one which they are nested in: they do not
// define its fields.
func (d *Document) nested(in []*publishedSchema, from map[string]*publishedSchema) []*Schema {
	var out []*Schema
	for _, p := range in {
		s := d.reduce(p, from)
		if s == nil || s.Ref != "" {
			s = &Schema{}
		}
		if s.Required == nil {
			s.Required = p.required()
		}
		open(s)
		out = append(out, s)
	}
	return out
}

func (in *publishedSchema) required() []string {
	if in == nil {
		return nil
	}
	return in.Required
}

// open lets the objects in s have any other field.
func open(s *Schema) {
	if s == nil {
		return
	}
	s.Open = true
	open(s.Items)
	open(s.Additional)
	for _, p := range s.Properties {
		open(p)
	}
}

// rules checks the rules for the value v, in the words of the API server.
func (c *check) rules(field string, r *Rules, v any) {
	switch v := v.(type) {
	case map[string]any:
		c.limit(field, len(v), r.MinProperties, r.MaxProperties, "have", "properties")
	case []any:
		c.limit(field, len(v), r.MinItems, r.MaxItems, "have", "items")
		c.duplicates(field, r, v)
	case string:
		c.limit(field, utf8.RuneCountInString(v), r.MinLength, r.MaxLength, "be", "chars long")
		if re := c.pattern(r.Pattern); re != nil && !re.MatchString(v) {
			c.found(field, "should match '%s'", r.Pattern)
		}
	case bool:
	default:
		if n, ok := number(v); ok {
			c.numeric(field, r, n)
		}
	}
	c.junctors(field, r, v)
}

func (c *check) limit(field string, n int, low, high *int, verb, unit string) {
	switch {
	case low != nil && n < *low:
		c.found(field, "should %s at least %d %s", verb, *low, unit)
	case high != nil && n > *high:
		c.found(field, "should %s at most %d %s", verb, *high, unit)
	}
}

func (c *check) numeric(field string, r *Rules, n float64) {
	text := func(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }
	switch low, high := r.Minimum, r.Maximum; {
	case low != nil && r.ExclusiveMinimum && n <= *low:
		c.found(field, "should be greater than %s", text(*low))
	case low != nil && n < *low:
		c.found(field, "should be greater than or equal to %s", text(*low))
	case high != nil && r.ExclusiveMaximum && n >= *high:
		c.found(field, "should be less than %s", text(*high))
	case high != nil && n > *high:
		c.found(field, "should be less than or equal to %s", text(*high))
	}
	// Of other numbers the remainder is not exact.
	if of := r.MultipleOf; of != nil && *of > 0 && *of == math.Trunc(*of) && math.Mod(n, *of) != 0 {
		c.found(field, "should be a multiple of %s", text(*of))
	}
}

// duplicates checks that the items of a set, and the keys of the items of a map, are unique.
func (c *check) duplicates(field string, r *Rules, items []any) {
	if r.ListType != "set" && r.ListType != "map" {
		return
	}
	seen := make(map[string]int, len(items))
	for i, item := range items {
		id := item
		if m, ok := item.(map[string]any); ok && r.ListType == "map" {
			keys := make([]any, len(r.ListKeys))
			for k, key := range r.ListKeys {
				keys[k] = m[key]
			}
			id = keys
		}
		text, err := json.Marshal(id)
		if err != nil {
			continue
		}
		if first, ok := seen[string(text)]; ok {
			c.found(field+"["+strconv.Itoa(i)+"]", "Duplicate value: the same as [%d]", first)
			continue
		}
		seen[string(text)] = i
	}
}

func (c *check) junctors(field string, r *Rules, v any) {
	for _, s := range r.AllOf {
		c.value(field, s, v)
	}
	if len(r.AnyOf) > 0 && c.matching(r.AnyOf, v) == 0 {
		c.found(field, "must validate at least one schema (anyOf)")
	}
	if len(r.OneOf) > 0 && c.matching(r.OneOf, v) != 1 {
		c.found(field, "must validate one and only one schema (oneOf)")
	}
	if r.Not != nil && c.matching([]*Schema{r.Not}, v) == 1 {
		c.found(field, "must not validate the schema (not)")
	}
}

// matching returns how many of the schemas allow v.
func (c *check) matching(schemas []*Schema, v any) int {
	n := 0
	for _, s := range schemas {
		try := &check{Document: c.Document, patterns: c.patterns}
		if try.value("", s, v); len(try.problems) == 0 {
			n++
		}
	}
	return n
}

// pattern returns the compiled pattern, or nil if there is none or it is invalid.
func (c *check) pattern(text string) *regexp.Regexp {
	if text == "" {
		return nil
	}
	re, ok := c.patterns[text]
	if !ok {
		re, _ = regexp.Compile(text) // the server refuses a definition with an invalid one
		c.patterns[text] = re
	}
	return re
}

// formats are the formats of strings that are checked in custom resources.
var formats = map[string]func(string) error{
	"ipv4": func(s string) error { return address(s, netip.Addr.Is4) },
	"ipv6": func(s string) error { return address(s, netip.Addr.Is6) },
	"cidr": func(s string) error {
		_, err := netip.ParsePrefix(s)
		return err
	},
	"date": func(s string) error {
		_, err := time.Parse(time.DateOnly, s)
		return err
	},
}

func address(s string, is func(netip.Addr) bool) error {
	a, err := netip.ParseAddr(s)
	if err == nil && !is(a) {
		err = fmt.Errorf("%s is of another family", s)
	}
	return err
}
