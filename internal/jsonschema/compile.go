// SPDX-License-Identifier: Apache-2.0

package jsonschema

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// compilation is the state of a call of [Compiler.Compile].
type compilation struct {
	*Compiler
	docs map[string]*document
	// pending are the references to resolve. They are resolved in a loop, because schemas
	// refer to themselves and long chains of references would exhaust the stack.
	pending []pendingRef
	loading []string // the metaschemas that are being loaded
	meta    bool     // set for a metaschema; see compileMeta
}

// pendingRef is a reference and the field to set to its target.
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

// add adds a document: it collects its identifiers and anchors, and checks it.
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

// check validates a schema against its metaschema.
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

// once removes duplicate violations, which vocabularies with the same keyword report.
func once(found []Violation) []Violation {
	var out []Violation
	for _, v := range found {
		if !slices.ContainsFunc(out, func(o Violation) bool { return o.String() == v.String() }) {
			out = append(out, v)
		}
	}
	return out
}

// dialectAt returns the dialect for text, the value of $schema in the schema where of the
// document at.
func (c *compilation) dialectAt(text, where, pointer string) (*dialect, error) {
	text, _, _ = strings.Cut(text, "#")
	if _, err := url.Parse(text); err != nil {
		return nil, fmt.Errorf("invalid $schema in %q: %w", where, err)
	}
	if d := draftOf(text); d != nil {
		return &dialect{draft: d}, nil
	}
	if text == pointer {
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

// choose returns the dialect with the vocabularies that a metaschema declares.
func choose(d *draft, pointer string, meta map[string]any) (*dialect, error) {
	declared, ok := meta["$vocabulary"].(map[string]any)
	if !ok || d.version < 2019 {
		return &dialect{draft: d}, nil
	}
	chosen := []string{}
	for _, name := range slices.Sorted(maps.Keys(declared)) {
		if required, _ := declared[name].(bool); !required {
			continue
		}
		known, found := strings.CutPrefix(name, d.prefix+"vocab/")
		if !found || !slices.Contains(d.vocabularies, known) {
			return nil, fmt.Errorf("unsupported vocabulary %q in %q", name, pointer)
		}
		chosen = append(chosen, known)
	}
	return &dialect{draft: d, chosen: chosen}, nil
}

// load returns the decoded document at a URL.
func (c *compilation) load(url string) (any, error) {
	if file := metaFile(url); file != "" {
		return readMeta(file)
	}
	if c.Load == nil {
		return nil, &LoadError{url, errors.New("other documents are not available")}
	}
	root, err := c.Load(url)
	if err != nil {
		return nil, &LoadError{url, err}
	}
	return root, nil
}

// document returns the document at a URL, which it loads if needed.
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

// resolve returns the target of a reference in a resource.
func (c *compilation) resolve(ref string, from *resource) (*Schema, error) {
	target, fragment, err := c.target(ref, from)
	if err != nil {
		return nil, err
	}
	// All of another document's resource must be valid, not only the target.
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

// target splits a reference into the resource to which it refers and a fragment.
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

// schemaAt returns the compiled schema v, which is at a pointer in res.
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

// anchored compiles the schemas of a resource to which dynamic references may refer.
func (c *compilation) anchored(res *resource) error {
	for _, name := range slices.Sorted(maps.Keys(res.dynamic)) {
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
