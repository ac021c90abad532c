// SPDX-License-Identifier: Apache-2.0

package loader_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/loader"
	"github.com/moonhelm/moonhelm/internal/filetest"
)

const metadata = "apiVersion: v2\nname: web\nversion: 1.2.3\n"

// metadataOf returns a Chart.yaml with the given name.
func metadataOf(name string) string { return strings.Replace(metadata, "web", name, 1) }

// entry is one entry of an archive; Type 0 is a file.
type entry struct {
	Name, Text string
	Type       byte
	Link       string
}

func pack(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	zw := gzip.NewWriter(&b)
	tw := tar.NewWriter(zw)
	for _, e := range entries {
		if e.Type == 0 {
			e.Type = tar.TypeReg
		}
		h := &tar.Header{Name: e.Name, Typeflag: e.Type, Linkname: e.Link, Size: int64(len(e.Text)), Mode: 0o644}
		if e.Type != tar.TypeReg {
			h.Size = 0
		}
		if err := tw.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if h.Size > 0 {
			if _, err := tw.Write([]byte(e.Text)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := errors.Join(tw.Close(), zw.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// directory writes files into a new directory.
func directory(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "web")
	filetest.Write(t, dir, files)
	return dir
}

func names(files []*chart.File) []string {
	var out []string
	for _, f := range files {
		out = append(out, f.Name)
	}
	return out
}

func want(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n got %q\nwant %q", what, got, want)
	}
}

// wantError checks that the error contains want.
func wantError(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want an error that says %q", err, want)
	}
}

func TestLoadFileFields(t *testing.T) {
	inner := string(pack(t, entry{Name: "cache/Chart.yaml", Text: metadataOf("cache")}, entry{Name: "cache/values.yaml", Text: "size: 1"}))
	files := map[string]string{
		"Chart.yaml": metadata, "values.yaml": "a: 1", "values.schema.json": "{}", "values.schema.yaml": "type: object", "README.md": "x",
		"Chart.lock": "digest: x", ".helmignore": "*.bak\n", "old.bak": "x", "crds/c.yaml": "x", "sub/deep/f": "x", "ext/lua/chart.lua": "x",
		"templates/b.yaml": "\xef\xbb\xbfb: 1", "templates/a/b.yaml": "x", "templates/a-b.yaml": "x", "templates/.hidden.yaml": "x", "templates/NOTES.txt": "x",
		"charts/db/Chart.yaml": metadataOf("db"), "charts/db/templates/.hidden.yaml": "x", "charts/db/.helmignore": "x.txt", "charts/db/x.txt": "x",
		"charts/cache-1.2.3.tgz": inner, "charts/cache-1.2.3.tgz.prov": "x", "charts/_off/Chart.yaml": "bad", "charts/.off": "bad",
		"library/plain.txt": "x", "library/notes/x.txt": "x", "library/common/Chart.yaml": metadataOf("common"),
	}
	c, err := loader.Load(directory(t, files))
	if err != nil {
		t.Fatal(err)
	}
	want(t, "templates", names(c.Templates), "templates/NOTES.txt", "templates/a/b.yaml", "templates/a-b.yaml", "templates/b.yaml")
	if string(c.Templates[3].Data) != "b: 1" {
		t.Errorf("the byte order mark stayed: %q", c.Templates[3].Data)
	}
	want(t, "files", names(c.Files), ".helmignore", "README.md", "crds/c.yaml", "ext/lua/chart.lua", "library/notes/x.txt", "library/plain.txt", "sub/deep/f", "values.schema.yaml")
	if len(c.Raw) != len(c.Files)+len(c.Templates)+4 || c.Values["a"] == nil || string(c.Schema) != "{}" || string(c.SchemaYAML) != "type: object" || c.Lock == nil || c.Lock.Digest != "x" {
		t.Errorf("raw %q, values %v, lock %v", names(c.Raw), c.Values, c.Lock)
	}
	var subs []string
	c.Walk(func(c *chart.Chart) { subs = append(subs, c.FullPath()) })
	want(t, "charts", subs, "web", "web/charts/cache", "web/charts/db", "web/library/common")
	if !c.Dependencies()[2].IsLibrary() || c.Dependencies()[1].IsLibrary() {
		t.Error("charts in library/ must be libraries, and those in charts/ must not")
	}
	want(t, "db's templates", names(c.Dependencies()[1].Templates), "templates/.hidden.yaml")
	want(t, "db's files", names(c.Dependencies()[1].Files), ".helmignore", "x.txt")
}

func TestRequirements(t *testing.T) {
	const reqs = "dependencies: [{name: db, version: 1.x, repository: ''}]"
	v1 := strings.Replace(metadata, "v2", "v1", 1)
	c, warnings, err := loader.Loader{}.Load(directory(t, map[string]string{"Chart.yaml": v1, "requirements.yaml": reqs, "requirements.lock": "digest: y2"}))
	if err != nil || len(warnings) > 0 || len(c.Metadata.Dependencies) != 1 || c.Lock.Digest != "y2" {
		t.Fatalf("%+v, %v, %v", c, warnings, err)
	}
	want(t, "a v1 chart's files", names(c.Files), "requirements.lock", "requirements.yaml")

	c, warnings, err = loader.Loader{}.Load(directory(t, map[string]string{"Chart.yaml": metadata, "requirements.yaml": reqs, "requirements.lock": "digest: y2"}))
	if err != nil || len(warnings) != 2 || len(c.Metadata.Dependencies) != 1 || len(c.Files) > 0 {
		t.Errorf("a v2 chart: %+v, %q, %v", c, warnings, err)
	}
	c, err = loader.Load(directory(t, map[string]string{"Chart.yaml": v1 + reqs, "requirements.yaml": "# nothing\n"}))
	if err != nil || len(c.Metadata.Dependencies) != 1 {
		t.Errorf("dependencies in Chart.yaml of a v1 chart: %+v, %v", c, err)
	}
	_, err = loader.Load(directory(t, map[string]string{"Chart.yaml": v1, "requirements.yaml": "dependencies:\n- name: a\n-\n"}))
	wantError(t, err, "requirements.yaml:3: dependencies[1]: is empty")
	_, err = loader.Load(directory(t, map[string]string{"Chart.yaml": v1, "requirements.yaml": "dependencies: []\nlibraries:\n- name: a\n-\n"}))
	wantError(t, err, "requirements.yaml:4: libraries[1]: is empty")
	_, err = loader.Load(directory(t, map[string]string{"Chart.yaml": v1, "requirements.yaml": "[1]"}))
	wantError(t, err, "requirements.yaml:1: must be a map, is a list")
}

func TestLoadInvalidCharts(t *testing.T) {
	broken := string(pack(t, entry{Name: "db/Chart.yaml", Text: "name: ["}))
	for _, c := range []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"no Chart.yaml", map[string]string{"values.yaml": ""}, "Chart.yaml file is missing"},
		{"Chart.yaml ignored", map[string]string{"Chart.yaml": metadata, ".helmignore": "# all\n*.yaml\n"}, "Chart.yaml file is missing: .helmignore:2 (*.yaml) leaves it out"},
		{"a pattern that is none", map[string]string{"Chart.yaml": metadata, ".helmignore": "\n[a-\n"}, `.helmignore:2: "[a-": syntax error`},
		{"values that are none", map[string]string{"Chart.yaml": metadata, "values.yaml": "[1]"}, "values.yaml"},
		{"values of a subchart", map[string]string{"Chart.yaml": metadata, "charts/db/Chart.yaml": metadataOf("db"), "charts/db/values.yaml": "a: ["}, "charts/db: "},
		{"two levels down", map[string]string{"Chart.yaml": metadata, "charts/db/Chart.yaml": metadataOf("db"), "charts/db/charts/x/y": ""}, "charts/db: charts/x: Chart.yaml file is missing"},
		{"a stray file", map[string]string{"Chart.yaml": metadata, "charts/README.md": "x"}, "charts/README.md: is neither a chart's directory nor a .tgz archive"},
		{"a stray directory", map[string]string{"Chart.yaml": metadata, "charts/x/y": "x"}, "charts/x: Chart.yaml file is missing"},
		{"a false archive", map[string]string{"Chart.yaml": metadata, "charts/x.tgz": "x"}, "charts/x.tgz: the file does not appear to be a gzipped archive"},
		{"a broken archive", map[string]string{"Chart.yaml": metadata, "charts/db.tgz": broken}, "charts/db.tgz: cannot load Chart.yaml: error converting YAML to JSON: yaml: line 1: did not find"},
		{"a bad lock", map[string]string{"Chart.yaml": metadata, "Chart.lock": "generated: x"}, "Chart.lock:1: generated: must be a time"},
		{"a null maintainer", map[string]string{"Chart.yaml": metadata + "maintainers: [null]"}, "Chart.yaml:4: maintainers[0]: is empty"},
		{"import-values of a wrong type", map[string]string{"Chart.yaml": metadata + "dependencies: [{name: a, import-values: [5]}]"}, "Chart.yaml:4: dependencies[0].import-values[0]: must be a string"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := loader.Load(directory(t, c.files))
			wantError(t, err, c.want)
		})
	}
	_, err := loader.Load(filepath.Join(t.TempDir(), "nothing"))
	if !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

