// SPDX-License-Identifier: Apache-2.0

package jsonschema

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// evaluation is the state of a call of [Schema.Validate].
//
// Its methods report whether a value is valid for a keyword, and append violations to found.
// If found is nil, they stop at the first failure. The branches of anyOf, oneOf and contains
// are first evaluated without found, and again for their violations if all of them failed.
type evaluation struct {
	limits   Limits
	deadline time.Time
	steps    int
	depth    int
	work     int // since the last check of the deadline
	err      error

	path []token // of the current value

	// checking is the document that is validated against a metaschema, and pointer the
	// location in it from which path begins.
	checking *document
	pointer  string
}

// maxDepth limits the depth at which schemas apply each other, so that evaluating them does
// not exhaust the stack.
const maxDepth = 10_000

// token is an element of a path: a name, or an index if isIndex is set.
type token struct {
	name    string
	index   int
	isIndex bool
}

func newEvaluation(l Limits) *evaluation {
	e := &evaluation{limits: l}
	if l.Time > 0 {
		e.deadline = time.Now().Add(l.Time)
	}
	return e
}

// spend accounts for work that takes about as long as n comparisons, and reports whether the
// evaluation may continue.
func (e *evaluation) spend(n int) bool {
	if e.err != nil {
		return false
	}
	const glance = 4096
	if e.work += n; e.work >= glance {
		e.work = 0
		if !e.deadline.IsZero() && time.Now().After(e.deadline) {
			e.err = ErrTooSlow
		}
	}
	return e.err == nil
}

// step accounts for a schema that is applied to a value.
func (e *evaluation) step() bool {
	if e.steps++; e.limits.Steps > 0 && e.steps > e.limits.Steps {
		e.err = ErrTooSlow
	}
	return e.spend(1)
}

// fail adds a violation of the current value. It returns false.
func (e *evaluation) fail(found *[]Violation, format string, args ...any) bool {
	if found != nil && e.err == nil {
		*found = append(*found, Violation{location(e.path), fmt.Sprintf(format, args...)})
	}
	return false
}

