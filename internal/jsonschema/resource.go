// SPDX-License-Identifier: Apache-2.0

package jsonschema

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// document is a document with a schema, which may contain other schemas.
type document struct {
	url  string
	root any
	// resources by JSON pointer: the root and the schemas with an identifier.
	resources map[string]*resource
	byURL     map[string]*resource // those with an identifier
	// schemas are the compiled schemas by JSON pointer.
	schemas map[string]*Schema
}

// resource is a schema with an identifier, to which the references and anchors in it are
// relative.
type resource struct {
	doc     *document
	pointer string
	url     string
	dialect *dialect
	anchors map[string]string // name to JSON pointer
	dynamic map[string]bool   // the anchors from $dynamicAnchor
	// recursive is the value of $recursiveAnchor of draft 2019-09.
	recursive bool
	// dynamicSchemas are the schemas of dynamic anchors, by name, once compiled.
	dynamicSchemas map[string]*Schema
	root           *Schema // once compiled
}

// place is the set of forms in which a keyword contains schemas.
type place int

const (
	one place = 1 << iota // a schema
	list
	table
)

// places returns the forms in which a keyword of a draft contains schemas, or 0.
func places(d *draft, keyword string) place {
	since, p := 99999, place(0)
	switch keyword {
	case "definitions", "properties", "patternProperties", "dependencies":
		since, p = 4, table
	case "not", "additionalProperties", "additionalItems":
		since, p = 4, one
	case "allOf", "anyOf", "oneOf":
		since, p = 4, list
	case "items":
		since, p = 4, one|list
	case "propertyNames", "contains":
		since, p = 6, one
	case "if", "then", "else":
		since, p = 7, one
	case "$defs", "dependentSchemas":
		since, p = 2019, table
	case "unevaluatedProperties", "unevaluatedItems", "contentSchema":
		since, p = 2019, one
	case "prefixItems":
		since, p = 2020, list
	}
	if d.version < since {
		return 0
	}
	return p
}

