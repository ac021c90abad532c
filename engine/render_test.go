// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/values"
)

// tree returns a chart with files by their path in its directory: "templates/a.yaml",
// "values.yaml", "README.md". Files in "charts/NAME/" are a subchart's. A file named "library"
// sets the type.
func tree(t testing.TB, name string, contents map[string]string) *chart.Chart {
	t.Helper()
	c := &chart.Chart{Metadata: &chart.Metadata{Name: name, Version: "0.1.0", APIVersion: "v2"}, Values: map[string]any{}}
	subs := map[string]map[string]string{}
	for _, file := range slices.Sorted(maps.Keys(contents)) {
		text := contents[file]
		if rest, ok := strings.CutPrefix(file, "charts/"); ok {
			sub, rest, _ := strings.Cut(rest, "/")
			if subs[sub] == nil {
				subs[sub] = map[string]string{}
			}
			subs[sub][rest] = text
			continue
		}
		f := &chart.File{Name: file, Data: []byte(text)}
		switch {
		case file == "values.yaml":
			v, err := values.Parse(file, f.Data)
			if err != nil {
				t.Fatal(err)
			}
			c.Values = v
		case file == "library":
			c.Metadata.Type = chart.TypeLibrary
		case strings.HasPrefix(file, "templates/"):
			c.Templates = append(c.Templates, f)
		default:
			c.Files = append(c.Files, f)
		}
	}
	var deps []*chart.Chart
	for _, sub := range slices.Sorted(maps.Keys(subs)) {
		deps = append(deps, tree(t, sub, subs[sub]))
	}
	c.SetDependencies(deps...)
	return c
}

// input returns the input of `helm template rel CHART -n ns --kube-version 1.36.0`.
func input(t testing.TB, c *chart.Chart) Input {
	t.Helper()
	r, err := values.Resolve(c, nil)
	if err != nil {
		t.Fatal(err)
	}
	caps := DefaultCapabilities()
	if caps.KubeVersion, err = ParseKubeVersion("1.36.0"); err != nil {
		t.Fatal(err)
	}
	return Input{
		Chart: r.Chart, Values: r.Values, Capabilities: caps,
		Release: Release{Name: "rel", Namespace: "ns", Revision: 1, IsInstall: true},
	}
}

// rendered returns the outputs of all files after their names, with normalized spaces.
func rendered(t testing.TB, contents map[string]string) string {
	t.Helper()
	out, err := Render(context.Background(), input(t, tree(t, "p", contents)))
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, f := range out.Files {
		if text := strings.Join(strings.Fields(f.Content), " "); text != "" {
			lines = append(lines, f.Name+": "+text)
		}
	}
	return strings.Join(lines, "\n")
}

// renderError returns the error of a rendering, which must fail.
func renderError(t testing.TB, contents map[string]string) *Error {
	t.Helper()
	_, err := Render(context.Background(), input(t, tree(t, "web", contents)))
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want an *Error", err)
	}
	return e
}

// TestFunctions compares the value of every expression of testdata/functions.txt with Helm's.
func TestFunctions(t *testing.T) {
	data, err := os.ReadFile("testdata/functions.txt")
	if err != nil {
		t.Fatal(err)
	}
	head, rest, _ := strings.Cut(string(data), "\n>> ")
	_, vals, _ := strings.Cut(head, "\n\n")
	for block := range strings.SplitSeq(rest, "\n>> ") {
		expr, want, _ := strings.Cut(block, "\n")
		want = strings.TrimSuffix(want, "\n")
		t.Run(expr, func(t *testing.T) {
			in := input(t, tree(t, "p", map[string]string{"templates/a.yaml": expr, "values.yaml": vals}))
			out, err := Render(context.Background(), in)
			switch {
			case want == "ERROR" && err == nil:
				t.Errorf("got %q, want an error", out.Files[0].Content)
			case want == "ERROR":
			case err != nil:
				t.Error(err)
			case out.Files[0].Content != want:
				t.Errorf("got\n%s\nwant\n%s", out.Files[0].Content, want)
			}
		})
	}
}

