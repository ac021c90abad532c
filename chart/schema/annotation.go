// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/internal/suggest"
	"github.com/moonhelm/moonhelm/internal/yaml"
)

// The markers of annotations. An annotation is a line "# @schema key:value; key:value", or
// lines of YAML between two lines "# @schema".
const (
	annotation     = "@schema"
	annotationRoot = "@schema.root"
)

// note is the result of parsing the annotations of a key.
type note struct {
	line     int
	node     *yaml.Node // the keywords for the schema
	required bool       // if set, the parent's schema requires the key
	flags    []string   // options for deriving the schema
}

// annotated is an annotation with the path of its key.
type annotated struct {
	note *note
	path string
}

func (n *note) has(flag string) bool { return n != nil && slices.Contains(n.flags, flag) }

func typeNames() []string {
	return []string{"string", "integer", "number", "boolean", "object", "array", "null"}
}

// keywords returns the keywords of draft 7, of later drafts and of other tools for such
// annotations, with the kind of value of each.
func keywords() map[string]string {
	kinds := map[string]string{
		"type": "type", "item": "type", "required": "required", "enum": "list", "itemEnum": "list", "examples": "list",
		"x-kubernetes-list-type": "listType", "x-kubernetes-list-map-keys": "list",
		"default": "any", "const": "any", "items": "schema", "additionalProperties": "schema", "additionalItems": "schema",
	}
	for kind, names := range map[string]string{
		"text": "title description pattern format $ref itemRef $id $comment $schema contentEncoding contentMediaType",
		"number": "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength minItems maxItems " +
			"minProperties maxProperties",
		"flag":   "nullable hidden skipProperties mergeProperties",
		"bool":   "uniqueItems readOnly writeOnly deprecated",
		"list":   "anyOf oneOf allOf",
		"schema": "not if then else contains propertyNames unevaluatedProperties",
		"map":    "properties patternProperties itemProperties dependencies definitions $defs",
	} {
		for name := range strings.FieldsSeq(names) {
			kinds[name] = kind
		}
	}
	return kinds
}

// readNote parses annotations. It returns nil if there are none.
func readNote(file, path, mark string, lines []line) (*note, error) {
	if len(lines) == 0 {
		return nil, nil
	}
	r := noteReader{file: file, path: path, kinds: keywords(), note: &note{line: lines[0].number, node: mapping()}}
	for i := 0; i < len(lines); i++ {
		l := lines[i]
		rest := strings.TrimSpace(strings.TrimPrefix(l.words(), mark))
		if rest != "" {
			if err := r.oneLine(l.number, rest); err != nil {
				return nil, err
			}
			continue
		}
		var body []string
		for i++; i < len(lines) && lines[i].words() != mark; i++ {
			body = append(body, strings.TrimPrefix(strings.TrimPrefix(lines[i].text, "#"), " "))
		}
		if i == len(lines) {
			return nil, r.errorf(l.number, "the block that begins here has no end: close it with a line # %s", mark)
		}
		if err := r.block(l.number, strings.Join(body, "\n")); err != nil {
			return nil, err
		}
	}
	return r.note, nil
}

type noteReader struct {
	file, path string
	kinds      map[string]string
	note       *note
}

func (r *noteReader) errorf(number int, format string, args ...any) error {
	return &chart.InvalidError{File: r.file, Line: number, Field: r.path, Problem: annotation + ": " +
		fmt.Sprintf(format, args...)}
}

// oneLine parses "key:value; key:value; key".
func (r *noteReader) oneLine(number int, body string) error {
	for _, part := range splitTop(body) {
		key, value, found := strings.Cut(part, ":")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		if key == "" && !found {
			continue
		}
		kind, err := r.kind(number, key)
		if err != nil {
			return err
		}
		var v *yaml.Node
		switch {
		case value == "" && (kind == "flag" || kind == "bool" || kind == "required"):
			v = &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: "true"}
		case value == "" && kind != "text":
			return r.errorf(number, "%s needs a value: %s:...", key, key)
		case kind == "text":
			v = text(unquote(value))
		default:
			if v = yaml.Root([]byte(value)); v == nil {
				return r.errorf(number, "the value of %s is not YAML: %s", key, value)
			}
		}
		if err := r.keyword(number, key, kind, v); err != nil {
			return err
		}
	}
	return nil
}

// block parses a block of YAML.
func (r *noteReader) block(number int, body string) error {
	var doc yaml.Node
	if err := yaml.UnmarshalV3([]byte(body), &doc); err != nil {
		bad := yamlError(r.file, number, err).(*chart.InvalidError)
		bad.Field, bad.Problem = r.path, annotation+": "+bad.Problem
		if bad.Line == 0 {
			bad.Line = number
		}
		return bad
	}
	if len(doc.Content) == 0 {
		return nil
	}
	if doc.Content[0].Kind != yaml.MappingNode {
		return r.errorf(number+1, "must be keywords and values (type: string)")
	}
	for i := 0; i+1 < len(doc.Content[0].Content); i += 2 {
		key, v := doc.Content[0].Content[i], doc.Content[0].Content[i+1]
		kind, err := r.kind(number+key.Line, key.Value)
		if err != nil {
			return err
		}
		if err := r.keyword(number+key.Line, key.Value, kind, v); err != nil {
			return err
		}
	}
	return nil
}

