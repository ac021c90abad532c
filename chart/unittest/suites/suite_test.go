// SPDX-License-Identifier: Apache-2.0

package suites

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/moonhelm/moonhelm/chart/unittest"
	"github.com/moonhelm/moonhelm/internal/filetest"
	"github.com/moonhelm/moonhelm/internal/yaml"
)

// TestVerdicts checks the verdict of many assertions, each in a test of its own.
func TestVerdicts(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/verdicts.txtar")
	if err != nil {
		t.Fatal(err)
	}
	dir, verdicts := t.TempDir(), ""
	for _, f := range archive.Files {
		if f.Name == "verdicts" {
			verdicts = string(f.Data)
			continue
		}
		filetest.WriteFile(t, filepath.Join(dir, filepath.FromSlash(f.Name)), string(f.Data))
	}
	var suite strings.Builder
	suite.WriteString("templates: [ok.yaml, two.yaml, empty.yaml, NOTES.txt]\ntests:\n")
	var want, names []string
	head := ""
	for line := range strings.Lines(verdicts) {
		line = strings.TrimSpace(line)
		if settings, ok := strings.CutPrefix(line, "# "); ok {
			if head = strings.ReplaceAll(settings, "; ", "\n  "); strings.Contains(head, "fails.yaml") {
				suite.WriteString("---\ntemplates: [ok.yaml, fails.yaml]\ntests:\n")
			}
			continue
		}
		verdict, assertion, _ := strings.Cut(line, "  ")
		fmt.Fprintf(&suite, "- it: test\n  %s\n  asserts: [{%s}]\n", head, assertion)
		want, names = append(want, verdict), append(names, head+": "+assertion)
	}
	filetest.WriteFile(t, filepath.Join(dir, "tests", "a_test.yaml"), suite.String())
	var got []string
	for _, r := range run(t, dir, unittest.Options{}) {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
		for _, test := range r.Tests {
			got = append(got, test.Status.String())
		}
	}
	if len(got) != len(want) || len(got) < 400 {
		t.Fatalf("%d tests, want %d", len(got), len(want))
	}
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("%s: %s, want %s", names[i], got[i], want[i])
		}
	}
}

// run runs all suites of a chart.
func run(t *testing.T, dir string, o unittest.Options) (out []*unittest.SuiteResult) {
	t.Helper()
	c, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	found, err := c.FindAll([]string{"tests/*_test.yaml"})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range found {
		out = append(out, s.Run(t.Context(), o))
	}
	return out
}

func TestSetValues(t *testing.T) {
	tests := []struct {
		set  string
		want map[string]any
	}{
		{`{a: 1, b.c: x}`, map[string]any{"a": 1.0, "b": map[string]any{"c": "x"}}},
		{`{"l[1].n": true}`, map[string]any{"l": []any{nil, map[string]any{"n": true}}}},
		{`{"l[0][1]": 1}`, map[string]any{"l": []any{[]any{nil, 1.0}}}},
		{`{a: {"b.c": {"d[0]": 1}}}`, map[string]any{"a": map[string]any{"b.c": map[string]any{"d[0]": 1.0}}}},
		{`{a.b: 1, a.c: 2}`, map[string]any{"a": map[string]any{"b": 1.0, "c": 2.0}}},
		{`{a: null, d: 2001-01-01}`, map[string]any{"a": nil, "d": "2001-01-01"}},
		{`null`, nil},
	}
	for _, tt := range tests {
		t.Run(tt.set, func(t *testing.T) {
			got, err := setValues(yaml.Root([]byte(tt.set)))
			if err != nil || !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %v, %v, want %v", got, err, tt.want)
			}
		})
	}
	for _, set := range []string{`{"": 1}`, `{"a.": 1}`, `{"a[x]": 1}`, `{"a[-1]": 1}`, `{"a[70000]": 1}`, `{"a[0": 1}`, `{"a,b": 1}`,
		`{"a]": 1}`, `[a]`} {
		if _, err := setValues(yaml.Root([]byte(set))); err == nil {
			t.Errorf("%s: no error", set)
		}
	}
}

func TestPattern(t *testing.T) {
	tests := []struct {
		pattern, prefix, name string
		want                  bool
	}{
		{"ok.yaml", "", "templates/ok.yaml", true},
		{"templates/ok.yaml", "", "templates/ok.yaml", true},
		{"ok.yaml", "", "charts/kid/templates/ok.yaml", false},
		{"ok.yaml", "charts/kid", "charts/kid/templates/ok.yaml", true},
		{"charts/kid/*.yaml", "", "charts/kid/templates/ok.yaml", true},
		{"*.yaml", "", "templates/sub/deep/x.yaml", true},
		{"*.yaml", "", "charts/kid/templates/ok.yaml", false},
		{"**/*.yaml", "", "charts/kid/templates/ok.yaml", true},
		{"templates/**/*.yaml", "", "templates/ok.yaml", false},
		{"s*.yaml", "", "templates/sub/x.yaml", true},
		{"crds/x.yaml", "", "crds/x.yaml", true},
		{`templates\ok.yaml`, "", "templates/ok.yaml", true},
	}
	for _, tt := range tests {
		t.Run(tt.pattern+" in "+cmp.Or(tt.prefix, "the chart")+" and "+tt.name, func(t *testing.T) {
			if got := newPattern(tt.pattern, tt.prefix).matches(tt.name); got != tt.want {
				t.Errorf("%q (%s) and %s: %v, want %v", tt.pattern, tt.prefix, tt.name, got, tt.want)
			}
		})
	}
}

