// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var archiveNames = []string{
	"helm-v0.1.0-linux-amd64.tar.gz", "helm-v0.1.0-linux-arm64.tar.gz", "helm-v0.1.0-linux-arm.tar.gz",
	"helm-v0.1.0-linux-386.tar.gz", "helm-v0.1.0-linux-ppc64le.tar.gz", "helm-v0.1.0-linux-s390x.tar.gz",
	"helm-v0.1.0-linux-riscv64.tar.gz", "helm-v0.1.0-darwin-amd64.tar.gz", "helm-v0.1.0-darwin-arm64.tar.gz",
	"helm-v0.1.0-windows-amd64.zip", "helm-v0.1.0-windows-arm64.zip",
}

func TestSBOM(t *testing.T) {
	program, err := os.Executable() // a Go binary, which says what it was built from
	if err != nil {
		t.Fatal(err)
	}
	binary, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"helm-v0.1.0-linux-amd64.tar.gz", "helm-v0.1.0-windows-amd64.zip",
		"moonhelm-policy-v0.1.0-linux-amd64.tar.gz", "moonhelm-policy-v0.1.0-windows-amd64.tar.gz",
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			writeArchive(t, filepath.Join(dir, name), binary)
			var texts [2][]byte
			for i := range texts {
				out := filepath.Join(dir, "out.spdx.json")
				if err := run([]string{"sbom", filepath.Join(dir, name), out}, epoch("1767225600"), io.Discard); err != nil {
					t.Fatal(err)
				}
				if texts[i], err = os.ReadFile(out); err != nil {
					t.Fatal(err)
				}
			}
			if !bytes.Equal(texts[0], texts[1]) {
				t.Error("two documents of one archive differ")
			}
			var doc document
			if err := json.Unmarshal(texts[0], &doc); err != nil {
				t.Fatal(err)
			}
			if got, want := doc.CreationInfo.Created, "2026-01-01T00:00:00Z"; got != want {
				t.Errorf("created: got %s, want %s", got, want)
			}
			sum, err := checksum(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			if got := doc.Packages[0]; got.Name != name || got.Checksums[0].Value != sum {
				t.Errorf("the archive: got %+v, want %s with checksum %s", got, name, sum)
			}
			checkIDs(t, doc)
		})
	}
}

// checkIDs holds the identifiers of a document against the rules of SPDX: each is there once,
// and relationships refer to existing ones.
func checkIDs(t *testing.T, doc document) {
	t.Helper()
	ids := map[string]bool{doc.SPDXID: true}
	for _, p := range doc.Packages {
		if ids[p.SPDXID] {
			t.Errorf("%s is there twice", p.SPDXID)
		}
		ids[p.SPDXID] = true
	}
	for _, r := range doc.Relationships {
		if !ids[r.Element] || !ids[r.Related] {
			t.Errorf("%+v: between unknown elements", r)
		}
	}
}

func TestSBOMErrors(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, archiveNames[0])
	writeArchive(t, file, []byte("not a program"))
	for _, test := range []struct{ name, date, want string }{
		{"no date", "", "SOURCE_DATE_EPOCH"},
		{"no Go binary", "0", "does not say what it was built from"},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := run([]string{"sbom", file, filepath.Join(dir, "out")}, epoch(test.date), io.Discard)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error: got %v, want one with %q", err, test.want)
			}
		})
	}
}

func TestSumFormat(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "helm-v0.1.0-linux-amd64.tar.gz")
	if err := os.WriteFile(file, []byte("hello\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := run([]string{"sum", file, file + ".sha256sum"}, epoch(""), io.Discard); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(file + ".sha256sum")
	want := "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03  helm-v0.1.0-linux-amd64.tar.gz\n"
	if string(got) != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

func TestManifestsChecksums(t *testing.T) {
	dir := t.TempDir()
	for _, name := range archiveNames {
		writeArchive(t, filepath.Join(dir, name), []byte(name))
	}
	if err := run([]string{"manifests", dir}, epoch(""), io.Discard); err != nil {
		t.Fatal(err)
	}
	for file, platforms := range map[string][]string{
		"homebrew/moonhelm.rb":                       {"darwin-amd64", "darwin-arm64", "linux-amd64", "linux-arm64"},
		"scoop/moonhelm.json":                        {"windows-amd64", "windows-arm64"},
		"winget/Moonhelm.Moonhelm.installer.yaml":    {"windows-amd64", "windows-arm64"},
		"winget/Moonhelm.Moonhelm.yaml":              {},
		"winget/Moonhelm.Moonhelm.locale.en-US.yaml": {},
		"nix/default.nix": {"linux-amd64", "linux-arm64", "linux-arm", "linux-386", "linux-ppc64le", "linux-s390x",
			"linux-riscv64", "darwin-amd64", "darwin-arm64"},
	} {
		t.Run(file, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join(dir, "manifests", filepath.FromSlash(file)))
			if err != nil {
				t.Fatal(err)
			}
			text := string(data)
			if !strings.Contains(text, "0.1.0") || strings.Contains(text, "<no value>") {
				t.Errorf("the version is missing, or a value:\n%s", text)
			}
			r, err := readRelease(dir)
			if err != nil {
				t.Fatal(err)
			}
			for _, platform := range platforms {
				a, err := r.Archive(platform)
				if err != nil {
					t.Fatal(err)
				}
				sri, err := a.SRI()
				if err != nil {
					t.Fatal(err)
				}
				if !strings.Contains(text, a.SHA256) && !strings.Contains(text, strings.ToUpper(a.SHA256)) &&
					!strings.Contains(text, sri) {
					t.Errorf("the checksum of %s is missing", platform)
				}
			}
		})
	}
}

func TestManifestsErrors(t *testing.T) {
	for name, files := range map[string][]string{
		"no archives":        {},
		"a missing platform": {"helm-v0.1.0-linux-amd64.tar.gz"},
		"two versions":       {"helm-v0.1.0-linux-amd64.tar.gz", "helm-v0.2.0-linux-amd64.tar.gz"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for _, file := range files {
				writeArchive(t, filepath.Join(dir, file), nil)
			}
			if err := run([]string{"manifests", dir}, epoch(""), io.Discard); err == nil {
				t.Error("no error")
			}
		})
	}
}

func epoch(value string) func(string) string { return func(string) string { return value } }

// writeArchive creates an archive with one file, named and packed as the archive's name says.
func writeArchive(t *testing.T, file string, binary []byte) {
	t.Helper()
	parts, err := splitArchiveName(filepath.Base(file))
	check(t, err)
	name := parts.platform + "/" + parts.binary()
	var b bytes.Buffer
	if strings.HasSuffix(file, ".zip") {
		z := zip.NewWriter(&b)
		w, err := z.Create(name)
		check(t, err)
		_, err = w.Write(binary)
		check(t, err)
		check(t, z.Close())
	} else {
		z := gzip.NewWriter(&b)
		w := tar.NewWriter(z)
		check(t, w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(binary)), Typeflag: tar.TypeReg}))
		_, err := w.Write(binary)
		check(t, err)
		check(t, w.Close())
		check(t, z.Close())
	}
	check(t, os.WriteFile(file, b.Bytes(), 0o644))
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
