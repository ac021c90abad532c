// SPDX-License-Identifier: Apache-2.0

package index

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Carriage returns before line feeds mean nothing to YAML.
func TestLineEndsMeanTheSame(t *testing.T) {
	for _, text := range shapes() {
		if strings.Contains(text, "\r") {
			continue
		}
		a, aErr := parseNodes([]byte(text))
		b, bErr := parseNodes([]byte(strings.ReplaceAll(text, "\n", "\r\n")))
		if (aErr == nil) != (bErr == nil) {
			t.Errorf("%q: %v, with CR %v", text, aErr, bErr)
		}
		if aErr != nil || bErr != nil {
			continue
		}
		want, wantErr := whole(&Index{body: a}, nil)
		got, gotErr := whole(&Index{body: b}, nil)
		if (wantErr == nil) != (gotErr == nil) || len(got) != len(want) {
			t.Errorf("%q: %v, with CR %v", text, wantErr, gotErr)
		}
		for name := range want {
			if !slices.EqualFunc(got[name], want[name], same) {
				t.Errorf("%q: %v, with CR %v", text, want[name], got[name])
			}
		}
	}
}

// whole is an index as a reader makes it: everything, or an error.
func whole(x *Index, err error) (map[string][]tape, error) {
	if err != nil {
		return nil, err
	}
	if err := x.body.check(); err != nil {
		return nil, err
	}
	out := map[string][]tape{}
	for i, name := range x.body.names() {
		items, err := x.body.items(i)
		if isEntry(err) {
			out[name] = append(out[name], tape{{text: err.Error()}})
			continue
		}
		if err != nil {
			return nil, err
		}
		out[name] = []tape{}
		for _, it := range items {
			var t tape
			if err := x.body.read(&t, it); err != nil {
				return nil, err
			}
			if it.version != t.version() {
				return nil, fmt.Errorf("bug: %q is listed as %q and says %q", name, it.version, t.version())
			}
			out[name] = append(out[name], t)
		}
	}
	return out, nil
}

// judge holds the quick reader against the full one, and reports whether the
// quick one took the text.
func judge(t *testing.T, text string) bool {
	t.Helper()
	o, usual, err := outlined(bytes.NewReader([]byte(text)), int64(len(text)))
	if err != nil {
		t.Fatal(err)
	}
	if !usual {
		return false
	}
	s := &source{data: []byte(text), size: int64(len(text))}
	got, quickErr := whole(&Index{source: s, body: &block{source: s, outline: o}}, nil)
	if quickErr != nil && strings.HasPrefix(quickErr.Error(), "bug") {
		t.Fatalf("%q: %v", text, quickErr)
	}
	n, err := parseNodes([]byte(text))
	if err != nil {
		if quickErr == nil && !lacks(err) {
			t.Fatalf("%q: taken quickly, but %v", text, err)
		}
		return true
	}
	want, err := whole(&Index{body: n}, nil)
	if (err != nil) != (quickErr != nil) {
		t.Fatalf("%q: quickly %v, fully %v", text, quickErr, err)
	}
	if err != nil {
		return true
	}
	if len(got) != len(want) {
		t.Fatalf("%q: quickly %d charts, fully %d", text, len(got), len(want))
	}
	for name := range want {
		if !slices.EqualFunc(got[name], want[name], same) {
			t.Fatalf("%q: %s: quickly %v, fully %v", text, name, got[name], want[name])
		}
	}
	for _, key := range []string{"apiVersion", "generated"} {
		var a, b tape
		aErr, bErr := (&block{source: s, outline: o}).field(&a, key), n.field(&b, key)
		if aErr != nil || bErr != nil || !same(a, b) {
			t.Fatalf("%q: %s: quickly %v, fully %v, %v, %v", text, key, a, b, aErr, bErr)
		}
	}
	return true
}

// lacks tells that an error is only about an index that says nothing.
func lacks(err error) bool {
	f, ok := errors.AsType[*FormatError](err)
	return ok && f.Problem == "empty index.yaml file"
}

