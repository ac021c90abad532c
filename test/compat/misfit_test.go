// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/internal/filetest"
)

// shownTemplate writes the values that a chart's templates have. Each chart has it under two
// names, one of which is different for each version.
const shownTemplate = `apiVersion: v1
kind: ConfigMap
metadata: {name: "%s-{{ .Chart.Name }}-{{ .Chart.Version | replace "." "-" | replace "+" "-" }}"}
data:
  values: {{ toJson .Values | quote }}
  subcharts: {{ keys .Subcharts | sortAlpha | join " " | quote }}
  path: {{ .Template.BasePath | quote }}
`

// vendored is a chart in charts/.
type vendored struct {
	name, version string
	dependencies  string // text after "dependencies:"
	charts        []vendored
}

func (v vendored) write(t *testing.T, dir, values string, v1 bool) {
	t.Helper()
	apiVersion, list := "v2", ""
	if v.dependencies != "" {
		list = "dependencies:\n" + v.dependencies
	}
	files := map[string]string{
		"values.yaml":                         values,
		"templates/shown.yaml":                fmt.Sprintf(shownTemplate, "shown"),
		"templates/of-" + v.version + ".yaml": fmt.Sprintf(shownTemplate, "of"),
	}
	if v1 {
		apiVersion, files["requirements.yaml"], list = "v1", list, ""
	}
	files["Chart.yaml"] = fmt.Sprintf("apiVersion: %s\nname: %s\nversion: %q\n%s", apiVersion, v.name, v.version, list)
	filetest.Write(t, dir, files)
	for i, c := range v.charts {
		own := fmt.Sprintf("own: %q\n%q: 1\nexports: {data: {imported: %q}}\n", c.version, "only"+c.version, c.version)
		c.write(t, filepath.Join(dir, "charts", fmt.Sprint(c.name, i)), own, false)
	}
}

// misfits are charts whose charts/ and dependencies do not agree, and some that do.
func misfits() map[string]vendored {
	dep := func(name, version, rest string) string {
		return fmt.Sprintf("- {name: %s, version: %q, repository: https://example.com, %s}\n", name, version, rest)
	}
	db := func(versions ...string) (out []vendored) {
		for _, v := range versions {
			out = append(out, vendored{name: "db", version: v})
		}
		return out
	}
	out := map[string]vendored{}
	for _, want := range []string{"2.0.0", ">=2", "^2", "", "nonsense", "1.0.x", "~1", ">0.0.0-0", "*", "1.0.0 || 2.0.0", "v1.0.0", "1.0", "1", " ", "=1.0.0", "1.0.0+x"} {
		for _, have := range []string{"1.0.0", "1.0.0-rc.1", "1.0.0+build", "v1.0.0", "1.0"} {
			out[fmt.Sprintf("%q for %s", want, have)] = vendored{charts: db(have), dependencies: dep("db", want, "alias: al, condition: x.a")}
		}
	}
	leaf := []vendored{{name: "leaf", version: "1.0.0"}}
	for name, c := range map[string]vendored{
		"condition":           {charts: db("1.0.0"), dependencies: dep("db", "2.0.0", "condition: x.a")},
		"tags":                {charts: db("1.0.0"), dependencies: dep("db", "2.0.0", "tags: [t]")},
		"tags of an alias":    {charts: db("1.0.0"), dependencies: dep("db", "2.0.0", "alias: al, tags: [t]")},
		"import":              {charts: db("1.0.0"), dependencies: dep("db", "2.0.0", "import-values: [data, {child: exports, parent: here}]")},
		"import of an alias":  {charts: db("1.0.0"), dependencies: dep("db", "2.0.0", "alias: al, import-values: [data]")},
		"two entries":         {charts: db("1.0.0"), dependencies: dep("db", "1.0.0", "alias: p, condition: x.a") + dep("db", "2.0.0", "alias: q, condition: x.b")},
		"two entries, both":   {charts: db("1.0.0", "2.0.0"), dependencies: dep("db", "1.0.0", "alias: p, condition: x.a") + dep("db", "2.0.0", "alias: q, condition: x.b")},
		"two entries, no one": {charts: db("3.0.0"), dependencies: dep("db", "1.0.0", "alias: p, condition: x.a") + dep("db", "2.0.0", "alias: q, condition: x.b")},
		"two without alias":   {charts: db("1.0.0", "2.0.0"), dependencies: dep("db", "1.0.0", "condition: x.a") + dep("db", "2.0.0", "condition: x.b")},
		"the same twice":      {charts: db("1.0.0"), dependencies: dep("db", "1.0.0", "condition: x.a") + dep("db", "1.0.0", "condition: x.b")},
		"beside":              {charts: db("1.0.0", "3.0.0"), dependencies: dep("db", "1.0.0", "condition: x.a, import-values: [data]")},
		"beside, the other":   {charts: db("1.0.0", "3.0.0"), dependencies: dep("db", "3.0.0", "condition: x.a, import-values: [data]")},
		"beside an alias":     {charts: db("1.0.0", "3.0.0"), dependencies: dep("db", "1.0.0", "alias: al, condition: x.a")},
		"an alias as another": {charts: append(db("1.0.0"), vendored{name: "web", version: "1.0.0"}), dependencies: dep("db", "2.0.0", "alias: web, condition: x.a") + dep("web", "1.0.0", "condition: x.b")},
		"not listed":          {charts: append(db("1.0.0"), vendored{name: "web", version: "1.0.0"}), dependencies: dep("db", "1.0.0", "condition: x.a")},
		"nested":              {charts: []vendored{{name: "mid", version: "1.0.0", charts: leaf, dependencies: dep("leaf", "2.0.0", "alias: l, condition: x.a")}}, dependencies: dep("mid", "1.0.0", "condition: x.b")},
		"nested in a misfit":  {charts: []vendored{{name: "mid", version: "1.0.0", charts: leaf, dependencies: dep("leaf", "1.0.0", "condition: x.a")}}, dependencies: dep("mid", "2.0.0", "alias: m, condition: x.b")},
		"misfits all the way": {charts: []vendored{{name: "mid", version: "1.0.0", charts: leaf, dependencies: dep("leaf", "2.0.0", "alias: l, condition: x.a")}}, dependencies: dep("mid", "2.0.0", "alias: m, condition: x.b")},
	} {
		out[name] = c
	}
	return out
}

