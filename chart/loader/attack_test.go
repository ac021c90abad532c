// SPDX-License-Identifier: Apache-2.0

package loader_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/chart/loader"
	"github.com/moonhelm/moonhelm/internal/filetest"
)

// TestLoadArchiveInvalidEntries checks that loading and unpacking reject an archive with paths
// outside of its directory, and that nothing is written.
func TestLoadArchiveInvalidEntries(t *testing.T) {
	for _, c := range []struct {
		name string
		entry
		want string
	}{
		{"the directory above", entry{Name: "web/../../x"}, "leads out of the chart"},
		{"the directory above, at once", entry{Name: "../x"}, "leads out of the chart"},
		{"within, but by way of ..", entry{Name: "web/a/../x"}, "leads out of the chart"},
		{"a directory above", entry{Name: "../x/", Type: tar.TypeDir}, "leads out of the chart"},
		{"an absolute path", entry{Name: "/etc/x"}, "absolute path"},
		{"an absolute path after the directory", entry{Name: "web//etc/x"}, "is not in the chart's directory"},
		{"a drive", entry{Name: "web/c:/x"}, "absolute path"},
		{"a drive first", entry{Name: "C:/x"}, "absolute path"},
		{"backslashes", entry{Name: `web\..\..\x`}, "backslash"},
		{"a backslash inside", entry{Name: `web/x\y`}, "backslash"},
		{"a template that forges a document", entry{Name: "web/templates/a\n---\nkind: Pod\n#.yaml"}, "control character"},
		{"a subchart's template with another line end", entry{Name: "web/charts/db/templates/a\u2028b.yaml"}, "control character"},
		{"a definition that steers the terminal", entry{Name: "web/crds/\x1b[2J.yaml"}, "control character"},
		{"no directory", entry{Name: "x"}, "is not in the chart's directory"},
		{"no name", entry{Name: "web/."}, "is not in the chart's directory"},
		{"a symbolic link", entry{Name: "web/x", Type: tar.TypeSymlink, Link: "/etc/passwd"}, "is a link"},
		{"a hard link", entry{Name: "web/x", Type: tar.TypeLink, Link: "web/Chart.yaml"}, "is a link"},
		{"Chart.lock as a link", entry{Name: "web/Chart.lock", Type: tar.TypeSymlink, Link: "../../.bashrc"}, "is a link"},
		{"a device", entry{Name: "web/x", Type: tar.TypeChar}, "neither a file nor a directory"},
		{"a pipe", entry{Name: "web/x", Type: tar.TypeFifo}, "neither a file nor a directory"},
	} {
		t.Run(c.name, func(t *testing.T) {
			data := pack(t, entry{Name: "web/Chart.yaml", Text: metadata}, c.entry)
			_, err := loader.LoadArchive("web.tgz", bytes.NewReader(data))
			wantError(t, err, c.want)
			wantNothingWritten(t, data, c.want)
			nested := pack(t, entry{Name: "web/Chart.yaml", Text: metadata}, entry{Name: "web/charts/db.tgz", Text: string(data)})
			_, err = loader.LoadArchive("web.tgz", bytes.NewReader(nested))
			wantError(t, err, "charts/db.tgz: ")
		})
	}
}

// Such names in a directory are errors too, unless they are ignored.
func TestLoadControlCharactersInNames(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such names")
	}
	dir := t.TempDir()
	filetest.Write(t, dir, map[string]string{"Chart.yaml": metadata, "Icon\r": "", "templates/a\n---\nkind: Pod\n#.yaml": "a: 1"})
	_, err := loader.Load(dir)
	wantError(t, err, "has a control character in its name")
	if err := os.WriteFile(filepath.Join(dir, ".helmignore"), []byte("templates/a*\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := loader.Load(dir); err != nil {
		t.Error(err)
	}
}

// wantNothingWritten checks that unpacking data fails without writing a file.
func wantNothingWritten(t *testing.T, data []byte, want string) {
	t.Helper()
	dir := t.TempDir()
	inner := filepath.Join(dir, "inner")
	_, err := loader.Expand(inner, bytes.NewReader(data))
	wantError(t, err, want)
	for d, n := range map[string]int{dir: 1, inner: 0} {
		if entries, err := os.ReadDir(d); err != nil || len(entries) != n {
			t.Errorf("%s holds %v, %v", d, entries, err)
		}
	}
}

