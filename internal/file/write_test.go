// SPDX-License-Identifier: Apache-2.0

package file

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func TestWriteAtomic(t *testing.T) {
	errWrite := errors.New("no space left")
	for _, test := range []struct {
		name, before string
		err          error
		want         string
	}{
		{"a new file", "", nil, "new"},
		{"an existing file", "old", nil, "new"},
		{"an error for a new file", "", errWrite, ""},
		{"an error for an existing file", "old", errWrite, "old"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "index.yaml")
			if test.before != "" {
				if err := os.WriteFile(path, []byte(test.before), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			err := WriteAtomic(path, 0o640, func(f *os.File) error {
				_, err := f.WriteString("new")
				return errors.Join(err, test.err)
			})
			if !errors.Is(err, test.err) {
				t.Fatalf("got error %v, want %v", err, test.err)
			}
			got, _ := os.ReadFile(path)
			if string(got) != test.want {
				t.Errorf("got content %q, want %q", got, test.want)
			}
			if entries, _ := os.ReadDir(dir); len(entries) > 1 || test.want == "" && len(entries) > 0 {
				t.Errorf("got files %v, want no others", entries)
			}
			if info, err := os.Stat(path); err == nil && test.err == nil && runtime.GOOS != "windows" && info.Mode() != 0o640 {
				t.Errorf("got mode %v, want %v", info.Mode(), os.FileMode(0o640))
			}
		})
	}
}
