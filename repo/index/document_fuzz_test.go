// SPDX-License-Identifier: Apache-2.0

package index

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	yamlv2 "go.yaml.in/yaml/v2"

	"github.com/moonhelm/moonhelm/internal/yamltest"
)

// FuzzDocument compares the reading of an index with the full parser as Helm uses it on
// generated texts: all indexes that Helm reads are read with the same result.
func FuzzDocument(f *testing.F) {
	for _, seed := range yamltest.Seeds() {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed []byte) { compareHelm(t, yamltest.Document(yamltest.ChartIndex, seed)) })
}

func TestParseLikeHelm(t *testing.T) {
	for _, text := range append(shapes(),
		"entries:\n  web:\n  - description: |\n      a", "entries:\n  web:\n  - description: |+\n      a\n\n", "entries:\n  web:\n  - description: >-\n      a\n      b",
		"entries:\n  web:\n  - x: {"+strings.Repeat("k", 1025)+": 1}\n    name: web\n",
	) {
		compareHelm(t, text)
	}
}

// compareHelm fails the test if Helm reads text and [Parse] does not, or with another result,
// by the fast path or the full parser.
func compareHelm(t *testing.T, text string) {
	t.Helper()
	compareWithReference(t, text)
	// Binary text is kept as written, and the parser of indexes limits keys to 1024 bytes.
	if strings.Contains(text, "!!binary") || strings.Contains(text, strings.Repeat("k", 1024)) || yamltest.Ambiguous(text) { // kept as it is written
		return
	}
	want, err := yamltest.Index(text)
	if err != nil {
		return
	}
	if again, err := canonical([]byte(text)); err == nil {
		if charts, err := yamltest.Index(string(again)); err != nil || len(charts) != len(want) {
			t.Fatalf("%q\nHelm reads %d charts, and of the canonical form %d, %v\n%s", text, len(want), len(charts), err, again)
		}
	}
	got, err := whole(Parse([]byte(text)))
	if err != nil {
		t.Fatalf("%q\nrefused: %v\nHelm reads %v", text, err, want)
	}
	if len(got) != len(want) {
		t.Fatalf("%q\n%d charts, Helm has %d", text, len(got), len(want))
	}
	for name, tapes := range got {
		entries, ok := want[keyAsHelm(name)]
		if !ok || len(entries) != len(tapes) {
			t.Fatalf("%q\n%s has %d entries, with Helm %d", text, name, len(tapes), len(entries))
		}
		for i := range tapes {
			if why := differs(tapes[i], 0, entries[i]); why != "" {
				t.Fatalf("%q\n%s, entry %d: %s\n got %v\nHelm %v", text, name, i, why, tapes[i], entries[i])
			}
		}
	}
}

// differs describes the difference between the value at i and Helm's, or returns "". Plain
// scalars are kept as written, so only their meaning is compared.
func differs(t tape, i int, want any) string {
	switch t[i].kind {
	case table:
		m, ok := want.(map[string]any)
		n := 0
		for k := i + 1; ok && k < t[i].end; k = t[k+1].end {
			n++
			v, there := m[t[k].text]
			if !there {
				v, there = m[keyAsHelm(t[k].text)]
			}
			if !there {
				return fmt.Sprintf("Helm has no key %q", t[k].text)
			}
			if why := differs(t, k+1, v); why != "" {
				return t[k].text + ": " + why
			}
		}
		if !ok || n != len(m) {
			return fmt.Sprintf("a table of %d keys, Helm has %v", n, want)
		}
		return ""
	case list:
		l, ok := want.([]any)
		n := 0
		for v := i + 1; ok && v < t[i].end; v = t[v].end {
			if n == len(l) {
				break
			}
			if why := differs(t, v, l[n]); why != "" {
				return fmt.Sprintf("[%d]: %s", n, why)
			}
			n++
		}
		if !ok || n != len(l) {
			return fmt.Sprintf("a list, Helm has %v", want)
		}
		return ""
	}
	if t[i].text == want || t.null(i) && want == nil || alike(meaning(t[i].text), want) {
		return ""
	}
	return fmt.Sprintf("%q (plain %v), Helm has %#v", t[i].text, t[i].plain, want)
}

// meaning returns the value of a plain scalar.
func meaning(text string) any {
	var v []any
	if yamlv2.Unmarshal([]byte("- "+text), &v) != nil || len(v) != 1 {
		return text
	}
	return v[0]
}

func alike(a, b any) bool {
	if n, ok := b.(float64); ok {
		switch a := a.(type) {
		case int:
			return float64(a) == n
		case uint64:
			return float64(a) == n
		case float64:
			return a == n || math.IsNaN(a)
		}
	}
	return a == b
}

// keyAsHelm returns the string to which Helm converts a plain key.
func keyAsHelm(text string) string {
	switch v := meaning(text).(type) {
	case bool:
		return strconv.FormatBool(v)
	case int:
		return strconv.Itoa(v)
	case float64:
		s := strconv.FormatFloat(v, 'g', -1, 32)
		if odd, ok := map[string]string{"+Inf": ".inf", "-Inf": "-.inf", "NaN": ".nan"}[s]; ok {
			return odd
		}
		return s
	}
	return text
}
