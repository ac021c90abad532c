// SPDX-License-Identifier: Apache-2.0

package loader

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/internal/filetest"
)

// sameMemory reports whether a and b are the same slice.
func sameMemory(a, b []byte) bool {
	return len(a) == len(b) && unsafe.SliceData(a) == unsafe.SliceData(b)
}

// An umbrella chart whose subcharts all vendor the same library.
func TestContentsSharesEqualFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) { filetest.Write(t, dir, map[string]string{name: text}) }
	helpers := strings.Repeat(`{{ define "lib.name" }}{{ .Chart.Name }}{{ end }}`+"\n", 50)
	write("Chart.yaml", "apiVersion: v2\nname: umbrella\nversion: 1.0.0\n")
	for _, service := range []string{"a", "b"} {
		at := "charts/" + service + "/"
		write(at+"Chart.yaml", "apiVersion: v2\nname: "+service+"\nversion: 1.0.0\n")
		write(at+"charts/lib/Chart.yaml", "apiVersion: v2\nname: lib\nversion: 1.0.0\ntype: library\n")
		write(at+"charts/lib/templates/_lib.tpl", helpers)
	}
	fromDir, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	packed := filepath.Join(t.TempDir(), "nested")
	for _, service := range fromDir.Dependencies() {
		if _, err := Save(service, filepath.Join(packed, "charts"), Options{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(packed, "Chart.yaml"), fromDir.File("Chart.yaml").Data, 0o644); err != nil {
		t.Fatal(err)
	}
	fromArchives, err := Load(packed)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]*chart.Chart{"directories": fromDir, "archives": fromArchives} {
		t.Run(name, func(t *testing.T) {
			var libs []*chart.File
			for _, service := range c.Dependencies() {
				for _, lib := range service.Dependencies() {
					libs = append(libs, lib.File("templates/_lib.tpl"))
				}
			}
			if len(libs) != 2 {
				t.Fatalf("%s: got %d libraries, want 2", name, len(libs))
			}
			if string(libs[0].Data) != helpers {
				t.Errorf("%s: the file was not read as it is: %q", name, libs[0].Data)
			}
			if !sameMemory(libs[0].Data, libs[1].Data) {
				t.Errorf("%s: two equal files are held twice", name)
			}
		})
	}
}

func TestContentsDifferentFiles(t *testing.T) {
	t.Parallel()
	var c contents
	read := func(text string) []byte {
		t.Helper()
		data, err := c.read(strings.NewReader(text), int64(len(text)))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	a, b := read("first"), read("other")
	if string(a) != "first" || string(b) != "other" {
		t.Errorf("got %q and %q, want first and other", a, b)
	}
	if again := read("first"); !sameMemory(a, again) {
		t.Error("equal contents are held twice")
	}
	if cap(a) != len(a) {
		t.Errorf("an append to shared bytes would write after them: cap %d, len %d", cap(a), len(a))
	}
	large := strings.Repeat("x", maxShared+1)
	if got := read(large); !bytes.Equal(got, []byte(large)) {
		t.Error("a large file is not read as it is")
	}
}

func TestContentsShortRead(t *testing.T) {
	t.Parallel()
	for _, size := range []int64{10, maxShared + 1} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			var c contents
			data, err := c.read(strings.NewReader("abc"), size)
			if string(data) != "abc" || !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("got %q, %v; want abc, %v", data, err, io.ErrUnexpectedEOF)
			}
		})
	}
}
