// SPDX-License-Identifier: Apache-2.0

package loader_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/loader"
)

func fileList(pairs ...any) []*chart.File {
	var out []*chart.File
	for i := 0; i < len(pairs); i += 2 {
		f := &chart.File{Name: pairs[i].(string)}
		switch data := pairs[i+1].(type) {
		case string:
			f.Data = []byte(data)
		case []byte:
			f.Data = data
		}
		out = append(out, f)
	}
	return out
}

func write(t *testing.T, c *chart.Chart, opts loader.Options) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := loader.Write(&b, c, opts); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// roundTrip checks that a chart is unchanged after saving and loading.
func roundTrip(t *testing.T, c *chart.Chart) {
	t.Helper()
	back, err := loader.LoadArchive(c.Name(), bytes.NewReader(write(t, c, loader.Options{})))
	if err != nil {
		t.Error(err)
		return
	}
	a, b := contents(c), contents(back)
	if !reflect.DeepEqual(a, b) {
		t.Errorf("%s came back changed: %d files, then %d", c.Name(), len(a), len(b))
	}
}

func contents(c *chart.Chart) map[string]string {
	out := map[string]string{}
	c.Walk(func(c *chart.Chart) {
		for _, f := range c.Raw {
			out[c.FullPath()+"/"+f.Name] = string(f.Data)
		}
	})
	return out
}

func example(t *testing.T) *chart.Chart {
	t.Helper()
	c, err := loader.LoadFiles(fileList(
		"templates/b.yaml", "b", "templates/a.yaml", "a", "README.md", "read", "values.yaml", "# ours\na: 1\n",
		"Chart.yaml", "# ours\n"+metadata+"appVersion: \"1.0\" # theirs\nunknown: 1\n", "Chart.lock", "digest: x\n",
		"charts/db/Chart.yaml", metadataOf("db"), "charts/_off/x", "x", "library/common/Chart.yaml", metadataOf("common")))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestSaveReproducible checks that equal charts have equal archives, in whatever order and from
// whichever directory they were read.
func TestSaveReproducible(t *testing.T) {
	c := example(t)
	first := write(t, c, loader.Options{})
	if !bytes.Equal(first, write(t, example(t), loader.Options{})) {
		t.Error("two archives of one chart differ")
	}
	back, err := loader.LoadArchive("web", bytes.NewReader(first))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first, write(t, back, loader.Options{})) {
		t.Error("an archive of the archive differs")
	}
	if bytes.Equal(first, write(t, c, loader.Options{ModTime: time.Unix(1, 0)})) {
		t.Error("the time has no effect")
	}
	if !bytes.Equal(write(t, c, loader.Options{ModTime: time.Unix(1, 5)}), write(t, c, loader.Options{ModTime: time.Unix(1, 0).UTC()})) {
		t.Error("a time's zone or fraction has an effect")
	}
	roundTrip(t, c)
}

func TestSourceDateEpoch(t *testing.T) {
	for text, want := range map[string]int64{"": (time.Time{}).Unix(), "0": 0, "1000": 1000} {
		t.Run(text, func(t *testing.T) {
			got, err := loader.ModTime(func(string) string { return text })
			if err != nil || got.Unix() != want {
				t.Errorf("%q: %v, %v", text, got, err)
			}
		})
	}
	for _, text := range []string{"x", "-1", "1.5", "99999999999999999999"} {
		t.Run(text, func(t *testing.T) {
			if _, err := loader.ModTime(func(string) string { return text }); err == nil {
				t.Errorf("%q is a time", text)
			}
		})
	}
}

// TestSaveVersions checks that only the versions in the text change.
func TestSaveVersions(t *testing.T) {
	dir := t.TempDir()
	path, err := loader.Save(example(t), dir, loader.Options{Version: "2.0.0", AppVersion: "1.10"})
	if err != nil || path != filepath.Join(dir, "web-2.0.0.tgz") {
		t.Fatal(path, err)
	}
	c, err := loader.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	want := "# ours\n" + strings.Replace(metadata, "1.2.3", "2.0.0", 1) + "appVersion: \"1.10\" # theirs\nunknown: 1\n"
	if got := string(c.File("Chart.yaml").Data); got != want {
		t.Errorf("got %q\nwant %q", got, want)
	}
	if v := c.Dependencies()[0].Version(); v != "1.2.3" {
		t.Errorf("a subchart's version became %s", v)
	}
	for _, text := range []string{
		"{apiVersion: v2, name: web, version: 1.2.3}", "apiVersion: v2\nname: web\nversion: &v 1.2.3\nappVersion: *v\n",
		"apiVersion: v2\nname: web\nversion: >-\n  1.2.3\n", "apiVersion: v2\nname: web\nversion: 1\nappVersion: 1.10\n...\n",
	} {
		c, err := loader.LoadFiles(fileList("Chart.yaml", text))
		if err != nil {
			t.Fatal(err)
		}
		back, err := loader.LoadArchive("web", bytes.NewReader(write(t, c, loader.Options{Version: "3.0", AppVersion: "no"})))
		if err != nil || back.Version() != "3.0" || back.AppVersion() != "no" || back.Name() != "web" {
			t.Errorf("%q: %+v, %v", text, back, err)
		}
	}
	if _, err := loader.Save(example(t), dir, loader.Options{Version: "../../x"}); err == nil {
		t.Error("saved under a version that is a path")
	}
}