// TestChartsInVersionsThatNothingWants compares the results for charts in charts/ that
// Chart.yaml or requirements.yaml requires in other versions.
func TestChartsInVersionsThatNothingWants(t *testing.T) {
	helm, bin := peer(t, helm4), ours(t)
	for name, c := range misfits() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			compare := func(x string, v1 bool, commands ...string) {
				dir := filepath.Join(t.TempDir(), "root")
				c.name, c.version = "root", "1.0.0"
				c.write(t, dir, fmt.Sprintf("x: %s\ntags: {t: false}\nmid: {x: %s}\nm: {x: %s}\nal: {under: alias}\ndb: {under: name}\n", x, x, x), v1)
				for _, command := range commands {
					args := append(strings.Fields(command), dir)
					want, got := run(t, helm, home, args...), run(t, bin, home, args...)
					switch {
					case (want.err == nil) != (got.err == nil):
						t.Errorf("%s with x: %s: got %v, Helm %v\n%s%s", command, x, got.err, want.err, got.stderr, want.stderr)
					case args[0] == "template" && documents(want.stdout) != documents(got.stdout):
						t.Errorf("template with x: %s: got\n%s\nHelm\n%s", x, indent(got.stdout), indent(want.stdout))
					case args[0] == "show" && want.stdout != got.stdout,
						// Of several charts with one name, Helm uses any.
						args[0] == "dependency" && len(c.charts) == 1 && want.stdout != got.stdout:
						t.Errorf("%s: got\n%s\nHelm\n%s", command, indent(got.stdout), indent(want.stdout))
					}
				}
			}
			compare("{a: false, b: true}", false, "template r", "dependency list")
			if strings.HasPrefix(name, "\"") { // only the versions differ
				return
			}
			compare("{a: true, b: false}", false, "template r", "lint", "package -d "+home, "show all", "install r --dry-run=client")
			compare("{a: false, b: false}", true, "template r", "show all", "dependency list")
		})
	}
}

// documents returns the sorted documents of a stream.
func documents(text string) string {
	docs := strings.Split(text, "---\n")
	slices.Sort(docs)
	return strings.Join(docs, "---\n")
}
