// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/internal/filetest"
	"github.com/moonhelm/moonhelm/internal/peertest"
)

// readmeCharts are charts with the comments and templates that helm-docs has.
var readmeCharts = map[string]map[string]string{
	"metadata": {
		"Chart.yaml": "apiVersion: v2\nname: metadata\nversion: 1.2-3\nappVersion: \"1_2 3\"\ntype: application\n" +
			"kubeVersion: '>=1.20'\ndeprecated: true\nhome: https://example.com/x\ndescription: A full one\n" +
			"maintainers:\n- {name: A, email: a@example.com, url: https://example.com}\n- {name: B}\n" +
			"sources: [https://example.com/s, b]\ndependencies:\n" +
			"- {name: dep, version: 1.x, repository: https://charts.example.com}\n" +
			"- {name: dep2, alias: al, version: '2', repository: 'oci://x/y'}\n- {name: dep3, version: '2', repository: ''}\n",
		"values.yaml": "# -- The number\nn: 1\n",
	},
	"kinds": {
		"values.yaml": "# -- all kinds\nobject: {b: [1, 2], d: }\nf: 1.50\ne: 1e3\nt: true\nn: null\nl: []\nm: {}\n" +
			"s: \"a|b\\n<c>&\"\ni: 0x10\nd: 2020-01-01\nlst:\n- a\n- {k: v}\n- [1]\nanchor: &x {p: 1}\nalias: *x\n" +
			"\"quoted key\": 1\n1: a\ntrue: b\n\"e.x\": {\"a b\": 1, 'q\"x': 1, \"p|x\": 2}\nmulti: |\n  foo\noctal: 0o14\nyes1: yes\n",
	},
	"merge keys": {
		"Chart.yaml":  "apiVersion: v2\nname: merged\nversion: 1.0.0\n",
		"values.yaml": "base: &x {p: 1}\nmerged:\n  <<: *x\n  q: 2\n# -- described\nlisted:\n  <<: [*x, *x]\n",
	},
	"comments": {
		"values.yaml": "# -- one\n# -- two\na2: 1\n#-- no blank\na3: 1\n# --no blank\na4: 1\n#   -- indented\na5: 1\n" +
			"## -- doubled\na6: 1\n# --\n# next line\na7: 1\na8: 1 # -- at the end\nb: 1\n# -- (a b/c) desc   spaced  \n" +
			"#    indented\nb0: x\n# -- (unclosed desc\nb1: x\n# @ignored\n# -- foo\nb2: x\n# -- foo\n# @ignore\nb3: {c: 1}\n" +
			"# -- d\n# @default -- one\n# two\n# @default -- three\nb5: 1\n# -- d\n# @section -- Sec A\n# @raw\n#   raw line\n#\n" +
			"# other\nb6: x\n# -- d\n#@default -- no blank\nb7: 1\n# -- d -- e\nb9: 1\n# -- x\n\nb91: 1\n# -- (int)\nb92:\n" +
			"# c.x -- (typ) old\n# more\n# c.x -- again\nc:\n  x: 1\n  # c.\"k.e y\" -- quoted\n  k.e y: 1\n" +
			"  # c.l[1] -- item\n  # -- the list\n  l: [1, 2]\n  l2:\n  # -- item\n  - {a: 1, b: 2}\n  # plain\n  - {a: 1}\n" +
			"# -- described\nd:\n  # -- inner\n  p: 1\n  q: 2\n  # @ignore\n  r: 3\n# -- spaced\n#\n#\n# out\n#\nz: 1\n",
	},
	"sections": {
		"values.yaml": "# -- d\n# @section -- Zed\ny1: 1\n# -- d\n# @section -- Alpha\ny2: {a: 1}\n# -- d\n# @section -- Zed\ny3: null\nB: 1\na: 1\n",
		"README.md.gotmpl": "{{ template \"chart.valuesSection\" . }}\n{{ template \"chart.valuesSectionHtml\" . }}\n" +
			"{{ range .Sections.Sections }}{{ .SectionName }}{{ end }} {{ .Sections.DefaultSection.SectionName }}\n",
	},
	"template": {
		"values.yaml": "# -- n\n# @notationType -- yaml\nz1: {a: 1, b: [x]}\n# -- n\n# @notationType -- tpl\nz2: x y\n# -- n\nz3: {a: [1]}\n",
		"README.md.gotmpl": "{{ define \"chart.valueDefaultColumnRender\" }}<b>{{ .Default | fromJson | toYaml }}</b>{{ .NotationType }}{{ end -}}\n" +
			"{{ template \"chart.header\" . }}\n\n\n\nspaced   \nblank \n{{ template \"chart.valuesTableHtml\" . }}\n" +
			"{{ range .Values }}{{ toJson . }}\n{{ end }}{{ (.Files.Get \"values.yaml\" | fromYaml).z3 | toYaml }}\n" +
			"{{ template \"chart.maintainersSection\" . }}{{ template \"chart.requirementsTable\" . }}{{ .Name | upper }}",
	},
}

