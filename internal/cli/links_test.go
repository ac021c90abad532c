// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	mdLink    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	mdHeading = regexp.MustCompile(`(?m)^#+ +(.*?) *$`)
	mdFence   = regexp.MustCompile("(?ms)^ *```.*?^ *```[^\n]*$")
	mdDropped = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// Links between pages have a file, and an anchor of a heading in it. test/site checks the pages
// in a browser, which not every run of the tests has.
func TestLinksOfPages(t *testing.T) {
	root := filepath.Join("..", "..")
	var pages []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/adr/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: found %d pages, %v", pattern, len(found), err)
		}
		pages = append(pages, found...)
	}
	for _, page := range pages {
		for _, m := range mdLink.FindAllStringSubmatch(markdownText(t, page), -1) {
			file, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(file, ":") || file == "KEYS" {
				continue // another server, or made by the first release
			}
			target := page
			if file != "" {
				target = filepath.Join(filepath.Dir(page), filepath.FromSlash(file))
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: the link %s has no file", page, m[1])
			} else if anchor != "" && filepath.Ext(target) == ".md" && !anchors(markdownText(t, target))[anchor] {
				t.Errorf("%s: the link %s has no heading", page, m[1])
			}
		}
	}
}

// markdownText returns a page without its blocks of code.
func markdownText(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return mdFence.ReplaceAllString(string(data), "")
}

// anchors returns the anchors of a page's headings, as GitHub and Hugo make them.
func anchors(text string) map[string]bool {
	out := map[string]bool{}
	for _, m := range mdHeading.FindAllStringSubmatch(text, -1) {
		heading := mdLink.ReplaceAllString(m[1], "")
		heading = strings.ToLower(mdDropped.ReplaceAllString(heading, ""))
		out[strings.ReplaceAll(heading, " ", "-")] = true
	}
	return out
}
