// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestProvenanceText(t *testing.T) {
	file := filepath.Join(t.TempDir(), "moonhelm-policy-v0.1.0-rc.1-linux-amd64.tar.gz")
	if err := os.WriteFile(file, []byte("hello\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := run([]string{"provenance", file}, epoch(""), &out); err != nil {
		t.Fatal(err)
	}
	want := `apiVersion: legacy
name: policy
version: 0.1.0-rc.1
type: cli/v1
runtime: subprocess

...
files:
  moonhelm-policy-v0.1.0-rc.1-linux-amd64.tar.gz: sha256:5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03
`
	if got := out.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestProvenanceErrors(t *testing.T) {
	for _, test := range []struct{ name, file, want string }{
		{"not a plugin", archiveNames[0], "is not the archive of a plugin"},
		{"not an archive", "moonhelm-policy", "want a name such as"},
		{"not there", "moonhelm-policy-v0.1.0-linux-amd64.tar.gz", "no such file"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			if test.file == archiveNames[0] {
				writeArchive(t, filepath.Join(dir, test.file), []byte("x"))
			}
			err := run([]string{"provenance", filepath.Join(dir, test.file)}, epoch(""), &bytes.Buffer{})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error: got %v, want one with %q", err, test.want)
			}
		})
	}
}
