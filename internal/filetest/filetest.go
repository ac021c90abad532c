// SPDX-License-Identifier: Apache-2.0

// Package filetest has what tests of reading and writing files share.
package filetest

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// Write writes files below dir, by their slash-separated names.
func Write(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}