func TestLoadFilesInvalidNames(t *testing.T) {
	for _, name := range []string{"../x", "..", ".", "/etc/x", `a\b`, "a/b", ""} {
		text := "apiVersion: v2\nname: '" + name + "'\nversion: 1.0.0\n"
		wantNothingWritten(t, pack(t, entry{Name: "web/Chart.yaml", Text: text}), "Chart.yaml")
		if _, err := loader.LoadArchive("x", bytes.NewReader(pack(t, entry{Name: "web/Chart.yaml", Text: text}))); err == nil {
			t.Errorf("%q is a name", name)
		}
	}
	wantNothingWritten(t, pack(t, entry{Name: "web/x"}), "Chart.yaml file is missing")
	wantNothingWritten(t, []byte("garbage"), "does not appear to be a gzipped archive")
	wantNothingWritten(t, nil, "does not appear to be a gzipped archive")
	_, err := loader.LoadFiles(nil)
	if !errors.Is(err, loader.ErrNoMetadata) {
		t.Error(err)
	}
}

// zeros is an endless file of zeros.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// bomb returns a chart's archive with n files of size zeros. A file of more than 16 MiB has
// only a header.
func bomb(t *testing.T, n int, size int64) []byte {
	t.Helper()
	var b bytes.Buffer
	zw, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	tw := tar.NewWriter(zw)
	add := func(name string, r io.Reader, size int64) {
		if err := tw.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Size: size, Mode: 0o644}); err != nil {
			t.Fatal(err)
		}
		if size > 16<<20 {
			return
		}
		if _, err := io.CopyN(tw, r, size); err != nil {
			t.Fatal(err)
		}
	}
	add("web/Chart.yaml", strings.NewReader(metadata), int64(len(metadata)))
	for range n {
		add("web/x"+strings.Repeat("y", b.Len()%50), zeros{}, size)
	}
	_ = tw.Close() // fails if a file is incomplete
	if err := zw.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestLoadArchiveBombs checks that archives whose content exceeds a limit are rejected before
// they are read.
func TestLoadArchiveBombs(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	var limit *loader.LimitError
	for _, c := range []struct {
		name string
		data []byte
		most uint64 // bytes allocated
	}{
		{"one file of 1 GiB", bomb(t, 1, 1<<30), 8 << 20},
		{"one file of 5 MiB and a byte", bomb(t, 1, 5<<20+1), 8 << 20},
		{"hundreds of files of 5 MiB", bomb(t, 30, 5<<20), 110 << 20},
		{"empty files without end", emptyFiles(t, 110_000), 200 << 20},
	} {
		t.Run(c.name, func(t *testing.T) {
			used := allocated(func() {
				if _, err := loader.LoadArchive("web.tgz", bytes.NewReader(c.data)); !errors.As(err, &limit) {
					t.Errorf("got %v, want a limit", err)
				}
			})
			if used > c.most {
				t.Errorf("took %d MiB, at most %d expected", used>>20, c.most>>20)
			}
		})
	}
	wantNothingWritten(t, bomb(t, 1, 5<<20+1), "has more than 5 MiB")
}

