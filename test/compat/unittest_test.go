// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"encoding/xml"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/internal/filetest"
	"github.com/moonhelm/moonhelm/internal/peertest"
)

// helmUnittest returns the path of helm-unittest: that of MOONHELM_HELM_UNITTEST, or else the newest
// version of the Go module proxy.
func helmUnittest(t *testing.T) string {
	t.Helper()
	if bin := os.Getenv("MOONHELM_HELM_UNITTEST"); bin != "" {
		return bin
	}
	bin, err := peertest.HelmUnittest()
	if err != nil {
		t.Fatal(err)
	}
	return bin
}

// verdicts are the results of tests by suite and name, in order: a name may come several times.
type verdicts map[string][]string

// runUnittest runs the tests of a copy of a chart, and returns their verdicts and the exit code.
func runUnittest(t *testing.T, source string, command []string, args ...string) (verdicts, int) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), filepath.Base(source))
	if info, err := os.Stat(source); err == nil && !info.IsDir() { // an archive
		dir = source
	} else if err := os.CopyFS(dir, os.DirFS(source)); err != nil {
		t.Fatal(err)
	}
	results := filepath.Join(t.TempDir(), "results.xml")
	args = append(append(command[1:len(command):len(command)], args...), "-t", "JUnit", "-o", results, filepath.Base(dir))
	cmd := exec.Command(command[0], args...)
	cmd.Dir = filepath.Dir(dir)
	cmd.Env = append(os.Environ(), "HELM_CONFIG_HOME="+t.TempDir(), "HELM_PLUGINS="+t.TempDir())
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatalf("%s: %v", command[0], err)
	}
	var junit struct {
		Suites []struct {
			Name  string `xml:"name,attr"`
			Cases []struct {
				Name    string    `xml:"name,attr"`
				Failure *struct{} `xml:"failure"`
				Error   *struct{} `xml:"error"`
				Skipped *struct{} `xml:"skipped"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	text, err := os.ReadFile(results)
	if err == nil {
		err = xml.Unmarshal(text, &junit)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	found := verdicts{}
	for _, s := range junit.Suites {
		if strings.HasSuffix(s.Name, "_test.yaml") { // ours has the file's name for a suite without one
			s.Name = ""
		}
		for _, c := range s.Cases {
			verdict := "passed"
			switch {
			case c.Failure != nil:
				verdict = "failed"
			case c.Error != nil:
				verdict = "errored"
			case c.Skipped != nil:
				verdict = "skipped"
			}
			key := s.Name + " / " + c.Name
			found[key] = append(found[key], verdict)
		}
	}
	return found, cmd.ProcessState.ExitCode()
}

// compareUnittest runs the tests of a chart with both programs and compares the verdicts. most is the
// number of tests that there must be at least.
func compareUnittest(t *testing.T, source string, most int, args ...string) {
	t.Helper()
	want, wantCode := runUnittest(t, source, []string{helmUnittest(t)}, args...)
	got, code := runUnittest(t, source, []string{ours(t), "unittest"}, args...)
	if code != wantCode {
		t.Errorf("exit code %d, helm-unittest's is %d", code, wantCode)
	}
	n := 0
	for _, name := range slices.Sorted(maps.Keys(want)) {
		verdict := want[name]
		n += len(verdict)
		if !reflect.DeepEqual(got[name], verdict) {
			t.Errorf("%s: %v, helm-unittest: %v", name, got[name], verdict)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s: helm-unittest has no such test", name)
		}
	}
	if n < most {
		t.Errorf("%d tests were compared, want at least %d", n, most)
	}
}

// TestUnittestCharts runs the tests of helm-unittest's own test charts.
func TestUnittestCharts(t *testing.T) {
	source, err := peertest.UnittestSource()
	if err != nil {
		t.Fatal(err)
	}
	charts := filepath.Join(source, "test", "data", "v3")
	entries, err := os.ReadDir(charts)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		// Its suites are not valid, and helm-unittest then runs none.
		if e.Name() == "invalidbasic" {
			continue
		}
		t.Run(e.Name(), func(t *testing.T) { compareUnittest(t, filepath.Join(charts, e.Name()), 0) })
	}
	more := []struct {
		name, chart string
		tests       int
		args        []string
	}{
		{"failing tests", "basic", 17, []string{"-f", "tests_failed/*_test.yaml"}},
		{"directories below", "nested_glob", 3, []string{"-f", "tests/**/*_test.yaml"}},
		{"only the chart's own", "with-subchart", 16, []string{"--with-subchart=false"}},
		{"suites that are rendered", "with-helm-tests", 10, []string{"--chart-tests-path", "tests-chart"}},
		{"values", "basic", 48, []string{"-v", filepath.Join(source, "test", "data", "services_values.yaml")}},
		{"without schemas", "with-schema", 1, []string{"--skip-schema-validation"}},
		{"strict", "basic", 48, []string{"--strict"}},
		{"updating", "full-snapshot", 3, []string{"-u"}},
	}
	for _, tt := range more {
		t.Run(tt.name, func(t *testing.T) { compareUnittest(t, filepath.Join(charts, tt.chart), tt.tests, tt.args...) })
	}
}

// TestUnittestCorpus runs the suites of public charts.
func TestUnittestCorpus(t *testing.T) {
	found, err := filepath.Glob(filepath.Join(root(t), "..", "shared", "corpus", "charts", "*", "tests", "*_test.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if len(found) == 0 {
		t.Skip("the corpus is missing: it is in ../shared/corpus, beside the project, where it is developed")
	}
	done := map[string]bool{}
	for _, file := range found {
		dir := filepath.Dir(filepath.Dir(file))
		if done[dir] {
			continue
		}
		done[dir] = true
		t.Run(filepath.Base(dir), func(t *testing.T) { compareUnittest(t, dir, 1) })
	}
}

// edgeChart has templates that render all kinds of values, and fail in many ways.
func edgeChart(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "edge")
	for name, text := range map[string]string{
		"Chart.yaml":  "apiVersion: v2\nname: edge\nversion: 1.0.0\nappVersion: \"2\"\n",
		"values.yaml": "a: 1\nl: [1, 2, 3]\nmode: none\n",
		"templates/_h.tpl": `{{- define "fails" -}}{{ fail "deep: err" }}{{- end -}}
{{- define "nilp" -}}
a: {{ .Values.x.y.z }}{{- end -}}`,
		"templates/ok.yaml": `kind: ConfigMap
apiVersion: v1
metadata: {name: {{ .Release.Name }}}
data:
  n: 5
  f: 5.5
  s: "5"
  b: true
  nul: null
  emp: ""
  zero: 0
  l: {{ .Values.l | toJson }}
  lead: "\n\nx\n"
  word: yes
  octal: 0777
  date: 2001-01-01
  enc: aGVsbG8=
  list:
  - {name: a, v: 1}
  - {name: b, v: 2}
values: {{ .Values | toJson | quote }}
versions: {{ .Capabilities.APIVersions | toJson | quote }}
kube: {{ .Capabilities.KubeVersion.Version }}
release: {{ .Release | toJson | quote }}
chart: {{ .Chart.Version }}-{{ .Chart.AppVersion }}
`,
		"templates/two.yaml": `kind: A
apiVersion: v1
metadata: {name: x, namespace: ns, labels: {a: b, c: d}}
l: [1, 2]
---
# only a comment
---
kind: B
apiVersion: v2
metadata: {name: "y"}
l: [1, 2, 3]
`,
		"templates/empty.yaml": "{{- if .Values.never }}\na: 1\n{{- end }}\n",
		"templates/fails.yaml": `{{- $m := .Values.mode }}
{{- if eq $m "fail" }}{{ fail "boom" }}{{ end }}
{{- if eq $m "deep" }}{{ include "fails" . }}{{ end }}
{{- if eq $m "nilp" }}{{ .Values.x.y.z }}{{ end }}
{{- if eq $m "deepnilp" }}{{ include "nilp" . }}{{ end }}
{{- if eq $m "required" }}{{ required "need it" .Values.nothing }}{{ end }}
{{- if eq $m "index" }}{{ index .Values.l "q" }}{{ end }}
{{- if eq $m "unknown" }}{{ include "nope" . }}{{ end }}
{{- if eq $m "lines" }}{{ fail "one\ntwo" }}{{ end }}
{{- if eq $m "yaml" }}
a: b: c
{{- end }}
ok: 1
`,
		"templates/sub/s.yaml": "kind: Sub\nmetadata: {name: s}\n",
		"templates/NOTES.txt":  "\nhello {{ .Release.Name }}\n",
	} {
		filetest.WriteFile(t, filepath.Join(dir, filepath.FromSlash(name)), text)
	}
	return dir
}

// TestUnittestAssertions compares the verdict of each of many assertions.
func TestUnittestAssertions(t *testing.T) {
	var b strings.Builder
	n := 0
	add := func(head, assertions string) {
		for line := range strings.Lines(assertions) {
			if line = strings.TrimSpace(line); line == "" {
				continue
			}
			for _, not := range []string{"", ", not: true"} {
				n++
				name := strings.ReplaceAll(fmt.Sprintf("%d %q: %s%s", n, head, line, not), "'", "''")
				fmt.Fprintf(&b, "- it: '%s'\n  %s\n  asserts: [{%s%s}]\n", name, strings.ReplaceAll(head, "\n", "\n  "), line, not)
			}
		}
	}
	b.WriteString("suite: edge\ntemplates: [ok.yaml, two.yaml, empty.yaml, NOTES.txt]\ntests:\n")
	add("template: ok.yaml", edgeValues)
	add("template: empty.yaml", edgeEmpty)
	add("template: two.yaml", edgeDocuments)
	add("template: NOTES.txt", edgeNotes)
	add("documentIndex: 1\ntemplate: two.yaml", "isKind: {of: B}\nisKind: {of: A}\nhasDocuments: {count: 2}\n"+
		"hasDocuments: {count: 1, filterAware: true}\nisKind: {of: A}, documentIndex: 0")
	add("documentSelector: {path: kind, value: B}", "isKind: {of: B}\nhasDocuments: {count: 2}\n"+
		"isKind: {of: B}, documentIndex: 0")
	add("documentSelector: {path: kind, value: None, skipEmptyTemplates: true}", "isKind: {of: B}\nhasDocuments: {count: 2}")
	add("documentSelector: {path: kind, value: None}", "isKind: {of: B}")
	add("documentSelector: {path: metadata.name}", "isKind: {of: B}")
	add("documentSelector: {path: metadata.name, matchMany: true}", "exists: {path: kind}\nisKind: {of: B}")
	add("documentIndex: 9", "isKind: {of: A}")
	b.WriteString("---\nsuite: failures\ntemplates: [ok.yaml, fails.yaml]\ntests:\n")
	for _, mode := range []string{"fail", "deep", "nilp", "deepnilp", "required", "index", "unknown", "yaml", "none"} {
		add("template: fails.yaml\nset: {mode: "+mode+"}", edgeFailures)
	}
	add("template: ok.yaml\nset: {mode: fail}", "isKind: {of: ConfigMap}\nfailedTemplate: {}, template: fails.yaml")
	for _, v := range []string{"0.0.1", "9.0.0", "v9.0.0", "9", "99.99.99"} {
		fmt.Fprintf(&b, "---\nsuite: least %s\ntemplates: [ok.yaml]\nskip: {minimumVersion: %[1]s}\ntests:\n", v)
		add("template: ok.yaml", "exists: {path: kind}")
		fmt.Fprintf(&b, "---\nsuite: least of a test %s\ntemplates: [ok.yaml]\ntests:\n", v)
		add("template: ok.yaml\nskip: {minimumVersion: "+v+"}", "exists: {path: kind}")
	}
	b.WriteString("---\nsuite: settings\ntemplates: [ok.yaml]\nset: {ss: 1, \"p.q\": 1, m: {x: 1}}\n" +
		"release: {name: rr, revision: 3}\ncapabilities: {majorVersion: 1, minorVersion: 21, apiVersions: [x/v1]}\n" +
		"chart: {version: 9.0.0}\ntests:\n")
	for _, set := range []string{
		`{"p.r": 2}`, `{"idx[1]": 2}`, `{"mm.k[0].n": 4}`, `{"l[0]": 9}`, `{"nul": null}`, `{"n.e": {"s.t": 5}}`, `{m: {y: 2}}`,
		`{"a/b.c": 7}`, `{l: []}`, `{m: null}`, `{a: null}`, `{"a.b": 1}`, `{x: {"a.b": {"c[0]": 1}}}`, `{"a..b": 1}`,
		`{"a.": 1}`, `{"a[x]": 1}`, `{"a[0": 1}`, `{"a,b": 1}`, `{"a=b": 1}`, `{"a]b": 1}`, `{"a[0][1]": 1}`, `{"esc\\.aped": 1}`,
	} {
		add("set: "+set, "matchRegex: {path: values, pattern: '"+`"ss":1`+"'}\nequal: {path: chart, value: 9.0.0-2}")
	}
	add("release: {namespace: nn, upgrade: true}\ncapabilities: {minorVersion: 12, apiVersions: [y/v1]}\nchart: {appVersion: 7}",
		`equal: {path: release, value: '{"IsInstall":false,"IsUpgrade":true,"Name":"rr","Namespace":"nn","Revision":3,"Service":"Helm"}'}
		equal: {path: versions, value: '["y/v1","x/v1"]'}
		equal: {path: kube, value: v1.12.0}
		equal: {path: chart, value: 9.0.0-7}`)
	add("capabilities: {apiVersions: null}", `equal: {path: versions, value: "null"}`)
	for _, p := range []string{"*", "*.yaml", "**", "**/*.yaml", "templates/*", "templates/**/*.yaml", "sub/*", "s*.yaml", "*/s.yaml",
		"ok.yaml", "templates/ok.yaml", "ok", "templates", "[o]k.yaml", "{ok,two}.yaml", "o?.yaml", "edge/templates/ok.yaml", "_h.tpl"} {
		fmt.Fprintf(&b, "---\nsuite: 'pattern %s'\ntemplates: ['%[1]s']\ntests:\n", p)
		add("template: ok.yaml", "exists: {path: kind}")
		add("set: {a: 1}", "isKind: {of: Sub}\nhasDocuments: {count: 1}\nexists: {path: kind}")
		fmt.Fprintf(&b, "---\nsuite: 'without %s'\nexcludeTemplates: ['%[1]s']\ntests:\n", p)
		add("template: ok.yaml", "exists: {path: kind}")
		add("set: {a: 1}", "hasDocuments: {count: 1}")
	}
	dir := edgeChart(t)
	filetest.WriteFile(t, filepath.Join(dir, "tests", "edge_test.yaml"), b.String())
	compareUnittest(t, dir, n)
}

const edgeValues = `
equal: {path: "data.list[*].name", value: a}
equal: {path: "data.list[?(@.v == 2)].name", value: b}
equal: {path: "data.list[?(@.v > 1)].name", value: b}
equal: {path: "$..name", value: a}
equal: {path: "data.list[0]", value: {v: 1, name: a}}
equal: {path: "data.list[-1].name", value: b}
equal: {path: "data.list[5].name", value: b}
equal: {path: "data[", value: b}
equal: {path: data.n, value: 5}
equal: {path: data.n, value: "5"}
equal: {path: data.n, value: 5.0}
equal: {path: data.s, value: 5}
equal: {path: data.f, value: 5.5}
equal: {path: data.b, value: "true"}
equal: {path: data.nul, value: null}
equal: {path: data.none, value: null}
equal: {path: data.lead, value: "x\n"}
equal: {path: data.lead, value: "\n\nx\n"}
equal: {path: data.word, value: "yes"}
equal: {path: data.octal, value: 511}
equal: {path: data.date, value: "2001-01-01"}
equal: {path: data.enc, value: hello, decodeBase64: true}
equal: {path: data.s, value: x, decodeBase64: true}
notEqual: {path: data.none, value: null}
notEqual: {path: data.n, value: 5}
exists: {path: data.nul}
exists: {path: data.none}
exists: {}
exists: {path: "data['n']"}
exists: {path: 'data[n]'}
exists: {path: 'data.*'}
exists: {path: 'data~'}
notExists: {path: data.nul}
notExists: {path: data.none}
isNull: {path: data.nul}
isNotNull: {path: data.n}
isNullOrEmpty: {path: data.nul}
isNullOrEmpty: {path: data.emp}
isNullOrEmpty: {path: data.zero}
isNullOrEmpty: {path: data.none}
isNullOrEmpty: {path: data.n}
isNotNullOrEmpty: {path: data.none}
isNotEmpty: {path: data.b}
isEmpty: {path: data.emp}
contains: {path: data.l, content: 1}
contains: {path: data.l, content: "1"}
contains: {path: data.l, content: [1, 2], any: true}
contains: {path: data.list, content: {name: a}}
contains: {path: data.list, content: {name: a}, any: true}
contains: {path: data.list, content: {name: a}, any: true, count: 1}
contains: {path: data.list, content: {name: a}, any: true, count: 2}
contains: {path: data.list, content: {name: a, v: 1}, count: 0}
contains: {path: data.n, content: 5}
contains: {path: data, content: {n: 5}}
contains: {path: data.none, content: 5}
notContains: {path: data.none, content: 5}
notContains: {path: data.list, content: {name: a}}
notContains: {path: data.list, content: {name: a}, any: true}
isSubset: {path: data, content: {n: 5}}
isSubset: {path: data, content: {n: 6}}
isSubset: {path: data, content: {list: [{name: a}]}}
isSubset: {path: data.l, content: [1]}
isSubset: {path: data.none, content: {}}
isNotSubset: {path: data.none, content: {}}
isNotSubset: {path: data, content: {n: 5}}
isType: {path: data.n, type: int}
isType: {path: data.f, type: float64}
isType: {path: data.s, type: string}
isType: {path: data.b, type: bool}
isType: {path: data.l, type: "[]interface {}"}
isType: {path: data, type: "map[string]interface {}"}
isType: {path: data.nul, type: ""}
isType: {path: data.none, type: int}
isNotType: {path: data.n, type: int}
isNotType: {path: data.none, type: int}
lengthEqual: {path: data.l, count: 3}
lengthEqual: {path: data.n, count: 3}
lengthEqual: {path: data, count: 0}
lengthEqual: {path: data.none, count: 0}
lengthEqual: {path: data.l}
lengthEqual: {paths: [data.l, data.list], count: 3}
lengthEqual: {paths: [data.l, data.list]}
lengthEqual: {paths: [data.l, data.l]}
lengthEqual: {paths: [data.l, data.none], count: 3}
lengthEqual: {path: "data.l[*]", count: 0}
notLengthEqual: {path: data.l, count: 3}
notLengthEqual: {path: data.none, count: 3}
notLengthEqual: {paths: [data.l, data.list]}
notLengthEqual: {paths: [data.l, data.l]}
matchRegex: {path: data.n, pattern: "5"}
matchRegex: {path: data.s, pattern: "5"}
matchRegex: {path: data.s, pattern: "("}
matchRegex: {path: data.none, pattern: x}
matchRegex: {path: data.s}
matchRegex: {path: data.enc, pattern: ^hel, decodeBase64: true}
matchRegex: {path: data.lead, pattern: ^x}
notMatchRegex: {path: data.none, pattern: x}
notMatchRegex: {path: data.l, pattern: x}
notMatchRegex: {path: data.s, pattern: x}
greaterOrEqual: {path: data.n, value: 4}
greaterOrEqual: {path: data.n, value: 5}
greaterOrEqual: {path: data.n, value: 6}
greaterOrEqual: {path: data.n, value: "5"}
greaterOrEqual: {path: data.n, value: 4.5}
greaterOrEqual: {path: data.f, value: 5.5}
greaterOrEqual: {path: data.s, value: "40"}
greaterOrEqual: {path: data.none, value: "40"}
greaterOrEqual: {path: data.b, value: true}
notGreaterOrEqual: {path: data.n, value: 4}
notGreaterOrEqual: {path: data.n, value: 6}
lessOrEqual: {path: data.n, value: 4}
lessOrEqual: {path: data.n, value: 5}
lessOrEqual: {path: data.n, value: 6}
lessOrEqual: {path: data.s, value: abc}
notLessOrEqual: {path: data.n, value: 4}
notLessOrEqual: {path: data.n, value: 6}
isKind: {of: ConfigMap}
isKind: {}
isAPIVersion: {of: v1}
isAPIVersion: {of: v2}
equalRaw: {value: x}
matchRegexRaw: {pattern: x}
hasDocuments: {count: 1}
hasDocuments: {count: 2}
isKind: {of: A}, template: two.yaml
isKind: {of: A}, template: none.yaml
isKind: {of: A}, template: sub/s.yaml
failedTemplate: {}
notFailedTemplate: {}
failedTemplate: {errorMessage: x}
`

const edgeEmpty = `
hasDocuments: {count: 0}
notExists: {path: a}
exists: {path: a}
equal: {path: a, value: 1}
notEqual: {path: a, value: 1}
isNullOrEmpty: {path: a}
isNotNullOrEmpty: {path: a}
contains: {path: a, content: 1}
notContains: {path: a, content: 1}
containsDocument: {kind: x, apiVersion: v1}
matchRegex: {path: a, pattern: b}
notMatchRegex: {path: a, pattern: b}
isSubset: {path: a, content: {}}
isNotSubset: {path: a, content: {}}
lengthEqual: {path: a, count: 2}
notLengthEqual: {path: a, count: 2}
isType: {path: a, type: string}
isNotType: {path: a, type: string}
greaterOrEqual: {path: a, value: 1}
lessOrEqual: {path: a, value: 1}
notLessOrEqual: {path: a, value: 1}
isAPIVersion: {of: v1}
isKind: {of: v1}
matchSnapshot: {}
equalRaw: {value: ""}
matchRegexRaw: {pattern: x}
failedTemplate: {}
notFailedTemplate: {}
`

const edgeDocuments = `
isKind: {of: A}
isKind: {of: A}, documentIndex: 0
isKind: {of: B}, documentIndex: 1
isKind: {of: B}, documentIndex: 2
hasDocuments: {count: 2}
hasDocuments: {count: 3}
exists: {path: kind}
equal: {path: metadata.name, value: x}
containsDocument: {kind: A, apiVersion: v1}
containsDocument: {kind: A, apiVersion: v1, any: true}
containsDocument: {kind: A, any: true}
containsDocument: {kind: B, apiVersion: v2, name: "y"}, documentIndex: 1
containsDocument: {kind: A, apiVersion: v1, name: x, namespace: ns}, documentIndex: 0
containsDocument: {kind: A, apiVersion: v1, name: x, namespace: zz}, documentIndex: 0
containsDocument: {kind: Z, apiVersion: v1}
isKind: {of: B}, documentSelector: {path: metadata.name, value: "y"}
isKind: {of: B}, documentSelector: {path: metadata.name, value: z}
isKind: {of: B}, documentSelector: {path: metadata.name}
isKind: {of: B}, documentSelector: {path: metadata.name, matchMany: true}
isKind: {of: B}, documentSelector: {path: metadata.name, value: z, skipEmptyTemplates: true}
isKind: {of: A}, documentSelector: {path: metadata.labels, value: {a: b, c: d}}
isSubset: {path: metadata, content: {labels: {a: b}}}, documentIndex: 0
isSubset: {path: metadata, content: {name: x, labels: {a: b, c: d}}}, documentIndex: 0
`

const edgeNotes = `
equalRaw: {value: "hello RELEASE-NAME\n"}
equalRaw: {value: "\nhello RELEASE-NAME\n"}
equalRaw: {value: hello}
notEqualRaw: {value: hello}
matchRegexRaw: {pattern: ^hello}
matchRegexRaw: {pattern: bye}
notMatchRegexRaw: {pattern: bye}
hasDocuments: {count: 1}
matchSnapshotRaw: {}
exists: {path: raw}
`

const edgeFailures = `
failedTemplate: {}
failedTemplate: {errorMessage: boom}
failedTemplate: {errorMessage: "deep: err"}
failedTemplate: {errorMessage: need it}
failedTemplate: {errorMessage: 'executing "edge/templates/fails.yaml" at <.Values.x.y.z>: nil pointer evaluating interface {}.y'}
failedTemplate: {errorMessage: other}
failedTemplate: {errorPattern: bo+m}
failedTemplate: {errorPattern: nil pointer evaluating}
failedTemplate: {errorPattern: no template "nope" associated}
failedTemplate: {errorPattern: error calling (index|include)}
failedTemplate: {errorPattern: other}
notFailedTemplate: {}
exists: {path: ok}
`
