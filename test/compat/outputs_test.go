// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestOutputsOfOneRelease compares the output of our binary and Helm 4 for releases of each of
// the three binaries byte by byte, because programs parse it. Compared with Helm 3, the keys
// and their order are the same.
func TestOutputsOfOneRelease(t *testing.T) {
	c := connect(t)
	chart := configChart(t)
	for _, maker := range []string{"helm4", "helm3", "ours"} {
		t.Run("made by "+maker, func(t *testing.T) {
			ns := c.namespace(t)
			all := tools(t, ns)
			all[maker].must(t, "install", "web", chart, "--labels", "team=x", "--description", "words")
			all[maker].must(t, "upgrade", "web", chart, "--set", "colour=blue")
			all[maker].must(t, "install", "bare", emptyChart(t))
			for _, command := range []string{"list", "history web", "status web", "status bare", "status web --revision 1",
				"get values web", "get values bare", "get values web --all", "get metadata web", "get metadata bare", "get metadata web --revision 1"} {
				for _, format := range []string{"json", "yaml", "table"} {
					if format == "table" && strings.HasPrefix(command, "status") {
						continue // Helm's order of kinds is random, and its padding differs
					}
					args := append(strings.Fields(command), "-o", format)
					got, want := all["ours"].must(t, args...), all["helm4"].must(t, args...)
					if got != want {
						t.Errorf("helm %s shows\n%s\nand helm4\n%s", strings.Join(args, " "), indent(got), indent(want))
					}
					if format != "json" {
						continue
					}
					old, now := keysOf(t, all["helm3"].must(t, args...)), keysOf(t, got)
					if old = slices.DeleteFunc(old, emptyTime); !within(old, now) {
						t.Errorf("helm %s has the keys\n%s\nand helm3\n%s", strings.Join(args, " "), now, old)
					}
				}
			}
			for _, command := range []string{"get all web", "get all bare", "get manifest web", "get hooks web", "get notes web"} {
				args := strings.Fields(command)
				if got, want := all["ours"].must(t, args...), all["helm4"].must(t, args...); got != want {
					t.Errorf("helm %s shows\n%s\nand helm4\n%s", command, indent(got), indent(want))
				}
			}
		})
	}
}

// TestOutputsOfChanges compares the keys of the output of install and upgrade and their order.
func TestOutputsOfChanges(t *testing.T) {
	c := connect(t)
	chart := configChart(t)
	ours, helm := tools(t, c.namespace(t))["ours"], tools(t, c.namespace(t))["helm4"]
	// Our records do not have the modification times of the chart's files.
	unknown := func(keys []string) []string {
		return slices.DeleteFunc(keys, func(k string) bool { return strings.HasSuffix(k, "modtime") })
	}
	for _, command := range []string{
		"install web CHART -o json --set colour=blue --labels a=b",
		"upgrade web CHART -o json", "upgrade web CHART -o json --dry-run=client", "install other CHART --set colour=x -o json --dry-run=client",
	} {
		args := strings.Fields(strings.ReplaceAll(command, "CHART", chart))
		got, want := unknown(keysOf(t, ours.must(t, args...))), unknown(keysOf(t, helm.must(t, args...)))
		if !slices.Equal(got, want) {
			t.Errorf("helm %s has the keys\n%s\nand helm4\n%s", command, got, want)
		}
	}
}

// TestDryRunShowsValues requires --dry-run --debug to print the values in the same place as
// Helm.
func TestDryRunShowsValues(t *testing.T) {
	c := connect(t)
	chart := configChart(t)
	for _, command := range []string{"install web CHART --dry-run=client --debug --set colour=blue", "install web CHART --dry-run=client --debug", "install web CHART --dry-run=client"} {
		ns := c.namespace(t)
		all := tools(t, ns)
		args := strings.Fields(strings.ReplaceAll(command, "CHART", chart))
		got, want := plain(all["ours"].must(t, args...), ns.name), plain(all["helm4"].must(t, args...), ns.name)
		if got != want {
			t.Errorf("helm %s shows\n%s\nand helm4\n%s", command, indent(got), indent(want))
		}
	}
}

// parentChart writes a chart with subcharts: one that is listed, one with an alias and imported
// values, one that is disabled, and one that is not listed.
func parentChart(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	vendored{name: "parent", version: "1.0.0", dependencies: `- {name: listed, version: 1.0.0, repository: "https://example.com", tags: [some]}
- {name: named, version: ">0", repository: "https://example.com", alias: other, import-values: [data, none, {child: exports, parent: in.here}]}
- {name: unused, version: 1.0.0, repository: "https://example.com", condition: unused.enabled}
`, charts: []vendored{
		{name: "listed", version: "1.0.0"}, {name: "named", version: "2.0.0"}, {name: "unused", version: "1.0.0"}, {name: "extra", version: "3.0.0"},
	}}.write(t, dir, "colour: red\nlisted: {colour: blue, own: null}\nunused: {enabled: false}\n", false)
	return dir
}

