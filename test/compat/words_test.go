// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"encoding/json"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/internal/filetest"
)

// TestTheSameWords runs the same commands with Helm 4 and ours, and compares the standard
// output and the exit codes, which scripts read.
func TestTheSameWords(t *testing.T) {
	c := connect(t)
	chart := configChart(t)
	a, b := c.namespace(t), c.namespace(t)
	helm, we := tools(t, a)["helm4"], tools(t, b)["ours"]
	for _, command := range []string{
		"upgrade web CHART",
		"rollback web",
		"upgrade web CHART --install --server-side=true",
		"upgrade web CHART --install --set colour=blue",
		"install web CHART",
		"upgrade web CHART --set colour=green --description words --labels team=x -o yaml --hide-notes",
		"upgrade web CHART -o json",
		"upgrade web CHART --set colour=black --hide-notes",
		"upgrade web CHART --set colour=",
		"history web", "history web -o json", "history web -o yaml --max 2", "history web --max 1",
		"status web", "status web -o json", "status web -o yaml", "status web --revision 2", "status web --revision 77",
		"list", "list -o json", "list -o yaml", "list -q", "list --failed", "list --superseded -q", "list --no-headers", "list -f ^w", "list -f x", "list -l team=x -q", "list -l team=y -q", "list --max 1 -o json",
		"list -A -q -l team=nobodys",
		"upgrade web CHART --set bad=true", "history web -o json", "list --failed -q", "status web -o json",
		"rollback web 77", "rollback web 2", "rollback web", "rollback web --no-hooks --wait", "rollback nobody",
		"history web", "status web",
		"get values web", "get values web -o json", "get values web --all", "get values web --revision 2", "get values web --revision 77",
		"get manifest web", "get hooks web", "get notes web", "get values nobody",
		"test web", "test nobody",
		"upgrade nobody CHART", "upgrade web no-such-chart", "upgrade web", "rollback", "rollback web x", "status", "history", "history nobody",
		"uninstall web --keep-history", "status web", "history web", "list", "list --uninstalled -o json", "upgrade web CHART", "install web CHART",
		"rollback web 4", "uninstall web nobody", "uninstall nobody", "uninstall nobody --ignore-not-found", "uninstall nobody nobodys --ignore-not-found --dry-run", "list", "history web",
	} {
		args := strings.Fields(strings.ReplaceAll(command, "CHART", chart))
		want, got := helm.run(t, args...), we.run(t, args...)
		if (want.err == nil) != (got.err == nil) {
			t.Errorf("helm %s: %v, and by helm4 %v\n%s%s", command, got.err, want.err, indent(got.stderr), indent(want.stderr))
			continue
		}
		x, y := plain(want.stdout, a.name), plain(got.stdout, b.name)
		if strings.HasSuffix(command, "-o json") && want.err == nil {
			compareJSON(t, command, x, y)
			continue
		}
		if args[0] == "status" && !slices.Contains(args, "-o") {
			x, y = sorted(x), sorted(y) // Helm's order of kinds is random
		}
		if x != y {
			t.Errorf("helm %s prints\n%s\nand helm4\n%s", command, indent(y), indent(x))
		}
		for _, words := range []string{"release: not found", "has no deployed releases", "still in use"} {
			if strings.Contains(want.stderr, words) && !strings.Contains(command, "77") {
				wantIn(t, "helm "+command, got.stderr, words)
			}
		}
	}
}

// configChart writes a chart with objects that have no controllers.
func configChart(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "conf")
	filetest.Write(t, dir, map[string]string{
		"Chart.yaml":            "apiVersion: v2\nname: conf\nversion: 1.2.3\nappVersion: \"4\"\n",
		"values.yaml":           "colour: red\n",
		"values.schema.json":    `{"properties": {"colour": {"minLength": 1}}}`,
		"templates/NOTES.txt":   "It is {{ .Values.colour }}.\n",
		"templates/a.yaml":      "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {colour: {{ .Values.colour }}}\n",
		"templates/b.yaml":      "apiVersion: v1\nkind: Secret\nmetadata: {name: b}\ndata: {colour: {{ b64enc .Values.colour }}}\n{{ if .Values.bad }}\n---\napiVersion: v1\nkind: Service\nmetadata: {name: w}\nspec: {ports: [{port: 99999999}]}\n{{ end }}",
		"templates/tests/t.yml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: t, annotations: {helm.sh/hook: test}}\n",
	})
	return dir
}

var (
	stamp = regexp.MustCompile(`\d{4}-\d\d-\d\d[T ][\d:.]+(Z| [+-]\d{4} UTC|[+-]\d\d:\d\d)?|(Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} +\d+ [\d:]+ \d{4}`)
	// fields that differ between objects
	ofRun = regexp.MustCompile(`(resourceVersion|uid): .*|\b\d+(s|m|m\d+s)\b`)
	blank = regexp.MustCompile(`[ \t]+`)
	// the reason has other words
	reason = regexp.MustCompile(`((Upgrade|Rollback) \\*"web\\*" failed: ).*?(\n|"[,}])`)
	// modification times of the chart's files, which ours does not record
	written = regexp.MustCompile(`(?m)^ *(- )?(schema)?modtime: TIME\n`)
)

// plain returns an output without the parts that differ between runs.
func plain(text, namespace string) string {
	text = strings.ReplaceAll(text, namespace, "NAMESPACE")
	text = ofRun.ReplaceAllString(stamp.ReplaceAllString(text, "TIME"), "X")
	text = reason.ReplaceAllString(strings.ReplaceAll(text, `"TIME"`, "TIME"), "${1}REASON$3")
	return strings.TrimSpace(blank.ReplaceAllString(written.ReplaceAllString(text, ""), " "))
}

func sorted(text string) string {
	return strings.Join(slices.Sorted(strings.SplitSeq(text, "\n")), "\n")
}

func compareJSON(t *testing.T, command, want, got string) {
	t.Helper()
	var w, g any
	quoted := func(text string) string { return strings.ReplaceAll(text, ":TIME", `:"TIME"`) }
	if err := json.Unmarshal([]byte(quoted(want)), &w); err != nil {
		t.Fatalf("helm %s: %v in helm4's\n%s", command, err, want)
	}
	if err := json.Unmarshal([]byte(quoted(got)), &g); err != nil {
		t.Errorf("helm %s: %v in\n%s", command, err, got)
	}
	w, g = timeless(w), timeless(g)
	if !reflect.DeepEqual(w, g) {
		t.Errorf("helm %s differs:%s", command, difference("", w, g))
	}
}

// timeless returns an output without the metadata of records and objects.
func timeless(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for _, k := range []string{"modtime", "schemamodtime", "resourceVersion", "uid", "managedFields"} {
			delete(v, k)
		}
		for k := range v {
			v[k] = timeless(v[k])
		}
	case []any:
		for i := range v {
			v[i] = timeless(v[i])
		}
	}
	return v
}