// TestSaveChangedFields checks that the changes of an event handler are in the archive, without
// the outdated texts of the directory.
func TestSaveChangedFields(t *testing.T) {
	c := example(t)
	c.Values = map[string]any{"b": "2"}
	c.Templates = append(c.Templates[:1:1], &chart.File{Name: "templates/new.yaml", Data: []byte("new")})
	c.Files = fileList("NEW.md", "new")
	m := *c.Metadata
	m.Description = "changed"
	c.Metadata = &m
	c.Lock = &chart.Lock{Digest: "y"}
	back, err := loader.LoadArchive("web", bytes.NewReader(write(t, c, loader.Options{})))
	if err != nil {
		t.Fatal(err)
	}
	want(t, "templates", names(back.Templates), "templates/b.yaml", "templates/new.yaml")
	want(t, "files", names(back.Files), "NEW.md")
	if back.Metadata.Description != "changed" || back.Lock.Digest != "y" || back.Values["b"] != "2" || len(back.Values) != 1 {
		t.Errorf("%+v %+v %v", back.Metadata, back.Lock, back.Values)
	}
}

// TestSaveWithoutFiles saves the chart of a release's record, which has no raw files.
func TestSaveWithoutFiles(t *testing.T) {
	for _, api := range []string{"v1", "v2"} {
		t.Run(api, func(t *testing.T) {
			c := &chart.Chart{
				Metadata: &chart.Metadata{APIVersion: api, Name: "web", Version: "1.0.0", Dependencies: []*chart.Dependency{{Name: "db", Version: "1.x"}}},
				Values:   map[string]any{"a": true}, Lock: &chart.Lock{Digest: "x"}, Templates: fileList("templates/a", "a"),
			}
			c.SetDependencies(&chart.Chart{Metadata: &chart.Metadata{APIVersion: "v2", Name: "db", Version: "1.0.0"}}, &chart.Chart{Metadata: &chart.Metadata{APIVersion: "v2", Name: "db", Version: "2.0.0"}})
			back, err := loader.LoadArchive("web", bytes.NewReader(write(t, c, loader.Options{})))
			if err != nil || back.Lock.Digest != "x" || back.Values["a"] != true || len(back.Dependencies()) != 2 || len(back.Metadata.Dependencies) != 1 {
				t.Errorf("%s: %+v, %v", api, back, err)
			}
		})
	}
}

func TestSaveInvalid(t *testing.T) {
	dir := t.TempDir()
	with := func(f *chart.File) *chart.Chart {
		return &chart.Chart{Metadata: &chart.Metadata{APIVersion: "v2", Name: "web", Version: "1.0.0"}, Files: []*chart.File{f}}
	}
	evil := with(nil)
	evil.Files = nil
	evil.SetDependencies(&chart.Chart{Metadata: &chart.Metadata{APIVersion: "v2", Name: "../../x", Version: "1.0.0"}})
	for name, c := range map[string]*chart.Chart{
		"no metadata":        {},
		"a name of dots":     {Metadata: &chart.Metadata{APIVersion: "v2", Name: "..", Version: "1.0.0"}},
		"a path for a name":  {Metadata: &chart.Metadata{APIVersion: "v2", Name: "../x", Version: "1.0.0"}},
		"a subchart's name":  evil,
		"a file that leaves": with(&chart.File{Name: "../x"}),
		"an absolute file":   with(&chart.File{Name: "/x"}),
		"a backslash":        with(&chart.File{Name: `a\b`}),
		"a large file":       with(&chart.File{Name: "x", Data: make([]byte, 5<<20+1)}),
	} {
		t.Run(name, func(t *testing.T) {
			if p, err := loader.Save(c, filepath.Join(dir, "out"), loader.Options{}); err == nil {
				t.Errorf("%s: saved as %s", name, p)
			}
		})
	}
	var left []string
	_ = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if !d.IsDir() {
			left = append(left, p)
		}
		return err
	})
	if len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestSaveReplaces checks that Save replaces a symbolic link and not its target.
