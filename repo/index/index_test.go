// SPDX-License-Identifier: Apache-2.0

package index

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/dependency"
)

// index returns an index with these lines after "entries:".
func index(lines ...string) string {
	return "apiVersion: v1\nentries:\n" + strings.Join(lines, "")
}

// entry returns an entry of a chart's list.
func entry(version string, lines ...string) string {
	text := "  - apiVersion: v2\n    name: web\n    version: " + version + "\n    urls:\n    - web.tgz\n"
	for _, l := range lines {
		text += "    " + l + "\n"
	}
	return text
}

func parse(t *testing.T, text string) *Index {
	t.Helper()
	x, err := Parse([]byte(text))
	if err != nil {
		t.Fatalf("%.2000s\n%v", text, err)
	}
	return x
}

// inAllForms runs a test with an index as it is, as YAML that only the full parser reads, and
// as JSON.
func inAllForms(t *testing.T, text string, test func(t *testing.T, x *Index)) {
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for form, text := range map[string]string{"quick": text, "full": "full: &a x\n" + text, "json": string(data)} {
		t.Run(form, func(t *testing.T) {
			x := parse(t, text)
			if got, want := x.Canonical() != nil, form != "quick"; got != want {
				t.Fatalf("rewritten: %t, want %t", got, want)
			}
			test(t, x)
		})
	}
}

func TestFindDecodesScalars(t *testing.T) {
	text := index("  web:\n", `  - annotations:
      note: |
        two
        lines
    apiVersion: v2
    appVersion: "3.1"
    created: "2026-01-02T03:04:05.5Z"
    dependencies:
    - name: common
      repository: oci://registry.example.com/charts
      alias: it
      condition: it.on
      enabled: true
      import-values: [data, {child: a, parent: b}]
      tags: [x]
      version: 2.x.x
    deprecated: true
    description: something
    digest: abc
    home: https://example.com
    icon: https://example.com/icon.svg
    keywords: [a, b]
    kubeVersion: '>=1.20'
    maintainers:
    - name: Ann
      email: ann@example.com
      url: https://example.com/ann
    name: web
    removed: true
    sources:
    - https://example.com/src
    type: library
    unheard: of
    urls:
    - web-1.2.0.tgz
    version: 1.2.0
generated: "2026-02-03T04:05:06Z"
`)
	want := &Entry{
		Metadata: chart.Metadata{
			Name: "web", Home: "https://example.com", Sources: []string{"https://example.com/src"}, Version: "1.2.0", Description: "something",
			Keywords: []string{"a", "b"}, Maintainers: []*chart.Maintainer{{Name: "Ann", Email: "ann@example.com", URL: "https://example.com/ann"}},
			Icon: "https://example.com/icon.svg", APIVersion: "v2", AppVersion: "3.1", Deprecated: true, Annotations: map[string]string{"note": "two\nlines\n"},
			KubeVersion: ">=1.20", Type: "library",
			Dependencies: []*chart.Dependency{{
				Name: "common", Version: "2.x.x", Repository: "oci://registry.example.com/charts", Condition: "it.on", Tags: []string{"x"}, Enabled: true,
				Alias: "it", ImportValues: []any{"data", map[string]any{"child": "a", "parent": "b"}},
			}},
		},
		URLs: []string{"web-1.2.0.tgz"}, Created: time.Date(2026, 1, 2, 3, 4, 5, 5e8, time.UTC), Removed: true, Digest: "abc",
	}
	inAllForms(t, text, func(t *testing.T, x *Index) {
		got, err := x.Find("web", "", false)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, %v\nwant %+v", got, err, want)
		}
		if !x.Generated().Equal(time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)) {
			t.Errorf("made %s", x.Generated())
		}
		if unusable, err := x.Unusable(); len(unusable) > 0 || err != nil {
			t.Error(unusable, err)
		}
	})
}