func TestDuplicateDefinitions(t *testing.T) {
	def := func(what string) string { return `{{ define "x" }}` + what + `{{ end }}` }
	use := `{{ include "x" . }}`
	for name, test := range map[string]struct {
		files map[string]string
		want  string
	}{
		"the first file of a directory wins": {
			map[string]string{"templates/_a.tpl": def("a"), "templates/_b.tpl": def("b"), "templates/z.yaml": use},
			"p/templates/z.yaml: a",
		},
		"a shallow file wins over a deep one": {
			map[string]string{"templates/_z.tpl": def("shallow"), "templates/a/_b.tpl": def("deep"), "templates/z.yaml": use},
			"p/templates/z.yaml: shallow",
		},
		"the parent wins over its subchart": {
			map[string]string{"templates/_a.tpl": def("parent"), "charts/s/templates/_a.tpl": def("sub"), "charts/s/templates/z.yaml": use},
			"p/charts/s/templates/z.yaml: parent",
		},
		"unless its file lies deeper": {
			map[string]string{"templates/a/b/c/d/_a.tpl": def("parent"), "charts/s/templates/_a.tpl": def("sub"), "templates/z.yaml": use},
			"p/templates/z.yaml: sub",
		},
		"the first subchart wins": {
			map[string]string{"charts/s/templates/_a.tpl": def("s"), "charts/q/templates/_a.tpl": def("q"), "templates/z.yaml": use},
			"p/templates/z.yaml: q",
		},
		"an empty one replaces nothing": {
			map[string]string{"templates/_0.tpl": def("  "), "templates/_a.tpl": def("one"), "templates/z.yaml": use},
			"p/templates/z.yaml: one",
		},
		"a file is a template too": {
			map[string]string{"templates/_a.tpl": "hello {{ .Template.Name }}", "templates/z.yaml": `{{ include "p/templates/_a.tpl" . }}`},
			"p/templates/z.yaml: hello p/templates/z.yaml",
		},
		"and may be replaced as such": {
			map[string]string{"templates/_a.tpl": `{{ define "p/templates/z.yaml" }}def{{ end }}`, "templates/z.yaml": "file"},
			"p/templates/z.yaml: def",
		},
		"a block is a default": {
			map[string]string{"templates/_a.tpl": `{{ define "b" }}over{{ end }}`, "templates/z.yaml": `{{ block "b" . }}default{{ end }}`},
			"p/templates/z.yaml: over",
		},
		"what tpl defines is known to it alone": {
			map[string]string{
				"templates/_a.tpl": def("E") + `{{ define "f" }}F{{ include "x" . }}{{ template "x" . }}{{ end }}`,
				"templates/z.yaml": "{{ tpl `{{ define \"x\" }}N{{ end }}{{ include \"f\" . }}{{ include \"x\" . }}{{ template \"f\" . }}` . }} {{ include \"f\" . }}",
			},
			"p/templates/z.yaml: FNNNFNN FEE",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := rendered(t, test.files); got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

// Templates run by depth, deepest first, and in reverse alphabetical order, and see the changes
// of earlier ones in their chart and below. Two charts in charts/ may have the same name; the
// later one's files replace the earlier one's.
func TestChartsSameName(t *testing.T) {
	c := tree(t, "p", nil)
	one := tree(t, "s", map[string]string{"templates/a.yaml": "one", "templates/one.yaml": "1"})
	two := tree(t, "s", map[string]string{"templates/a.yaml": "two", "templates/two.yaml": "2"})
	c.SetDependencies(one, two)
	out, err := Render(context.Background(), input(t, c))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range out.Files {
		got = append(got, f.Name+": "+f.Content)
	}
	if want := "p/charts/s/templates/a.yaml: two, p/charts/s/templates/one.yaml: 1, p/charts/s/templates/two.yaml: 2"; strings.Join(got, ", ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, ", "), want)
	}
}

func TestWritesOrder(t *testing.T) {
	note := `{{ .Values.seen }}{{ $_ := set .Values "seen" (printf "%s %s" .Values.seen (base .Template.Name)) }}`
	got := rendered(t, map[string]string{
		"values.yaml": "seen: '-'", "templates/a.yaml": note, "templates/b.yaml": note, "templates/d/c.yaml": note,
		"charts/s/values.yaml": "seen: '-'", "charts/s/templates/x.yaml": note, "charts/s/templates/y.yaml": note,
	})
	want := `p/charts/s/templates/x.yaml: - y.yaml
p/charts/s/templates/y.yaml: -
p/templates/a.yaml: - c.yaml b.yaml
p/templates/b.yaml: - c.yaml
p/templates/d/c.yaml: -`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestWritesVisibleInParent(t *testing.T) {
	got := rendered(t, map[string]string{
		"templates/a.yaml":     `{{ toJson .Values }} {{ toJson .Subcharts.s.Values }}`,
		"charts/s/values.yaml": "count: 1", "charts/s/templates/x.yaml": `{{ $_ := set .Values "w" 2 }}`,
	})
	want := `p/templates/a.yaml: {"s":{"count":1,"global":{},"w":2}} {"count":1,"global":{},"w":2}`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestGlobalsPerChart(t *testing.T) {
	note := `{{ toJson .Values.global }}{{ $_ := set .Values.global.deep "seen" .Chart.Name }}{{ $_ := set .Values.global .Chart.Name 1 }}`
	got := rendered(t, map[string]string{
		"values.yaml": "global: {deep: {a: 1}}", "templates/a.yaml": note,
		"charts/r/templates/x.yaml": note, "charts/s/templates/x.yaml": note,
	})
	want := `p/charts/r/templates/x.yaml: {"deep":{"a":1}}
p/charts/s/templates/x.yaml: {"deep":{"a":1}}
p/templates/a.yaml: {"deep":{"a":1}}`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestWritesKeepInput(t *testing.T) {
	c := tree(t, "p", map[string]string{
		"values.yaml":      "m: {a: 1}\nx: '{{ $_ := set .Values.m \"c\" 3 }}{{ .Values.m.c }}'",
		"templates/a.yaml": `{{ tpl .Values.x . }}`,
		"templates/b.yaml": `{{ $_ := set .Values.m "b" 2 }}{{ $_ = unset .Values.m "a" }}{{ len .Values.m }}`,
	})
	for _, templates := range [][]*chart.File{c.Templates, c.Templates[:1]} {
		c.Templates = templates
		in := input(t, c)
		if _, err := Render(context.Background(), in); err != nil {
			t.Fatal(err)
		}
		for _, m := range []map[string]any{in.Values, c.Values} {
			if got := text(t, m["m"]); got != `{"a":1}` {
				t.Errorf("a template's writes are left behind: %s", got)
			}
		}
	}
}

func text(t *testing.T, v any) string {
	t.Helper()
	s, err := marshalJSON(v)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestRenderedFiles(t *testing.T) {
	c := tree(t, "p", map[string]string{
		"templates/x.txt": "x", "templates/_x/y.yaml": "x", "templates/sub/_p.yaml": "partial", "templates/x": "x",
		"templates/NOTES.txt": "root", "templates/sub/NOTES.txt": "nested", "templates/notes.txt": "x", "templates/FOONOTES.txt": "foo",
		"charts/a/templates/NOTES.txt": "sub", "charts/a/templates/y.yaml": "x",
		"charts/l/library": "", "charts/l/templates/y.yaml": `{{ fail "run" }}`, "charts/l/templates/_d.tpl": `{{ define "d" }}d{{ end }}`,
		"charts/l/charts/in/templates/z.yaml": `{{ include "d" . }}`,
	})
	out, err := Render(context.Background(), input(t, c))
	if err != nil {
		t.Fatal(err)
	}
	var files, notes []string
	for _, f := range out.Files {
		files = append(files, f.Name)
	}
	for _, f := range out.Notes {
		notes = append(notes, f.Content)
	}
	wantFiles := []string{
		"p/charts/a/templates/y.yaml", "p/charts/l/charts/in/templates/z.yaml", "p/templates/_x/y.yaml",
		"p/templates/notes.txt", "p/templates/x", "p/templates/x.txt",
	}
	if !slices.Equal(files, wantFiles) {
		t.Errorf("files: got %q, want %q", files, wantFiles)
	}
	if want := []string{"root", "sub", "nested", "foo"}; !slices.Equal(notes, want) {
		t.Errorf("notes: got %q, want %q", notes, want)
	}
}

func TestFiles(t *testing.T) {
	contents := map[string]string{
		"README.md": "readme\nline2\n", "conf/a.conf": "a=1\nb: \"x\"\n", "conf/b.conf": "bb", "conf/sub/c.conf": "c", "conf/nl.txt": "l1\r\nl2\n\n",
	}
	for expr, want := range map[string]string{
		`{{ range $k, $v := .Files }}{{ $k }},{{ end }}`:                   "README.md,conf/a.conf,conf/b.conf,conf/nl.txt,conf/sub/c.conf,",
		`{{ range $k, $v := .Files.Glob "conf/*" }}{{ $k }},{{ end }}`:     "conf/a.conf,conf/b.conf,conf/nl.txt,",
		`{{ range $k, $v := .Files.Glob "**.conf" }}{{ $k }},{{ end }}`:    "conf/a.conf,conf/b.conf,conf/sub/c.conf,",
		`{{ range $k, $v := .Files.Glob "*.{md,x}" }}{{ $k }},{{ end }}`:   "README.md,",
		`{{ range $k, $v := .Files.Glob "conf/[" }}{{ $k }},{{ end }}`:     "README.md,conf/a.conf,conf/b.conf,conf/nl.txt,conf/sub/c.conf,",
		`{{ len (.Files.Glob "") }}`:                                       "0",
		`{{ (.Files.Glob "conf/**").AsConfig }}`:                           "a.conf: |\n  a=1\n  b: \"x\"\nb.conf: bb\nc.conf: c\nnl.txt: \"l1\\r\\nl2\\n\\n\"",
		`{{ (.Files.Glob "conf/b*").AsSecrets }}`:                          "b.conf: YmI=",
		`{{ .Files.Lines "conf/nl.txt" | toJson }}`:                        `["l1\r","l2",""]`,
		`{{ .Files.Lines "nope" | toJson }}`:                               "[]",
		`{{ .Files.Get "conf/b.conf" }}|{{ .Files.Get "nope" }}`:           "bb|",
		`{{ .Files.GetBytes "conf/b.conf" }} {{ .Files.GetBytes "nope" }}`: "[98 98] []",
		`{{ index .Files "conf/b.conf" }} {{ index .Files "nope" }}`:       "[98 98] []",
		`{{ toYaml (.Files.Glob "conf/b*") }}`:                             "conf/b.conf: YmI=",
		`{{ .Files.README }} {{ len .Files }} {{ typeOf .Files }}`:         "[] 5 engine.files",
	} {
		t.Run(expr, func(t *testing.T) {
			contents["templates/a.yaml"] = expr
			out, err := Render(context.Background(), input(t, tree(t, "p", contents)))
			if err != nil {
				t.Fatal(err)
			}
			if got := out.Files[0].Content; got != want {
				t.Errorf("%s\n got %q\nwant %q", expr, got, want)
			}
		})
	}
}

func TestLookup(t *testing.T) {
	text := `{{ (lookup "v1" "Pod" "ns" "a").found }}|{{ getHostByName "host" }}|{{ len (lookup "v1" "Pod" "ns" "b") }}`
	in := input(t, tree(t, "p", map[string]string{"templates/a.yaml": text}))
	if got := content(t, in); got != "||0" {
		t.Errorf("offline: got %q", got)
	}
	in.Lookup = func(apiVersion, kind, namespace, name string) (map[string]any, error) {
		if name == "b" {
			return nil, nil
		}
		return map[string]any{"found": path.Join(apiVersion, kind, namespace, name)}, nil
	}
	in.LookupHost = func(host string) string { return host + "!" }
	if got := content(t, in); got != "v1/Pod/ns/a|host!|0" {
		t.Errorf("online: got %q", got)
	}
}

func content(t *testing.T, in Input) string {
	t.Helper()
	out, err := Render(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	return out.Files[0].Content
}

func TestLintContinuesAfterFail(t *testing.T) {
	in := input(t, tree(t, "p", map[string]string{"templates/a.yaml": `a{{ fail "no" }}b{{ required "need it" nil }}c`}))
	in.Lint = true
	out, err := Render(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	if got := out.Files[0].Content; got != "abc" {
		t.Errorf("got %q", got)
	}
	want := []string{"p/templates/a.yaml:1:5: a template failed: no", "p/templates/a.yaml:1:21: a required value is missing: need it"}
	if !slices.Equal(out.Warnings, want) {
		t.Errorf("got %q, want %q", out.Warnings, want)
	}
}

func TestStrictMissingKey(t *testing.T) {
	in := input(t, tree(t, "p", map[string]string{"templates/a.yaml": `{{ .Values.nope }}`}))
	if got := content(t, in); got != "" {
		t.Errorf("got %q", got)
	}
	in.Strict = true
	if _, err := Render(context.Background(), in); err == nil {
		t.Error("want an error")
	}
}

func TestRenderCanceledInLoop(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	in := input(t, tree(t, "p", map[string]string{
		"templates/a.yaml": `{{ range until 100000 }}{{ lookup "v1" "Pod" "" "" }}{{ range until 100000 }}{{ end }}{{ end }}`,
	}))
	in.Lookup = func(_, _, _, _ string) (map[string]any, error) { cancel(); return nil, nil }
	if _, err := Render(ctx, in); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