func (r *noteReader) kind(number int, key string) (string, error) {
	if kind := r.kinds[key]; kind != "" {
		return kind, nil
	}
	if strings.HasPrefix(key, "x-") {
		return "any", nil
	}
	most := 1
	if len(key) > 4 {
		most = 2
	}
	if name := suggest.Similar(slices.Sorted(maps.Keys(r.kinds)), key, most, strings.ToLower); name != "" {
		return "", r.errorf(number, "there is no key %q; did you mean %s?", key, name)
	}
	return "", r.errorf(number, "there is no key %q; valid keys are the keywords of JSON Schema (type, enum, pattern, "+
		"minimum, required, ...)", key)
}

// keyword adds a keyword to the note.
func (r *noteReader) keyword(number int, key, kind string, v *yaml.Node) error {
	if err := clean(v, 0); err != nil {
		return r.errorf(number, "%s %s", key, err)
	}
	if problem := mismatch(kind, v); problem != "" {
		return r.errorf(number, "%s must be %s", key, problem)
	}
	into := r.note.node
	switch key {
	case "required":
		if v.Kind == yaml.ScalarNode {
			r.note.required = v.Value == "true"
			return nil
		}
	case "nullable", "hidden", "skipProperties", "mergeProperties":
		if v.Value == "true" {
			r.note.flags = append(r.note.flags, key)
		}
		return nil
	case "type":
		v = typeList(types(v))
	case "item", "itemEnum", "itemProperties", "itemRef":
		if into = yaml.Value(r.note.node, "items"); into == nil || into.Kind != yaml.MappingNode {
			into = mapping()
			set(r.note.node, "items", into)
		}
		key = map[string]string{"item": "type", "itemEnum": "enum", "itemProperties": "properties", "itemRef": "$ref"}[key]
		if key == "type" {
			v = typeList(types(v))
		}
	case "$ref":
		// Draft 7 ignores the keywords next to a $ref.
		all := yaml.Value(into, "allOf")
		if all == nil {
			all = &yaml.Node{Kind: yaml.SequenceNode}
			add(into, "allOf", all)
		}
		ref := mapping()
		add(ref, "$ref", v)
		all.Content = append(all.Content, ref)
		return nil
	case "allOf":
		if all := yaml.Value(into, "allOf"); all != nil {
			all.Content = append(all.Content, v.Content...)
			return nil
		}
	}
	set(into, key, v)
	return nil
}

// types returns the types in the value of the keyword type. An unquoted null is valid.
func types(v *yaml.Node) []string {
	var out []string
	for _, k := range kindsOf(v) {
		if k == "" || k == "~" {
			k = "null"
		}
		if !slices.Contains(out, k) {
			out = append(out, k)
		}
	}
	return out
}

// mismatch returns what the value of a keyword must be, or "" if v is valid.
func mismatch(kind string, v *yaml.Node) string {
	tag := v.ShortTag()
	scalar := v.Kind == yaml.ScalarNode
	switch kind {
	case "type":
		for _, k := range types(v) {
			if !slices.Contains(typeNames(), k) {
				return "one of " + strings.Join(typeNames(), ", ") + ", or a list of them; is " + k
			}
		}
		if len(types(v)) == 0 {
			return "one of " + strings.Join(typeNames(), ", ") + ", or a list of them"
		}
	case "text":
		if !scalar {
			return "a string"
		}
	case "number":
		if !scalar || tag != "!!int" && tag != "!!float" {
			return "a number"
		}
	case "bool", "flag":
		if tag != "!!bool" {
			return "true or false"
		}
	case "required":
		if tag != "!!bool" && v.Kind != yaml.SequenceNode {
			return "true, false or a list of keys"
		}
	case "list":
		if v.Kind != yaml.SequenceNode {
			return "a list: [a, b]"
		}
	case "listType":
		if v.Value != "map" && v.Value != "set" && v.Value != "atomic" {
			return "map, set or atomic"
		}
	case "map":
		if v.Kind != yaml.MappingNode {
			return "a map"
		}
	case "schema":
		if tag != "!!bool" && v.Kind != yaml.MappingNode && v.Kind != yaml.SequenceNode {
			return "a schema, true or false"
		}
	}
	return ""
}

// clean removes comments from an annotation's YAML. Anchors and aliases are an error.
func clean(n *yaml.Node, depth int) error {
	switch {
	case depth > maxDepth/2:
		return ErrTooDeep
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		return fmt.Errorf("must be written without anchors and aliases")
	}
	n.HeadComment, n.LineComment, n.FootComment = "", "", ""
	for _, c := range n.Content {
		if err := clean(c, depth+1); err != nil {
			return err
		}
	}
	if depth == 0 {
		block(n, true, 0)
	}
	return nil
}

