// SPDX-License-Identifier: Apache-2.0

package jsonschema

import (
	"encoding/json"
	"errors"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// FuzzReference generates schemas with all keywords and drafts, and values for them, and
// compares this package with the library that Helm uses.
func FuzzReference(f *testing.F) {
	for seed := range 200 {
		f.Add([]byte{byte(seed), byte(seed >> 8), byte(seed * 7), byte(seed * 31)})
	}
	f.Fuzz(func(t *testing.T, choices []byte) { compareCase(t, choices) })
}

// TestReferenceGenerated runs the fuzz test on as many cases as fit into a test run.
func TestReferenceGenerated(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	n := 300
	if testing.Short() {
		n = 50
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range n {
		choices := make([]byte, 8)
		for i := range choices {
			choices[i] = byte(random.Uint32())
		}
		compareCase(t, choices)
	}
}

func compareCase(t *testing.T, choices []byte) {
	t.Helper()
	m := newMaker(choices)
	draft := m.of("", draft4.url+"#", draft6.url+"#", draft7.url+"#", draft2019.url, draft2020.url)
	schema := m.root(draft)
	others := map[string]string{"chart:///other.json": m.text(m.root(m.of("", draft, draft7.url, draft2019.url)))}
	if draft == "" && m.one(30) {
		schema["$schema"] = "chart:///meta.json"
		others["chart:///meta.json"] = m.text(m.metaschema())
	}
	c := madeCase{m.text(schema), m.text(m.value(3)), others}
	if !c.differs() {
		return
	}
	c.shrink()
	got, want := c.outcomes()
	t.Errorf("schema %s\nvalue %s\nothers %s\nours\n%s\nreference\n%s", c.schema, c.value, c.others, got, want)
}

// madeCase has a schema, a value, and the documents to which the schema may refer.
type madeCase struct {
	schema, value string
	others        map[string]string
}

func (c *madeCase) load(url string) (any, error) {
	if text, ok := c.others[url]; ok {
		return decode(text), nil
	}
	return nil, errors.New("outside")
}

func (c *madeCase) outcomes() (got, want outcome) {
	return ours(decode(c.schema), decode(c.value), c.load), theirs(decode(c.schema), decode(c.value), c.load)
}

// wrapped matches a count that the reference reads as a negative one, because it has more than
// 63 bits (docs/differences.md).
var wrapped = regexp.MustCompile(`-\d{18,}`)

// differs reports whether the two disagree. The reference has no limits, so cases that exceed
// ours are ignored.
func (c *madeCase) differs() bool {
	limited := Compiler{Load: c.load, Limits: Limits{Steps: 20_000}}
	if s, err := limited.Compile("chart:///s.json", decode(c.schema)); err == nil {
		if _, err := s.Validate(decode(c.value), Limits{Steps: 5_000}); err != nil {
			return false
		}
	}
	got, want := c.outcomes()
	if got.schema != "" && want.schema != "" && !sameDocument(got.schema, want.schema) {
		return false // the order of several errors is random
	}
	if slices.ContainsFunc(want.violations, wrapped.MatchString) {
		return false
	}
	return !got.equal(want)
}

// shrink reduces a case as long as the results differ.
func (c *madeCase) shrink() {
	texts := []*string{&c.schema, &c.value}
	for _, url := range slices.Sorted(maps.Keys(c.others)) {
		text := c.others[url]
		texts = append(texts, &text)
	}
	for again := true; again; {
		again = false
		for i, text := range texts {
			before := *text
			for _, smaller := range reductions(decode(before)) {
				b, _ := json.Marshal(smaller)
				*text = string(b)
				if i > 1 {
					c.others[slices.Sorted(maps.Keys(c.others))[i-2]] = *text
				}
				if len(*text) < len(before) && c.differs() {
					again = true
					break
				}
				*text = before
				if i > 1 {
					c.others[slices.Sorted(maps.Keys(c.others))[i-2]] = before
				}
			}
		}
	}
}

// reductions returns copies of v with one element less.
func reductions(v any) []any {
	var out []any
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			out = append(out, without(v, k, nil))
			for _, smaller := range append(reductions(v[k]), map[string]any{}) {
				out = append(out, without(v, k, smaller))
			}
		}
	case []any:
		for i := range v {
			out = append(out, append(append([]any{}, v[:i]...), v[i+1:]...))
			for _, smaller := range reductions(v[i]) {
				list := append([]any{}, v...)
				list[i] = smaller
				out = append(out, list)
			}
		}
	}
	return out
}

func without(v map[string]any, key string, instead any) map[string]any {
	out := maps.Clone(v)
	delete(out, key)
	if instead != nil {
		out[key] = instead
	}
	return out
}

// sameDocument reports whether two errors are of the validation of the same document against
// its metaschema.
func sameDocument(a, b string) bool {
	a, _, _ = strings.Cut(a, " ")
	b, _, _ = strings.Cut(b, " ")
	return a == b && strings.HasPrefix(a, "chart:///")
}

func decode(text string) any {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		panic(err)
	}
	return v
}

