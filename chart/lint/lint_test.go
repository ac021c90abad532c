// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"slices"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/chart"
)

func files(pairs ...string) []*chart.File {
	var out []*chart.File
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, &chart.File{Name: pairs[i], Data: []byte(pairs[i+1])})
	}
	return out
}

func findingLines(findings []Finding) []string {
	out := []string{}
	for _, f := range Sort(findings) {
		out = append(out, f.String())
	}
	return out
}

func same(t *testing.T, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

const good = "apiVersion: v2\nname: web\nversion: 1.2.3\nicon: https://example.com/web.png\n"

// Charts that cannot be loaded.
func TestChart(t *testing.T) {
	tests := []struct {
		name  string
		files []*chart.File
		want  []string
	}{
		{
			"a chart that is in order says nothing",
			files("Chart.yaml", good, "values.yaml", "a: 1\n", "templates/cm.yaml", "kind: ConfigMap\n"),
			[]string{},
		},
		{
			"every finding at once, each with its line",
			files("Chart.yaml", "apiVersion: v9\nname: a/b\nversion: 1.10\nsources: [x]\nicon: pic\nmaintainers:\n- email: z\n- name: ann\n  email: z\n", "values.yaml", "a: [\n", "templates/x.json", "{}"),
			[]string{
				`[ERROR] Chart.yaml:1: apiVersion is "v9", must be v1 or v2`,
				`[ERROR] Chart.yaml:2: name is "a/b", must be a plain name without slashes or dots alone`,
				`[ERROR] Chart.yaml:3: version should be of type string but it's of type number; put it in quotes: version: "1.10"`,
				`[WARNING] Chart.yaml:3: version '1.10' is not a valid SemVerV2`,
				`[ERROR] Chart.yaml:4: invalid source URL 'x'`,
				`[ERROR] Chart.yaml:5: invalid icon URL 'pic'`,
				`[ERROR] Chart.yaml:7: each maintainer requires a name`,
				`[ERROR] Chart.yaml:7: invalid email 'z' for maintainer ''`,
				`[ERROR] Chart.yaml:9: invalid email 'z' for maintainer 'ann'`,
				"[ERROR] values.yaml:1: unable to parse YAML: did not find expected node content\n\t> 1 | a: [\n\t    | ^",
				`[ERROR] templates/x.json: file extension '.json' not valid. Valid extensions are .yaml, .yml, .tpl, or .txt`,
			},
		},
		{
			"a directory without Chart.yaml is not a chart, and nothing else is said of it",
			files("values.yaml", "a: ["),
			[]string{"[ERROR] Chart.yaml: file does not exist: this is not a chart's directory"},
		},
		{
			"what is recommended, and what is a convention",
			files("Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.2.3\n"),
			[]string{
				"[INFO] Chart.yaml: icon is recommended",
				"[INFO] values.yaml: file does not exist",
				"[WARNING] templates/: directory does not exist",
			},
		},
		{
			"keys that mean nothing are found wherever they are",
			files("Chart.yaml", good+"engine: go\nmaintainers:\n- name: n\n  nick: m\n", "values.yaml", "", "templates/a.yaml", ""),
			[]string{
				`[WARNING] Chart.yaml:5: unknown field "engine"`,
				`[WARNING] Chart.yaml:8: unknown field "maintainers[0].nick"`,
			},
		},
		{
			"two schemas are one too many",
			files("Chart.yaml", good, "values.yaml", "", "values.schema.json", "{}", "values.schema.yaml", "{}", "templates/a.yaml", ""),
			[]string{"[ERROR] values.schema.yaml: the chart has values.schema.json too: remove one of them (values.schema.yaml takes precedence)"},
		},
		{
			"CRDs are plain YAML: directives are told apart from text about them",
			files("Chart.yaml", good, "values.yaml", "", "templates/a.yaml", "", "crds/x.yaml",
				"apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: \"{{ .Values.name }}\"\n# {{- if .Values.crds }}\nspec:\n  description: \"{{ .Values.x }} stands for x\"\n  pattern: \"{{x}}\"\n"),
			[]string{
				"[WARNING] crds/x.yaml:4: a template directive in crds/ is not executed; move the file to templates/, or replace the directive by its result",
				"[WARNING] crds/x.yaml:6: a template directive in crds/ is not executed; move the file to templates/, or replace the directive by its result",
			},
		},
		{
			"a library chart may hold definitions, and comments, only",
			files("Chart.yaml", good+"type: library\n", "values.yaml", "",
				"templates/_a.tpl", "{{/* names */}}\n{{- define \"a\" }}x{{ end }}\n",
				"templates/b.yaml", "{{ define \"b\" }}x{{ end }}\n\nkind: Pod\n"),
			[]string{"[INFO] templates/b.yaml: the file's definitions are available to charts that have this one in library/; for those that have it as a dependency, the file's name must begin with _",
				"[INFO] templates/b.yaml:3: only {{define}} has an effect in a library chart; text outside of it is ignored"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			same(t, findingLines(Chart(Input{Files: tt.files, Kube: KubeVersion{1, 37}})), tt.want)
		})
	}
}

// Dependencies are known of charts that load.
func TestDependencies(t *testing.T) {
	sub := func(name, version string) *chart.Chart {
		return &chart.Chart{Metadata: &chart.Metadata{Name: name, Version: version}}
	}
	text := good + "dependencies:\n- name: db\n  version: ^2.0.0\n- name: mail\n  version: 1.0.0\n- name: cache\n  version: 1.0.0\n"
	m, err := chart.ParseMetadata("Chart.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	c := &chart.Chart{Metadata: m}
	c.SetDependencies(sub("db", "1.0.0"), sub("cache", "1.0.0"), sub("extra", "1.0.0"))
	in := Input{Files: files("Chart.yaml", text, "values.yaml", "", "templates/a.yaml", ""), Chart: c, Kube: KubeVersion{1, 37}}
	same(t, findingLines(Chart(in)), []string{
		"[INFO] Chart.yaml:6: charts/ has version 1.0.0 of db, which is not '^2.0.0'",
		"[WARNING] Chart.yaml:8: chart directory is missing these dependencies: mail",
		"[ERROR] charts/extra: chart metadata is missing these dependencies: extra",
	})
}

func TestDependsOn(t *testing.T) {
	text := good + "dependencies:\n- name: db\n  version: 2.0.0\n  alias: store\n- name: app\n  version: 1.0.0\n  depends-on: [db, store, mail]\n"
	in := Input{Files: files("Chart.yaml", text, "values.yaml", "", "templates/a.yaml", ""), Kube: KubeVersion{1, 37}}
	same(t, findingLines(Chart(in)), []string{
		`[WARNING] Chart.yaml:11: dependency "app" waits for "mail", which is not a dependency of the chart: nothing will wait for it`,
	})
}

func TestEmail(t *testing.T) {
	for text, want := range map[string]bool{
		"a@b.c": true, "a.b+c@d-e.co": true, "ü@b.co": true, "a@ü.co": true, "a@b.co.": true, "o'x@b.co": true, "a@b_c.co": true,
		"": false, "a": false, "a@b": false, "@b.co": false, "a@": false, "a..b@c.co": false, ".a@b.co": false, "a@b..co": false,
		"a@1.2.3.4": false, "a@[1.2.3.4]": false, `"a b"@c.de`: false, "A <a@b.co>": false, "a b@c.co": false, "a@-b.co": false, "a@b.c1": false, "x@y@z.co": false,
	} {
		if got := validEmail(text); got != want {
			t.Errorf("validEmail(%q) = %v, want %v", text, got, want)
		}
	}
}

func TestViolation(t *testing.T) {
	values := []byte("image:\n  tag: 1\nports:\n- 80\n- x\ndb:\n  size: big\na.b: 1\n")
	tests := []struct {
		owner, at, problem, want string
	}{
		{"web", "image.tag", "got number, want string", "[ERROR] values.yaml:2: image.tag: got number, want string"},
		{"web", "ports[1]", "got string, want integer", "[ERROR] values.yaml:5: ports[1]: got string, want integer"},
		{"web", "", "missing property 'x'", "[ERROR] values.yaml: missing property 'x'"},
		{"web", "image.name.first", "is wrong", "[ERROR] values.yaml:1: image.name.first: is wrong"},
		{"web", `a\.b`, "is wrong", `[ERROR] values.yaml:8: a\.b: is wrong`},
		{"db", "size", "got string, want integer", "[ERROR] values.yaml:7: values of subchart db: size: got string, want integer"},
	}
	for _, tt := range tests {
		t.Run(tt.want, func(t *testing.T) {
			if got := Violation(values, "web", tt.owner, tt.at, tt.problem).String(); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestFindingText(t *testing.T) {
	f := Finding{Error, "templates/x.yaml", 3, "first\nsecond\n"}
	if got, want := f.String(), "[ERROR] templates/x.yaml:3: first\n\tsecond"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := (Finding{Info, "", 0, "whole chart"}).String(), "[INFO] whole chart"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// No Chart.yaml, values or CRD brings the linter down.
func FuzzChart(f *testing.F) {
	for _, text := range []string{good, "a: &a [*a]", "- a", "apiVersion: [", "maintainers: [null]", "{{ define \"x\" }}", "---\n--- x\n{", "\"{{ .Values.x }}\": {{}}"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 4096 {
			return
		}
		for _, x := range Chart(Input{Files: files("Chart.yaml", text, "requirements.yaml", text, "values.yaml", text, "crds/x.yaml", text, "templates/x.yaml", text), Kube: KubeVersion{1, 37}}) {
			if x.Line < 0 || x.Line > strings.Count(text, "\n")+1 {
				t.Errorf("%s: there is no such line", x)
			}
		}
	})
}
