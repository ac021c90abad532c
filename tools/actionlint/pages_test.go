// SPDX-License-Identifier: Apache-2.0

// Package actionlint checks the workflows that the documentation shows, as actionlint checks the
// project's own.
package actionlint

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/rhysd/actionlint"
)

// A workflow is a block of YAML whose first line names its file.
var workflow = regexp.MustCompile("(?ms)^```yaml\n(# \\.github/workflows/[a-z]+\\.yml\n.*?)^```$")

func TestWorkflowsOfPages(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join("..", "..", "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	linter, err := actionlint.NewLinter(io.Discard, &actionlint.LinterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range workflow.FindAllSubmatch(text, -1) {
			found++
			problems, err := linter.Lint(page, m[1], nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range problems {
				t.Errorf("%s, in the workflow, line %d: %s", page, p.Line, p.Message)
			}
		}
	}
	if found == 0 {
		t.Error("no page has a workflow")
	}
}

func TestLinterFindsMistakes(t *testing.T) {
	linter, err := actionlint.NewLinter(io.Discard, &actionlint.LinterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	text := "on: push\njobs:\n  a:\n    runs-on: ubuntu-latest\n    needs: b\n    steps:\n      - run: true\n"
	if problems, err := linter.Lint("w.yml", []byte(text), nil); err != nil || len(problems) == 0 {
		t.Errorf("got %v, %v for a job that needs one that is not there", problems, err)
	}
}