// The fields of an entry are those of chart.Metadata.
func TestFindMetadataFields(t *testing.T) {
	for _, c := range []struct {
		of   reflect.Type
		open string
		read func(e *Entry) reflect.Value
	}{
		{reflect.TypeFor[chart.Metadata](), "", func(e *Entry) reflect.Value { return reflect.ValueOf(e.Metadata) }},
		{reflect.TypeFor[chart.Dependency](), "dependencies:\n    - ", func(e *Entry) reflect.Value { return reflect.ValueOf(*e.Dependencies[0]) }},
		{reflect.TypeFor[chart.Maintainer](), "maintainers:\n    - ", func(e *Entry) reflect.Value { return reflect.ValueOf(*e.Maintainers[0]) }},
	} {
		t.Run(c.open, func(t *testing.T) {
			for i := range c.of.NumField() {
				f := c.of.Field(i)
				key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
				if key == "moved" {
					continue // for upgrades, which have the chart
				}
				value := map[reflect.Kind]string{reflect.String: "library", reflect.Bool: "true", reflect.Map: "{a: b}", reflect.Slice: "[{name: a}]"}[f.Type.Kind()]
				if f.Type.Kind() == reflect.Slice && f.Type.Elem().Kind() == reflect.String {
					value = "[a]"
				}
				text := index("  library:\n  - ")
				if c.open == "" {
					text += key + ": " + value + "\n"
					for k, v := range map[string]string{"name": "library", "version": "1.0.0"} {
						if k != key {
							text += "    " + k + ": " + v + "\n"
						}
					}
					if key == "version" {
						text = strings.Replace(text, "version: library", "version: 1.0.0", 1)
					}
				} else {
					text += "name: library\n    version: 1.0.0\n    " + c.open + key + ": " + value + "\n"
				}
				e, err := parse(t, text).Find("library", "", true)
				if err != nil {
					t.Errorf("%s: %v\n%s", f.Name, err, text)
				} else if c.read(e).Field(i).IsZero() {
					t.Errorf("%s is not read from %s", f.Name, text)
				}
			}
		})
	}
}

// An entry for which Helm 4.3.1 prints "skipping loading invalid entry", and one with a wrong
// type, for which it rejects the index, do not affect the others. CVE-2022-23525,
// CVE-2020-15184, CVE-2025-55198, CVE-2024-25620.
func TestInvalidEntries(t *testing.T) {
	for _, c := range []struct{ bad, problem string }{
		{"  -\n", "number 1 is left out: is empty"},
		{"  - ~\n", "is empty"},
		{"  - hello\n", "is text, must be a table"},
		{"  - []\n", "is a list, must be a table"},
		{"  - apiVersion: v2\n    version: 1.5.0\n", "name is required"},
		{"  - apiVersion: v2\n    name: web\n", "version is required"},
		{"  - version: []\n    name: web\n", "version is a list, must be text"},
		{entry("what"), `what is left out: version is "what", must be a semantic version`},
		{entry("1.5.0", "keywords: hello"), "1.5.0 is left out: keywords is text, must be a list"},
		{entry("1.5.0", "home: [a]"), "home is a list, must be text"},
		{entry("1.5.0", "home: {a: b}"), "home is a table, must be text"},
		{entry("1.5.0", "deprecated: hello"), "deprecated must be true or false"},
		{entry("1.5.0", "annotations: [a]"), "annotations is a list, must be a table"},
		{entry("1.5.0", "maintainers: [null]"), "maintainers have an empty one"},
		{entry("1.5.0", "dependencies: [null]"), "dependencies have an empty one"},
		{entry("1.5.0", "dependencies: [{name: a, alias: ../b}]"), `dependencies have the alias "../b"`},
		{entry("1.5.0", "type: what"), `type is "what"`},
		{strings.Replace(entry("1.5.0"), "name: web", "name: ../x", 1), `name is "../x"`},
		{strings.Replace(entry("1.5.0"), "name: web", "name: ..", 1), `name is ".."`},
	} {
		t.Run(c.problem, func(t *testing.T) {
			inAllForms(t, index("  web:\n", c.bad, entry("1.1.0"), "  zoo:\n", entry("0.1.0")), func(t *testing.T, x *Index) {
				unusable, err := x.Unusable()
				if err != nil || len(unusable) != 1 || !strings.Contains(unusable[0].Error(), c.problem) {
					t.Errorf("%s: %v, %v, want %s", c.bad, unusable, err, c.problem)
				}
				if e, err := x.Find("web", "", false); err != nil || e.Version != "1.1.0" {
					t.Errorf("%s: %+v, %v", c.bad, e, err)
				}
				var got []string
				for e, err := range x.Latest(false) {
					if err == nil {
						got = append(got, e.Name+" "+e.Version)
					} else if !isEntry(err) {
						t.Error(err)
					}
				}
				if !slices.Equal(got, []string{"web 1.1.0", "zoo 0.1.0"}) {
					t.Errorf("%s: %s", c.bad, got)
				}
				if v := unusable[0].Version; v == "1.5.0" {
					if _, err := x.Find("web", v, false); !isEntry(err) {
						t.Errorf("%s: %v", c.bad, err)
					}
				}
			})
		})
	}
}

