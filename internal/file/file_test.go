// SPDX-License-Identifier: Apache-2.0

package file

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestRead(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "a"), filepath.Join(dir, "link")
	if err := os.WriteFile(path, []byte("four"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(path, link); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	for _, p := range []string{path, link} {
		for name, read := range map[string]func(limit int64) ([]byte, error){
			"Read":      func(limit int64) ([]byte, error) { return Read(p, limit) },
			"ReadInput": func(limit int64) ([]byte, error) { return ReadInput(t.Context(), p, limit) },
		} {
			if got, err := read(4); err != nil || string(got) != "four" {
				t.Errorf("%s: got %q, %v", name, got, err)
			}
			var size *SizeError
			if got, err := read(3); !errors.As(err, &size) || got != nil {
				t.Errorf("%s of a file that is too large: got %q, %v", name, got, err)
			}
		}
	}
	if _, err := Read(filepath.Join(dir, "none"), 4); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
}

func TestOpenFileCreates(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	for range 2 {
		f, err := OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