// annotate merges a key's annotations into the schema derived from its value.
func (d *deriver) annotate(n *yaml.Node, s *shape, path string) (*yaml.Node, error) {
	ann := s.comment.schema
	if ann == nil {
		return n, nil
	}
	d.annotated = append(d.annotated, annotated{ann, path})
	have := mapping()
	have.Content = slices.Clone(ann.node.Content)
	kinds := kindsOf(yaml.Value(have, "type"))
	if kinds == nil && s.kind != "" {
		kinds = []string{s.kind}
	}
	if len(kinds) > 0 && !slices.ContainsFunc(kinds, func(k string) bool { return k != "string" && k != "null" }) {
		for _, k := range []string{"enum", "const", "default"} {
			stringify(yaml.Value(have, k))
		}
	}
	null := s.value == nil && !s.noValue && !ann.required || ann.has("nullable")
	for _, m := range []*yaml.Node{have, n} {
		if t := yaml.Value(m, "type"); null && t != nil && !slices.Contains(kindsOf(t), "null") {
			set(m, "type", typeList(append(slices.Clone(kindsOf(t)), "null")))
		}
	}
	if skip := yaml.Value(have, "items"); skip != nil && skip.Kind != yaml.MappingNode {
		remove(n, "items")
	}
	fill(have, n, 0)
	sortKeywords(have)
	return have, nil
}

// stringify converts scalars other than null into strings.
func stringify(n *yaml.Node) {
	switch {
	case n == nil:
	case n.Kind == yaml.SequenceNode:
		for _, e := range n.Content {
			stringify(e)
		}
	case n.Kind == yaml.ScalarNode && n.ShortTag() != "!!null":
		*n = *text(n.Value)
	}
}

// sortKeywords sorts the keywords, with those that identify a schema first and those with
// nested schemas last.
func sortKeywords(n *yaml.Node) {
	order := []string{"$schema", "$id", "title", "description", "type", "default"}
	last := []string{"items", "properties", "required", "additionalProperties"}
	rank := func(key string) int {
		if i := slices.Index(order, key); i >= 0 {
			return i
		}
		return len(order) + 1 + slices.Index(last, key)
	}
	pairs := make([][2]*yaml.Node, 0, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		pairs = append(pairs, [2]*yaml.Node{n.Content[i], n.Content[i+1]})
	}
	slices.SortStableFunc(pairs, func(a, b [2]*yaml.Node) int { return rank(a[0].Value) - rank(b[0].Value) })
	for i, p := range pairs {
		n.Content[2*i], n.Content[2*i+1] = p[0], p[1]
	}
}

// root returns the annotations of @schema.root.
func (c *comments) root(s *source) (comment, error) {
	n, err := readNote(s.name, "", annotationRoot, c.top)
	return comment{schema: n}, err
}

// unclaimed returns an error for an annotation that is not at a key.
func (c *comments) unclaimed(s *source) error {
	open := false
	for i, text := range s.lines {
		l := line{i + 1, strings.TrimSpace(text)}
		if !isComment(text) || !l.isMark(annotation) || !s.comments[l.text] {
			continue
		}
		wasOpen := open
		if l.words() == annotation {
			open = !open
		}
		if c.used[l.number] || wasOpen {
			continue
		}
		next := i + 1
		for next < len(s.lines) && isComment(s.lines[next]) {
			next++
		}
		switch {
		case next == len(s.lines) || strings.TrimSpace(s.lines[next]) == "":
			return &chart.InvalidError{File: s.name, Line: l.number, Problem: annotation +
				": is not at a key; write it directly above one, without an empty line between"}
		case strings.HasPrefix(strings.TrimSpace(s.lines[next]), "-"):
			return &chart.InvalidError{File: s.name, Line: l.number, Problem: annotation +
				": an item of a list cannot have one; annotate the list's key, with items"}
		}
	}
	return nil
}

// blame returns an error for the annotation that makes a schema invalid, or err if there is
// none.
func (d *deriver) blame(err error) error {
	for _, a := range d.annotated {
		body, encErr := encode(a.note.node)
		if encErr != nil {
			continue
		}
		problem := Options{}.check(body)
		if problem == nil {
			continue
		}
		text := problem.(*chart.InvalidError).Problem
		if strings.Contains(string(body), "$ref") && !strings.Contains(text, "is not a valid JSON Schema") &&
			!d.isAboutRef(a.note.node, err) {
			continue // the reference may be valid in the whole schema
		}
		return &chart.InvalidError{File: d.source.name, Line: a.note.line, Field: a.path, Problem: annotation + ": " + text}
	}
	return err
}

// isAboutRef reports whether an error is about a reference in an annotation.
func (d *deriver) isAboutRef(n *yaml.Node, err error) bool {
	if ref := yaml.Value(n, "$ref"); ref != nil && strings.Contains(err.Error(), strings.TrimLeft(ref.Value, "#./")) {
		return true
	}
	return slices.ContainsFunc(n.Content, func(c *yaml.Node) bool { return d.isAboutRef(c, err) })
}
