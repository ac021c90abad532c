// SPDX-License-Identifier: Apache-2.0

package jsonschema

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// assertions are the keywords after whose failure a schema's other keywords are not evaluated.
type assertions struct {
	types    types
	constant *any
	enum     []any
	hasEnum  bool
	format   *format
}

func (a *assertions) isZero() bool {
	return a.types == 0 && a.constant == nil && !a.hasEnum && a.format == nil
}

func (e *evaluation) assertions(a *assertions, t types, v any, found *[]Violation) bool {
	if a.types != 0 && !matches(a.types, t, v) {
		return e.fail(found, "got %s, want %s", t, a.types)
	}
	if a.constant != nil && !e.constant(*a.constant, v, found) {
		return false
	}
	if a.hasEnum && !e.enum(a.enum, v, found) {
		return false
	}
	if a.format != nil {
		if err := a.format.check(v); err != nil {
			text, _ := display(v)
			return e.fail(found, "%s is not valid %s: %s", text, a.format.name, err)
		}
	}
	return true
}

func matches(want, t types, v any) bool {
	if want&t != 0 {
		return true
	}
	if t != typeNumber || want&typeInteger == 0 {
		return false
	}
	n, ok := numberOf(v)
	return ok && n.whole()
}

func (e *evaluation) constant(want, v any, found *[]Violation) bool {
	same, odd := equal(v, want)
	switch {
	case same:
		return true
	case found == nil:
		return false
	case odd != nil && typeOf(want) != 0:
		return e.fail(found, "invalid jsonType %T", odd)
	}
	if text, ok := display(want); ok {
		return e.fail(found, "value must be %s", text)
	}
	return e.fail(found, "'const' failed")
}

func (e *evaluation) enum(want []any, v any, found *[]Violation) bool {
	if !e.spend(len(want)) {
		return false
	}
	for _, w := range want {
		if same, _ := equal(v, w); same {
			return true
		}
	}
	if found == nil {
		return false
	}
	texts := make([]string, len(want))
	for i, w := range want {
		text, ok := display(w)
		if !ok {
			return e.fail(found, "'enum' failed")
		}
		texts[i] = text
	}
	if len(texts) == 1 {
		return e.fail(found, "value must be %s", texts[0])
	}
	return e.fail(found, "value must be one of %s", strings.Join(texts, ", "))
}

// logic are the keywords that combine schemas.
type logic struct {
	not                        *Schema
	allOf, anyOf, oneOf        []*Schema
	condition, then, otherwise *Schema
}

func (l *logic) isZero() bool {
	return l.not == nil && l.allOf == nil && l.anyOf == nil && l.oneOf == nil && l.condition == nil
}

func (e *evaluation) logic(l *logic, v any, sc *scope, marks *evaluated, found *[]Violation) bool {
	ok := true
	if l.not != nil && e.inPlace(l.not, v, sc.next("not", ""), marks, nil) {
		ok = e.fail(found, "'not' failed")
	}
	for i, s := range l.allOf {
		if !ok && found == nil || e.err != nil {
			return false
		}
		ok = e.inPlace(s, v, sc.next("allOf", strconv.Itoa(i)), marks, found) && ok
	}
	if len(l.anyOf) > 0 && (ok || found != nil) {
		ok = e.anyOf(l.anyOf, v, sc, marks, found) && ok
	}
	if len(l.oneOf) > 0 && (ok || found != nil) {
		ok = e.oneOf(l.oneOf, v, sc, marks, found) && ok
	}
	if l.condition != nil && (ok || found != nil) {
		ok = e.condition(l, v, sc, marks, found) && ok
	}
	return ok
}

func (e *evaluation) anyOf(branches []*Schema, v any, sc *scope, marks *evaluated, found *[]Violation) bool {
	matched := false
	for i, s := range branches {
		if e.inPlace(s, v, sc.next("anyOf", strconv.Itoa(i)), marks, nil) {
			if matched = true; marks == nil {
				return true
			}
		}
	}
	if matched || found == nil || e.err != nil {
		return matched
	}
	return e.fail(found, "'anyOf' failed%s", e.reasons("anyOf", branches, v, sc))
}

