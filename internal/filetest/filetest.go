// SPDX-License-Identifier: Apache-2.0

// Package filetest has what tests of reading and writing files share.
package filetest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Write writes files below dir, by their slash-separated names. A text that begins with
// "->" makes a symbolic link to what follows.
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

// WriteFile writes a file and makes the directories that lead to it.
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
