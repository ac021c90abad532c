// SPDX-License-Identifier: Apache-2.0

package jsonschema

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// check compiles a schema and returns the violations of a value, one per line.
func check(t *testing.T, schema string, v any) string {
	t.Helper()
	var c Compiler
	s, err := c.Compile("chart:///s.json", decode(schema))
	if err != nil {
		t.Fatalf("%s: %v", schema, err)
	}
	found, err := s.Validate(v, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	lines := make([]string, len(found))
	for i, f := range found {
		lines[i] = f.String()
	}
	return strings.Join(lines, "\n")
}

func TestMessages(t *testing.T) {
	for name, tc := range map[string]struct{ schema, value, want string }{
		"type":            {`{"type":["string","null"]}`, `1`, "got number, want null or string"},
		"whole":           {`{"type":"integer"}`, `1.0`, ""},
		"fraction":        {`{"type":"integer"}`, `1.5`, "got number, want integer"},
		"const":           {`{"const":"it's"}`, `1`, `value must be 'it\'s'`},
		"enum":            {`{"enum":[1,"a",null]}`, `2`, "value must be one of 1, 'a', <nil>"},
		"required":        {`{"required":["a","b"]}`, `{}`, "missing properties 'a', 'b'"},
		"additional":      {`{"additionalProperties":false}`, `{"b":1,"a":1}`, "additional properties 'a', 'b' not allowed"},
		"pattern":         {`{"pattern":"^z"}`, `"abc"`, "'abc' does not match pattern '^z'"},
		"decimals":        {`{"multipleOf":0.01}`, `19.99`, ""},
		"not a multiple":  {`{"multipleOf":0.1}`, `1.05`, "multipleOf: got 1.05, want 0.1"},
		"large numbers":   {`{"const":123456789012345678901}`, `123456789012345678902`, "value must be 123456789012345678901"},
		"equal forms":     {`{"uniqueItems":true}`, `[{"a":1},2,{"a":1.0}]`, "items at 0 and 2 are equal"},
		"unevaluated":     {`{"allOf":[{"properties":{"a":true}}],"unevaluatedProperties":false}`, `{"a":1,"b":1}`, "b: false schema"},
		"condition":       {`{"if":{"required":["a"]},"then":{"required":["b"]}}`, `{"a":1}`, "missing property 'b'"},
		"none of several": {`{"anyOf":[{"type":"string"},{"properties":{"a":{"type":"string"}},"type":"object"}]}`, `{"a":1}`, "'anyOf' failed (got object, want string; or a: got number, want string)"},
		"two of several":  {`{"oneOf":[true,{},false]}`, `1`, "'oneOf' failed, subschemas 0, 1 matched"},
		"places":          {`{"properties":{"a.b":{"items":{"type":"string"}}}}`, `{"a.b":["x",1]}`, `a\.b[1]: got number, want string`},
		"a cycle":         {`{"$ref":"#"}`, `1`, `both /$ref and  resolve to "chart:///s.json#" causing reference cycle`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := check(t, tc.schema, decode(tc.value)); got != tc.want {
				t.Errorf("got\n%s\nwant\n%s", got, tc.want)
			}
		})
	}
}

// TestReference compares manual cases with the library that Helm uses.
func TestReference(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	text, err := os.ReadFile("testdata/cases.txt")
	if err != nil {
		t.Fatal(err)
	}
	load := func(string) (any, error) { return nil, errors.New("no other documents here") }
	for line := range strings.Lines(string(text)) {
		schema, value, ok := strings.Cut(strings.TrimSpace(line), " @@ ")
		if !ok {
			continue // a heading
		}
		got, want := ours(decode(schema), decode(value), load), theirs(decode(schema), decode(value), load)
		if !got.equal(want) {
			t.Errorf("%s\nours\n%s\nreference\n%s", line, got, want)
		}
	}
}