func TestInvalidCharts(t *testing.T) {
	for _, bad := range []string{"  web: hello\n", "  web:\n    name: web\n    version: 1.0.0\n", "  web:\n    hello\n", "  a/b:\n" + entry("1.0.0"), "  ..:\n" + entry("1.0.0"), "  \"\":\n" + entry("1.0.0")} {
		x := parse(t, index(bad, "  zoo:\n", entry("0.1.0")))
		unusable, err := x.Unusable()
		if err != nil || len(unusable) != 1 {
			t.Errorf("%s: %v, %v", bad, unusable, err)
		}
		if e, err := x.Find("zoo", "", false); err != nil || e.Name != "zoo" || e.Version != "0.1.0" {
			t.Errorf("%s: %+v, %v", bad, e, err)
		}
	}
}

// Everything that Helm accepts is accepted, and also numbers in place of strings, which it
// rejects.
func TestLenience(t *testing.T) {
	for _, c := range []struct {
		text  string
		check func(e *Entry) bool
	}{
		{"appVersion: 1.10", func(e *Entry) bool { return e.AppVersion == "1.10" }},
		{"engine: ~", func(e *Entry) bool { return e.Engine == "" }},
		{"description: 12", func(e *Entry) bool { return e.Description == "12" }},
		{"description: ~", func(e *Entry) bool { return e.Description == "" }},
		{"annotations: {a: 1, b: true}", func(e *Entry) bool { return e.Annotations["a"]+e.Annotations["b"] == "1true" }},
		{"created: hello", func(e *Entry) bool { return e.Created.IsZero() }},
		{"created:", func(e *Entry) bool { return e.Created.IsZero() }},
		{"created: 2020-01-02", func(e *Entry) bool { return e.Created.Year() == 2020 }},
		{"engine: gotpl\n    tillerVersion: '>2'\n    url: foo\n    checksum: bar", func(e *Entry) bool { return e.Legacy == Legacy{"bar", "gotpl", ">2", "foo"} }},
		{"description: \"a\\x1b[31mb\\tc\"", func(e *Entry) bool { return e.Description == "a[31mb c" }}, // CVE-2021-21303
		{"dependencies: [{name: a}, {name: a}]", func(e *Entry) bool { return len(e.Dependencies) == 2 }},
		{"deprecated: yes", func(e *Entry) bool { return e.Deprecated }},
		{"description: folded\n      in\n\n      lines # c", func(e *Entry) bool { return e.Description == "folded in lines" }},
		{"description: 'folded\n      in\n\n      lines' # c", func(e *Entry) bool { return e.Description == "folded in lines" }},
	} {
		t.Run(c.text, func(t *testing.T) {
			e, err := parse(t, index("  web:\n", entry("1.0.0", c.text))).Find("web", "", false)
			if err != nil || !c.check(e) {
				t.Errorf("%s: %+v, %v", c.text, e, err)
			}
		})
	}
	for _, c := range []struct{ version, want string }{{"1.10", "1.10"}, {"2", "2"}, {"v1.2", "v1.2"}, {"'1.0.0'", "1.0.0"}, {"|-\n      1.0.0", "1.0.0"}} {
		t.Run(c.version, func(t *testing.T) {
			x := parse(t, index("  web:\n", entry(c.version)))
			if e, err := x.Find("web", "", false); err != nil || e.Version != c.want || !slices.Equal(x.Versions("web"), []string{c.want}) {
				t.Errorf("%s: %+v, %v", c.version, e, err)
			}
		})
	}
	x := parse(t, index("  web:\n", strings.ReplaceAll(entry("1.0.0")+entry("0.9.0"), "name: web", "name: foo")))
	if e, err := x.Find("web", "", false); err != nil || e.Name != "web" {
		t.Errorf("an entry that calls itself otherwise: %+v, %v", e, err)
	}
}

