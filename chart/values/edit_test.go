// SPDX-License-Identifier: Apache-2.0

package values

import (
	"maps"
	"math/rand"
	"reflect"
	"slices"
	"strings"
	"testing"
)

const commented = `# Default values for web.
# This is a YAML-formatted file.

# -- how many pods
replicaCount: 1
image:
  repository: nginx # no tag here
  # Overrides the image tag.
  tag: ""

## Pods

podAnnotations: {}
ports: [80, 443]
limits:
  cpu: 1.0
  big: 9007199254740993
  mode: 0777
  on: yes
hosts:
  - host: chart.local
    paths: []

# extra: true
`

func TestEdit(t *testing.T) {
	for _, c := range []struct {
		name     string
		edit     func(map[string]any)
		old, new string
	}{
		{"the same numbers in other types", func(m map[string]any) {
			m["replicaCount"] = int64(1)
			m["ports"] = []any{int64(80), Real(443)}
			m["limits"] = map[string]any{"cpu": 1.0, "big": int64(9007199254740993), "mode": 511, "true": true}
		}, "", ""},
		{"a whole number", func(m map[string]any) { m["replicaCount"] = 3.0 }, "replicaCount: 1\n", "replicaCount: 3\n"},
		{"an exact number", func(m map[string]any) { m["replicaCount"] = Long(9007199254740995) }, "replicaCount: 1\n", "replicaCount: 9007199254740995\n"},
		{"a whole number of many digits", func(m map[string]any) { m["replicaCount"] = 70000000000001216.0 }, "replicaCount: 1\n", "replicaCount: 70000000000001216\n"},
		{"a number with a point", func(m map[string]any) { m["replicaCount"] = Real(3) }, "replicaCount: 1\n", "replicaCount: 3.0\n"},
		{"text", func(m map[string]any) { m["image"].(map[string]any)["repository"] = "1.0" }, "nginx #", "\"1.0\" #"},
		{"quoted text", func(m map[string]any) { m["image"].(map[string]any)["tag"] = "1.27" }, `tag: ""`, `tag: "1.27"`},
		{"a new map", func(m map[string]any) { m["podAnnotations"] = map[string]any{"a/b": "true"} }, "podAnnotations: {}\n", "podAnnotations:\n  a/b: \"true\"\n"},
		{"a list indented as others are", func(m map[string]any) { m["hosts"].([]any)[0].(map[string]any)["paths"] = []any{"/"} }, "paths: []\n", "paths:\n      - /\n"},
		{"a new host", func(m map[string]any) { m["hosts"] = append(m["hosts"].([]any), map[string]any{"host": "b"}) }, "paths: []\n", "paths: []\n  - host: b\n"},
		{"a new key", func(m map[string]any) { m["apiVersion"], m["a"] = "v1", nil }, "paths: []\n", "paths: []\na: null\napiVersion: v1\n"},
		{"a key that goes", func(m map[string]any) { delete(m, "podAnnotations") }, "podAnnotations: {}\n", ""},
		{"a list in brackets", func(m map[string]any) { m["ports"] = []any{80.0} }, "[80, 443]", "[80]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			now, err := Parse("values.yaml", []byte(commented))
			if err != nil {
				t.Fatal(err)
			}
			c.edit(now)
			got, err := Edit([]byte(commented), now)
			if want := strings.Replace(commented, c.old, c.new, 1); err != nil || string(got) != want {
				t.Errorf("%s: %v\ngot:\n%s", c.name, err, got)
			}
		})
	}
	for raw, want := range map[string]string{
		"": "new: 1\n", "# only a comment\n": "# only a comment\nnew: 1\n", "a: 1\n---\na: 2\n": "a: 1\nnew: 1\n---\na: 2\n",
	} {
		t.Run(raw, func(t *testing.T) {
			now, err := Parse("values.yaml", []byte(raw))
			if err != nil {
				t.Fatal(err)
			}
			now["new"] = 1.0
			if got, err := Edit([]byte(raw), now); err != nil || string(got) != want {
				t.Errorf("%q became %q, %v", raw, got, err)
			}
		})
	}
}

func TestEditBlockLastLine(t *testing.T) {
	const raw = "a: |+\n  x\n\nb: 2" // the last line has no line feed
	want := map[string]any{"a": "x\n\n"}
	got, err := Edit([]byte(raw), want)
	if err != nil {
		t.Fatal(err)
	}
	if back, err := Parse("values.yaml", got); err != nil || !reflect.DeepEqual(back, want) {
		t.Errorf("%q became %q: %q, %v, want %q", raw, got, back, err, want)
	}
}

// asFloats converts all numbers to float64, and a negative zero to zero.
func asFloats(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, e := range v {
			out[k] = asFloats(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = asFloats(e)
		}
		return out
	}
	switch r := reflect.ValueOf(v); {
	case v == nil:
	case r.CanInt():
		return float64(r.Int())
	case r.CanFloat():
		return r.Float() + 0
	}
	return v
}

// FuzzEdit merges random values into a file. The result must parse into the same values.
func FuzzEdit(f *testing.F) {
	for _, d := range documents {
		f.Add(d, int64(1))
	}
	f.Add(commented, int64(2))
	f.Fuzz(func(t *testing.T, text string, seed int64) {
		old, err := Parse("values.yaml", []byte(text))
		if err != nil {
			return
		}
		now := Merge(old, (&forest{Rand: rand.New(rand.NewSource(seed)), nulls: true}).values(0))
		for _, k := range slices.Sorted(maps.Keys(now)) {
			if seed++; seed%5 == 0 {
				delete(now, k)
			}
		}
		out, err := Edit([]byte(text), now)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		back, err := Parse("values.yaml", out)
		if err != nil || dump(asFloats(back)) != dump(asFloats(now)) {
			t.Fatalf("%q became %q: %v\n got %s\nwant %s", text, out, err, dump(back), dump(now))
		}
	})
}