// Suites of one file share its snapshots, also when they are updated.
func TestSnapshotsOfOneFile(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) { filetest.WriteFile(t, filepath.Join(dir, filepath.FromSlash(name)), text) }
	write("Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n")
	write("templates/a.yaml", "kind: A\n")
	write("tests/a_test.yaml", "tests: [{it: one, asserts: [matchSnapshot: {}]}]\n---\ntests: [{it: two, asserts: [matchSnapshot: {}]}]\n")
	snap := filepath.Join(dir, "tests", "__snapshot__", "a_test.yaml.snap")
	content := func() string {
		text, err := os.ReadFile(snap)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	run(t, dir, unittest.Options{})
	if got, want := content(), "one:\n  1: |\n    kind: A\ntwo:\n  1: |\n    kind: A\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	write("templates/a.yaml", "kind: B\n")
	write("tests/a_test.yaml", "tests: [{it: one, asserts: [matchSnapshot: {}]}]\n---\ntests: [{it: three, asserts: [matchSnapshot: {}]}]\n")
	if got := run(t, dir, unittest.Options{})[0]; got.Status() != unittest.Failed || got.Snapshots.Failed != 1 {
		t.Errorf("a snapshot that differs: %+v", got)
	}
	results := run(t, dir, unittest.Options{UpdateSnapshots: true})
	if got, want := content(), "one:\n  1: |\n    kind: B\nthree:\n  1: |\n    kind: B\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := results[0].Snapshots.Updated + results[1].Snapshots.Vanished; got != 2 {
		t.Errorf("%+v, %+v: want one updated and one vanished", results[0].Snapshots, results[1].Snapshots)
	}
}