// eachSchema calls fn for the schemas directly below obj, with their JSON pointers.
func eachSchema(d *draft, pointer string, obj map[string]any, fn func(pointer string, v any) error) error {
	for _, keyword := range slices.Sorted(maps.Keys(obj)) {
		p := places(d, keyword)
		if p == 0 {
			continue
		}
		path := pointer + "/" + escape(keyword)
		switch v := obj[keyword].(type) {
		case map[string]any:
			if p&one != 0 {
				if err := fn(path, v); err != nil {
					return err
				}
			}
			if p&table != 0 {
				for _, name := range slices.Sorted(maps.Keys(v)) {
					if err := fn(path+"/"+escape(name), v[name]); err != nil {
						return err
					}
				}
			}
		case []any:
			for i := 0; p&list != 0 && i < len(v); i++ {
				if err := fn(path+"/"+strconv.Itoa(i), v[i]); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// collect records the identifiers and anchors of the schema v and of those below it.
func (c *compilation) collect(res *resource, pointer string, v any) error {
	obj, ok := v.(map[string]any)
	if !ok {
		return nil
	}
	res, err := c.identify(res, pointer, obj)
	if err != nil {
		return err
	}
	if err := res.noteAnchors(pointer, obj); err != nil {
		return err
	}
	return eachSchema(res.dialect.draft, pointer, obj, func(pointer string, v any) error {
		return c.collect(res, pointer, v)
	})
}

// identify returns the resource that contains obj, which is a new one if obj has an
// identifier.
func (c *compilation) identify(res *resource, pointer string, obj map[string]any) (*resource, error) {
	doc := res.doc
	if pointer == "" {
		id, err := identifier(res, pointer, obj)
		if err == nil && id != "" {
			res.url, doc.byURL[id] = id, res
		}
		return res, err
	}
	// If the schema has its own draft, use that draft's keyword.
	dialect := res.dialect
	if text, ok := obj["$schema"].(string); ok {
		d, err := c.dialectAt(text, doc.url+"#"+pointer, doc.url)
		if err != nil {
			return nil, err
		}
		dialect = d
	}
	probe := *res
	probe.dialect = dialect
	id, err := identifier(&probe, pointer, obj)
	if err == nil && id == "" { // no identifier by its own draft: use the draft of the schema around it
		dialect = res.dialect
		id, err = identifier(res, pointer, obj)
	}
	if err != nil || id == "" {
		return res, err
	}
	if other := doc.byURL[id]; other != nil && other.pointer != pointer {
		return nil, fmt.Errorf("duplicate id %q in %q at %q and %q", id, doc.url, other.pointer, pointer)
	}
	made := newResource(doc, pointer, id, dialect)
	doc.byURL[id] = made
	return made, nil
}

// newResource adds a resource to a document.
func newResource(doc *document, pointer, url string, d *dialect) *resource {
	r := &resource{
		doc: doc, pointer: pointer, url: url, dialect: d,
		anchors: map[string]string{}, dynamic: map[string]bool{}, dynamicSchemas: map[string]*Schema{},
	}
	doc.resources[pointer] = r
	return r
}

// identifier returns the absolute URL of obj's identifier, or "" if it has none.
func identifier(res *resource, pointer string, obj map[string]any) (string, error) {
	d := res.dialect.draft
	if d.version < 2019 && obj["$ref"] != nil {
		return "", nil // the keywords next to a $ref are ignored
	}
	text, ok := obj[d.id].(string)
	if !ok {
		return "", nil
	}
	text, _, _ = strings.Cut(text, "#")
	if text == "" {
		return "", nil
	}
	id, err := join(res.url, text)
	if err != nil {
		return "", fmt.Errorf("error in parsing id at %q", res.doc.url+"#"+pointer)
	}
	return id, nil
}

// noteAnchors records the anchors of obj.
func (r *resource) noteAnchors(pointer string, obj map[string]any) error {
	d := r.dialect.draft
	if d.version < 2019 {
		if obj["$ref"] != nil {
			return nil
		}
		id, _ := obj[d.id].(string)
		_, fragment, _ := strings.Cut(id, "#")
		if fragment == "" {
			return nil
		}
		name, err := url.PathUnescape(fragment)
		if err != nil {
			return fmt.Errorf("error in parsing anchor at %q", r.doc.url+"#"+pointer)
		}
		return r.note(name, pointer)
	}
	if d.is2019() && pointer == r.pointer {
		r.recursive, _ = obj["$recursiveAnchor"].(bool)
	}
	if name, ok := obj["$anchor"].(string); ok {
		if err := r.note(name, pointer); err != nil {
			return err
		}
	}
	if name, ok := obj["$dynamicAnchor"].(string); ok && d.version >= 2020 {
		if err := r.note(name, pointer); err != nil {
			return err
		}
		r.dynamic[name] = true
	}
	return nil
}

func (r *resource) note(name, pointer string) error {
	if other, dup := r.anchors[name]; dup && other != pointer {
		return fmt.Errorf("duplicate anchor %q in %q at %q and %q", name, r.url, other, pointer)
	}
	r.anchors[name] = pointer
	return nil
}

// join resolves a reference.
func join(base, ref string) (string, error) {
	b, err := url.Parse(base)
	if err != nil {
		return "", err
	}
	r, err := b.Parse(ref)
	if err != nil {
		return "", err
	}
	return r.String(), nil
}

// escape escapes a token of a JSON pointer.
func escape(token string) string {
	if !strings.ContainsAny(token, "~/") {
		return token
	}
	return strings.ReplaceAll(strings.ReplaceAll(token, "~", "~0"), "/", "~1")
}

// unescape unescapes a token of a JSON pointer.
func unescape(token string) (string, bool) {
	if !strings.Contains(token, "~") {
		return token, true
	}
	for i := 0; i < len(token); i++ {
		if token[i] == '~' && (i+1 == len(token) || token[i+1] != '0' && token[i+1] != '1') {
			return "", false
		}
	}
	return strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~"), true
}

// find returns the value at a JSON pointer, the canonical pointer, the resource that contains
// the value, and whether a keyword makes it a schema. If none does, the resource is that of
// the last schema on the way.
func (doc *document) find(pointer string) (v any, canonical string, res *resource, known, ok bool) {
	v, res, known = doc.root, doc.resources[""], true
	var holds place // the forms in which the current value contains schemas; 0 for a schema
	inKeyword := false
	if pointer == "" {
		return v, "", res, true, true
	}
	for token := range strings.SplitSeq(pointer[1:], "/") {
		token, valid := unescape(token)
		if !valid {
			return nil, "", nil, false, false
		}
		switch node := v.(type) {
		case map[string]any:
			if v, ok = node[token]; !ok {
				return nil, "", nil, false, false
			}
			switch {
			case !known:
			case !inKeyword:
				holds = places(res.dialect.draft, token)
				inKeyword, known = true, holds != 0
			default:
				known, inKeyword = holds&table != 0, false
			}
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(node) {
				return nil, "", nil, false, false
			}
			token, v = strconv.Itoa(i), node[i]
			known, inKeyword = known && inKeyword && holds&list != 0, false
		default:
			return nil, "", nil, false, false
		}
		canonical += "/" + escape(token)
		if _, isObject := v.(map[string]any); known && inKeyword && holds&one != 0 && (holds&table == 0) && isObject {
			inKeyword = false
		}
		if r := doc.resources[canonical]; r != nil {
			res = r
		}
	}
	if _, isBool := v.(bool); isBool && known && inKeyword && holds&one != 0 {
		inKeyword = false
	}
	return v, canonical, res, known && !inKeyword, true
}
