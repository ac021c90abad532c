// SPDX-License-Identifier: Apache-2.0

package loader_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/loader"
)

func TestSaveSigned(t *testing.T) {
	c, err := loader.LoadFiles(fileList("Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n", "values.yaml", "a: 1\n"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var seen []byte
	opts := loader.Options{Version: "2.0.0", Sign: func(name string, r io.Reader, m *chart.Metadata) ([]byte, error) {
		seen, err = io.ReadAll(r)
		if err != nil || name != "web-2.0.0.tgz" || m.Version != "2.0.0" {
			t.Errorf("asked to sign %s, %v, %v", name, m, err)
		}
		return []byte("signed"), nil
	}}
	path, err := loader.Save(c, dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	packed, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(packed, seen) {
		t.Errorf("the bytes signed are not those written, %v", err)
	}
	if prov, err := os.ReadFile(path + ".prov"); err != nil || string(prov) != "signed" {
		t.Errorf("%q, %v", prov, err)
	}

	// After a failed signature all files are unchanged.
	refused := errors.New("no key")
	opts.Sign = func(string, io.Reader, *chart.Metadata) ([]byte, error) { return nil, refused }
	opts.AppVersion = "9"
	for _, version := range []string{"2.0.0", "3.0.0"} {
		t.Run(version, func(t *testing.T) {
			opts.Version = version
			if _, err := loader.Save(c, dir, opts); !errors.Is(err, refused) || !strings.HasPrefix(err.Error(), "sign web-"+version+".tgz: ") {
				t.Error(err)
			}
		})
	}
	if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, packed) {
		t.Errorf("the archive there was has changed: %v", err)
	}
	wantFiles(t, dir, "web-2.0.0.tgz", "web-2.0.0.tgz.prov")

	// No archive is left if its provenance cannot be written.
	if err := os.Mkdir(filepath.Join(dir, "web-4.0.0.tgz.prov"), 0o755); err != nil {
		t.Fatal(err)
	}
	opts.Version, opts.Sign = "4.0.0", func(string, io.Reader, *chart.Metadata) ([]byte, error) { return []byte("signed"), nil }
	if _, err := loader.Save(c, dir, opts); err == nil {
		t.Error("a directory was replaced")
	}
	wantFiles(t, dir, "web-2.0.0.tgz", "web-2.0.0.tgz.prov", "web-4.0.0.tgz.prov")
}

func wantFiles(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if err != nil || strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("%s has %v, %v; wanted %v", dir, got, err, want)
	}
}
