// SPDX-License-Identifier: Apache-2.0

package values

import (
	"reflect"
	"testing"

	"github.com/moonhelm/moonhelm/internal/yamltest"
)

// FuzzDocument compares [Parse] with the full parser as Helm uses it on generated texts: Parse
// reads all texts that Helm reads, with the same result.
func FuzzDocument(f *testing.F) {
	for _, seed := range yamltest.Seeds() {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed []byte) { compareHelm(t, yamltest.Document(yamltest.AnyMap, seed)) })
}

// compareHelm fails the test if Helm reads text and [Parse] does not, or with another result.
func compareHelm(t *testing.T, text string) {
	t.Helper()
	want, wantErr := yamltest.Values(text)
	got, err := Parse("values.yaml", []byte(text))
	again, _ := Parse("values.yaml", []byte(text))
	if !reflect.DeepEqual(got, again) {
		t.Fatalf("%q\nread as %s\n and as %s", text, dump(got), dump(again))
	}
	switch {
	case wantErr != nil, yamltest.Ambiguous(text):
	case err != nil:
		t.Fatalf("%q\nrefused: %v\n   Helm: %s", text, err, dump(want))
	case dump(got) != dump(want):
		t.Fatalf("%q\n got %s\nHelm %s", text, dump(got), dump(want))
	}
}

func TestParseMatchesHelm(t *testing.T) {
	for _, text := range append(documents,
		"pem: |\n  a\n  b", "pem: >\n  a\n  b", "pem: |+\n  a", "pem: |-\n  a", "l:\n- |\n  a", "a: 'b", "a: b", "{}", "a: |", "a: |\n  \n ",
		"a: |\r\n  x\r\n  y", "a: |\n  x\r", "a: |\n  x\r\r\n  y\n", "a: |\n  x\n---\nb: |\n  y", "# c", "a: |\n  x\n# c",
		"{+0e2: 1, 0b0: 9}", "a: |2\n    x\n   y", "a: \"x\n\n  y\"", "a: &x |\n  b\nc: *x",
	) {
		compareHelm(t, text)
	}
}