// CVE-2020-15185: readers may choose different values of duplicate keys.
func TestParseRejectsDuplicateKeys(t *testing.T) {
	good := index("  web:\n", entry("1.2.0"), entry("1.1.0"))
	for _, c := range []struct {
		text, key string
		line      int
	}{
		{good + "apiVersion: v1\n", "apiVersion", 14},
		{good + "entries: {}\n", "entries", 14},
		{good + "  web:\n" + entry("1.0.0"), "web", 14},
		{good + entry("1.0.0", "version: 2.0.0"), "version", 19},
		{good + entry("1.0.0", "zz: 1", "zz: 2"), "zz", 20},
		{good + entry("1.0.0", "annotations:", "  a: b", "  'a': c"), "a", 21},
		{good + entry("1.0.0", "annotations: {a: b, a: c}"), "a", 19},
		{good + entry("1.0.0", "dependencies:", "- name: a", "  name: b"), "name", 21},
		{good + "annotations:\n  a: b\n  a: c\n", "a", 16},
		{index("  web: {a: {b: 1, b: 2}}\n"), "b", 3},
		{`{"apiVersion":"v1","entries":{"web":{"a":1,"a":2}}}`, "a", 0},
		{`{"apiVersion":"v1","apiVersion":"v1"}`, "apiVersion", 0},
		{`{"apiVersion":"v1","entries":{},"entries":{}}`, "entries", 0},
		{`{"apiVersion":"v1","entries":{"web":[],"web":[]}}`, "web", 0},
		{`{"apiVersion":"v1","entries":{"web":[{"name":"web","version":"1.0.0","n\u0061me":"web"}]}}`, "name", 0},
		{`{"apiVersion":"v1","entries":{"web":[{"name":"web","zz":{"a":[{"b":1,"b":1}]}}]}}`, "b", 0},
		{`{"apiVersion":"v1","x":{"a":1,"a":2}}`, "a", 0},
	} {
		t.Run(c.text, func(t *testing.T) {
			x, err := Parse([]byte(c.text))
			if err == nil {
				err = x.Check()
			}
			d, ok := errors.AsType[*DuplicateError](err)
			if !ok || d.Key != c.key || d.Line != c.line {
				t.Errorf("%s\n%v, want %s in line %d", c.text, err, c.key, c.line)
			}
		})
	}
	x := parse(t, good+entry("1.3.0", "zz: 1", "zz: 2"))
	if _, err := x.Find("web", "", false); !strings.Contains(fmt.Sprint(err), `line 20 has the key "zz" a second time`) {
		t.Error(err)
	}
}

// CVE-2024-26147, CVE-2022-23525: empty files, and files that are not an index.
func TestParseRejectsInvalid(t *testing.T) {
	deep := strings.Repeat("[", 9000)
	bomb := "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'k'; c++ {
		bomb += fmt.Sprintf("%c: &%c [%s*%c]\n", c, c, strings.Repeat(fmt.Sprintf("*%c,", c-1), 9), c-1)
	}
	for text, want := range map[string]string{
		"": "empty index.yaml file", " \n\n": "empty index.yaml file", "# x\n": "empty index.yaml file", "null": "empty index.yaml file", "~\n": "empty index.yaml file", "---\n": "empty index.yaml file",
		"{}": "no apiVersion", "entries: {}\n": "no apiVersion", "apiVersion:\nentries: {}\n": "no apiVersion", "apiVersion: ''\n": "no apiVersion", "apiVersion: [v1]\n": "apiVersion is a list",
		"<!DOCTYPE html>\n<html>a: b</html>": "it is a web page", "\n <html>": "it is a web page", "<?xml version='1.0'?>": "it is a web page",
		"hello": "it is text", "- a\n": "it is a list", "[]": "it is a list", "{": "no YAML", "{]": "no YAML", "a: b: c\n": "no YAML: mapping values",
		"apiVersion: v1\nentries: []\n": "entries is a list", "apiVersion: v1\nentries:\n- a\n": "entries is a list", "apiVersion: v1\nentries: hello\n": "entries is text",
		`{"apiVersion":"v1","entries":[]}`: "entries is a list", `{"apiVersion":"v1","entries":1}`: "entries is text",
		index("  web:\n", entry("1.0.0"), "   - a: b\n"): "no YAML", index("  web:\n  - \"a\n"): "no YAML", index("  web:\n  - a: *b\n"): "unknown anchor",
		index("  ? [a]\n  : - x\n"): "a key is not a string", "apiVersion: v1\nx: &a [*a]\n": "", index("  web:\n", entry("1.0.0"), entry("a: b: c")): "line 11: no YAML",
		"apiVersion: v1\nx: " + deep: "", `{"apiVersion":"v1","x":` + deep + strings.Repeat("]", 9000) + "}": "too deep", "apiVersion: v1\n" + bomb: "aliases", "\x00": "no YAML", "a\x00b: c": "no YAML",
		index("  web:\n  - <<: x\n"): "merges a value that is not a map",
	} {
		t.Run(text, func(t *testing.T) {
			x, err := Parse([]byte(text))
			if err == nil {
				err = x.Check()
			}
			f, ok := errors.AsType[*FormatError](err)
			if !ok || !strings.Contains(f.Error(), want) || !strings.HasPrefix(f.Error(), "this is not a repository index: ") {
				t.Errorf("%.200q: %v, want %s", text, err, want)
			}
		})
	}
	for _, text := range []string{"apiVersion: v1\n", "apiVersion: v9\nentries:\n", `{"apiVersion":"v1","entries":null}`} {
		if x := parse(t, text); len(x.Names()) > 0 || x.Check() != nil || x.Versions("web") != nil {
			t.Errorf("%s is an empty index", text)
		}
	}
}