// TestTestErrors has errors of tests whose suite is valid.
func TestTestErrors(t *testing.T) {
	const asserts = "  asserts:\n  - exists: {path: a}\n"
	tests := []struct{ name, text, want string }{
		{"a list of values", "tests:\n- set: [a]\n" + asserts, "a_test.yaml:2: set: want a map of paths to values, got a list"},
		{"a cycle", "tests:\n- set: &s\n    q: *s\n" + asserts, `a_test.yaml:3: set "q": anchor 's' value contains itself`},
		{"a large index", "set: {'a[99999999]': 1}\ntests:\n- it: x\n" + asserts,
			`a_test.yaml:1: set "a[99999999]": index "99999999": want a number from 0 to 65536`},
		{"no values file", "values: [no.yaml]\ntests:\n- it: x\n" + asserts, "values no.yaml: "},
		{"a version", "capabilities: {majorVersion: x}\ntests:\n- it: x\n" + asserts, "capabilities: invalid kube version"},
		{"API versions", "capabilities: {apiVersions: v1}\ntests:\n- it: x\n" + asserts,
			`a_test.yaml:1: capabilities.apiVersions: want a list of strings, got "v1"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			filetest.WriteFile(t, filepath.Join(dir, "Chart.yaml"), "apiVersion: v2\nname: web\nversion: 1.0.0\n")
			filetest.WriteFile(t, filepath.Join(dir, "tests", "a_test.yaml"), tt.text)
			results := run(t, dir, unittest.Options{})
			if len(results) != 1 || len(results[0].Tests) != 1 {
				t.Fatalf("got %+v, want one test", results)
			}
			var bad *Error
			if err := results[0].Tests[0].Err; !errors.As(err, &bad) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}

// TestLargeSnapshots does not write a file with which the chart could not be loaded any more.
func TestLargeSnapshots(t *testing.T) {
	dir := t.TempDir()
	filetest.WriteFile(t, filepath.Join(dir, "Chart.yaml"), "apiVersion: v2\nname: web\nversion: 1.0.0\n")
	filetest.WriteFile(t, filepath.Join(dir, "templates", "a.yaml"), "a: {{ range $i := until 300 }}\n- {{ repeat 20000 \"x\" }}{{ end }}\n")
	filetest.WriteFile(t, filepath.Join(dir, "tests", "a_test.yaml"), "tests:\n- asserts:\n  - matchSnapshot: {}\n")
	var bad *snapshotSizeError
	if results := run(t, dir, unittest.Options{}); len(results) != 1 || !errors.As(results[0].Err, &bad) || bad.Hint() == "" {
		t.Errorf("got %+v, want a *snapshotSizeError", results)
	}
	filetest.WriteFile(t, filepath.Join(dir, ".helmignore"), "tests/\n")
	for range 2 {
		if results := run(t, dir, unittest.Options{}); len(results) != 1 || !results[0].Status().OK() {
			t.Errorf("with .helmignore: got %+v, want it to pass", results)
		}
	}
}

func TestParseErrors(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"no tests", "suite: x\n", "a_test.yaml:1: no tests found"},
		{"a field with a mistake", "test:\n- it: x\n", "a_test.yaml:1: no tests found: field test not found in a suite"},
		{"empty", "# nothing\n", "a_test.yaml: no tests found"},
		{"snapshots elsewhere", "snapshotId: ../../x\ntests:\n- asserts:\n  - matchSnapshot: {}\n",
			`a_test.yaml: snapshotId "../../x": want a name without slashes`},
		{"a version", "skip: {minimumVersion: newest}\ntests:\n- asserts:\n  - exists: {path: a}\n",
			`a_test.yaml:1: minimumVersion "newest": want a version such as 1.1.2`},
		{"no asserts", "tests:\n- it: x\n", "a_test.yaml:2: no asserts found"},
		{"unknown assertion", "tests:\n- asserts:\n  - isKnd: {of: x}\n", "a_test.yaml:3: Assertion type `isKnd` is invalid"},
		{"no assertion", "tests:\n- asserts:\n  - {}\n", "a_test.yaml:3: no assertion type defined"},
		{"two assertions", "tests:\n- asserts:\n  - {isKind: {of: x}, exists: {}}\n",
			"a_test.yaml:3: assertion type `isKind` and `exists` is declared duplicately"},
		{"a number for a text", "tests:\n- asserts:\n  - matchRegex: {path: a, pattern: 5}\n",
			`a_test.yaml:3: matchRegex: 'pattern' expected type 'string', got "5"`},
		{"a list for a suite", "- it: x\n", "a_test.yaml:1: a suite: want a map of fields, got a list"},
		{"a map of tests", "tests:\n  a: 1\n", "a_test.yaml:2: tests: want a list of tests, got a map"},
		{"a scalar for a test", "tests:\n- 5\n", `a_test.yaml:2: tests[0]: want a map of fields, got "5"`},
		{"a map of assertions", "tests:\n- asserts:\n    equal: {}\n",
			"a_test.yaml:3: tests[0].asserts: want a list of assertions, got a map"},
		{"a text for an assertion", "tests:\n- asserts:\n  - equal\n", `a_test.yaml:3: an assertion must be a map, got "equal"`},
		{"a list of parameters", "tests:\n- asserts:\n  - equal: [a]\n", "a_test.yaml:3: equal: want a map of parameters, got a list"},
		{"a text for a number", "release: {revision: one}\ntests:\n- asserts:\n  - exists: {path: a}\n",
			`a_test.yaml:1: release.revision: want a whole number, got "one"`},
		{"of an alias", "x: &x [1]\nrelease: *x\ntests:\n- asserts:\n  - exists: {path: a}\n",
			"a_test.yaml:2: release: want a map of fields, got a list"},
		{"a text for a list", "values: a.yaml\ntests:\n- asserts:\n  - exists: {path: a}\n",
			`a_test.yaml:1: values: want a list of strings, got "a.yaml"`},
		{"a number for the index of an assertion", "tests:\n- asserts:\n  - exists: {path: a}\n    documentIndex: x\n",
			`a_test.yaml:3: documentIndex: want a whole number, got "x"`},
		{"a later document", "tests:\n- asserts:\n  - exists: {path: a}\n---\ntests: 5\n",
			`a_test.yaml:5: tests: want a list of tests, got "5"`},
		{"tabs", "tests:\n\t- it: x\n",
			"a_test.yaml:2: the file is not valid YAML: found character that cannot start any token"},
		{"a field of a test with a mistake", "suit: x\ntests:\n- it: x\n  assert: []\n",
			"a_test.yaml:3: no asserts found: field assert not found in a test"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			filetest.WriteFile(t, filepath.Join(dir, "Chart.yaml"), "apiVersion: v2\nname: web\nversion: 1.0.0\n")
			filetest.WriteFile(t, filepath.Join(dir, "tests", "a_test.yaml"), tt.text)
			results := run(t, dir, unittest.Options{})
			var bad *Error
			if len(results) != 1 || !errors.As(results[0].Err, &bad) || bad.Hint() == "" {
				t.Fatalf("got %+v, want an *Error with a hint", results)
			}
			if got := strings.TrimPrefix(results[0].Err.Error(), filepath.Join(dir, "tests")+string(filepath.Separator)); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}