// TestHelmDocs compares READMEs with those of helm-docs: of charts with all its comments, with a
// template, and of the corpus.
func TestHelmDocs(t *testing.T) {
	helmDocs, err := peertest.HelmDocs()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, files := range readmeCharts {
		if files["Chart.yaml"] == "" {
			filetest.WriteFile(t, filepath.Join(dir, name, "Chart.yaml"), "apiVersion: v2\nname: "+name+"\nversion: 1.0.0\n")
		}
		for file, text := range files {
			filetest.WriteFile(t, filepath.Join(dir, name, file), text)
		}
	}
	t.Run("order by name", func(t *testing.T) { compareReadmes(t, helmDocs, dir, readmesOf(t, dir)) })
	t.Run("order by line", func(t *testing.T) { compareReadmes(t, helmDocs, dir, readmesOf(t, dir), "-s", "file") })
	t.Run("badges", func(t *testing.T) { compareReadmes(t, helmDocs, dir, readmesOf(t, dir), "-b", "plastic") })
	t.Run("corpus", func(t *testing.T) {
		corpus := filepath.Join(root(t), "..", "shared", "corpus", "charts")
		if _, err := os.Stat(corpus); err != nil {
			t.Skip("the corpus is missing: it is in ../shared/corpus, beside the project, where it is developed")
		}
		copied := filepath.Join(t.TempDir(), "charts")
		if err := os.CopyFS(copied, os.DirFS(corpus)); err != nil {
			t.Fatal(err)
		}
		compareReadmes(t, helmDocs, copied, readmesOf(t, copied))
	})
}

// readmesOf returns the directories of all charts below dir with values, without their READMEs.
func readmesOf(t *testing.T, dir string) []string {
	t.Helper()
	var charts []string
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		switch filepath.Base(path) {
		case "README.md":
			return os.Remove(path)
		case "Chart.yaml":
			if _, err := os.Stat(filepath.Join(filepath.Dir(path), "values.yaml")); err == nil {
				charts = append(charts, filepath.Dir(path))
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return charts
}

func compareReadmes(t *testing.T, helmDocs, dir string, charts []string, flags ...string) {
	t.Helper()
	docs := exec.Command(helmDocs, append([]string{"--chart-search-root", dir}, flags...)...)
	if out, err := docs.CombinedOutput(); err != nil {
		t.Fatalf("helm-docs: %v\n%s", err, out)
	}
	bin, home, compared := ours(t), t.TempDir(), 0
	for _, chart := range charts {
		want, err := os.ReadFile(filepath.Join(chart, "README.md"))
		if err != nil {
			continue // helm-docs cannot read the chart
		}
		got := run(t, bin, home, append([]string{"readme", chart}, flags...)...)
		if got.err != nil {
			t.Errorf("%s: %v\n%s", chart, got.err, got.stderr)
			continue
		}
		compareReadme(t, chart, string(want), got.stdout)
		compared++
	}
	if compared < len(readmeCharts) {
		t.Errorf("compared %d charts, want %d or more", compared, len(readmeCharts))
	}
}

// compareReadme compares two READMEs line by line. Ours may describe a value that helm-docs does
// not describe.
func compareReadme(t *testing.T, chart, want, got string) {
	t.Helper()
	wantLines, gotLines := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i, w := range wantLines {
		switch {
		case i >= len(gotLines):
			t.Errorf("%s: got %d lines, want %d", chart, len(gotLines), len(wantLines))
			return
		case gotLines[i] == w:
		case strings.HasSuffix(w, "|  |") && strings.HasPrefix(gotLines[i], strings.TrimSuffix(w, " |")):
		default:
			t.Errorf("%s:%d:\ngot  %q\nwant %q", chart, i+1, gotLines[i], w)
			return
		}
	}
	if len(gotLines) > len(wantLines) {
		t.Errorf("%s: got %d lines, want %d", chart, len(gotLines), len(wantLines))
	}
}