func TestSaveReplaces(t *testing.T) {
	dir := t.TempDir()
	other := filepath.Join(dir, "other")
	target := filepath.Join(dir, "web-1.2.3.tgz")
	if err := errors.Join(os.WriteFile(other, []byte("mine"), 0o644), os.Symlink(other, target)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := loader.Save(example(t), dir, loader.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	if data, _ := os.ReadFile(other); string(data) != "mine" {
		t.Error("wrote through a link")
	}
	entries, _ := os.ReadDir(dir)
	if len(entries) != 2 {
		t.Errorf("left behind: %v", entries)
	}
}

func TestExpand(t *testing.T) {
	dst := filepath.Join(t.TempDir(), "new", "directory")
	data := write(t, example(t), loader.Options{})
	got, err := loader.Expand(dst, bytes.NewReader(data))
	if err != nil || got != filepath.Join(dst, "web") {
		t.Fatal(got, err)
	}
	c, err := loader.Load(got)
	if err != nil {
		t.Fatal(err)
	}
	if sha256.Sum256(write(t, c, loader.Options{})) != sha256.Sum256(data) {
		t.Error("the directory makes another archive")
	}
	var exists *loader.ExistsError
	if _, err := loader.Expand(dst, bytes.NewReader(data)); !errors.As(err, &exists) || !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
	entries, _ := os.ReadDir(dst)
	if len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
}

func TestFlatten(t *testing.T) {
	files, err := loader.Flatten(example(t))
	if err != nil {
		t.Fatal(err)
	}
	if got := names(files); !slices.IsSorted(got) || !slices.Contains(got, "charts/db/Chart.yaml") || !slices.Contains(got, "library/common/Chart.yaml") {
		t.Errorf("%q", got)
	}
	if _, err := loader.LoadFiles(files); err != nil {
		t.Error(err)
	}
}

// Libraries and scripts are saved unchanged anywhere in the tree, because a library is chosen
// when the chart is rendered.
func TestSaveLibrariesAndScripts(t *testing.T) {
	library := func(name, version string) string {
		return "apiVersion: v2\nname: " + name + "\nversion: " + version + "\ntype: library\n"
	}
	files := fileList(
		"Chart.yaml", metadata+"libraries:\n- name: common\n  version: ^2.0.0\n",
		"ext/lua/a/b.lua", "-- b\n",
		"ext/lua/chart.lua", "-- web\n",
		"ext/permissions.yaml", "lua: [io]\n",
		"library/common/Chart.yaml", library("common", "2.1.0"),
		"library/common/ext/lua/chart.lua", "-- common\n",
		"library/common/library/base/Chart.yaml", library("base", "1.0.0"),
		"library/common/library/base/templates/_base.tpl", "{{ define \"base\" }}x{{ end }}",
		"library/notes.txt", "no chart\n",
		"templates/a.yaml", "a",
		"charts/db/Chart.yaml", metadataOf("db"),
		"charts/db/ext/lua/chart.lua", "-- db\n",
		"charts/db/library/common/Chart.yaml", library("common", "1.0.0"),
		"charts/db/library/common/values.yaml", "# kept\na: 1\n",
	)
	slices.SortFunc(files, func(a, b *chart.File) int { return strings.Compare(a.Name, b.Name) })
	c, err := loader.LoadFiles(files)
	if err != nil {
		t.Fatal(err)
	}
	flat, err := loader.Flatten(c)
	if err != nil {
		t.Fatal(err)
	}
	path, err := loader.Save(c, t.TempDir(), loader.Options{})
	if err != nil {
		t.Fatal(err)
	}
	saved, _, err := loader.Loader{}.Files(path)
	if err != nil {
		t.Fatal(err)
	}
	for what, got := range map[string][]*chart.File{"flattened": flat, "saved": saved} {
		t.Run(what, func(t *testing.T) {
			slices.SortFunc(got, func(a, b *chart.File) int { return strings.Compare(a.Name, b.Name) })
			if !reflect.DeepEqual(got, files) {
				t.Errorf("%s: got %q, want %q, or other texts", what, names(got), names(files))
			}
		})
	}
	roundTrip(t, c)

	// Two versions in one directory, one of them from an archive.
	c, err = loader.LoadFiles(fileList(
		"Chart.yaml", metadata+"libraries:\n- name: common\n",
		"library/common-1.0.0.tgz", pack(t, entry{Name: "common/Chart.yaml", Text: library("common", "1.0.0")}),
		"library/other/Chart.yaml", library("common", "2.0.0")))
	if err != nil {
		t.Fatal(err)
	}
	flat, err = loader.Flatten(c)
	if err != nil {
		t.Fatal(err)
	}
	want(t, "two versions", names(flat), "Chart.yaml", "library/common-2.0.0/Chart.yaml", "library/common/Chart.yaml")
}