// shapes are indexes of all shapes, valid and not.
func shapes() []string {
	in := func(lines string) string { return "apiVersion: v1\nentries:\n" + lines }
	entry := func(lines string) string {
		return in("  web:\n  - name: web\n    version: 1.2.0\n" + lines + "  - name: web\n    version: 1.1.0\n  zoo:\n  - version: 0.1.0\n    name: zoo\ngenerated: \"2026-01-02T03:04:05Z\"\n")
	}
	out := []string{
		"", "\n", "# x\n", "---\n", "---\napiVersion: v1\n", "apiVersion: v1", "apiVersion: v1\nentries: {}\n", "entries: []\n", "entries:\n- a\n", "entries: {}\n  a:\n", "apiVersion: v1\nentries:\n",
		string(bigIndex(2, 3)), strings.ReplaceAll(string(bigIndex(1, 2)), "\n", "\r\n"),
		in("  web: []\n"), in("  web:\n"), in("  web: ~\n"), in("  web: []\n  - a: 1\n"), in("  web:\n    - name: web\n      version: 1.0.0\n    - name: web\n"), in("  web:\n   - a: 1\n  - b: 1\n"),
		in("  web: hello\n"), in("  web:\n    name: a\n"), in("  web:\n  - hello\n"), in("  web:\n  -\n  - ~\n  - null\n"), in("  web:\n  - - a: 1\n    - b\n"), in("  web:\n  - |\n   a: 1\n  - x: 1\n"),
		in("  web:\n  - {name: web, version: 1.0.0}\n  - {name: web,\n version: 1}\n"), in("  web:\n  - a: 1\n  web:\n  - a: 2\n"), in("  web:\n  - a: 1\napiVersion: v2\n"), in("  web:\n  - a: 1\nentries:\n"),
		in("  \"web\":\n  - a: 1\n  'x':\n  - b: 2\n"), in("  1:\n  - a: 1\n  ~:\n  - b: 1\n  null:\n  - c: 1\n"), in("  web: &a\n  - x: 1\n  foo: *a\n"), in("  web:\n  - &a\n    x: 1\n  - <<: *a\n    y: 1\n"),
		in("  web:\n  - a: 1\n...\nfoo\n"), in("  web:\n  - a: 1\n---\nb: 1\n"), in("  web:\n  - a: \"x\n---\n\"\n"), in("  web:\n  - a: 1\n publicKeys:\n"), in(" web:\n  - a: 1\n"), in("  web:\n  - a: 1\n    - b\n"),
		in("  web:\n  - a: 1\n  # c\n\n  - b: 1\n    # d\n  # e\n# f\n  x:\n  # g\n  - a: 1 # h\n"), in("  web:\n  - a: |\n      x\n     # y\n    b: 1\n"), in("  web:\n  - a: 'x\n  foo:\n  - b: y'\n"), in("  web:\n  - a: \"x\n  foo:\n  - b: \\\"y\"\n  - c: 1\n"),
		in("  web:\n  - version: 1.0.0\n     2\n"), in("  web:\n  - version:\n      1.0.0\n"), in("  web:\n  - version: '1.0.0'\n  - version: \"2.0.0\" # c\n  - version: 1.10\n  - version: 1.0.0 # x\n  - version: v1\n  - version: 010\n"),
		in("  web:\n  - version: 1.0.0\n    version: 2.0.0\n"), in("  web:\n  - version: x\n    version: 2.0.0\n"), in("  web:\n  - \"version\": 1.0.0\n"), in("  web:\n  - version: |\n      1.0.0\n  - version: |-\n      2.0.0\n"), in("  web:\n  - a:\n      version: 3.0.0\n    version: 4.0.0\n"),
		in("  web:\n  - a: [x,\n  - b]\n"), in("  web:\n  - a: [x, 'y z', {b: c}] # d\n  - b: ['x, y]\n"), in("  web:\n  - a: [it's]\n  - b: ]\n"), in("  ? web\n  : - a\n"), in("  web:\n  - ? a\n    : b\n"), in("\t web:\n"), in("  web:\n  -\ta: 1\n"), in("  web:\n  - a:\tb\n"), in("  web:\n  - a: b\tc\n"),
		in("  web:\n  - a: x\u2028  foo:\n  - b: 1\n"), in("  web:\n  - a: \u0085b\n"), in("  web:\n  - a: é\n"), "\ufeff" + in("  web:\n  - a: é\n"), in("  web:\n  - a: \xff\n"), in("  web:\n  - a: \x07\n"), in("  web:\n  - a: x\r    b: y\n"), in("# \x07\n  web:\n"), in("  a:\n  # \xf5"), ": x\n", in("  : x\n  - : y\n"), in("  w:\n  - a: éééééééééééééééééééééééééééé\u2028  b: c\n"), in("  w:\n  - a: ééééééééééééééééééééééééééééééééé\u0085x\n"), in("  a:\n  - - version: 0"), in("  a:\n  - - - version: 0\n      version: 1"),
		"publicKeys:\n- a\n- b\n" + in("  web:\n  - a: 1\n"), "annotations: {a: b, a: c}\n" + in(""), "annotations:\n  a: b\n  a: c\n" + in(""), "serverInfo:\n  a: |\n    entries:\n" + in("  w:\n  - a: 1\n"), "x: 'a\nentries:\n'\n" + in("  w:\n  - a: 1\n"), "x: [a\nentries:\n]\n" + in(""),
	}
	for _, lines := range []string{
		"", "description: a: b", "description: it's\n      \"fine\n      so: far", "description: it's\n      \"fine\n      so far", "description: 'two\n\n      lines'", "description: \"two \\\n      lines\"", "description: >-\n      folded\n      text", "description: |\n      - a: \"b\n       'c",
		"keywords: []", "keywords:\n    - a\n    - 'b'", "keywords:\n      - a\n      - \"b", "annotations: {}\n    home: x", "annotations:\n      a: b\n      a: c", "home: &x y", "home: *x", "home: !!str 12", "home: @x", "home: `x", "home: %x", "home: >=1", "home: |x", "home: - x", "home: -x", "home: ?x", "home: :x", "home: x:", "home: x #y", "home: x#y: z", "home:\n      x\n      y: z",
		"engine: gotpl\n    tillerVersion: '>2'\n    url: x\n    checksum: y", "urls:\n    - x\n    - y: z\n    created: 2020-01-01", "a b: c", "a: b\n   c: d", "maintainers:\n    -\n      name: x\n    - name: y\n    -\n    - z", "x: {a: 'b, c: d}", "x: {a: \"b}\", c: [d]}", "x: \"a\" b", "x: 'a'#b", "'x': \"y\": z", "x: ~\n    y:\n    z: null", "x: |2\n        a\n    y: b", "x: |+\n\n      a\n\n\n    y: >\n\n     b\n", "x: |\n    y: z", "x: |\n   y", "? x", "x:\n    - - a\n      - b\n    - c", strings.Repeat("k", 199) + ": x", strings.Repeat("k", 1500) + ": x",
	} {
		out = append(out, entry("    "+lines+"\n"))
	}
	return out
}