func (e *evaluation) oneOf(branches []*Schema, v any, sc *scope, marks *evaluated, found *[]Violation) bool {
	first := -1
	for i, s := range branches {
		if !e.inPlace(s, v, sc.next("oneOf", strconv.Itoa(i)), marks, nil) {
			continue
		}
		if first >= 0 {
			return e.fail(found, "'oneOf' failed, subschemas %d, %d matched", first, i)
		}
		first = i
	}
	if first >= 0 || found == nil || e.err != nil {
		return first >= 0
	}
	return e.fail(found, "'oneOf' failed, none matched%s", e.reasons("oneOf", branches, v, sc))
}

// reasons returns the violations of all branches for a message.
func (e *evaluation) reasons(keyword string, branches []*Schema, v any, sc *scope) string {
	var found []Violation
	for i, s := range branches {
		e.schema(s, v, sc.next(keyword, strconv.Itoa(i)), nil, &found)
	}
	if len(found) == 0 {
		return ""
	}
	here := location(e.path)
	texts := make([]string, len(found))
	for i, f := range found {
		texts[i] = f.Problem
		if below := strings.TrimPrefix(f.Path, here); below != "" {
			texts[i] = strings.TrimPrefix(below, ".") + ": " + f.Problem
		}
	}
	return " (" + strings.Join(texts, "; or ") + ")"
}

func (e *evaluation) condition(l *logic, v any, sc *scope, marks *evaluated, found *[]Violation) bool {
	if e.inPlace(l.condition, v, sc.next("if", ""), marks, nil) {
		return l.then == nil || e.inPlace(l.then, v, sc.next("then", ""), marks, found)
	}
	return l.otherwise == nil || e.inPlace(l.otherwise, v, sc.next("else", ""), marks, found)
}

// objectKeywords are the keywords for objects. A limit of -1 means no limit.
type objectKeywords struct {
	least, most       int
	required          []string
	properties        map[string]*Schema
	names             []string // of properties, in order
	patterns          []patternProperty
	additional        *Schema
	propertyNames     *Schema
	dependencies      []dependency
	dependentSchemas  map[string]*Schema
	dependentRequired []dependency
}

type patternProperty struct {
	source  string
	pattern *regexp.Regexp
	schema  *Schema
}

// dependency has the requirements for an object with the member name.
type dependency struct {
	name     string
	required []string
	schema   *Schema
}

func (o *objectKeywords) isZero() bool {
	return o.least < 0 && o.most < 0 && o.required == nil && o.properties == nil && o.patterns == nil &&
		o.additional == nil &&
		o.propertyNames == nil && o.dependencies == nil && o.dependentSchemas == nil && o.dependentRequired == nil
}

func (e *evaluation) object(o *objectKeywords, v map[string]any, sc *scope, marks *evaluated, found *[]Violation) bool {
	ok := e.objectSize(o, v, found)
	for _, d := range o.dependencies {
		ok = e.dependency(d, v, sc, marks, found) && ok
	}
	if !ok && found == nil {
		return false
	}
	if o.patterns == nil && o.additional == nil {
		for _, name := range o.names {
			if m, has := v[name]; has {
				marks.mark(name)
				ok = e.member(o.properties[name], name, m, sc.below("properties", name), found) && ok
			}
		}
	} else {
		ok = e.members(o, v, sc, marks, found) && ok
	}
	if !ok && found == nil {
		return false
	}
	if o.propertyNames != nil {
		for _, name := range slices.Sorted(maps.Keys(v)) {
			ok = e.name(o.propertyNames, name, found) && ok
		}
	}
	for _, name := range slices.Sorted(maps.Keys(o.dependentSchemas)) {
		if _, has := v[name]; has {
			ok = e.inPlace(o.dependentSchemas[name], v, sc.next("dependentSchemas", name), marks, found) && ok
		}
	}
	for _, d := range o.dependentRequired {
		ok = e.dependency(d, v, sc, marks, found) && ok
	}
	return ok
}

func (e *evaluation) objectSize(o *objectKeywords, v map[string]any, found *[]Violation) bool {
	ok := true
	if o.least >= 0 && len(v) < o.least {
		ok = e.fail(found, "minProperties: got %d, want %d", len(v), o.least)
	}
	if o.most >= 0 && len(v) > o.most {
		ok = e.fail(found, "maxProperties: got %d, want %d", len(v), o.most)
	}
	switch missing := absent(o.required, v); len(missing) {
	case 0:
	case 1:
		ok = e.fail(found, "missing property %s", quote(missing[0]))
	default:
		ok = e.fail(found, "missing properties %s", quoteAll(missing))
	}
	return ok
}

