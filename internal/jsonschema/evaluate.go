// SPDX-License-Identifier: Apache-2.0

package jsonschema

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// evaluation is one run of [Schema.Validate].
//
// Its methods report whether a value meets a keyword, and append what it breaks to
// found. Where found is nil no one asks why: they stop at the first failure. Branches
// of anyOf, oneOf and contains are tried so, and asked for reasons when all failed.
type evaluation struct {
	limits   Limits
	deadline time.Time
	steps    int
	depth    int
	work     int // since the clock was looked at
	err      error

	path []token // of the value at hand

	// checking is the document that is held against a metaschema, and pointer the place
	// in it that path begins at.
	checking *document
	pointer  string
}

// maxDepth bounds how deep schemas apply each other: far more than any value nests, and
// less than a stack holds.
const maxDepth = 10_000

// token is a step into a value: a name, or an index where isIndex is set.
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

// spend notes work that takes about as long as n comparisons, and reports whether the
// evaluation may go on.
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

// step counts a schema that is held against a value.
func (e *evaluation) step() bool {
	if e.steps++; e.limits.Steps > 0 && e.steps > e.limits.Steps {
		e.err = ErrTooSlow
	}
	return e.spend(1)
}

// fail notes a violation at the value at hand; it returns false.
func (e *evaluation) fail(found *[]Violation, format string, args ...any) bool {
	if found != nil && e.err == nil {
		*found = append(*found, Violation{location(e.path), fmt.Sprintf(format, args...)})
	}
	return false
}

// location writes a place as --set does.
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

// scope is where a schema is applied: the schemas that led to it, innermost first. The
// zero value is the beginning.
type scope struct {
	up     *scope
	schema *Schema
	// The keyword of the schema above, and the name or index below it.
	keyword, member string
	// descends is set where the schema above is held against another value.
	descends bool
}

// next is the scope of a schema that a keyword applies to the same value.
func (s *scope) next(keyword, member string) scope {
	return scope{up: s, keyword: keyword, member: member}
}

// below is the scope of a schema that a keyword applies to a member or an item.
func (s *scope) below(keyword, member string) scope {
	return scope{up: s, keyword: keyword, member: member, descends: true}
}

// keywords writes the path of keywords that led to the schema.
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

// schema holds v against s. marks, where it is not nil, gets the members and items that
// keywords of s have looked at.
func (e *evaluation) schema(s *Schema, v any, at scope, marks *evaluated, found *[]Violation) bool {
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
	ok := e.marked(s, v, at, marks, found)
	e.depth--
	return ok
}

// marked holds v against the keywords of s, and keeps for itself what they have looked
// at where s asks for it.
func (e *evaluation) marked(s *Schema, v any, at scope, marks *evaluated, found *[]Violation) bool {
	at.schema = s
	if s.unevaluatedProperties == nil && s.unevaluatedItems == nil {
		return e.keywords(s, v, &at, marks, found)
	}
	var own evaluated
	ok := e.keywords(s, v, &at, &own, found)
	if ok && marks != nil {
		marks.merge(&own)
	}
	return ok
}

// otherMeta returns the metaschema of a schema inside of another that is of its own
// dialect; nil if v is none, or if s is the one.
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

// keywords holds v against the keywords of s, in the order in which violations are told.
func (e *evaluation) keywords(s *Schema, v any, at *scope, marks *evaluated, found *[]Violation) bool {
	t := typeOf(v)
	if t == 0 {
		return e.fail(found, "invalid jsonType %T", v)
	}
	if !e.assertions(&s.assertion, t, v, found) {
		return false
	}
	ok := true
	// also notes a keyword's answer, and reports whether to go on.
	also := func(met bool) bool {
		ok = ok && met
		return (ok || found != nil) && e.err == nil
	}
	if r := s.refs.ref; r != nil && !also(e.reference("$ref", r, v, at, marks, found)) {
		return false
	}
	if !also(e.typed(s, v, at, marks, found)) {
		return false
	}
	if s.refs.recursive != nil && !also(e.reference("$recursiveRef", at.recursiveTarget(s), v, at, marks, found)) {
		return false
	}
	if s.refs.dynamic != nil && !also(e.reference("$dynamicRef", at.dynamicTarget(s), v, at, marks, found)) {
		return false
	}
	if !s.logic.isZero() && !also(e.logic(&s.logic, v, at, marks, found)) {
		return false
	}
	also(e.unevaluated(s, v, at, marks, found))
	return ok
}

