// SPDX-License-Identifier: Apache-2.0

package index

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// YAML ignores carriage returns before line feeds.
func TestLineEnds(t *testing.T) {
	for _, text := range shapes() {
		if strings.Contains(text, "\r") {
			continue
		}
		want, wantErr := whole(Parse([]byte(text)))
		got, gotErr := whole(Parse([]byte(strings.ReplaceAll(text, "\n", "\r\n"))))
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

// whole returns an index with everything, or an error.
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
		for _, item := range items {
			var t tape
			if err := x.body.read(&t, item); err != nil {
				return nil, err
			}
			if item.version != t.version() {
				return nil, fmt.Errorf("bug: %q is listed as %q and says %q", name, item.version, t.version())
			}
			out[name] = append(out[name], t)
		}
	}
	return out, nil
}

// reference is an index as the full parser reads it: its keys, and the entries of charts.
func reference(text string) (keys map[string]tape, charts map[string][]tape, err error) {
	var t tape
	if err := slowly(&t, text); err != nil {
		return nil, nil, err
	}
	if t[0].kind != table {
		return nil, nil, &FormatError{Problem: "it is " + t[0].kind.String()}
	}
	keys, charts = map[string]tape{}, map[string][]tape{}
	for k := 1; k < t[0].end; k = t[k+1].end {
		if t[k].text != "entries" {
			keys[t[k].text] = t.sub(k + 1)
			continue
		}
		if t.null(k + 1) {
			continue
		}
		if t[k+1].kind != table {
			return nil, nil, &FormatError{Problem: "entries is " + t[k+1].kind.String()}
		}
		for c := k + 2; c < t[k+1].end; c = t[c+1].end {
			name, v := t[c].text, c+1
			charts[name] = []tape{}
			switch {
			case t[v].kind == list:
				for e := v + 1; e < t[v].end; e = t[e].end {
					charts[name] = append(charts[name], t.sub(e))
				}
			case !t.null(v):
				charts[name] = append(charts[name], tape{{text: (&EntryError{Chart: name, Problem: "is " + t[v].kind.String() + ", must be a list of entries"}).Error()}})
			}
		}
	}
	return keys, charts, nil
}

// sub returns a tape with the value at i.
func (t tape) sub(i int) tape {
	out := slices.Clone(t[i:t[i].end])
	for n := range out {
		out[n].end -= i
	}
	return out
}

// compareWithReference compares the reader's result for text, and for its canonical form, with the full
// parser. It reports whether text is read without conversion.
func compareWithReference(t *testing.T, text string) (usual bool) {
	t.Helper()
	keys, want, wantErr := reference(text)
	x, err := Parse([]byte(text))
	if err == nil {
		usual = x.Canonical() == nil
		compare(t, text, x, keys, want, wantErr)
	}
	again, cerr := canonical([]byte(text))
	if errors.Is(cerr, errLongKey) {
		return usual
	}
	if cerr == nil && strings.Contains(text, "\r\n") { // only the line ends may have changed
		return usual
	}
	if (cerr != nil) != (wantErr != nil) {
		t.Fatalf("%q: canonical: %v, full parser: %v", text, cerr, wantErr)
	}
	if cerr != nil {
		return usual
	}
	s := &source{data: again, size: int64(len(again)), rewritten: true}
	o, ok, oerr := outlined(s, s.size)
	if oerr != nil || !ok {
		t.Fatalf("%q: the canonical form is not usual: %q, %v", text, again, oerr)
	}
	compare(t, string(again), &Index{source: s, body: &block{source: s, outline: o}}, keys, want, nil)
	ckeys, cwant, err := reference(string(again))
	if len(keys)+len(want) > 0 && err != nil || len(ckeys) != len(keys) || len(cwant) != len(want) {
		t.Fatalf("%q: the full parser on the canonical form: %q, %v", text, again, err)
	}
	return usual
}

func compare(t *testing.T, text string, x *Index, keys map[string]tape, want map[string][]tape, wantErr error) {
	t.Helper()
	got, err := whole(x, nil)
	if err != nil && strings.HasPrefix(err.Error(), "bug") {
		t.Fatalf("%q: %v", text, err)
	}
	if (err != nil) != (wantErr != nil) && !(wantErr != nil && lacks(wantErr)) {
		t.Fatalf("%q: reader: %v, full parser: %v", text, err, wantErr)
	}
	if err != nil || wantErr != nil {
		return
	}
	if len(got) != len(want) {
		t.Fatalf("%q: reader: %d charts, full parser: %d", text, len(got), len(want))
	}
	for name := range want {
		if !slices.EqualFunc(got[name], want[name], alikeTapes) {
			t.Fatalf("%q: %s: reader: %v, full parser: %v", text, name, got[name], want[name])
		}
	}
	for _, key := range []string{"apiVersion", "generated"} {
		var a tape
		if err := x.body.field(&a, key); err != nil || !alikeTapes(a, keys[key]) {
			t.Fatalf("%q: %s: reader: %v, full parser: %v, %v", text, key, a, keys[key], err)
		}
	}
}

// alikeTapes is like [same], but a plain scalar that can only be a string equals a quoted one,
// and all nulls are equal.
func alikeTapes(a, b tape) bool {
	return slices.EqualFunc(a, b, func(a, b token) bool {
		an, bn := (tape{a}).null(0), (tape{b}).null(0)
		if an || bn {
			return an && bn && a.end == b.end
		}
		return a.kind == b.kind && a.text == b.text && a.end == b.end &&
			(a.plain == b.plain || a.plain && !plainValue(a.text) || b.plain && !plainValue(b.text))
	})
}

// lacks reports whether an error is only about an empty index.
func lacks(err error) bool {
	f, ok := errors.AsType[*FormatError](err)
	return ok && f.Problem == "empty index.yaml file"
}

// shapes are valid and invalid indexes of all forms.
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
		"apiVersion: [v1]\nentries:\n  \"web\": []\n  'a': {}\n  b: \"\"\n  \"\\u00e9\\t\": []\n", "publicKeys:\n- a\n- b\n" + in("  web:\n  - a: 1\n"), "annotations: {a: b, a: c}\n" + in(""), "annotations:\n  a: b\n  a: c\n" + in(""), "serverInfo:\n  a: |\n    entries:\n" + in("  w:\n  - a: 1\n"), "x: 'a\nentries:\n'\n" + in("  w:\n  - a: 1\n"), "x: [a\nentries:\n]\n" + in(""),
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

func TestQuicklyMatchesFullParser(t *testing.T) {
	taken := 0
	for _, text := range shapes() {
		if compareWithReference(t, text) {
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
	f.Fuzz(func(t *testing.T, text string) { compareWithReference(t, text) })
}

// Reading a file in pieces has the same result as reading it from memory.
func TestOpenMatchesParse(t *testing.T) {
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

// same reports whether two tapes have the same meaning.
func same(a, b tape) bool {
	return slices.EqualFunc(a, b, func(a, b token) bool {
		return a.kind == b.kind && a.plain == b.plain && a.text == b.text && a.end == b.end
	})
}
