// SPDX-License-Identifier: Apache-2.0

package jsonschema

import (
	"fmt"
	"maps"
	"math/big"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// keywords compiles the keywords of a schema. It keeps the first error.
type keywords struct {
	c       *compilation
	s       *Schema
	obj     map[string]any
	pointer string
	draft   *draft
	refers  bool // there is a reference
	err     error
}

func (k *keywords) has(vocabulary string) bool { return k.s.resource.dialect.has(vocabulary) }
func (k *keywords) since(version int) bool     { return k.draft.version >= version }

// all compiles the keywords of the schema's dialect.
func (k *keywords) all() {
	if ref, ok := k.obj["$ref"].(string); ok {
		k.refer(ref, &k.s.refs.ref)
		if !k.since(2019) {
			k.besideRef()
			return
		}
	}
	k.dynamicRefs()
	if k.has("validation") {
		k.assertions()
	}
	if k.s.resource.dialect.formats() || k.c.meta {
		k.format()
	}
	if k.has("applicator") {
		k.logic()
	}
	k.object()
	k.array()
	k.text()
	k.number()
	if k.s.resource.dialect.unevaluated() {
		k.s.unevaluatedProperties = k.sub("unevaluatedProperties")
		k.s.unevaluatedItems = k.sub("unevaluatedItems")
	}
	k.s.empty = !k.refers && k.s.isEmpty()
}

// besideRef compiles the keywords next to a $ref in a draft that ignores them. Like Helm's
// library, it does not ignore const, and references below these keywords must be valid.
func (k *keywords) besideRef() {
	if !k.since(6) {
		return
	}
	if v, ok := k.obj["const"]; ok {
		k.s.assertion.constant = &v
	}
	k.sub("contains")
	k.sub("propertyNames")
	if k.since(7) {
		k.condition()
	}
}

// condition compiles if, then and else. It omits a branch that cannot apply.
func (k *keywords) condition() (condition, then, otherwise *Schema) {
	if condition = k.sub("if"); condition == nil {
		return nil, nil, nil
	}
	if condition.always == nil || *condition.always {
		then = k.sub("then")
	}
	if condition.always == nil || !*condition.always {
		otherwise = k.sub("else")
	}
	return condition, then, otherwise
}

// isEmpty reports whether the schema has no keywords that can fail, other than references.
func (s *Schema) isEmpty() bool {
	return s.assertion.isZero() && s.logic.isZero() && s.object == nil && s.array == nil &&
		s.text == nil && s.number == nil && s.unevaluatedProperties == nil && s.unevaluatedItems == nil
}

// refer adds a reference to resolve later.
func (k *keywords) refer(ref string, into **Schema) {
	k.refers = true
	k.c.pending = append(k.c.pending, pendingRef{ref, k.s.resource, into})
}

func (k *keywords) dynamicRefs() {
	if ref, ok := k.obj["$recursiveRef"].(string); ok && k.since(2019) {
		k.refer(ref, &k.s.refs.recursive)
	}
	if ref, ok := k.obj["$dynamicRef"].(string); ok && k.since(2020) {
		k.refer(ref, &k.s.refs.dynamic)
		_, fragment, _ := strings.Cut(ref, "#")
		if !strings.HasPrefix(fragment, "/") {
			k.s.refs.anchor, _ = url.PathUnescape(fragment)
		}
	}
}

// compileAt compiles a schema below this one. It returns nil after an error.
func (k *keywords) compileAt(pointer string, v any) *Schema {
	if k.err != nil {
		return nil
	}
	s, err := k.c.schemaAt(k.s.resource, pointer, v)
	if err != nil {
		k.err = err
		return nil
	}
	return s
}

// sub compiles the schema in a keyword. It returns nil if there is none.
func (k *keywords) sub(keyword string) *Schema {
	switch v := k.obj[keyword].(type) {
	case map[string]any, bool:
		return k.compileAt(k.pointer+"/"+escape(keyword), v)
	}
	return nil
}

// subs compiles the list of schemas in a keyword.
func (k *keywords) subs(keyword string) []*Schema {
	list, _ := k.obj[keyword].([]any)
	var out []*Schema
	for i, v := range list {
		out = append(out, k.compileAt(k.pointer+"/"+keyword+"/"+strconv.Itoa(i), v))
	}
	return out
}

// named compiles the map of schemas in a keyword.
func (k *keywords) named(keyword string) map[string]*Schema {
	members, _ := k.obj[keyword].(map[string]any)
	if members == nil {
		return nil
	}
	out := make(map[string]*Schema, len(members))
	for _, name := range slices.Sorted(maps.Keys(members)) {
		out[name] = k.compileAt(k.pointer+"/"+escape(keyword)+"/"+escape(name), members[name])
	}
	return out
}

// names returns the list of strings in a keyword.
func names(v any) []string {
	list, _ := v.([]any)
	var out []string
	for _, e := range list {
		if s, ok := e.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// count returns the integer in a keyword, or -1 if there is none.
func (k *keywords) count(keyword string) int {
	if n, ok := numberOf(k.obj[keyword]); ok {
		return n.clamp()
	}
	return -1
}

// limit returns the number in a keyword, or nil if there is none.
func (k *keywords) limit(keyword string) *number {
	if n, ok := numberOf(k.obj[keyword]); ok {
		return &n
	}
	return nil
}

// pattern compiles the regular expression in a keyword.
func (k *keywords) pattern(keyword, text string) *regexp.Regexp {
	re, err := regexp.Compile(text)
	if err != nil && k.err == nil {
		k.err = fmt.Errorf("invalid regex %q at %q: %w", text, address(k.s.resource.doc.url, k.pointer+"/"+keyword), err)
	}
	return re
}

func (k *keywords) assertions() {
	a := &k.s.assertion
	switch v := k.obj["type"].(type) {
	case string:
		a.types = typesOf([]string{v})
	case []any:
		a.types = typesOf(names(v))
	}
	if v, ok := k.obj["const"]; ok && k.since(6) {
		a.constant = &v
	}
	if v, ok := k.obj["enum"].([]any); ok {
		a.enum, a.hasEnum = v, true
	}
}

func (k *keywords) format() {
	if name, ok := k.obj["format"].(string); ok {
		k.s.assertion.format = formatOf(name)
	}
}

func (k *keywords) logic() {
	l := &k.s.logic
	l.not = k.sub("not")
	l.allOf, l.anyOf, l.oneOf = k.subs("allOf"), k.subs("anyOf"), k.subs("oneOf")
	if k.since(7) {
		l.condition, l.then, l.otherwise = k.condition()
	}
}

func (k *keywords) object() {
	o := objectKeywords{least: -1, most: -1}
	if k.has("validation") {
		o.least, o.most = k.count("minProperties"), k.count("maxProperties")
		o.required = names(k.obj["required"])
		if k.since(2019) {
			o.dependentRequired = k.dependentRequired()
		}
	}
	if k.has("applicator") {
		o.properties = k.named("properties")
		o.names = slices.Sorted(maps.Keys(o.properties))
		patterns := k.named("patternProperties")
		for _, text := range slices.Sorted(maps.Keys(patterns)) {
			o.patterns = append(o.patterns, patternProperty{text, k.pattern("patternProperties", text), patterns[text]})
		}
		o.additional = k.sub("additionalProperties")
		if k.since(6) {
			o.propertyNames = k.sub("propertyNames")
		}
		o.dependencies = k.dependencies()
		if k.since(2019) {
			o.dependentSchemas = k.named("dependentSchemas")
		}
	}
	if !o.isZero() {
		k.s.object = &o
	}
}

func (k *keywords) dependentRequired() []dependency {
	members, _ := k.obj["dependentRequired"].(map[string]any)
	var out []dependency
	for _, name := range slices.Sorted(maps.Keys(members)) {
		out = append(out, dependency{name: name, required: names(members[name])})
	}
	return out
}

func (k *keywords) dependencies() []dependency {
	members, _ := k.obj["dependencies"].(map[string]any)
	var out []dependency
	for _, name := range slices.Sorted(maps.Keys(members)) {
		d := dependency{name: name}
		if list, ok := members[name].([]any); ok {
			d.required = names(list)
		} else {
			d.schema = k.compileAt(k.pointer+"/dependencies/"+escape(name), members[name])
		}
		out = append(out, d)
	}
	return out
}

func (k *keywords) array() {
	a := arrayKeywords{least: -1, most: -1, leastContained: -1, mostContained: -1}
	if k.has("validation") {
		a.least, a.most = k.count("minItems"), k.count("maxItems")
		a.unique, _ = k.obj["uniqueItems"].(bool)
		if k.since(2019) {
			a.leastContained, a.mostContained = k.count("minContains"), k.count("maxContains")
		}
	}
	if k.has("applicator") {
		k.items(&a)
		if k.since(6) {
			a.contains = k.sub("contains")
			a.marksContained = k.since(2020)
		}
	}
	if !a.isZero() {
		k.s.array = &a
	}
}

// items compiles the keywords items and additionalItems, which are prefixItems and items
// in draft 2020-12.
func (k *keywords) items(a *arrayKeywords) {
	if k.since(2020) {
		a.prefixWord, a.restWord = "prefixItems", "items"
		a.prefix, a.rest = k.subs("prefixItems"), k.sub("items")
		return
	}
	if _, ok := k.obj["items"].([]any); !ok {
		a.restWord = "items"
		a.rest = k.sub("items")
		return
	}
	a.prefixWord, a.restWord = "items", "additionalItems"
	a.prefix, a.rest = k.subs("items"), k.sub("additionalItems")
}

func (k *keywords) text() {
	if !k.has("validation") {
		return
	}
	t := stringKeywords{least: k.count("minLength"), most: k.count("maxLength")}
	if text, ok := k.obj["pattern"].(string); ok {
		t.pattern, t.source = k.pattern("pattern", text), text
	}
	if t.least >= 0 || t.most >= 0 || t.pattern != nil {
		k.s.text = &t
	}
}

func (k *keywords) number() {
	if !k.has("validation") {
		return
	}
	n := numberKeywords{minimum: k.limit("minimum"), maximum: k.limit("maximum"), multipleOf: k.limit("multipleOf")}
	if k.since(6) {
		n.exclusiveMinimum, n.exclusiveMaximum = k.limit("exclusiveMinimum"), k.limit("exclusiveMaximum")
	} else {
		if exclusive, _ := k.obj["exclusiveMinimum"].(bool); exclusive {
			n.minimum, n.exclusiveMinimum = nil, n.minimum
		}
		if exclusive, _ := k.obj["exclusiveMaximum"].(bool); exclusive {
			n.maximum, n.exclusiveMaximum = nil, n.maximum
		}
	}
	if n.multipleOf != nil && n.multipleOf.exact().Cmp(new(big.Rat)) == 0 {
		n.multipleOf = nil // possible only with a custom metaschema
	}
	if n != (numberKeywords{}) {
		k.s.number = &n
	}
}
