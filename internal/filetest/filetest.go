// SPDX-License-Identifier: Apache-2.0

// Package filetest provides helpers for tests that read and write files.
package filetest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Write writes files with slash-separated names relative to dir. A text "->TARGET" creates a
// symbolic link.
func Write(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		target, link := strings.CutPrefix(text, "->")
		if !link {
			WriteFile(t, path, text)
			continue
		}
		makeParent(t, path)
		if err := os.Symlink(target, path); err != nil {
			t.Fatal(err)
		}
	}
}

// WriteFile writes a file and creates its parent directories.
func WriteFile(t testing.TB, path, text string) {
	t.Helper()
	makeParent(t, path)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Golden compares got with the content of a file, or writes it there if update is set, as by a test's
// flag -update.
func Golden(t testing.TB, path, got string, update bool) {
	t.Helper()
	if update {
		WriteFile(t, path, got)
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", path, got, want)
	}
}

func makeParent(t testing.TB, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
}