// maker generates schemas and values from choices; when these are exhausted, from a hash of
// them.
type maker struct {
	choices []byte
	rest    *rand.Rand
	draft   *draft
	named   int // number of identifiers so far
}

func newMaker(choices []byte) *maker {
	h := fnv.New64a()
	h.Write(choices)
	return &maker{choices: choices, rest: rand.New(rand.NewPCG(h.Sum64(), 1))}
}

func (m *maker) pick(n int) int {
	if len(m.choices) == 0 {
		return m.rest.IntN(n)
	}
	c := m.choices[0]
	m.choices = m.choices[1:]
	return int(c) % n
}

// one returns true once in n times.
func (m *maker) one(n int) bool              { return m.pick(n) == 0 }
func (m *maker) of(choices ...string) string { return choices[m.pick(len(choices))] }

func (m *maker) text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func (m *maker) name() string {
	return m.of("a", "b", "c", "a", "b", "c", "x/y", "d.e", "1", "é z", "~")
}

func (m *maker) number() json.Number {
	return json.Number(m.of("0", "1", "2", "3", "1.0", "1.5", "-1", "2.50", "1e1", "100000", "0.1", "0.3", "123456789012345678901", "1e-2", "-0"))
}

func (m *maker) count() json.Number {
	return json.Number(m.of("0", "1", "2", "3", "1.0", "2e0", "2000"))
}

