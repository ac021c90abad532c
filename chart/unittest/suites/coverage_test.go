// SPDX-License-Identifier: Apache-2.0

package suites

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/moonhelm/moonhelm/chart/unittest"
	"github.com/moonhelm/moonhelm/chart/unittest/coverage"
	"github.com/moonhelm/moonhelm/engine"
	"github.com/moonhelm/moonhelm/internal/filetest"
)

// TestCoverage runs the tests of each fixture, and then leaves out one after the other. The numbers in
// the fixtures were counted by hand: a line is counted if a statement or text with more than white space
// begins on it, and each if, with and range has two branches.
func TestCoverage(t *testing.T) {
	fixtures, err := filepath.Glob("testdata/coverage/*.txtar")
	if err != nil || len(fixtures) < 30 {
		t.Fatalf("%d fixtures, %v, want 30", len(fixtures), err)
	}
	for _, fixture := range fixtures {
		t.Run(strings.TrimSuffix(filepath.Base(fixture), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(fixture)
			if err != nil {
				t.Fatal(err)
			}
			dir, counts := t.TempDir(), ""
			filetest.WriteFile(t, filepath.Join(dir, "Chart.yaml"), "apiVersion: v2\nname: web\nversion: 1.0.0\n")
			for _, f := range archive.Files {
				switch f.Name {
				case "tests":
					filetest.WriteFile(t, filepath.Join(dir, "tests", "a_test.yaml"), suiteOf(string(f.Data)))
				case "coverage":
					counts = string(f.Data)
				default:
					filetest.WriteFile(t, filepath.Join(dir, filepath.FromSlash(f.Name)), string(f.Data))
				}
			}
			for line := range strings.Lines(counts) {
				which, want, _ := strings.Cut(strings.TrimSpace(line), ": ")
				if got := measure(t, dir, which); got != want {
					t.Errorf("%s:\ngot  %s\nwant %s", which, got, want)
				}
			}
		})
	}
}

// suiteOf returns a suite with a test for each line "name: {values}".
func suiteOf(lines string) string {
	var b strings.Builder
	b.WriteString("templates: [a.yaml, \"charts/*\", NOTES.txt]\ntests:\n")
	if !strings.Contains(lines, "a: {}") { // the fixture about a template that is not rendered
		b.Reset()
		b.WriteString("tests:\n")
	}
	for line := range strings.Lines(lines) {
		name, set, _ := strings.Cut(strings.TrimSpace(line), ": ")
		fmt.Fprintf(&b, "- it: %s\n  set: %s\n  asserts: [exists: {path: kind}]\n", name, set)
	}
	return b.String()
}

// measure runs all tests, or those that which says, and describes the coverage.
func measure(t *testing.T, dir, which string) string {
	t.Helper()
	c, err := Open(dir, Options{Coverage: &engine.Coverage{}})
	if err != nil {
		t.Fatal(err)
	}
	found, err := c.Find([]string{"tests/*_test.yaml"})
	if err != nil || len(found) != 1 {
		t.Fatalf("%d suites, %v", len(found), err)
	}
	how, name, _ := strings.Cut(which, " ")
	ran := 0
	found[0].Run(t.Context(), unittest.Options{Selected: func(i int) bool {
		is := found[0].Cases()[i] == name
		if how == "all" || how == "only" && is || how == "without" && !is {
			ran++
			return true
		}
		return false
	}})
	if ran == 0 {
		t.Fatalf("%q selects no test", which)
	}
	var p coverage.Profile
	c.AddCoverage(&p)
	sum := p.Totals()
	out := fmt.Sprintf("%d/%d lines, %d/%d branches", sum.HitLines, sum.Lines, sum.HitBranches, sum.Branches)
	var table strings.Builder
	if err := p.WriteTable(&table); err != nil {
		t.Fatal(err)
	}
	var missing []string
	for _, row := range strings.Split(table.String(), "\n")[1:] {
		if i := strings.Index(table.String(), "MISSING"); !strings.HasPrefix(row, "All files") && len(row) > i {
			missing = append(missing, row[i:])
		}
	}
	if len(missing) > 0 {
		out += ", missing " + strings.Join(missing, ", ")
	}
	return out
}