// emptyFiles returns an archive of n empty files, which compresses very well.
func emptyFiles(t *testing.T, n int) []byte {
	t.Helper()
	var one bytes.Buffer
	tw := tar.NewWriter(&one)
	if err := errors.Join(tw.WriteHeader(&tar.Header{Name: "web/x", Typeflag: tar.TypeReg, Mode: 0o644}), tw.Flush()); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	zw, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	for range n {
		if _, err := zw.Write(one.Bytes()); err != nil {
			t.Fatal(err)
		}
	}
	if err := zw.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestLoadNestedBombs checks that nested archives share a limit.
func TestLoadNestedBombs(t *testing.T) {
	inner := bomb(t, 4, 5<<20) // 20 MiB, which is allowed
	entries := []entry{{Name: "web/Chart.yaml", Text: metadata}}
	for i := range 10 {
		entries = append(entries, entry{Name: "web/charts/" + strings.Repeat("x", i+1) + ".tgz", Text: string(inner)})
	}
	var limit *loader.LimitError
	used := allocated(func() {
		if _, err := loader.LoadArchive("web.tgz", bytes.NewReader(pack(t, entries...))); !errors.As(err, &limit) {
			t.Errorf("got %v, want a limit", err)
		}
	})
	if used > 150<<20 {
		t.Errorf("took %d MiB", used>>20)
	}
}

// TestLoadDepth checks the limit for the nesting of charts.
func TestLoadDepth(t *testing.T) {
	var entries []entry
	for i := range 80 {
		entries = append(entries, entry{Name: "web/" + strings.Repeat("charts/web/", i) + "Chart.yaml", Text: metadata})
	}
	_, err := loader.LoadArchive("web.tgz", bytes.NewReader(pack(t, entries...)))
	wantError(t, err, "more than 64 levels of subcharts")

	dir := directory(t, map[string]string{"Chart.yaml": metadata, "big": strings.Repeat("x", 5<<20+1)})
	_, err = loader.Load(dir)
	wantError(t, err, "big has more than 5 MiB")
	dir = directory(t, map[string]string{"Chart.yaml": metadata, "charts/big.tgz": strings.Repeat("x", 101<<20)})
	_, err = loader.Load(dir)
	wantError(t, err, "charts/big.tgz has more than 100 MiB")
	_, _, err = loader.Loader{Limits: loader.Limits{Total: 100, File: 90}}.Load(directory(t, map[string]string{"Chart.yaml": metadata, "a": strings.Repeat("x", 80)}))
	wantError(t, err, "more than 100 bytes")
}

// TestLoadManyLinks checks directories of links to directories of links, which grow
// exponentially.
func TestLoadManyLinks(t *testing.T) {
	files := map[string]string{"Chart.yaml": metadata, "d30/f": "x"}
	for i := range 30 {
		files["d"+number(i)+"/a"] = "->../d" + number(i+1)
		files["d"+number(i)+"/b"] = "->../d" + number(i+1)
	}
	_, _, err := loader.Loader{Limits: loader.Limits{Entries: 5000}}.Load(directory(t, files))
	wantError(t, err, "more than 5000 files")
}

func number(i int) string { return string([]byte{'0' + byte(i/10), '0' + byte(i%10)}) }

func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func FuzzLoadArchive(f *testing.F) {
	f.Add(pack(f, entry{Name: "web/Chart.yaml", Text: metadata}, entry{Name: "web/values.yaml", Text: "a: 1"}, entry{Name: "web/charts/db/Chart.yaml", Text: metadata}))
	f.Add(pack(f, entry{Name: "../x", Text: metadata}, entry{Name: "web/l", Type: tar.TypeSymlink, Link: "/"}))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, data := range [][]byte{data, compress(data)} {
			c, err := loader.LoadArchive("fuzz", bytes.NewReader(data))
			if err != nil {
				continue
			}
			for _, file := range c.Raw {
				if strings.HasPrefix(file.Name, "/") || strings.Contains("/"+file.Name+"/", "/../") {
					t.Errorf("a file's name is %q", file.Name)
				}
			}
		}
	})
}

func compress(data []byte) []byte {
	var b bytes.Buffer
	zw, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	_, _ = zw.Write(data)
	_ = zw.Close()
	return b.Bytes()
}

func FuzzLoadFiles(f *testing.F) {
	f.Add("charts/db/Chart.yaml", []byte(metadata), "charts/db/values.yaml", []byte("a: 1"))
	f.Add("library/c/Chart.yaml", []byte(metadata), "requirements.yaml", []byte("dependencies: [null]"))
	f.Add("Chart.lock", []byte("dependencies: [{name: x}]"), "charts/x.tgz", []byte("\x1f\x8b"))
	f.Fuzz(func(t *testing.T, name1 string, data1 []byte, name2 string, data2 []byte) {
		_, _ = loader.LoadFiles(fileList("Chart.yaml", []byte(metadata), name1, data1, name2, data2))
		_, _ = loader.LoadFiles(fileList("Chart.yaml", data1, name2, data2, "values.yaml", data2))
	})
}