// absent returns the names of which v has no members.
func absent(names []string, v map[string]any) []string {
	var missing []string
	for _, name := range names {
		if _, has := v[name]; !has {
			missing = append(missing, name)
		}
	}
	return missing
}

func (e *evaluation) dependency(d dependency, v map[string]any, sc *scope, marks *evaluated, found *[]Violation) bool {
	if _, has := v[d.name]; !has {
		return true
	}
	if d.schema != nil {
		return e.inPlace(d.schema, v, sc.next("dependencies", d.name), marks, found)
	}
	missing := absent(d.required, v)
	return missing == nil || e.fail(found, "properties %s required, if %s exists", quoteAll(missing), quote(d.name))
}

// members validates every member of an object against the schemas for its name.
func (e *evaluation) members(o *objectKeywords, v map[string]any, sc *scope, marks *evaluated,
	found *[]Violation) bool {
	ok := true
	var extra []string
	for _, name := range slices.Sorted(maps.Keys(v)) {
		if !e.spend(1+len(o.patterns)*(1+len(name)/16)) || !ok && found == nil {
			return false
		}
		s := o.properties[name]
		known := s != nil
		if known {
			ok = e.member(s, name, v[name], sc.below("properties", name), found) && ok
		}
		for _, p := range o.patterns {
			if p.pattern.MatchString(name) {
				known = true
				ok = e.member(p.schema, name, v[name], sc.below("patternProperties", p.source), found) && ok
			}
		}
		switch {
		case known:
		case o.additional == nil:
			continue
		case o.additional.always != nil && !*o.additional.always:
			extra = append(extra, quote(name))
		default:
			ok = e.member(o.additional, name, v[name], sc.below("additionalProperties", ""), found) && ok
		}
		marks.mark(name)
	}
	if len(extra) > 0 {
		ok = e.fail(found, "additional properties %s not allowed", strings.Join(extra, ", "))
	}
	return ok
}

// name validates the name of a member against a schema. Names have no path.
func (e *evaluation) name(s *Schema, name string, found *[]Violation) bool {
	path := e.path
	e.path = nil
	ok := e.schema(s, name, scope{}, nil, found)
	e.path = path
	return ok
}

// arrayKeywords are the keywords for arrays. A limit of -1 means no limit.
type arrayKeywords struct {
	least, most          int
	unique               bool
	prefix               []*Schema
	rest                 *Schema
	prefixWord, restWord string // the keywords of prefix and rest

	contains                      *Schema
	leastContained, mostContained int
	// marksContained is set if contains evaluates items for unevaluatedItems.
	marksContained bool
}

func (a *arrayKeywords) isZero() bool {
	return a.least < 0 && a.most < 0 && !a.unique && a.prefix == nil && a.rest == nil && a.contains == nil
}

func (e *evaluation) array(a *arrayKeywords, v []any, sc *scope, marks *evaluated, found *[]Violation) bool {
	ok := true
	if a.least >= 0 && len(v) < a.least {
		ok = e.fail(found, "minItems: got %d, want %d", len(v), a.least)
	}
	if a.most >= 0 && len(v) > a.most {
		ok = e.fail(found, "maxItems: got %d, want %d", len(v), a.most)
	}
	if a.unique && len(v) > 1 {
		ok = e.unique(v, found) && ok
	}
	if !ok && found == nil {
		return false
	}
	ok = e.items(a, v, sc, marks, found) && ok
	if a.contains != nil && (ok || found != nil) {
		ok = e.contains(a, v, sc, marks, found) && ok
	}
	return ok
}

func (e *evaluation) unique(v []any, found *[]Violation) bool {
	seen := make(map[string]int, len(v))
	var b []byte
	for j, item := range v {
		if b = fingerprint(b[:0], item); !e.spend(1 + len(b)/16) {
			return false
		}
		if i, dup := seen[string(b)]; dup {
			return e.fail(found, "items at %s and %s are equal", grouped(i), grouped(j))
		}
		seen[string(b)] = j
	}
	return true
}

func (e *evaluation) items(a *arrayKeywords, v []any, sc *scope, marks *evaluated, found *[]Violation) bool {
	ok := true
	n := min(len(a.prefix), len(v))
	for i := range n {
		if !ok && found == nil {
			return false
		}
		ok = e.item(a.prefix[i], i, v[i], sc.below(a.prefixWord, strconv.Itoa(i)), found) && ok
	}
	marks.markFirst(n)
	if a.rest == nil {
		return ok
	}
	marks.markAll()
	if a.restWord == "additionalItems" && a.rest.always != nil && !*a.rest.always {
		if len(v) > n {
			ok = e.fail(found, "last %s additionalItem(s) not allowed", grouped(len(v)-n))
		}
		return ok
	}
	for i := n; i < len(v); i++ {
		if !ok && found == nil || e.err != nil {
			return false
		}
		ok = e.item(a.rest, i, v[i], sc.below(a.restWord, ""), found) && ok
	}
	return ok
}

