// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"math"
	"reflect"
	"testing"

	"github.com/moonhelm/moonhelm/internal/yamltest"
)

// FuzzDocument compares the reading of an object with the full parser as Helm uses it on
// generated texts: both reject a text, or both have the same result.
func FuzzDocument(f *testing.F) {
	for _, seed := range yamltest.Seeds() {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed []byte) { compareHelm(t, yamltest.Document(yamltest.Kubernetes, seed)) })
}

func TestParseLikeHelm(t *testing.T) {
	for _, text := range append(yamltest.Samples(),
		"a: .inf\n", "a: {b: [-.Inf]}\n", "kind: .nan\n", "a: +.INF\n", "12345678901234567890: a\n", ".inf: a\n-.Inf: b\n.NaN: c\n", "1e40: a\n",
		"a: !!binary /////w==\n", "a: 2.0\nb: -0.0\nc: 1e21\nd: 1e20\ne: 9223372036854775808\n", "a: |\n  x", "a: >+\n  x\n\n", "+0e2: 1\n",
	) {
		compareHelm(t, text)
	}
}

func orEmpty(m map[string]any) map[string]any {
	if m == nil {
		return map[string]any{}
	}
	return m
}

// byValue returns v with whole numbers as int64 if they fit.
func byValue(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			v[k] = byValue(e)
		}
	case []any:
		for i, e := range v {
			v[i] = byValue(e)
		}
	case float64:
		if v == math.Trunc(v) && v >= -1<<63 && v < 1<<63 {
			return int64(v)
		}
	}
	return v
}

// compareHelm fails the test if Helm and [Object.Map] do not agree about a document, or if its
// head alone is accepted but not the whole.
func compareHelm(t *testing.T, text string) {
	t.Helper()
	want, wantErr := yamltest.Object(text + "\n")
	got, err := decodeMap("", text+"\n")
	_, headErr := parseDocument("", text)
	switch {
	case yamltest.Ambiguous(text):
		if again, _ := decodeMap("", text+"\n"); !reflect.DeepEqual(got, again) {
			t.Fatalf("%q\nread as %v\n and as %v", text, got, again)
		}
	case wantErr != nil:
		if err == nil {
			t.Fatalf("%q\nread as %v\nHelm refuses it: %v", text, got, wantErr)
		}
	case err != nil:
		t.Fatalf("%q\nrefused: %v\nHelm reads %v", text, err, want)
	case !reflect.DeepEqual(byValue(orEmpty(got)), byValue(orEmpty(want))):
		t.Fatalf("%q\n got %v\nHelm %v", text, got, want)
	}
	if err != nil && headErr == nil {
		t.Fatalf("%q\nits head is read, all of it is not: %v", text, err)
	}
}

// Of several keys that convert to the same string, the same one is always used.
func TestMapStableKeys(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		want       map[string]any
	}{
		{"text and number", "1: a\n\"1\": b\n", map[string]any{"1": "b"}},
		{"number and text", "\"1\": b\n1: a\n", map[string]any{"1": "b"}},
		{"text and boolean", "yes: a\n\"true\": b\n", map[string]any{"true": "b"}},
		{"float and whole", "{+0e2: 1, 0b0: 9}\n", map[string]any{"0": int64(9)}},
		{"whole and float", "{0b0: 9, +0e2: 1}\n", map[string]any{"0": int64(9)}},
		{"floats that print alike", "0.1: a\n0.10000000001: b\n", map[string]any{"0.1": "a"}},
		{"not a number", ".nan: b\n.NaN: a\n", map[string]any{".nan": "a"}},
		{"not a number, in each other", "? .nan\n: [{.nan: c, .NaN: d}]\n? .nan\n: [{.nan: b, .NaN: e}]\n", map[string]any{".nan": []any{map[string]any{".nan": "b"}}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for range 50 {
				got, err := decodeMap("", tc.text)
				if err != nil {
					t.Fatal(err)
				}
				if !reflect.DeepEqual(got, tc.want) {
					t.Fatalf("got %v, want %v", got, tc.want)
				}
			}
		})
	}
}