// location returns a path in the syntax of --set.
func location(path []token) string {
	var b strings.Builder
	for _, t := range path {
		name := t.name
		if t.isIndex {
			name = strconv.Itoa(t.index)
		}
		if _, err := strconv.Atoi(name); err == nil {
			b.WriteString("[" + name + "]")
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(strings.ReplaceAll(name, ".", `\.`))
	}
	return b.String()
}

// scope is the dynamic scope of a schema: the schemas through which it is applied, innermost
// first. The zero value is the scope of the root.
type scope struct {
	up     *scope
	schema *Schema
	// The keyword of the schema above, and the name or index below it.
	keyword, member string
	// descends is set if the schema above is applied to another value.
	descends bool
}

// next returns the scope of a schema that a keyword applies to the same value.
func (s *scope) next(keyword, member string) scope {
	return scope{up: s, keyword: keyword, member: member}
}

// below returns the scope of a schema that a keyword applies to a member or an item.
func (s *scope) below(keyword, member string) scope {
	return scope{up: s, keyword: keyword, member: member, descends: true}
}

// keywords returns the path of keywords from the root to the schema.
func (s *scope) keywords() string {
	if s == nil || s.up == nil {
		return ""
	}
	path := s.up.keywords() + "/" + s.keyword
	if s.member != "" {
		path += "/" + url.PathEscape(escape(s.member))
	}
	return path
}

// schema validates v against s. If marks is not nil, it records the members and items that
// the keywords of s evaluated.
func (e *evaluation) schema(s *Schema, v any, sc scope, marks *evaluated, found *[]Violation) bool {
	switch {
	case s.always != nil && *s.always:
		return true
	case s.always != nil:
		return e.fail(found, "false schema")
	case !e.step():
		return false
	case s.empty:
		return true
	}
	if e.checking != nil && s.metaOf != nil {
		if other := e.otherMeta(s, v); other != nil {
			return e.schema(other, v, scope{}, nil, found)
		}
	}
	if e.depth++; e.depth > maxDepth {
		e.err = ErrTooSlow
	}
	ok := e.marked(s, v, sc, marks, found)
	e.depth--
	return ok
}

// marked validates v against the keywords of s, and records the evaluated members and items
// if s has unevaluatedProperties or unevaluatedItems.
func (e *evaluation) marked(s *Schema, v any, sc scope, marks *evaluated, found *[]Violation) bool {
	sc.schema = s
	if s.unevaluatedProperties == nil && s.unevaluatedItems == nil {
		return e.keywords(s, v, &sc, marks, found)
	}
	var inner evaluated
	ok := e.keywords(s, v, &sc, &inner, found)
	if ok && marks != nil {
		marks.merge(&inner)
	}
	return ok
}

// otherMeta returns the metaschema of a nested schema with its own dialect. It returns nil if
// v is not such a schema, or if s is its metaschema.
func (e *evaluation) otherMeta(s *Schema, v any) *Schema {
	obj, ok := v.(map[string]any)
	if !ok || obj["$schema"] == nil || len(e.path) == 0 {
		return nil
	}
	pointer := e.pointer
	for _, t := range e.path {
		if t.isIndex {
			pointer += "/" + strconv.Itoa(t.index)
		} else {
			pointer += "/" + escape(t.name)
		}
	}
	res := e.checking.resources[pointer]
	if res == nil {
		return nil
	}
	other, err := res.dialect.metaschema()
	if err != nil {
		e.err = err
		return nil
	}
	if other == s {
		return nil
	}
	return other
}

// keywords validates v against the keywords of s, in the order of the reported violations.
func (e *evaluation) keywords(s *Schema, v any, sc *scope, marks *evaluated, found *[]Violation) bool {
	t := typeOf(v)
	if t == 0 {
		return e.fail(found, "invalid jsonType %T", v)
	}
	if !e.assertions(&s.assertion, t, v, found) {
		return false
	}
	ok := true
	// also records a keyword's result, and reports whether to continue.
	also := func(met bool) bool {
		ok = ok && met
		return (ok || found != nil) && e.err == nil
	}
	if r := s.refs.ref; r != nil && !also(e.reference("$ref", r, v, sc, marks, found)) {
		return false
	}
	if !also(e.typed(s, v, sc, marks, found)) {
		return false
	}
	if s.refs.recursive != nil && !also(e.reference("$recursiveRef", sc.recursiveTarget(s), v, sc, marks, found)) {
		return false
	}
	if s.refs.dynamic != nil && !also(e.reference("$dynamicRef", sc.dynamicTarget(s), v, sc, marks, found)) {
		return false
	}
	if !s.logic.isZero() && !also(e.logic(&s.logic, v, sc, marks, found)) {
		return false
	}
	also(e.unevaluated(s, v, sc, marks, found))
	return ok
}

// typed validates v against the keywords for its type.
func (e *evaluation) typed(s *Schema, v any, sc *scope, marks *evaluated, found *[]Violation) bool {
	switch v := v.(type) {
	case map[string]any:
		return s.object == nil || e.object(s.object, v, sc, marks, found)
	case []any:
		return s.array == nil || e.array(s.array, v, sc, marks, found)
	case string:
		return s.text == nil || e.text(s.text, v, found)
	case nil, bool:
		return true
	}
	return s.number == nil || e.number(s.number, v, found)
}

// inPlace applies a schema to the current value. It records the evaluated members and items
// if the value is valid.
func (e *evaluation) inPlace(s *Schema, v any, sc scope, marks *evaluated, found *[]Violation) bool {
	if marks == nil {
		return e.schema(s, v, sc, nil, found)
	}
	var inner evaluated
	ok := e.schema(s, v, sc, &inner, found)
	if ok {
		marks.merge(&inner)
	}
	return ok
}

// member applies a schema to a member of an object.
func (e *evaluation) member(s *Schema, name string, v any, sc scope, found *[]Violation) bool {
	e.path = append(e.path, token{name: name})
	ok := e.schema(s, v, sc, nil, found)
	e.path = e.path[:len(e.path)-1]
	return ok
}

// item applies a schema to an item of an array.
func (e *evaluation) item(s *Schema, i int, v any, sc scope, found *[]Violation) bool {
	e.path = append(e.path, token{index: i, isIndex: true})
	ok := e.schema(s, v, sc, nil, found)
	e.path = e.path[:len(e.path)-1]
	return ok
}

// references are the keywords that refer to another schema.
type references struct {
	ref, recursive, dynamic *Schema
	anchor                  string // of $dynamicRef
}

// reference applies the target of a reference. It ignores a reference that is already being
// applied to the same value.
func (e *evaluation) reference(keyword string, to *Schema, v any, sc *scope, marks *evaluated,
	found *[]Violation) bool {
	for s := sc; s != nil; s = s.up {
		if s.schema == to {
			return found != nil && e.fail(found, "both %s and %s resolve to %q causing reference cycle",
				sc.keywords()+"/"+keyword, s.keywords(), to.address())
		}
		if s.descends {
			break
		}
		if !e.spend(1) {
			return false
		}
	}
	return e.inPlace(to, v, sc.next(keyword, ""), marks, found)
}

// recursiveTarget returns the target of $recursiveRef: the outermost schema with
// $recursiveAnchor, if the schema to which it refers has it.
func (s *scope) recursiveTarget(from *Schema) *Schema {
	to := from.refs.recursive
	if !to.resource.recursive || to != to.resource.root {
		return to
	}
	for ; s != nil; s = s.up {
		if r := s.schema.resource; r.recursive && r.root != nil {
			to = r.root
		}
	}
	return to
}

// dynamicTarget returns the target of $dynamicRef: the schema with the outermost anchor of
// that name, if the anchor to which it refers is dynamic.
func (s *scope) dynamicTarget(from *Schema) *Schema {
	to, name := from.refs.dynamic, from.refs.anchor
	if name == "" || to.resource.dynamicSchemas[name] != to {
		return to
	}
	for ; s != nil; s = s.up {
		if other := s.schema.resource.dynamicSchemas[name]; other != nil {
			to = other
		}
	}
	return to
}

// evaluated records the members and items that schemas evaluated.
type evaluated struct {
	all     bool
	members map[string]bool
	first   int // items before this one
	items   map[int]bool
}

func (m *evaluated) markAll() {
	if m != nil {
		m.all = true
	}
}

func (m *evaluated) mark(name string) {
	if m == nil || m.all {
		return
	}
	if m.members == nil {
		m.members = map[string]bool{}
	}
	m.members[name] = true
}

func (m *evaluated) markFirst(n int) {
	if m != nil {
		m.first = max(m.first, n)
	}
}

func (m *evaluated) markItem(i int) {
	if m == nil || m.all || i < m.first {
		return
	}
	if m.items == nil {
		m.items = map[int]bool{}
	}
	m.items[i] = true
}

func (m *evaluated) merge(o *evaluated) {
	m.all = m.all || o.all
	m.markFirst(o.first)
	for name := range o.members {
		m.mark(name)
	}
	for i := range o.items {
		m.markItem(i)
	}
}

// unevaluated validates members and items that no other keyword evaluated against the schema
// for them.
func (e *evaluation) unevaluated(s *Schema, v any, sc *scope, marks *evaluated, found *[]Violation) bool {
	ok := true
	switch v := v.(type) {
	case map[string]any:
		if s.unevaluatedProperties == nil || marks.all {
			return true
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if marks.members[name] {
				continue
			}
			if !e.member(s.unevaluatedProperties, name, v[name], sc.below("unevaluatedProperties", ""), found) {
				if ok = false; found == nil {
					return false
				}
			}
		}
		marks.markAll()
	case []any:
		if s.unevaluatedItems == nil || marks.all {
			return true
		}
		for i := marks.first; i < len(v); i++ {
			if marks.items[i] {
				continue
			}
			if !e.item(s.unevaluatedItems, i, v[i], sc.below("unevaluatedItems", ""), found) {
				if ok = false; found == nil {
					return false
				}
			}
		}
		marks.markAll()
	}
	return ok
}
