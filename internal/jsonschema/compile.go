// SPDX-License-Identifier: Apache-2.0

package jsonschema

import (
	"errors"
	"fmt"
	"maps"
	"math/big"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// compilation is the work of one [Compiler.Compile].
type compilation struct {
	*Compiler
	docs map[string]*document
	// pending are references that are still to be resolved: schemas refer to
	// themselves, and in chains that no stack should hold.
	pending []pendingRef
	loading []string // metaschemas that are being read
	meta    bool     // this is a metaschema: see compileMeta
}

// pendingRef is a reference and the field that gets its target.
type pendingRef struct {
	text string
	from *resource
	into **Schema
}

func newCompilation(c *Compiler) *compilation {
	return &compilation{Compiler: c, docs: map[string]*document{}}
}

func (c *compilation) compile(url string, root any) (*Schema, error) {
	doc, err := c.add(url, root)
	if err != nil {
		return nil, err
	}
	s, err := c.schemaAt(doc.resources[""], "", doc.root)
	if err != nil {
		return nil, err
	}
	for len(c.pending) > 0 {
		ref := c.pending[0]
		c.pending = c.pending[1:]
		if *ref.into, err = c.resolve(ref.text, ref.from); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// add takes a document: it notes what in it has a name, and checks it.
func (c *compilation) add(url string, root any) (*document, error) {
	doc := &document{
		url: url, root: root,
		resources: map[string]*resource{}, byURL: map[string]*resource{}, schemas: map[string]*Schema{},
	}
	d := &dialect{draft: latest}
	if obj, ok := root.(map[string]any); ok {
		if text, ok := obj["$schema"].(string); ok {
			var err error
			if d, err = c.dialectAt(text, url+"#", url); err != nil {
				return nil, err
			}
		}
	}
	c.docs[url] = doc
	res := newResource(doc, "", url, d)
	if err := c.collect(res, "", root); err != nil {
		return nil, err
	}
	return doc, c.check(res, "", root)
}

// check holds a schema against its metaschema.
func (c *compilation) check(res *resource, pointer string, v any) error {
	if c.meta || metaFile(res.doc.url) != "" {
		return nil
	}
	meta, err := res.dialect.metaschema()
	if err != nil {
		return err
	}
	e := newEvaluation(c.Limits)
	e.checking, e.pointer = res.doc, pointer
	var found []Violation
	e.schema(meta, v, scope{}, nil, &found)
	switch {
	case e.err != nil:
		return e.err
	case len(found) > 0:
		return &InvalidError{URL: res.doc.url + "#" + pointer, Violations: once(found)}
	}
	return nil
}

// once leaves out what two vocabularies say alike.
func once(found []Violation) []Violation {
	var out []Violation
	for _, v := range found {
		if !slices.ContainsFunc(out, func(o Violation) bool { return o.String() == v.String() }) {
			out = append(out, v)
		}
	}
	return out
}

// dialectAt returns the dialect that $schema names. where is the schema that names it,
// in the document at.
func (c *compilation) dialectAt(text, where, at string) (*dialect, error) {
	text, _, _ = strings.Cut(text, "#")
	if _, err := url.Parse(text); err != nil {
		return nil, fmt.Errorf("invalid $schema in %q: %w", where, err)
	}
	if d := draftOf(text); d != nil {
		return &dialect{draft: d}, nil
	}
	if text == at {
		return nil, fmt.Errorf("draft %q is not supported", text)
	}
	if slices.Contains(c.loading, text) {
		return nil, fmt.Errorf("cycle in resolving $schema in %q", text)
	}
	c.loading = append(c.loading, text)
	defer func() { c.loading = c.loading[:len(c.loading)-1] }()
	root, err := c.load(text)
	if err != nil {
		return nil, err
	}
	obj, _ := root.(map[string]any)
	base := &dialect{draft: latest}
	if parent, ok := obj["$schema"].(string); ok {
		if base, err = c.dialectAt(parent, text+"#", text); err != nil {
			return nil, err
		}
	}
	return choose(base.draft, text, obj)
}

// choose reads the vocabularies that a metaschema declares.
func choose(d *draft, at string, meta map[string]any) (*dialect, error) {
	declared, ok := meta["$vocabulary"].(map[string]any)
	if !ok || d.version < 2019 {
		return &dialect{draft: d}, nil
	}
	chosen := []string{}
	for _, name := range sortedKeys(declared) {
		if required, _ := declared[name].(bool); !required {
			continue
		}
		known, ours := strings.CutPrefix(name, d.prefix+"vocab/")
		if !ours || !slices.Contains(d.vocabularies, known) {
			return nil, fmt.Errorf("unsupported vocabulary %q in %q", name, at)
		}
		chosen = append(chosen, known)
	}
	return &dialect{draft: d, chosen: chosen}, nil
}

// load returns the document at a URL, decoded.
func (c *compilation) load(url string) (any, error) {
	if file := metaFile(url); file != "" {
		return readMeta(file)
	}
	if c.Load == nil {
		return nil, &LoadError{url, errors.New("no other documents are known here")}
	}
	root, err := c.Load(url)
	if err != nil {
		return nil, &LoadError{url, err}
	}
	return root, nil
}

// document returns the document at a URL, which is read if need be.
func (c *compilation) document(url string) (*document, error) {
	if doc := c.docs[url]; doc != nil {
		return doc, nil
	}
	root, err := c.load(url)
	if err != nil {
		return nil, err
	}
	return c.add(url, root)
}

// resolve returns the schema that a reference in a resource leads to.
func (c *compilation) resolve(ref string, from *resource) (*Schema, error) {
	target, fragment, err := c.target(ref, from)
	if err != nil {
		return nil, err
	}
	// All of another document's resource must be usable, not only what the reference leads to.
	usable := func(res *resource) error {
		if res.doc == from.doc {
			return nil
		}
		v, _, _, _, _ := res.doc.find(res.pointer)
		_, err := c.schemaAt(res, res.pointer, v)
		return err
	}
	if fragment != "" && fragment[0] != '/' {
		pointer, ok := target.anchors[fragment]
		if !ok {
			return nil, fmt.Errorf("anchor in %q not found in schema %q", address(target.url, fragment), target.doc.url)
		}
		if err := usable(target); err != nil {
			return nil, err
		}
		v, _, _, _, _ := target.doc.find(pointer)
		return c.schemaAt(target, pointer, v)
	}
	pointer := target.pointer + fragment
	v, canonical, res, known, ok := target.doc.find(pointer)
	if !ok {
		return nil, fmt.Errorf("json-pointer in %q not found", address(target.doc.url, pointer))
	}
	if !known && target.doc.schemas[canonical] == nil {
		if err := c.collect(res, canonical, v); err != nil {
			return nil, err
		}
		if r := target.doc.resources[canonical]; r != nil {
			res = r
		}
		if err := c.check(res, canonical, v); err != nil {
			return nil, err
		}
	}
	if err := usable(res); err != nil {
		return nil, err
	}
	return c.schemaAt(res, canonical, v)
}

// target splits a reference into the resource that it leads to and a fragment.
func (c *compilation) target(ref string, from *resource) (*resource, string, error) {
	address, fragment, _ := strings.Cut(ref, "#")
	fragment, err := url.PathUnescape(fragment)
	if err != nil {
		return nil, "", fmt.Errorf("error in parsing %q: %w", ref, err)
	}
	if address == "" {
		return from, fragment, nil
	}
	absolute, err := join(from.url, address)
	if err != nil {
		return nil, "", fmt.Errorf("error in parsing %q: %w", ref, err)
	}
	if absolute == from.doc.url {
		return from.doc.resources[""], fragment, nil
	}
	if r := from.doc.byURL[absolute]; r != nil {
		return r, fragment, nil
	}
	if d := draftOf(absolute); d != nil {
		absolute = d.url
	}
	doc, err := c.document(absolute)
	if err != nil {
		return nil, "", err
	}
	return doc.resources[""], fragment, nil
}

// schemaAt returns the compiled schema v, which is at a pointer and belongs to res.
func (c *compilation) schemaAt(res *resource, pointer string, v any) (*Schema, error) {
	doc := res.doc
	if s := doc.schemas[pointer]; s != nil {
		return s, nil
	}
	if r := doc.resources[pointer]; r != nil {
		res = r
	}
	s := &Schema{resource: res, pointer: pointer}
	doc.schemas[pointer] = s
	if pointer == res.pointer {
		res.root = s
		if pointer == "" && c.meta && metaFile(doc.url) == res.dialect.draft.file {
			s.metaOf = res.dialect.draft
		}
		if err := c.anchored(res); err != nil {
			return nil, err
		}
	}
	switch v := v.(type) {
	case bool:
		s.always = &v
	case map[string]any:
		k := keywords{c: c, s: s, obj: v, pointer: pointer, draft: res.dialect.draft}
		k.all()
		return s, k.err
	}
	return s, nil
}

// anchored compiles the schemas of a resource that dynamic references may lead to.
func (c *compilation) anchored(res *resource) error {
	for _, name := range sortedKeys(res.dynamic) {
		v, _, _, _, ok := res.doc.find(res.anchors[name])
		if !ok {
			continue
		}
		s, err := c.schemaAt(res, res.anchors[name], v)
		if err != nil {
			return err
		}
		res.dynamicSchemas[name] = s
	}
	return nil
}

// keywords compiles the keywords of one schema. The first error stays.
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

// all compiles every keyword that counts in the schema's dialect.
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

// besideRef compiles what is next to a $ref in a draft that ignores all of it. Helm's
// library does not ignore const, and wants the references below these keywords to lead
// somewhere.
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

// condition compiles if, and of then and else what it may lead to.
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

// isEmpty reports whether nothing but a reference can fail.
func (s *Schema) isEmpty() bool {
	return s.assertion.isZero() && s.logic.isZero() && s.object == nil && s.array == nil &&
		s.text == nil && s.number == nil && s.unevaluatedProperties == nil && s.unevaluatedItems == nil
}

// refer resolves a reference later.
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

// compileAt compiles a schema below this one; nil after an error.
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

// sub compiles the schema that a keyword holds; nil if there is none.
func (k *keywords) sub(keyword string) *Schema {
	switch v := k.obj[keyword].(type) {
	case map[string]any, bool:
		return k.compileAt(k.pointer+"/"+escape(keyword), v)
	}
	return nil
}

// subs compiles the list of schemas that a keyword holds.
func (k *keywords) subs(keyword string) []*Schema {
	list, _ := k.obj[keyword].([]any)
	var out []*Schema
	for i, v := range list {
		out = append(out, k.compileAt(k.pointer+"/"+keyword+"/"+strconv.Itoa(i), v))
	}
	return out
}

// named compiles the schemas that a keyword holds by name.
func (k *keywords) named(keyword string) map[string]*Schema {
	members, _ := k.obj[keyword].(map[string]any)
	if members == nil {
		return nil
	}
	out := make(map[string]*Schema, len(members))
	for _, name := range sortedKeys(members) {
		out[name] = k.compileAt(k.pointer+"/"+escape(keyword)+"/"+escape(name), members[name])
	}
	return out
}

// names returns the list of strings that a keyword holds.
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

// count returns the whole number that a keyword holds, -1 if there is none.
func (k *keywords) count(keyword string) int {
	if n, ok := numberOf(k.obj[keyword]); ok {
		return n.clamp()
	}
	return -1
}

// limit returns the number that a keyword holds.
func (k *keywords) limit(keyword string) *number {
	if n, ok := numberOf(k.obj[keyword]); ok {
		return &n
	}
	return nil
}

// pattern compiles a regular expression of a keyword.
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
		for _, text := range sortedKeys(patterns) {
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
	for _, name := range sortedKeys(members) {
		out = append(out, dependency{name: name, required: names(members[name])})
	}
	return out
}

func (k *keywords) dependencies() []dependency {
	members, _ := k.obj["dependencies"].(map[string]any)
	var out []dependency
	for _, name := range sortedKeys(members) {
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

// items compiles what earlier drafts call items and additionalItems, and draft 2020-12
// prefixItems and items.
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
		n.multipleOf = nil // only a metaschema of the author's choice lets it pass
	}
	if n != (numberKeywords{}) {
		k.s.number = &n
	}
}

// sortedKeys returns the keys of a map in order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