// Values may come from YAML and --set.
func TestGoTypes(t *testing.T) {
	type odd struct{}
	const number = `{"type":"integer","minimum":1,"maximum":300}`
	for _, v := range []any{1, int8(1), int16(1), int32(1), int64(1), uint(1), uint8(1), uint16(1), uint32(1), uint64(1), float32(1), 1.0} {
		if got := check(t, number, v); got != "" {
			t.Errorf("%T: %s", v, got)
		}
	}
	for name, tc := range map[string]struct {
		schema string
		v      any
		want   string
	}{
		"large":          {`{"maximum":1}`, uint64(math.MaxUint64), "maximum: got 18446744073709551615, want 1"},
		"decimal":        {`{"const":1.1}`, 1.1, ""},
		"short decimal":  {`{"const":1.1}`, float32(1.1), ""},
		"infinite":       {`{"type":"number"}`, math.Inf(1), "invalid jsonType float64"},
		"not JSON":       {`{"type":"object"}`, odd{}, "invalid jsonType jsonschema.odd"},
		"nothing to ask": {`{"title":"x"}`, odd{}, ""},
		"no items":       {`{"type":"array"}`, []any(nil), ""},
		"no members":     {`{"type":"object"}`, map[string]any(nil), ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := check(t, tc.schema, tc.v); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestBadSchemas(t *testing.T) {
	var c Compiler
	for schema, want := range map[string]string{
		`{"type":"strin"}`:                                         `"chart:///s.json#" is not a valid schema: type: 'anyOf' failed (value must be one of 'array', 'boolean', 'integer', 'null', 'number', 'object', 'string'; or got string, want array)`,
		`{"title":7}`:                                              `"chart:///s.json#" is not a valid schema: title: got number, want string`,
		`{"$ref":"#/nope"}`:                                        `json-pointer in "chart:///s.json#/nope" not found`,
		`{"$ref":"#nope"}`:                                         `anchor in "chart:///s.json#nope" not found in schema "chart:///s.json"`,
		`{"$ref":"other.json"}`:                                    `load "chart:///other.json": other documents are not available`,
		`{"$schema":"chart:///s.json"}`:                            `draft "chart:///s.json" is not supported`,
		`{"$ref":"#/x","x":{"minimum":""}}`:                        `"chart:///s.json#/x" is not a valid schema: minimum: got string, want number`,
		`{"properties":{"a":{"$id":"x"},"b":{"$id":"x"}}}`:         `duplicate id "chart:///x" in "chart:///s.json" at "/properties/a" and "/properties/b"`,
		`{"properties":{"a":{"$anchor":"x"},"b":{"$anchor":"x"}}}`: `duplicate anchor "x" in "chart:///s.json" at "/properties/a" and "/properties/b"`,
	} {
		t.Run(schema, func(t *testing.T) {
			if _, err := c.Compile("chart:///s.json", decode(schema)); err == nil || err.Error() != want {
				t.Errorf("%s\ngot  %v\nwant %s", schema, err, want)
			}
		})
	}
}

// An embedded schema may have another draft, and is validated with it.
func TestDraftsInOneDocument(t *testing.T) {
	const schema = `{"$ref":"old","$defs":{"old":{"$id":"old","$schema":"http://json-schema.org/draft-07/schema#","items":[{"type":"string"}]}}}`
	if got, want := check(t, schema, []any{1}), "[0]: got number, want string"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	var c Compiler
	var invalid *InvalidError
	if _, err := c.Compile("chart:///s.json", decode(strings.Replace(schema, `"old","$schema"`, `"#old","$schema"`, 1))); !errors.As(err, &invalid) {
		t.Errorf("a list of items passed as draft 2020-12: %v", err)
	}
}

// An author's metaschema chooses the vocabularies.
func TestVocabularies(t *testing.T) {
	c := Compiler{Load: func(url string) (any, error) {
		return decode(`{"$schema":"https://json-schema.org/draft/2020-12/schema","$vocabulary":{
			"https://json-schema.org/draft/2020-12/vocab/core":true,"https://json-schema.org/draft/2020-12/vocab/format-assertion":true}}`), nil
	}}
	s, err := c.Compile("chart:///s.json", decode(`{"$schema":"chart:///meta.json","type":"integer","format":"ipv4"}`))
	if err != nil {
		t.Fatal(err)
	}
	found, err := s.Validate("x", Limits{})
	if err != nil || len(found) != 1 || found[0].Problem != "'x' is not valid ipv4: expected four decimals" {
		t.Errorf("got %v, %v", found, err)
	}
}

// A schema is validated with the core vocabulary and the chosen ones.
func TestVocabulariesMetaschema(t *testing.T) {
	c := Compiler{Load: func(string) (any, error) {
		return decode(`{"$vocabulary":{"https://json-schema.org/draft/2020-12/vocab/applicator":true}}`), nil
	}}
	for schema, valid := range map[string]bool{`"$comment":7`: false, `"type":7`: true, `"allOf":7`: false} {
		t.Run(schema, func(t *testing.T) {
			_, err := c.Compile("chart:///s.json", decode(`{"$schema":"chart:///meta.json",`+schema+`}`))
			if (err == nil) != valid {
				t.Errorf("%s: %v", schema, err)
			}
		})
	}
}

func TestLimits(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	wide := `{"$ref":"#/$defs/x39","$defs":{"x0":{"required":["nope"]}`
	for i := 1; i < 40; i++ {
		wide += fmt.Sprintf(`,"x%d":{"allOf":[{"$ref":"#/$defs/x%d"},{"$ref":"#/$defs/x%d"}]}`, i, i-1, i-1)
	}
	wide += "}}"
	var chain strings.Builder
	chain.WriteString(`{"$ref":"#/$defs/0","$defs":{"20000":{}`)
	for i := range 20_000 {
		fmt.Fprintf(&chain, `,"%d":{"$ref":"#/$defs/%d"}`, i, i+1)
	}
	chain.WriteString("}}")
	list := `{"items":{"enum":[` + strings.Repeat(`"aaaa",`, 5000) + `"b"]}}`
	for name, tc := range map[string]struct {
		schema string
		v      any
		limits Limits
	}{
		"steps": {wide, map[string]any{}, Limits{Steps: 1000}},
		"time":  {wide, map[string]any{}, Limits{Time: 10 * time.Millisecond}},
		"depth": {chain.String(), 1, Limits{Time: time.Minute}},
		"work":  {`{"$schema":"http://json-schema.org/draft-07/schema#",` + list[1:], slices.Repeat([]any{"aaab"}, 100_000), Limits{Time: 10 * time.Millisecond}},
	} {
		t.Run(name, func(t *testing.T) {
			var c Compiler
			s, err := c.Compile("chart:///s.json", decode(strings.Replace(tc.schema, strings.Repeat(`"aaaa",`, 5000), manyNames(5000), 1)))
			if err != nil {
				t.Fatal(err)
			}
			if found, err := s.Validate(tc.v, tc.limits); !errors.Is(err, ErrTooSlow) {
				t.Errorf("got %d violations, %v", len(found), err)
			}
		})
	}
}

func manyNames(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"aaaa%d",`, i)
	}
	return b.String()
}

func TestValidateConcurrently(t *testing.T) {
	var c Compiler
	s, err := c.Compile("chart:///s.json", decode(`{"$dynamicAnchor":"n","properties":{"a":{"$dynamicRef":"#n"}},"unevaluatedProperties":false,"minProperties":1}`))
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				if found, err := s.Validate(decode(`{"a":{"a":{"b":1}}}`), Limits{}); err != nil || len(found) != 1 {
					t.Errorf("got %v, %v", found, err)
				}
			}
		})
	}
	wg.Wait()
}
