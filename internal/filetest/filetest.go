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

func makeParent(t testing.TB, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
}
