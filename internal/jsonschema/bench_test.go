// SPDX-License-Identifier: Apache-2.0

package jsonschema

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	reference "github.com/santhosh-tekuri/jsonschema/v6"
	"sigs.k8s.io/yaml"
)

// corpus returns the schemas of the public charts of the corpus with the charts' values, the
// largest schema first.
func corpus(tb testing.TB) (schemas []string, values []any) {
	files, err := filepath.Glob("../../../shared/corpus/charts/*/values.schema.json")
	if err != nil {
		tb.Fatal(err)
	}
	for _, file := range files {
		schema, err := os.ReadFile(file)
		if err != nil {
			tb.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(filepath.Dir(file), "values.yaml"))
		if err != nil {
			continue
		}
		var v any
		if err := yaml.Unmarshal(text, &v); err != nil {
			tb.Fatal(err)
		}
		schemas, values = append(schemas, string(schema)), append(values, v)
		if last := len(schemas) - 1; len(schemas[last]) > len(schemas[0]) {
			schemas[0], schemas[last], values[0], values[last] = schemas[last], schemas[0], values[last], values[0]
		}
	}
	if len(schemas) == 0 {
		tb.Skip("no corpus beside the project (../shared/corpus)")
	}
	return schemas, values
}

// TestCorpus validates public charts' values, unchanged and with one member changed, against
// their schemas.
func TestCorpus(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	schemas, values := corpus(t)
	load := func(url string) (any, error) { return nil, fmt.Errorf("outside: %s", url) }
	for i, schema := range schemas {
		changed := []any{values[i]}
		if table, ok := values[i].(map[string]any); ok {
			for _, name := range slices.Sorted(maps.Keys(table)) {
				changed = append(changed, without(table, name, nil), without(table, name, []any{1.5, "x"}), without(table, name, map[string]any{"odd": true}))
			}
		}
		for _, v := range changed {
			got, want := ours(decode(schema), v, load), theirs(decode(schema), v, load)
			if !got.equal(want) {
				t.Fatalf("schema %s\nvalue %v\nours\n%s\nreference\n%s", schema, v, got, want)
			}
		}
	}
}

// The largest schema of the corpus with the values of its chart.
func BenchmarkLargest(b *testing.B) {
	schemas, values := corpus(b)
	schema, v := schemas[0], values[0]
	b.Run("compile", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var c Compiler
			if _, err := c.Compile("chart:///s.json", decode(schema)); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("compile, reference", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := compileReference(schema); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("validate", func(b *testing.B) {
		var c Compiler
		s, err := c.Compile("chart:///s.json", decode(schema))
		if err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		for b.Loop() {
			if _, err := s.Validate(v, Limits{}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("validate, reference", func(b *testing.B) {
		s, err := compileReference(schema)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		for b.Loop() {
			_ = s.Validate(v)
		}
	})
}

func compileReference(schema string) (*reference.Schema, error) {
	c := reference.NewCompiler()
	if err := c.AddResource("chart:///s.json", decode(schema)); err != nil {
		return nil, err
	}
	return c.Compile("chart:///s.json")
}

// BenchmarkMetaschema measures the compilation of the first schema of a draft.
func BenchmarkMetaschema(b *testing.B) {
	for _, d := range []*draft{draft4, draft7, draft2019, draft2020} {
		b.Run(fmt.Sprint(d.version), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				doc, err := readMeta(d.file)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := compileMeta(d.url, doc); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
