// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// entry is an entry of an archive. With a Link it is a link.
type entry struct {
	Name, Text string
	Type       byte
	Link       string
	Mode       int64
	Size       int64 // for a header with a wrong size
}

func archiveOfEntries(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	zw := gzip.NewWriter(&b)
	tw := tar.NewWriter(zw)
	for _, e := range entries {
		h := &tar.Header{Name: e.Name, Typeflag: e.Type, Linkname: e.Link, Mode: e.Mode, Size: int64(len(e.Text))}
		if e.Type == 0 {
			h.Typeflag = tar.TypeReg
		}
		if e.Size > 0 {
			h.Size = e.Size
		}
		if err := tw.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(tw, e.Text); err != nil {
			t.Fatal(err)
		}
	}
	_ = tw.Close() // fails for a wrong size
	if err := zw.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestUnpackRejectsInvalid tests CVE-2020-4053. Paths that lead out of the plugin's directory are
// rejected, and nothing is written there.
func TestUnpackRejectsInvalid(t *testing.T) {
	good := entry{Name: "a/plugin.yaml", Text: "name: a\n"}
	for _, c := range []struct {
		name string
		entry
		want string
	}{
		{"the directory above", entry{Name: "../x"}, "is outside of"},
		{"above, from within", entry{Name: "a/../../x"}, "is outside of"},
		{"within, by way of ..", entry{Name: "a/../x"}, "is outside of"},
		{"a directory above", entry{Name: "../x/", Type: tar.TypeDir}, "is outside of"},
		{"an absolute path", entry{Name: "/tmp/x"}, "absolute path"},
		{"backslashes", entry{Name: `a\..\..\x`}, "backslash"},
		{"a drive", entry{Name: "C:/x"}, "colon"},
		{"a stream", entry{Name: "a/x:y"}, "colon"},
		{"a symbolic link", entry{Name: "a/x", Type: tar.TypeSymlink, Link: "/etc/passwd"}, "is a link"},
		{"a link within", entry{Name: "a/x", Type: tar.TypeSymlink, Link: "plugin.yaml"}, "is a link"},
		{"a hard link", entry{Name: "a/x", Type: tar.TypeLink, Link: "a/plugin.yaml"}, "is a link"},
		{"a pipe", entry{Name: "a/x", Type: tar.TypeFifo}, "neither a file"},
		{"a device", entry{Name: "a/x", Type: tar.TypeChar}, "neither a file"},
		{"a bomb", entry{Name: "a/x", Size: 2 << 30}, "more than 512 MiB"},
	} {
		t.Run(c.name, func(t *testing.T) {
			outer := t.TempDir()
			dst := filepath.Join(outer, "dst")
			if err := os.Mkdir(dst, 0o755); err != nil {
				t.Fatal(err)
			}
			_, err := unpack(bytes.NewReader(archiveOfEntries(t, good, c.entry)), dst)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if entries, err := os.ReadDir(outer); err != nil || len(entries) != 1 {
				t.Errorf("wrote %v, %v", entries, err)
			}
		})
	}
}

// A later entry does not follow a link of an earlier one.
func TestUnpackStaysInDirectory(t *testing.T) {
	outer := t.TempDir()
	dst := filepath.Join(outer, "dst")
	if err := errors.Join(os.Mkdir(dst, 0o755), os.Symlink(outer, filepath.Join(dst, "a"))); err != nil {
		t.Skip(err)
	}
	if _, err := unpack(bytes.NewReader(archiveOfEntries(t, entry{Name: "a/x", Text: "y"})), dst); err == nil {
		t.Error("wrote through a link")
	}
	if _, err := os.Stat(filepath.Join(outer, "x")); err == nil {
		t.Error("wrote outside")
	}
}

func TestUnpackFindsPlugin(t *testing.T) {
	for _, c := range []struct{ directory, want string }{{"", "."}, {"a/", "a"}, {"helm-a-1.2.3/", "helm-a-1.2.3"}, {"./", "."}} {
		t.Run(c.directory, func(t *testing.T) {
			dst := t.TempDir()
			dir, err := unpack(bytes.NewReader(archiveOfEntries(t,
				entry{Name: "pax", Type: tar.TypeXGlobalHeader},
				entry{Name: c.directory + "plugin.yaml", Text: "name: a\n", Mode: 0o600},
				entry{Name: c.directory + "bin/run.sh", Text: "#!/bin/sh\n", Mode: 0o4755},
			)[:]), dst)
			if err != nil || dir != filepath.Join(dst, c.want) {
				t.Errorf("%q: %s, %v", c.directory, dir, err)
				return
			}
			info, err := os.Stat(filepath.Join(dir, "bin", "run.sh"))
			if err != nil || info.Mode().Perm() != 0o755 || info.Mode()&os.ModeSetuid != 0 {
				t.Errorf("%q: the program's mode is %v, %v", c.directory, info, err)
			}
		})
	}
	for name, data := range map[string][]byte{
		"no archive":  []byte("garbage"),
		"nothing":     nil,
		"no manifest": archiveOfEntries(t, entry{Name: "a/b/plugin.yaml", Text: "name: a\n"}),
		"torn":        archiveOfEntries(t, entry{Name: "a/plugin.yaml", Text: "name: a\n"})[:60],
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := unpack(bytes.NewReader(data), t.TempDir()); err == nil {
				t.Errorf("%s: no error", name)
			}
		})
	}
}

func FuzzUnpack(f *testing.F) {
	f.Add(archiveOfEntries(f, entry{Name: "a/plugin.yaml", Text: "name: a\n"}, entry{Name: "a/bin/x", Mode: 0o755}))
	f.Add(archiveOfEntries(f, entry{Name: "../x"}, entry{Name: "l", Type: tar.TypeSymlink, Link: "/"}))
	f.Fuzz(func(t *testing.T, data []byte) {
		outer := t.TempDir()
		dst := filepath.Join(outer, "dst")
		if err := os.Mkdir(dst, 0o755); err != nil {
			t.Fatal(err)
		}
		_, _ = unpack(bytes.NewReader(data), dst)
		if entries, err := os.ReadDir(outer); err != nil || len(entries) != 1 {
			t.Errorf("wrote %v, %v", entries, err)
		}
	})
}
