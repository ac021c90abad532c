// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDiffGuide runs the examples in docs/diff.md's chapter on the summary, as [TestGuide] does.
func TestDiffGuide(t *testing.T) {
	before, chapter, ok := strings.Cut(page(t, "diff.md"), "\n## The summary\n")
	if !ok {
		t.Fatal("docs/diff.md has no chapter on the summary")
	}
	chapter, after, _ := strings.Cut(chapter, "\n## ")
	doc, problems := parseGuide("## The summary\n" + chapter)
	for _, p := range problems {
		t.Errorf("docs/diff.md, in the chapter on the summary:%s", p)
	}
	s := &doc.sections[len(doc.sections)-1]
	s.page = "docs/diff.md, in the chapter on the summary"
	s.run(t, nil)
	if *update && !t.Failed() {
		now := before + "\n" + doc.String() + "\n## " + after
		if err := os.WriteFile(filepath.Join("..", "..", "docs", "diff.md"), []byte(now), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
