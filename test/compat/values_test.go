// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// valuesChart writes a chart that prints its values.
func valuesChart(t *testing.T, version, values string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "shown")
	if err := os.MkdirAll(filepath.Join(dir, "templates"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"Chart.yaml":       "apiVersion: v2\nname: shown\nversion: " + version + "\n",
		"values.yaml":      values,
		"templates/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"{{ .Release.Name }}\"}\ndata:\n  values: {{ toJson .Values | quote }}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// null matches keys whose value is null. With --reuse-values, Helm passes a null that the user
// has set to templates in every second upgrade; ours always omits the key.
var null = regexp.MustCompile(`,\\?"\w+\\?":null|\\?"\w+\\?":null(,|(}))`)

// TestValuesAreReusedAlike upgrades releases with every flag that keeps or resets values, with
// our binary, with Helm 4, and alternately with both, and compares the output of each step.
func TestValuesAreReusedAlike(t *testing.T) {
	c := connect(t)
	ns := c.namespace(t)
	all := tools(t, ns)
	one := valuesChart(t, "1.0.0", "colour: red\nnested: {a: 1, b: 2}\nlist: [1, 2]\ngone: {x: 1}\n")
	two := valuesChart(t, "2.0.0", "colour: green\nnested: {a: 1, b: 3, c: 4}\nlist: [3]\nnew: yes\n")
	steps := [][]string{
		{one, "--set", "nested.a=7,list={9}"},
		{two},                             // keeps the user's values
		{two, "--set", "nested.c=5"},      // resets them
		{one, "--set", "colour=null,n=1"}, // removes a default
		{two, "--reuse-values"},
		{two, "--reuse-values", "--set", "nested.b=null,more.deep=1"},
		{one, "--reuse-values", "--set", "gone=null"},
		{two, "--reset-values"},
		{one, "--set", "nested.b=8,gone.x=2"},
		{two, "--reset-then-reuse-values"},
		{two, "--reset-then-reuse-values", "--set", "nested.a=null,list={}"},
		{one, "--reset-then-reuse-values", "--reuse-values", "--set", "z=1"},
		{two, "--reset-values", "--reset-then-reuse-values", "--set", "y=1"},
		{one, "--reset-values", "--reuse-values", "--set-string", "x=1"},
		{two},
	}
	pairs := [][2]string{{"helm4", "helm4"}, {"ours", "ours"}, {"helm4", "ours"}, {"helm3", "ours"}}
	for i, step := range steps {
		var want string
		for _, pair := range pairs {
			name := pair[0] + "-" + pair[1]
			h := all[pair[i%2]]
			h.must(t, append([]string{"upgrade", "--install", name}, step...)...)
			got := strings.Join([]string{
				h.must(t, "get", "values", name, "-o", "json"), all["helm4"].must(t, "get", "values", name, "--all", "-o", "json"),
				strings.ReplaceAll(h.must(t, "get", "manifest", name), name, "NAME"),
			}, "")
			got = strings.TrimSpace(null.ReplaceAllString(got, "$2"))
			if want == "" {
				want = got
			} else if got != want {
				t.Errorf("step %d, %s, by %s and %s in turn, has\n%s\nand by helm4\n%s", i, strings.Join(step[1:], " "), pair[0], pair[1], indent(got), indent(want))
			}
		}
	}
}