func TestLoadSymbolicLinks(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(outside, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, warnings, err := loader.Loader{}.Load(directory(t, map[string]string{
		"Chart.yaml": metadata, "d/f": "1", "link": "->d", "file": "->d/f", "off": "->nowhere", "out": "->" + outside, ".helmignore": "off\nout\n",
	}))
	if err != nil {
		t.Fatal(err)
	}
	want(t, "files", names(c.Files), ".helmignore", "d/f", "file", "link/f")
	if len(warnings) != 2 || !strings.Contains(warnings[0], "found symbolic link in path") {
		t.Errorf("warnings %q", warnings)
	}
	for _, c := range []struct{ name, file, target, want string }{
		{"to a file outside", "x", outside, `"x" is a symbolic link that leaves the chart`},
		{"to a directory outside", "x", filepath.Dir(outside), "leaves the chart"},
		{"up and out", "d/x", "../../..", "leaves the chart"},
		{"to nothing", "x", "nowhere", "follow the symbolic link x"},
		{"to the directory it is in", "d/up", "..", `"d/up" is a symbolic link to a directory that contains it`},
		{"to itself", "x", "x", "follow the symbolic link x"},
		{"Chart.lock", "Chart.lock", "d/f", `"Chart.lock" is a symbolic link; a lock file must be a regular file`},
		{"Chart.lock to outside", "Chart.lock", outside, `"Chart.lock" is a symbolic link`},
		{"requirements.lock", "requirements.lock", "d/f", `"requirements.lock" is a symbolic link`},
		{"a subchart's lock", "charts/x/Chart.lock", "../../d/f", `is a symbolic link`},
		{".helmignore", ".helmignore", outside, "leaves the chart"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := loader.Load(directory(t, map[string]string{"Chart.yaml": metadata, "d/f": "1", c.file: "->" + c.target}))
			wantError(t, err, c.want)
		})
	}
	if data, _ := os.ReadFile(outside); string(data) != "secret" {
		t.Error("a link's target was touched")
	}
	// A link to the current version is common.
	dir := directory(t, map[string]string{"Chart.yaml": metadata})
	link := filepath.Join(t.TempDir(), "current")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	if _, err := loader.Load(link); err != nil {
		t.Error(err)
	}
}

