// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/internal/filetest"
)

// dependentChart depends on nginx twice, on mysql with a range and build metadata, on a
// directory, and on a library, which Helm ignores.
func dependentChart(t *testing.T, url string) string {
	t.Helper()
	dir := t.TempDir()
	filetest.Write(t, dir, map[string]string{
		"web/Chart.yaml": "apiVersion: v2\nname: web\nversion: 0.1.0\ndependencies:\n" +
			"- {name: nginx, version: '>=1.2.0 <1.3', repository: '" + url + "', condition: 'a.b,c<d>&e', tags: [x, 'y&z'], import-values: [data, {child: a, parent: b}], depends-on: [other]}\n" +
			"- {name: nginx, alias: other, version: 1.3.0, repository: '@st'}\n" +
			"- {name: mysql, version: ^1, repository: '" + url + "'}\n" +
			"- {name: hand, version: '>=0', repository: ''}\n" +
			"- {name: loc, version: 0.x, repository: 'file://../loc'}\n" +
			"libraries:\n- {name: apache, version: ^9, repository: '" + url + "'}\n",
		"web/charts/hand/Chart.yaml":  "apiVersion: v2\nname: hand\nversion: 0.1.0\n",
		"web/charts/extra/Chart.yaml": "apiVersion: v2\nname: extra\nversion: 0.1.0\n",
		"loc/Chart.yaml":              "apiVersion: v2\nname: loc\nversion: 0.3.0\n",
	})
	return filepath.Join(dir, "web")
}

// repository serves the charts of chartsOf with an index.
func repository(t *testing.T) string {
	t.Helper()
	dir := packed(t)
	must(t, ours(t), t.TempDir(), "repo", "index", dir)
	return serve(t, dir)
}

var ownKeys = regexp.MustCompile(`(?m)^  digest: .*\n|^libraries:\n(- .*\n|  .*\n)*|^generated: .*\n`)

// lockOf returns the chart's lock file without the time and without the keys that Helm does not
// know.
func lockOf(t *testing.T, chart string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(chart, "Chart.lock"))
	if err != nil {
		t.Fatal(err)
	}
	return ownKeys.ReplaceAllString(string(text), "")
}

// archivesOf returns the names of the archives in the chart's charts/.
func archivesOf(t *testing.T, chart string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(chart, "charts", "*.tgz"))
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range found {
		found[i] = filepath.Base(f)
	}
	return strings.Join(found, " ")
}

// Each binary builds what the other has locked, and both lock the same versions.
func TestDependenciesBothWays(t *testing.T) {
	url := repository(t)
	for _, module := range []string{helm4, helm3} {
		theirs, home := peer(t, module), t.TempDir()
		must(t, theirs, home, "repo", "add", "st", url)
		byThem, byUs := dependentChart(t, url), dependentChart(t, url)
		must(t, theirs, home, "dependency", "update", byThem)
		must(t, ours(t), home, "dependency", "update", byUs)
		if got, want := lockOf(t, byUs), lockOf(t, byThem); got != want {
			t.Errorf("%s locks\n%s\nand we\n%s", module, indent(want), indent(got))
		}
		want := archivesOf(t, byThem)
		if got := archivesOf(t, byUs); got != want {
			t.Errorf("%s brings %s, and we %s", module, want, got)
		}
		for _, chart := range []string{byThem, byUs} {
			for _, helm := range []string{theirs, ours(t)} {
				if err := os.RemoveAll(filepath.Join(chart, "charts", "mysql-1.0.0+build.5.tgz")); err != nil {
					t.Fatal(err)
				}
				if chart == byThem && helm == ours(t) {
					continue // Helm's lock has no libraries, so it is out of date for us
				}
				must(t, helm, home, "dependency", "build", chart, "--skip-refresh")
				if got := archivesOf(t, chart); got != want {
					t.Errorf("%s builds %s", helm, got)
				}
			}
		}
		// An update by Helm keeps our lock file if it resolves the same versions.
		before, _ := os.ReadFile(filepath.Join(byUs, "Chart.lock"))
		must(t, theirs, home, "dependency", "update", byUs, "--skip-refresh")
		if after, _ := os.ReadFile(filepath.Join(byUs, "Chart.lock")); string(after) != string(before) {
			t.Errorf("%s makes of our lock\n%s", module, indent(string(after)))
		}
	}
}

// Our binary builds from Helm's lock file, except for libraries.
func TestLocksOfHelmAreBuilt(t *testing.T) {
	url := repository(t)
	theirs, home := peer(t, helm4), t.TempDir()
	must(t, theirs, home, "repo", "add", "st", url)
	chart := dependentChart(t, url)
	file := filepath.Join(chart, "Chart.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	plain, _, _ := strings.Cut(string(text), "libraries:")
	if err := os.WriteFile(file, []byte(plain), 0o644); err != nil {
		t.Fatal(err)
	}
	must(t, theirs, home, "dependency", "update", chart)
	want := archivesOf(t, chart)
	// Both reject two versions of a chart, even if the chart lists both.
	blanks := regexp.MustCompile(`too many matches| +`)
	plainly := func(s string) string {
		return strings.TrimRight(blanks.ReplaceAllStringFunc(s, func(m string) string {
			if m[0] == ' ' {
				return " "
			}
			return "ok"
		}), " ")
	}
	theirList, ourList := must(t, theirs, home, "dependency", "list", chart), must(t, ours(t), home, "dependency", "list", chart)
	trim := regexp.MustCompile(`(?m) +$`)
	if got, want := trim.ReplaceAllString(plainly(ourList), ""), trim.ReplaceAllString(plainly(theirList), ""); got != want {
		t.Errorf("list shows\n%s\ninstead of\n%s", got, want)
	}
	if err := os.Remove(filepath.Join(chart, "charts", "nginx-1.2.3.tgz")); err != nil {
		t.Fatal(err)
	}
	// A repository that was not added is used by its URL.
	must(t, ours(t), t.TempDir(), "dependency", "build", chart)
	if got := archivesOf(t, chart); got != want {
		t.Errorf("built %s of %s", got, want)
	}
}
