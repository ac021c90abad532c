// SPDX-License-Identifier: Apache-2.0

package site

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const repository = "https://github.com/moonhelm/moonhelm"

// open reads the site that make docs has built.
func open(t *testing.T) *Site {
	t.Helper()
	dir, err := filepath.Abs("../../bin/site/public")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "index.html")); err != nil {
		t.Fatalf("the site is not built: make docs builds it (%v)", err)
	}
	s, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *Site) names() []string { return slices.Sorted(maps.Keys(s.Pages)) }

// later are links to files of the repository that will exist with the first release.
var later = map[string]bool{
	repository + "/blob/main/KEYS": true, // the release keys: docs/releasing.md says how they are made
}

func TestLinks(t *testing.T) {
	s := open(t)
	for _, name := range s.names() {
		for _, link := range s.Pages[name].Links {
			if err := s.Check(name, link, repository, "../.."); err != nil && !later[link] {
				t.Errorf("%s: the link %q: %v", name, link, err)
			}
		}
	}
}

func TestIDsAreUnique(t *testing.T) {
	s := open(t)
	for _, name := range s.names() {
		for id, n := range s.Pages[name].IDs {
			if n > 1 {
				t.Errorf("%s has %d elements with the id %q, want 1", name, n, id)
			}
		}
	}
}

func TestTitles(t *testing.T) {
	s := open(t)
	seen := map[string]string{}
	for _, name := range s.names() {
		title := s.Pages[name].Title
		if strings.TrimSpace(strings.TrimSuffix(title, "- Moonhelm")) == "" {
			t.Errorf("%s has no title", name)
		}
		if other, ok := seen[title]; ok {
			t.Errorf("%s and %s have the same title %q", name, other, title)
		}
		seen[title] = name
	}
}

// TestNavigation checks that each page is linked from the navigation, which is in all pages, or
// from an index page that is.
func TestNavigation(t *testing.T) {
	s := open(t)
	reached := map[string]bool{"index.html": true}
	for _, from := range []string{"index.html", "adr/index.html", "commands/index.html"} {
		page := s.Pages[from]
		if page == nil {
			continue
		}
		for _, link := range page.Links {
			link, _, _ = strings.Cut(link, "#")
			if strings.HasSuffix(link, "/") {
				reached[filepath.ToSlash(filepath.Join(filepath.Dir(from), link, "index.html"))] = true
			}
		}
	}
	for _, name := range s.names() {
		if !reached[name] {
			t.Errorf("%s is not in the navigation: add it to site/data/navigation.yaml", name)
		}
	}
}

func TestCheckFindsBrokenLinks(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("index.html", `<h1 id="top">Start</h1>`)
	write("a/index.html", `<h2 id="here">A</h2>`)
	s, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, from, link string
		ok               bool
	}{
		{"page", "index.html", "a/", true},
		{"anchor of a page", "index.html", "a/#here", true},
		{"anchor of the same page", "a/index.html", "#here", true},
		{"up", "a/index.html", "../#top", true},
		{"another site", "index.html", "https://example.com/nothing", true},
		{"repository", "index.html", repository + "/blob/main/README.md#x", true},
		{"missing page", "index.html", "b/", false},
		{"missing anchor", "index.html", "a/#there", false},
		{"missing anchor of the same page", "a/index.html", "#top", false},
		{"absolute path", "index.html", "/a/", false},
		{"missing file of the repository", "index.html", repository + "/blob/main/NOTHING.md", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := s.Check(c.from, c.link, repository, "../.."); (err == nil) != c.ok {
				t.Errorf("Check(%q, %q) = %v, want ok %v", c.from, c.link, err, c.ok)
			}
		})
	}
}
