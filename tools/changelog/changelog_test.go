// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The repository's own fragments: a file with another name would be left out of a release.
func TestEveryFragmentOfTheRepositoryIsValid(t *testing.T) {
	fragments, err := readFragments("../../changes")
	if err != nil {
		t.Error(err)
	}
	_, err = os.Stat("../../CHANGELOG.md")
	if err != nil {
		t.Error(err)
	}
	t.Logf("%d fragments", len(fragments))
}

func TestNamesOfFragments(t *testing.T) {
	for name, valid := range map[string]bool{
		"a.added.md":            true,
		"helm-4-flags.fixed.md": true,
		"words.removed.md":      true,
		"words.deprecated.md":   false,
		"words.md":              false,
		"words.fixed.txt":       false,
		"Words.fixed.md":        false,
		"two words.fixed.md":    false,
		".fixed.md":             false,
		"a--b.fixed.md":         false,
		"a.b.fixed.md":          false,
	} {
		t.Run(name, func(t *testing.T) {
			root := repo(t, "# Changelog\n", map[string]string{name: "Something.\n"})
			err := run(&strings.Builder{}, root, []string{"check"})
			if got := err == nil; got != valid {
				t.Errorf("valid: got %v (%v), want %v", got, err, valid)
			}
			if err != nil && !strings.Contains(err.Error(), name) {
				t.Errorf("the error does not name the file: %v", err)
			}
		})
	}
}

func TestEmptyFragmentsAreRefused(t *testing.T) {
	root := repo(t, "# Changelog\n", map[string]string{"a.fixed.md": "\n"})
	if err := run(&strings.Builder{}, root, []string{"check"}); err == nil {
		t.Error("an empty fragment is valid")
	}
}

func TestReleaseGathersFragments(t *testing.T) {
	root := repo(t, "# Changelog\n\nWhat changed.\n", map[string]string{
		"b.fixed.md":    "A bug.\n",
		"a.fixed.md":    "Another,\non two lines.\n\nAnd a paragraph.\n",
		"c.added.md":    "A [guide](../docs/guide.md).\n",
		"d.security.md": "- One hole.\n- Another hole.\n",
	})
	if err := run(nil, root, []string{"release", "0.1.0", "2026-11-24"}); err != nil {
		t.Fatal(err)
	}
	want := `# Changelog

What changed.

## [0.1.0] - 2026-11-24

### Added

- A [guide](docs/guide.md).

### Fixed

- Another,
  on two lines.

  And a paragraph.
- A bug.

### Security

- One hole.
- Another hole.

[0.1.0]: https://github.com/moonhelm/moonhelm/releases/tag/v0.1.0
`
	if got := read(t, root, "CHANGELOG.md"); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	entries, err := os.ReadDir(filepath.Join(root, "changes"))
	if err != nil || len(entries) != 1 || entries[0].Name() != "README.md" {
		t.Errorf("left in changes/: %v, %v; want README.md alone", entries, err)
	}
}

func TestReleasesStandNewestFirst(t *testing.T) {
	root := repo(t, "# Changelog\n", map[string]string{"a.added.md": "One.\n"})
	if err := run(nil, root, []string{"release", "0.1.0", "2026-11-24"}); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(root, "changes", "b.added.md"), "Two.\n")
	if err := run(nil, root, []string{"release", "0.2.0", "2026-12-24"}); err != nil {
		t.Fatal(err)
	}
	want := `# Changelog

## [0.2.0] - 2026-12-24

### Added

- Two.

## [0.1.0] - 2026-11-24

### Added

- One.

[0.2.0]: https://github.com/moonhelm/moonhelm/releases/tag/v0.2.0
[0.1.0]: https://github.com/moonhelm/moonhelm/releases/tag/v0.1.0
`
	if got := read(t, root, "CHANGELOG.md"); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	for version, want := range map[string]string{
		"0.2.0": "## [0.2.0] - 2026-12-24\n\n### Added\n\n- Two.\n",
		"0.1.0": "Hello.\n\n## [0.1.0] - 2026-11-24\n\n### Added\n\n- One.\n",
	} {
		t.Run("notes of "+version, func(t *testing.T) {
			write(t, filepath.Join(root, "changes", "releases", "v0.1.0.md"), "Hello.\n")
			var got strings.Builder
			if err := run(&got, root, []string{"notes", version}); err != nil {
				t.Fatal(err)
			}
			if got.String() != want {
				t.Errorf("got:\n%s\nwant:\n%s", got.String(), want)
			}
		})
	}
}

// A snapshot is built between releases.
func TestNotesOfWhatIsNotReleased(t *testing.T) {
	root := repo(t, "# Changelog\n", map[string]string{"a.added.md": "One.\n"})
	var got strings.Builder
	if err := run(&got, root, []string{"notes", "0.1.0"}); err != nil {
		t.Fatal(err)
	}
	if want := "## [0.1.0]\n\n### Added\n\n- One.\n"; got.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s", got.String(), want)
	}
}

func TestReleaseRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		log  string
		want string
	}{
		"a version with a v":        {[]string{"release", "v0.1.0", "2026-11-24"}, "", "invalid version"},
		"a date of another form":    {[]string{"release", "0.1.0", "24.11.2026"}, "", "invalid date"},
		"a version that is there":   {[]string{"release", "0.1.0", "2026-11-24"}, "\n## [0.1.0] - 2026-01-01\n", "already"},
		"a verb that it has not":    {[]string{"publish"}, "", "usage"},
		"a release without its day": {[]string{"release", "0.1.0"}, "", "usage"},
	} {
		t.Run(name, func(t *testing.T) {
			root := repo(t, "# Changelog\n"+test.log, map[string]string{"a.added.md": "One.\n"})
			err := run(nil, root, test.args)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error: got %v, want one with %q", err, test.want)
			}
			if _, err := os.Stat(filepath.Join(root, "changes", "a.added.md")); err != nil {
				t.Errorf("the fragment: %v", err)
			}
		})
	}
}

// repo creates a repository with a changelog and fragments.
func repo(t *testing.T, log string, fragments map[string]string) string {
	t.Helper()
	root := t.TempDir()
	write(t, filepath.Join(root, "CHANGELOG.md"), log)
	write(t, filepath.Join(root, "changes", "README.md"), "# Fragments\n")
	for name, text := range fragments {
		write(t, filepath.Join(root, "changes", name), text)
	}
	return root
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, root, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