func (e *evaluation) contains(a *arrayKeywords, v []any, sc *scope, marks *evaluated, found *[]Violation) bool {
	var matched []int
	for i, item := range v {
		if e.item(a.contains, i, item, sc.below("contains", ""), nil) {
			matched = append(matched, i)
			if a.marksContained {
				marks.markItem(i)
			}
		}
	}
	ok := true
	if least := a.leastContained; least >= 0 {
		if len(matched) < least {
			ok = e.notContained(a, v, matched, sc, found)
		}
	} else if len(matched) == 0 {
		ok = e.notContained(a, v, matched, sc, found)
	}
	if a.mostContained >= 0 && len(matched) > a.mostContained {
		ok = e.fail(found, "max %s items required to match contains schema, but matched %s items at %s",
			grouped(a.mostContained), grouped(len(matched)), indexes(matched))
	}
	return ok
}

// notContained adds the violation for too few matching items, with the violations of the items
// that do not match.
func (e *evaluation) notContained(a *arrayKeywords, v []any, matched []int, sc *scope, found *[]Violation) bool {
	if found == nil {
		return false
	}
	before := len(*found)
	for i, item := range v {
		e.item(a.contains, i, item, sc.below("contains", ""), found)
	}
	switch {
	case len(*found) > before:
		return false
	case a.leastContained < 0:
		return e.fail(found, "no items match contains schema")
	case len(matched) == 0:
		return e.fail(found, "min %s items required to match contains schema, but none matched", grouped(a.leastContained))
	}
	return e.fail(found, "min %s items required to match contains schema, but matched %s items at %s",
		grouped(a.leastContained), grouped(len(matched)), indexes(matched))
}

func indexes(list []int) string {
	texts := make([]string, len(list))
	for i, n := range list {
		texts[i] = strconv.Itoa(n)
	}
	return strings.Join(texts, " ")
}

// stringKeywords are the keywords for strings. A limit of -1 means no limit.
type stringKeywords struct {
	least, most int
	pattern     *regexp.Regexp
	source      string
}

func (e *evaluation) text(t *stringKeywords, v string, found *[]Violation) bool {
	ok := true
	if t.least >= 0 || t.most >= 0 {
		n := utf8.RuneCountInString(v)
		if t.least >= 0 && n < t.least {
			ok = e.fail(found, "minLength: got %d, want %d", n, t.least)
		}
		if t.most >= 0 && n > t.most {
			ok = e.fail(found, "maxLength: got %d, want %d", n, t.most)
		}
	}
	if t.pattern != nil && e.spend(1+len(v)/16) && !t.pattern.MatchString(v) {
		ok = e.fail(found, "%s does not match pattern %s", quote(v), quote(t.source))
	}
	return ok
}

// numberKeywords are the keywords for numbers. nil means no limit.
type numberKeywords struct {
	minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf *number
}

func (e *evaluation) number(k *numberKeywords, v any, found *[]Violation) bool {
	n, ok := numberOf(v)
	if !ok {
		return e.fail(found, "invalid jsonType %T", v)
	}
	if k.minimum != nil && n.compare(*k.minimum) < 0 {
		ok = e.fail(found, "minimum: got %v, want %v", n, k.minimum)
	}
	if k.maximum != nil && n.compare(*k.maximum) > 0 {
		ok = e.fail(found, "maximum: got %v, want %v", n, k.maximum)
	}
	if k.exclusiveMinimum != nil && n.compare(*k.exclusiveMinimum) <= 0 {
		ok = e.fail(found, "exclusiveMinimum: got %v, want %v", n, k.exclusiveMinimum)
	}
	if k.exclusiveMaximum != nil && n.compare(*k.exclusiveMaximum) >= 0 {
		ok = e.fail(found, "exclusiveMaximum: got %v, want %v", n, k.exclusiveMaximum)
	}
	if k.multipleOf != nil && !n.multipleOf(*k.multipleOf) {
		ok = e.fail(found, "multipleOf: got %v, want %v", n, k.multipleOf)
	}
	return ok
}