func TestQuickAgreesWithTheFullParser(t *testing.T) {
	taken := 0
	for _, text := range shapes() {
		if judge(t, text) {
			taken++
		}
	}
	if taken < 60 {
		t.Errorf("only %d of the samples are read quickly", taken)
	}
}

func FuzzIndex(f *testing.F) {
	for _, s := range shapes() {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) { judge(t, text) })
}

// What is read in pieces from a file is what is read at once from memory.
func TestOpenAgreesWithParse(t *testing.T) {
	long := "apiVersion: v1\nentries:\n  web:\n  - description: " + strings.Repeat("long ", chunk/2) + "\n    version: 1.0.0\n    name: web\n"
	for _, text := range append(shapes(), string(bigIndex(3, 400)), long) {
		path := filepath.Join(t.TempDir(), "index.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		x, err := Open(path)
		if err == nil {
			defer x.Close()
		}
		got, gotErr := whole(x, err)
		want, wantErr := whole(Parse([]byte(text)))
		if (gotErr == nil) != (wantErr == nil) || len(got) != len(want) {
			t.Errorf("%.80q: from a file %d, %v, from memory %d, %v", text, len(got), gotErr, len(want), wantErr)
		}
		for name := range want {
			if !slices.EqualFunc(got[name], want[name], same) {
				t.Errorf("%.80q: %s differs", text, name)
			}
		}
	}
}

// same tells whether two tapes mean the same.
func same(a, b tape) bool {
	return slices.EqualFunc(a, b, func(a, b token) bool {
		return a.kind == b.kind && a.plain == b.plain && a.text == b.text && a.end == b.end
	})
}
