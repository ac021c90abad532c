// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestGuideExamples derives the schemas of the examples in docs/schema.md.
func TestGuideExamples(t *testing.T) {
	guide, err := os.ReadFile(filepath.Join("..", "..", "docs", "schema.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?ms)^```yaml (\\S+)\n(.*?)^```$").FindAllStringSubmatch(string(guide), -1)
	var vals, existing string
	examples := 0
	for _, b := range blocks {
		switch b[1] {
		case "values.yaml":
			vals, existing = b[2], ""
		case "existing":
			existing = b[2]
		case "values.schema.yaml":
			examples++
			got, err := Derive([]byte(vals), []byte(existing))
			if err != nil {
				t.Fatal(err)
			}
			text := string(got)
			if isUnedited(got) {
				_, text, _ = strings.Cut(text, "\n")
			}
			if text != b[2] {
				t.Errorf("of\n%s\ncomes\n%s", vals, text)
			}
		}
	}
	if examples < 3 {
		t.Errorf("only %d examples were found", examples)
	}
}