// typed holds v against the keywords for its type.
func (e *evaluation) typed(s *Schema, v any, at *scope, marks *evaluated, found *[]Violation) bool {
	switch v := v.(type) {
	case map[string]any:
		return s.object == nil || e.object(s.object, v, at, marks, found)
	case []any:
		return s.array == nil || e.array(s.array, v, at, marks, found)
	case string:
		return s.text == nil || e.text(s.text, v, found)
	case nil, bool:
		return true
	}
	return s.number == nil || e.number(s.number, v, found)
}

// inPlace applies a schema to the value at hand. What it has looked at counts if the
// value meets it.
func (e *evaluation) inPlace(s *Schema, v any, at scope, marks *evaluated, found *[]Violation) bool {
	if marks == nil {
		return e.schema(s, v, at, nil, found)
	}
	var own evaluated
	ok := e.schema(s, v, at, &own, found)
	if ok {
		marks.merge(&own)
	}
	return ok
}

// member applies a schema to a member of an object.
func (e *evaluation) member(s *Schema, name string, v any, at scope, found *[]Violation) bool {
	e.path = append(e.path, token{name: name})
	ok := e.schema(s, v, at, nil, found)
	e.path = e.path[:len(e.path)-1]
	return ok
}

// item applies a schema to an item of an array.
func (e *evaluation) item(s *Schema, i int, v any, at scope, found *[]Violation) bool {
	e.path = append(e.path, token{index: i, isIndex: true})
	ok := e.schema(s, v, at, nil, found)
	e.path = e.path[:len(e.path)-1]
	return ok
}

// references are the keywords that lead to another schema.
type references struct {
	ref, recursive, dynamic *Schema
	anchor                  string // of $dynamicRef
}

// reference applies the schema that a reference leads to. One that has led there
// already, for the same value, leads nowhere.
func (e *evaluation) reference(keyword string, to *Schema, v any, at *scope, marks *evaluated,
	found *[]Violation) bool {
	for s := at; s != nil; s = s.up {
		if s.schema == to {
			return found != nil && e.fail(found, "both %s and %s resolve to %q causing reference cycle",
				at.keywords()+"/"+keyword, s.keywords(), to.address())
		}
		if s.descends {
			break
		}
		if !e.spend(1) {
			return false
		}
	}
	return e.inPlace(to, v, at.next(keyword, ""), marks, found)
}

// recursiveTarget returns where $recursiveRef leads: to the outermost schema that
// expects it, if the one that it names does.
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

// dynamicTarget returns where $dynamicRef leads: to the outermost anchor of that name,
// if the one that it names is dynamic.
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

// evaluated are the members and items that schemas have looked at.
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

// unevaluated holds members and items that no other keyword has looked at against the
// schema for those.
func (e *evaluation) unevaluated(s *Schema, v any, at *scope, marks *evaluated, found *[]Violation) bool {
	ok := true
	switch v := v.(type) {
	case map[string]any:
		if s.unevaluatedProperties == nil || marks.all {
			return true
		}
		for _, name := range sortedKeys(v) {
			if marks.members[name] {
				continue
			}
			if !e.member(s.unevaluatedProperties, name, v[name], at.below("unevaluatedProperties", ""), found) {
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
			if !e.item(s.unevaluatedItems, i, v[i], at.below("unevaluatedItems", ""), found) {
				if ok = false; found == nil {
					return false
				}
			}
		}
		marks.markAll()
	}
	return ok
}