// TestValuesOfSubcharts compares the values and the list of dependencies of charts with
// subcharts, in dry runs and in records.
func TestValuesOfSubcharts(t *testing.T) {
	c := connect(t)
	// listed has a list of dependencies; the other chart has only charts/.
	listed, bare := parentChart(t), t.TempDir()
	vendored{name: "bare", version: "1.0.0", charts: []vendored{{name: "extra", version: "3.0.0"}}}.write(t, bare, "colour: red\n", false)
	for name, chart := range map[string]string{"listed": listed, "not listed": bare} {
		t.Run(name, func(t *testing.T) {
			a, b := c.namespace(t), c.namespace(t)
			helm, we := tools(t, a)["helm4"], tools(t, b)["ours"]
			for _, command := range []string{
				"install web CHART --dry-run=client --debug", "install web CHART --dry-run=client --debug --set other.own=set,global.g=1",
				"install web CHART --dry-run=client --set colour=x --server-side=false -o json",
				"install web CHART --set colour=blue --server-side=false -o json", "get metadata web", "get metadata web -o json", "get values web --all", "get values web --all -o json", "get all web",
				"upgrade web CHART --set listed.own=mine -o json", "get values web --all",
				"upgrade web CHART --dry-run=client --debug", "rollback web 1", "get metadata web", "get values web --all",
			} {
				args := strings.Fields(strings.ReplaceAll(command, "CHART", chart))
				got, want := plain(we.must(t, args...), b.name), plain(helm.must(t, args...), a.name)
				got, want = modified.ReplaceAllString(got, "${1}0"), modified.ReplaceAllString(want, "${1}0")
				if strings.HasSuffix(command, "json") {
					compareJSON(t, command, want, got)
				} else if got != want {
					t.Errorf("helm %s shows\n%s\nand helm4\n%s", command, indent(got), indent(want))
				}
			}
		})
	}
}

// TestReusedValuesOfSubcharts upgrades to a chart whose subcharts have other defaults:
// --reuse-values uses those of the record.
func TestReusedValuesOfSubcharts(t *testing.T) {
	c := connect(t)
	chart := func(version, more string) string {
		dir := t.TempDir()
		vendored{name: "parent", version: version, dependencies: `- {name: listed, version: ">0", repository: "https://example.com"}
- {name: named, version: ">0", repository: "https://example.com", alias: other, import-values: [data]}
`, charts: []vendored{{name: "listed", version: version}, {name: "named", version: version}, {name: "extra", version: version}}}.write(t, dir,
			"colour: red\nlisted: {colour: blue}\n"+more, false)
		return dir
	}
	first, second := chart("1.0.0", ""), chart("2.0.0", "new: here\nother: {own: parent}\n")
	for _, how := range []string{"--reuse-values", "--reset-then-reuse-values", "--reset-values", ""} {
		t.Run(how, func(t *testing.T) {
			a, b := c.namespace(t), c.namespace(t)
			helm, we := tools(t, a)["helm4"], tools(t, b)["ours"]
			for _, args := range [][]string{
				{"install", "web", first, "--set", "listed.user=1,extra.user=1"}, append([]string{"upgrade", "web", second}, strings.Fields(how)...),
				{"get", "manifest", "web"}, {"get", "values", "web", "--all"}, {"rollback", "web", "1"}, {"get", "values", "web", "--all"},
			} {
				if got, want := plain(we.must(t, args...), b.name), plain(helm.must(t, args...), a.name); got != want {
					t.Errorf("helm %s shows\n%s\nand helm4\n%s", strings.Join(args, " "), indent(got), indent(want))
				}
			}
		})
	}
}

// modified matches the label with the time when a record was written.
var modified = regexp.MustCompile(`(modifiedAt"?[=:] ?"?)\d+`)

// emptyTime reports whether a key is that of a time that Helm 3 writes as "" and Helm 4 omits.
func emptyTime(key string) bool {
	return key == ".info.deleted" || strings.HasSuffix(key, ".last_run.started_at") || strings.HasSuffix(key, ".last_run.completed_at")
}

// emptyChart writes a chart without templates, values or notes.
func emptyChart(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	vendored{name: "bare", version: "1.0.0"}.write(t, dir, "", false)
	return dir
}

// keysOf returns the paths of all keys of a JSON text in their order. Items of a list have the
// list's path.
func keysOf(t *testing.T, text string) []string {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(text))
	var out []string
	var walk func(path string) error
	walk = func(path string) error {
		token, err := dec.Token()
		if err != nil {
			return err
		}
		open, ok := token.(json.Delim)
		if !ok {
			return nil
		}
		for n := 0; dec.More(); n++ {
			below := fmt.Sprintf("%s[%d]", path, n)
			if open == '{' {
				key, err := dec.Token()
				if err != nil {
					return err
				}
				below = fmt.Sprintf("%s.%s", path, key)
				out = append(out, below)
			}
			if err := walk(below); err != nil {
				return err
			}
		}
		_, err = dec.Token()
		return err
	}
	if err := walk(""); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return out
}

// within reports whether list contains all elements of some in the same order.
func within(some, list []string) bool {
	for _, key := range some {
		i := slices.Index(list, key)
		if i < 0 {
			return false
		}
		list = list[i+1:]
	}
	return true
}