func (m *maker) string() string {
	return m.of("", "a", "b", "abc", "it's", "é", "a\"b", "1", "2020-01-01", "a@b.c", "::1", "http://a/b", "(", `x\`, "line\nend",
		"12:00:00Z", "P1D", "/a/b", "1.2.3.4", "2020-01-01T00:00:00Z")
}

func (m *maker) scalar() any {
	switch m.pick(6) {
	case 0:
		return nil
	case 1:
		return m.one(2)
	case 2, 3:
		return m.number()
	}
	return m.string()
}

func (m *maker) value(depth int) any {
	if depth == 0 || m.one(4) {
		return m.scalar()
	}
	if m.one(3) {
		var list []any
		for range m.pick(5) {
			list = append(list, m.value(depth-1))
		}
		if list == nil {
			return []any{}
		}
		return list
	}
	object := map[string]any{}
	for range m.pick(5) {
		object[m.name()] = m.value(depth - 1)
	}
	return object
}

func (m *maker) root(schema string) map[string]any {
	m.draft = latest
	if schema != "" {
		m.draft = draftOf(strings.TrimSuffix(schema, "#"))
	}
	s := m.object(2)
	// Mostly names that exist.
	m.named = 3
	if m.one(2) {
		s["$anchor"], s["properties"] = "x", map[string]any{"a": map[string]any{"$anchor": "y", "type": "string"}}
	} else if m.one(2) && m.draft.version >= 2020 {
		s["$dynamicAnchor"] = "x"
		s["allOf"] = []any{map[string]any{"$id": "sub", "$dynamicAnchor": "x", "$defs": map[string]any{"y": map[string]any{"$anchor": "y"}}}}
	}
	if schema != "" {
		s["$schema"] = schema
	}
	for _, keyword := range []string{"$defs", "definitions"} {
		if m.one(20) {
			continue
		}
		defs := map[string]any{}
		for _, name := range []string{"a", "b", "c"} {
			defs[name] = m.schema(1)
		}
		s[keyword] = defs
	}
	return s
}

func (m *maker) metaschema() map[string]any {
	d := []*draft{draft2019, draft2020}[m.pick(2)]
	chosen := map[string]any{}
	for range m.pick(5) {
		chosen[d.prefix+"vocab/"+d.vocabularies[m.pick(len(d.vocabularies))]] = !m.one(5)
	}
	return map[string]any{"$schema": d.url, "$vocabulary": chosen}
}

func (m *maker) schema(depth int) any {
	if m.draft.version >= 6 && m.one(8) || m.one(200) {
		return !m.one(3)
	}
	return m.object(depth)
}

func (m *maker) schemas(depth int) []any {
	list := []any{m.schema(depth)}
	for range m.pick(3) {
		list = append(list, m.schema(depth))
	}
	return list
}

func (m *maker) table(depth int, names ...string) map[string]any {
	out := map[string]any{}
	for range 1 + m.pick(3) {
		name := m.name()
		if len(names) > 0 {
			name = m.of(names...)
		}
		out[name] = m.schema(depth)
	}
	return out
}

func (m *maker) names() []any {
	seen := map[string]bool{m.name(): true}
	for range m.pick(3) {
		seen[m.name()] = true
	}
	var out []any
	for _, name := range slices.Sorted(maps.Keys(seen)) {
		out = append(out, name)
	}
	return out
}

func (m *maker) ref() string {
	if m.one(40) {
		return m.of("#/allOf/0", "#/unknown/a", "#/definitions/b/properties/x~1y", "#/nope", "sub#y", "http://x/y", "a b")
	}
	return m.of("#", "#/$defs/a", "#/$defs/b", "#/definitions/a", "#/definitions/c", "#/definitions/a", "#x", "#y", "sub", "#/$defs/b", "other.json#/definitions/b",
		"other.json", "other.json#/$defs/a", "other.json#x", "#/$defs/c", "#/definitions/b", "#/%24defs/b", "http://json-schema.org/draft-07/schema#",
		"https://json-schema.org/draft/2020-12/schema", "https://json-schema.org/draft/2019-09/meta/core", "#/$defs/a", "#/definitions/b", "#/definitions/c")
}

// object generates a schema that is not a boolean.
func (m *maker) object(depth int) map[string]any {
	s := map[string]any{}
	for range 1 + m.pick(4) {
		keyword, v := m.keyword(depth)
		if m.one(400) {
			v = m.value(1)
		}
		s[keyword] = v
	}
	if _, both := s["exclusiveMinimum"].(bool); both && s["minimum"] == nil {
		s["minimum"] = m.number()
	}
	return s
}

func (m *maker) keyword(depth int) (string, any) {
	if depth > 0 && !m.one(3) {
		return m.applicator(depth - 1)
	}
	if m.one(6) {
		return m.identity()
	}
	switch keyword := m.of("type", "type", "enum", "const", "format", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
		"multipleOf", "minLength", "maxLength", "pattern", "minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties",
		"required", "dependentRequired", "title", "contentEncoding", "minContains", "maxContains"); keyword {
	case "type":
		types := []any{m.of(typeNames...)}
		if m.one(2) {
			return keyword, types[0]
		}
		if other := m.of(typeNames...); other != types[0] {
			types = append(types, other)
		}
		return keyword, types
	case "enum":
		list := []any{m.value(1)}
		if m.one(2) {
			list = append(list, m.string()+"!")
		}
		return keyword, list
	case "const":
		return keyword, m.value(1)
	case "format":
		return keyword, m.of("date", "time", "date-time", "email", "hostname", "ipv4", "ipv6", "uri", "uri-reference", "iri", "regex",
			"json-pointer", "relative-json-pointer", "uuid", "duration", "period", "semver", "uri-template", "unknown")
	case "exclusiveMinimum", "exclusiveMaximum":
		if m.draft.version == 4 {
			return "exclusiveMinimum", true
		}
		return keyword, m.number()
	case "minimum", "maximum":
		return keyword, m.number()
	case "multipleOf":
		return keyword, json.Number(m.of("1", "2", "0.1", "0.01", "1.5", "3.0"))
	case "pattern":
		return keyword, m.of("^a", "b$", "^[0-9]+$", "", "it's", `\p{L}`)
	case "uniqueItems":
		return keyword, !m.one(5)
	case "required":
		return keyword, m.names()
	case "dependentRequired":
		return keyword, map[string]any{m.name(): m.names()}
	case "title", "contentEncoding":
		return keyword, m.string()
	default:
		return keyword, m.count()
	}
}

func (m *maker) identity() (string, any) {
	switch m.pick(12) {
	case 0:
		m.named++
		if m.named > 1 {
			return m.draft.id, m.of("n", "http://x/n", "#n", "a/n") + strconv.Itoa(m.named)
		}
		return m.draft.id, m.of("sub", "sub", "http://x/y", "sub#")
	case 1, 2:
		m.named++
		name := "n" + strconv.Itoa(m.named)
		if m.named < 3 {
			name = m.of("x", "y")
		}
		return m.of("$anchor", "$dynamicAnchor", "$dynamicAnchor"), name
	case 3:
		if m.draft.is2019() {
			return "$recursiveAnchor", true
		}
	case 4:
		if m.one(10) {
			return "$schema", m.of(draft4.url, draft7.url+"#", draft2019.url, draft2020.url)
		}
	case 5:
		return "$dynamicRef", m.of("#x", "#y", "#/$defs/a", "#x", "other.json#/$defs/b", "#")
	case 6:
		return "$recursiveRef", "#"
	}
	return "$ref", m.ref()
}

func (m *maker) applicator(depth int) (string, any) {
	switch keyword := m.of("properties", "properties", "patternProperties", "additionalProperties", "propertyNames", "dependencies",
		"dependentSchemas", "items", "items", "prefixItems", "additionalItems", "contains", "not", "allOf", "anyOf", "oneOf", "if", "then", "else",
		"unevaluatedProperties", "unevaluatedItems", "contentSchema", "$defs", "unknown"); keyword {
	case "properties", "dependentSchemas", "$defs", "unknown":
		return keyword, m.table(depth)
	case "patternProperties":
		return keyword, m.table(depth, "^a", "b", ".", "/")
	case "dependencies":
		out := m.table(depth)
		out[m.name()] = m.names()
		return keyword, out
	case "items":
		if m.draft.version < 2020 && m.one(2) {
			return keyword, m.schemas(depth)
		}
		return keyword, m.schema(depth)
	case "prefixItems", "allOf", "anyOf", "oneOf":
		return keyword, m.schemas(depth)
	case "additionalProperties", "additionalItems", "unevaluatedProperties", "unevaluatedItems":
		if m.one(2) {
			return keyword, false
		}
		return keyword, m.schema(depth)
	default:
		return keyword, m.schema(depth)
	}
}