// Entries of a few bytes must not take hundreds of bytes each.
func TestParseRejectsTooManyEntries(t *testing.T) {
	for form, text := range map[string]string{
		"quick": index("  web:\n", strings.Repeat("  -\n", mostEntries+1)),
		"full":  index("  web: &a\n", strings.Repeat("  -\n", mostEntries+1)),
		"json":  `{"apiVersion":"v1","entries":{"web":[null` + strings.Repeat(",0", mostEntries) + "]}}",
	} {
		t.Run(form, func(t *testing.T) {
			x, err := Parse([]byte(text))
			if err == nil {
				err = x.Check()
			}
			if !strings.Contains(fmt.Sprint(err), `chart "web" has more than 100000 entries`) {
				t.Errorf("%s: %v", form, err)
			}
		})
	}
	x := parse(t, index("  web:\n", strings.Repeat("  -\n", mostTold*2), entry("1.0.0")))
	if unusable, err := x.Unusable(); len(unusable) != mostTold || err != nil {
		t.Error(len(unusable), err)
	}
}

// Compressed, these are a few hundred kilobytes; each byte must not take tens of bytes.
func TestParseLimits(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	many := func(format string, n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	long := strings.Repeat("    - x\n", mostBytes/8+1)
	longJSON := `["x"` + strings.Repeat(`,"x"`, mostBytes/4) + `]`
	for text, want := range map[string]string{
		index(many("  c%d: []\n", mostCharts+1)):                                                                  "more than 100000 charts",
		`{"apiVersion":"v1","entries":{` + many(`"c%d":[],`, mostCharts) + `"c":[]}}`:                             "more than 100000 charts",
		"full: &a x\n" + index(many("  c%d: []\n", mostCharts+1)):                                                 "more than 100000 charts",
		"apiVersion: v1\n" + many("k%d: x\n", mostKeys+1):                                                         "more than 1000 keys",
		`{"apiVersion":"v1"` + many(`,"k%d":1`, mostKeys) + `}`:                                                   "more than 1000 keys",
		index("  web:\n", entry("1.0.0", "sources:"), long):                                                       "line 4: an entry has more than 5 MiB",
		`{"apiVersion":"v1","entries":{"web":[{"version":"1.0.0","urls":` + longJSON + `}]}}`:                     "an entry has more than 5 MiB",
		"apiVersion: v1\nk:\n" + long + "entries: {}\n":                                                           `line 2: the value of "k" has more than 5 MiB`,
		`{"apiVersion":"v1","entries":{"web":[{"annotations":{"` + strings.Repeat("k", longestKey) + `":"x"}}]}}`: "a key of more than 1000 bytes",
		`{"apiVersion":"v1","entries":{"` + strings.Repeat("k", longestKey) + `":[]}}`:                            "a key of more than 1000 bytes",
		`{"apiVersion":"v1","k":` + longJSON + `}`:                                                                `the value of "k" has more than 5 MiB`,
		"apiVersion: v1\nentries: {web: [" + strings.Repeat("[],", mostNodes/2) + "]}\n":                          "unusual form of YAML",
	} {
		t.Run(text, func(t *testing.T) {
			x, err := Parse([]byte(text))
			if err == nil {
				err = x.Check()
			}
			if _, ok := errors.AsType[*FormatError](err); !ok || !strings.Contains(err.Error(), want) {
				t.Errorf("%.60q: %v, want %s", text, err, want)
			}
		})
	}
}

// Git on Windows may have converted line ends; the index is read as fast.
func TestWindowsLineEnds(t *testing.T) {
	unix := index("  web:\n", entry("1.0.0", "description: |", "  two", "  lines"))
	x := parse(t, strings.ReplaceAll(unix, "\n", "\r\n"))
	if got := string(x.Canonical()); got != unix {
		t.Errorf("got %q, want %q", got, unix)
	}
	if e, err := x.Find("web", "", false); err != nil || e.Description != "two lines " || x.Check() != nil {
		t.Error(e, err)
	}
}

func TestUnusableIsFast(t *testing.T) {
	var b strings.Builder
	b.WriteString(index("  web:\n"))
	for i := range 20_000 {
		fmt.Fprintf(&b, "  - {name: web, version: 1.%d.0, type: what}\n", i)
	}
	b.WriteString(entry("0.1.0"))
	x := parse(t, b.String())
	begin := time.Now()
	if e, err := x.Find("web", "", false); err != nil || e.Version != "0.1.0" {
		t.Error(e, err)
	}
	if took := time.Since(begin); took > 20*time.Second { // removing one at a time takes minutes
		t.Errorf("took %s", took)
	}
}

// newest is dependency.Version with less work.
func FuzzNewest(f *testing.F) {
	for _, s := range []string{"", "1.0.0", "1.0.0 2.0.0", "1.0.0-rc 0.9.0", "2.0.0-rc.1 1.0.0+b 1.0.0+a", "1.0 1.0.0", "v1.0.0 1.0.0", "1.0.0- 1.0.0", "01.0.0 1.0.0", "1.0.0-0 1", "what 1.0.0", "1.0.0-a 1.0.0-b", "999999999999999999.0.0 1.0.0", "99999999999999999999.0.0"} {
		f.Add(s, false)
		f.Add(s, true)
	}
	f.Fuzz(func(t *testing.T, list string, devel bool) {
		have := strings.Fields(list)
		want, wantErr := dependency.Version(have, "", devel)
		got, err := newest(have, devel)
		if got != want || (err == nil) != (wantErr == nil) {
			t.Errorf("%q: %q, %v, want %q, %v", have, got, err, want, wantErr)
		}
	})
}

func TestOpenSurvivesReplace(t *testing.T) {
	dir := t.TempDir()
	path, other := filepath.Join(dir, "index.yaml"), filepath.Join(dir, "other")
	write := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(path, index("  web:\n", entry("1.0.0")))
	write(other, "apiVersion: v1\n")
	x, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if err := os.Rename(other, path); err != nil {
		t.Skip("the platform keeps open files in place:", err)
	}
	if e, err := x.Find("web", "", false); err != nil || e.Version != "1.0.0" {
		t.Error(e, err)
	}
	write(path, index("  web:\n", entry("1.0.0")))
	y, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer y.Close()
	write(path, "apiVersion: v1\n") // in place, like Helm
	if _, err := y.Find("web", "", false); !errors.Is(err, errChanged) {
		t.Error(err)
	}
	for _, path := range []string{filepath.Join(dir, "nothing"), dir, "/dev/null"} {
		if _, err := Open(path); err == nil {
			t.Errorf("%s is an index", path)
		}
	}
}

func TestConcurrentReaders(t *testing.T) {
	for _, text := range []string{string(bigIndex(5, 20)), "a: &a b\n" + string(bigIndex(5, 20))} {
		x := parse(t, text)
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				e, err := x.Find(fmt.Sprintf("app%03d", i%5), "", false)
				if err != nil || e.Version != "1.19.0" || x.Check() != nil {
					t.Error(e, err)
				}
			})
		}
		wg.Wait()
	}
}

// An entry keeps only its own text in memory, not the index's.
func TestEntryAsJSON(t *testing.T) {
	e, err := parse(t, index("  web:\n", entry("1.0.0", "digest: abc"))).Find("web", "", false)
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(e)
	if want := `{"name":"web","version":"1.0.0","apiVersion":"v2","urls":["web.tgz"],"created":"0001-01-01T00:00:00Z","digest":"abc"}`; err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
}