// TestLoadCorpus loads every public chart of the corpus, if it exists.
func TestLoadCorpus(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	dirs, _ := filepath.Glob(filepath.Join("..", "..", "..", "shared", "corpus", "charts", "*"))
	if len(dirs) == 0 {
		t.Skip("no corpus beside the project (../shared/corpus)")
	}
	for _, dir := range dirs {
		c, err := loader.Load(dir)
		if err != nil {
			t.Error(err)
			continue
		}
		if c.Name() == "" || c.Values == nil || len(c.Raw) == 0 {
			t.Errorf("%s: half a chart: %+v", dir, c.Metadata)
		}
		roundTrip(t, c)
	}
}

// Charts that dependency update writes to charts/ must be loaded again, as in Helm 4.
func TestLoadLargeSubchartArchive(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	noise := make([]byte, 4<<20)
	rand.NewChaCha8([32]byte{}).Read(noise)
	db := pack(t, entry{Name: "db/Chart.yaml", Text: metadataOf("db")}, entry{Name: "db/a", Text: string(noise)}, entry{Name: "db/b", Text: string(noise)})
	if len(db) < 6<<20 {
		t.Fatalf("the archive has %d bytes only", len(db))
	}
	c, err := loader.Load(directory(t, map[string]string{"Chart.yaml": metadata, "charts/db-1.2.3.tgz": string(db)}))
	if err != nil || len(c.Dependencies()) != 1 {
		t.Fatalf("%v", err)
	}
}
