// SPDX-License-Identifier: Apache-2.0

package index

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/moonhelm/moonhelm/chart"
)

// pack creates an archive of files: alternating names and contents.
func pack(t testing.TB, path string, files ...string) {
	t.Helper()
	var b bytes.Buffer
	zw := gzip.NewWriter(&b)
	tw := tar.NewWriter(zw)
	for i := 0; i < len(files); i += 2 {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: files[i], Size: int64(len(files[i+1])), Mode: 0o644}
		if err := tw.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := tw.Write([]byte(files[i+1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(tw.Close(), zw.Close(), os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, b.Bytes(), 0o644)); err != nil {
		t.Fatal(err)
	}
}

func packChart(t testing.TB, path, name, version string) {
	pack(t, path, name+"/Chart.yaml", "apiVersion: v2\nname: "+name+"\nversion: "+version+"\ndescription: is "+name+"\n", name+"/values.yaml", "a: b\n")
}

var now = time.Date(2026, 3, 4, 5, 6, 7, 8, time.UTC)

func text(t *testing.T, l *Listing) string {
	t.Helper()
	var b strings.Builder
	if err := l.WriteYAML(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestBuild(t *testing.T) {
	dir := t.TempDir()
	packChart(t, dir+"/web-1.2.0.tgz", "web", "1.2.0")
	packChart(t, dir+"/web-1.10.0.tgz", "web", "1.10.0")
	packChart(t, dir+"/web-2.0.0-rc.1.tgz", "web", "2.0.0-rc.1")
	packChart(t, dir+"/again.tgz", "web", "1.2.0")
	packChart(t, dir+"/sub/db é+%.tgz", "db", "0.1.0")
	packChart(t, dir+"/.hid/hid.tgz", "hid", "0.1.0")
	packChart(t, dir+"/sub/deep/deep.tgz", "deep", "0.1.0")
	packChart(t, dir+"/other.tar.gz", "other", "0.1.0")
	pack(t, dir+"/old.tgz", "old/values.yaml", "", "old/requirements.yaml", "dependencies:\n- name: a\n  version: 1.0.0\n  repository: x\n", "old/Chart.yaml", "name: old\nversion: 0.1.0\n", "old/charts/a/Chart.yaml", "name: a\nversion: 9.9.9\n")
	pack(t, dir+"/new.tgz", "new/Chart.yaml", "apiVersion: v2\nname: new\nversion: 0.1.0\nlibraries:\n- {name: l, version: 1.0.0, repository: x}\ndependencies:\n- {name: a, version: 1.0.0, repository: x}\n- {name: b, version: 1.0.0, repository: x, depends-on: [a]}\n", "new/requirements.yaml", "dependencies: [null]\n")
	if err := errors.Join(os.Mkdir(dir+"/dir.tgz", 0o755), os.WriteFile(dir+"/web-1.2.0.tgz.prov", nil, 0o644), os.Symlink("web-1.10.0.tgz", dir+"/link.tgz")); err != nil {
		t.Fatal(err)
	}
	l, err := Build(t.Context(), dir, "", now)
	if err != nil || len(l.Skipped) > 0 {
		t.Fatal(err, l.Skipped)
	}
	var got []string
	for _, name := range []string{"db", "deep", "hid", "new", "old", "other", "web"} {
		t.Run(name, func(t *testing.T) {
			for _, e := range l.Entries[name] {
				got = append(got, e.Name+" "+e.Version+" "+e.URLs[0])
				if !e.Created.Equal(now) || len(e.Digest) != 64 {
					t.Errorf("%+v", e)
				}
			}
		})
	}
	want := "db 0.1.0 sub/db é+%.tgz,hid 0.1.0 .hid/hid.tgz,new 0.1.0 new.tgz,old 0.1.0 old.tgz,web 2.0.0-rc.1 web-2.0.0-rc.1.tgz,web 1.10.0 link.tgz,web 1.10.0 web-1.10.0.tgz,web 1.2.0 again.tgz,web 1.2.0 web-1.2.0.tgz"
	if strings.Join(got, ",") != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if e := l.Entries["old"][0]; len(e.Dependencies) != 1 || e.APIVersion != "v1" {
		t.Errorf("requirements.yaml is part of a chart of its time: %+v", e)
	}
	out := text(t, l)
	if strings.Contains(out, "libraries") || strings.Contains(out, "depends-on") {
		t.Errorf("Helm refuses an index that has them:\n%s", out)
	}
	if len(l.Entries["new"][0].Libraries) != 1 || len(l.Entries["new"][0].Dependencies[1].DependsOn) != 1 {
		t.Error("writing changed the listing")
	}
	again := parse(t, out)
	if unusable, err := again.Unusable(); len(unusable) > 0 || err != nil || again.Canonical() != nil {
		t.Errorf("%v, %v, rewritten as %.200s", unusable, err, again.Canonical())
	}
}

func TestBuildURLs(t *testing.T) {
	dir := t.TempDir()
	packChart(t, dir+"/sub/x é+%.tgz", "x", "0.1.0")
	for base, want := range map[string]string{
		"": "sub/x é+%.tgz", "http://h": "http://h/sub/x%20%C3%A9+%25.tgz", "http://h/": "http://h/sub/x%20%C3%A9+%25.tgz",
		"http://h/p?q=1": "http://h/p/sub/x%20%C3%A9+%25.tgz?q=1", "https://h:1/a%20b/": "https://h:1/a%20b/sub/x%20%C3%A9+%25.tgz",
		"charts": "charts/sub/x%20%C3%A9+%25.tgz",
	} {
		t.Run(base, func(t *testing.T) {
			l, err := Build(t.Context(), dir, base, now)
			if err != nil || l.Entries["x"][0].URLs[0] != want {
				t.Errorf("%s: %v, %v", base, l, err)
			}
		})
	}
	if _, err := Build(t.Context(), dir, "http://u:hunter2@h:x/", now); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Error(err)
	}
}

// CVE-2025-32386: archives that exceed a limit when unpacked, and archives that are not charts,
// are skipped with a warning.
func TestBuildSkipsOtherArchives(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	dir := t.TempDir()
	packChart(t, dir+"/good.tgz", "good", "0.1.0")
	pack(t, dir+"/a-empty.tgz")
	pack(t, dir+"/b-nochart.tgz", "x/values.yaml", "")
	pack(t, dir+"/c-version.tgz", "x/Chart.yaml", "apiVersion: v2\nname: x\nversion: what\n")
	pack(t, dir+"/d-name.tgz", "x/Chart.yaml", "apiVersion: v2\nname: ../x\nversion: 0.1.0\n")
	pack(t, dir+"/e-large.tgz", "x/Chart.yaml", "a: "+strings.Repeat("b", maxFile))
	pack(t, dir+"/f-bomb.tgz", "x/a", strings.Repeat("\x00", maxUnpacked+1<<20), "x/Chart.yaml", "apiVersion: v2\nname: x\nversion: 0.1.0\n")
	pack(t, dir+"/g-yaml.tgz", "x/Chart.yaml", "a: b: c")
	if err := errors.Join(os.WriteFile(dir+"/h-text.tgz", []byte("hello"), 0o644), os.WriteFile(dir+"/i-none.tgz", nil, 0o644), os.Symlink("nowhere", dir+"/j-link.tgz")); err != nil {
		t.Fatal(err)
	}
	torn, _ := os.ReadFile(dir + "/c-version.tgz")
	if err := os.WriteFile(dir+"/k-torn.tgz", torn[:len(torn)/2], 0o644); err != nil {
		t.Fatal(err)
	}
	l, err := Build(t.Context(), dir, "", now)
	if err != nil || len(l.Entries) != 1 || len(l.Entries["good"]) != 1 {
		t.Fatal(l, err)
	}
	want := []string{"a-empty.tgz: Chart.yaml is missing", "b-nochart.tgz: Chart.yaml is missing", "semantic version", "plain name", "larger than 5 MiB", "exceeds the limit of 164 MiB", "g-yaml.tgz", "does not appear to be a gzipped archive", "does not appear to be a gzipped archive", "no such file", "unexpected EOF"}
	if len(l.Skipped) != len(want) {
		t.Fatal(l.Skipped)
	}
	for i, w := range want {
		t.Run(w, func(t *testing.T) {
			if _, ok := errors.AsType[*ArchiveError](l.Skipped[i]); !ok || !strings.Contains(l.Skipped[i].Error(), w) || strings.Contains(l.Skipped[i].Error(), dir) {
				t.Errorf("%v, want %s", l.Skipped[i], w)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Build(ctx, dir, "", now); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := Build(t.Context(), dir+"/nowhere", "", now); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if _, err := Build(t.Context(), dir+"/good.tgz", "", now); err == nil {
		t.Error("a file is not a directory")
	}
}

func TestMerge(t *testing.T) {
	dir := t.TempDir()
	packChart(t, dir+"/web-1.0.0.tgz", "web", "1.0.0")
	packChart(t, dir+"/web-1.1.0.tgz", "web", "1.1.0")
	l, err := Build(t.Context(), dir, "", now)
	if err != nil {
		t.Fatal(err)
	}
	prev := parse(t, index("  web:\n", entry("1.0.0", "digest: "+l.Entries["web"][1].Digest, "created: 2001-01-01T00:00:00Z"), entry("1.1.0", "digest: another", "created: 2001-01-01T00:00:00Z"), entry("9.0.0", "removed: true"), entry("1.0.5"), entry("what"), "  foo:\n  - name: foo\n    version: 1.0.0\n  bar: []\n"))
	if err := l.Merge(prev); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range l.Entries["web"] {
		got = append(got, fmt.Sprint(e.Version, " ", e.Created.Year(), " ", e.Description))
	}
	if want := "9.0.0 1 ,1.1.0 2026 is web,1.0.5 1 ,1.0.0 2001 is web"; strings.Join(got, ",") != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if len(l.Skipped) != 1 || !isEntry(l.Skipped[0]) || len(l.Entries) != 2 {
		t.Error(l.Skipped, l.Entries)
	}
	want := `apiVersion: v1
entries:
  foo:
  - apiVersion: v1
    created: "0001-01-01T00:00:00Z"
    name: foo
    urls: null
    version: 1.0.0
  web:
  - apiVersion: v2
    created: "0001-01-01T00:00:00Z"
    name: web
    removed: true
`
	if out := text(t, l); !strings.HasPrefix(out, want) || !strings.HasSuffix(out, "\ngenerated: \"2026-03-04T05:06:07.000000008Z\"\n") {
		t.Error(out)
	}
	if err := l.Merge(parse(t, index("  web:\n", entry("1.0.0", "home: a", "home: b")))); err == nil {
		t.Error("an index with duplicate keys is merged")
	}
}

// The output is the same as that of sigs.k8s.io/yaml, which Helm uses.
func TestWriteYAMLMatchesEncoder(t *testing.T) {
	l := &Listing{Generated: now, Entries: map[string][]*Entry{}}
	for i, s := range []string{"plain", "", "true", "12", "1.10", "a: b", "it's", "# x", "- x", " x ", "two\nlines\n", "two\n\nlines", "é\u2028\x07", strings.Repeat("long words ", 30), strings.Repeat("x", 200), "~", "<a&b>", "\t", "@x", "2001-01-01"} {
		name := []string{"web10", "web9", "123", "true", "Web"}[i%5]
		l.Entries[name] = append(l.Entries[name], &Entry{Metadata: chart.Metadata{Name: name, Version: "1.0.0", Description: s, Keywords: []string{s}, Annotations: map[string]string{s: s}, Dependencies: []*chart.Dependency{{Name: s}}}, URLs: []string{s}, Created: now})
	}
	want, err := yaml.Marshal(map[string]any{"apiVersion": "v1", "entries": l.Entries, "generated": now})
	if err != nil {
		t.Fatal(err)
	}
	if got := text(t, l); got != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := text(t, &Listing{Generated: now}); got != "apiVersion: v1\nentries: {}\ngenerated: \"2026-03-04T05:06:07.000000008Z\"\n" {
		t.Error(got)
	}
	var b strings.Builder
	if err := (&Listing{Generated: now}).WriteJSON(&b); err != nil || b.String() != "{\n  \"apiVersion\": \"v1\",\n  \"generated\": \"2026-03-04T05:06:07.000000008Z\",\n  \"entries\": {}\n}" {
		t.Error(b.String(), err)
	}
	b.Reset()
	if err := l.WriteJSON(&b); err != nil || parse(t, b.String()).Check() != nil {
		t.Error(err)
	}
	if err := l.WriteYAML(full{}); err == nil {
		t.Error("a full disk was not noticed")
	}
}

// full is a writer that returns ENOSPC.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("full") }

func BenchmarkBuild(b *testing.B) {
	dir := b.TempDir()
	for i := range 1000 {
		packChart(b, fmt.Sprintf("%s/web-1.%d.0.tgz", dir, i), "web", fmt.Sprintf("1.%d.0", i))
	}
	for b.Loop() {
		if _, err := Build(b.Context(), dir, "", now); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMergeAndWrite(b *testing.B) {
	x, err := Parse(bigIndex(100, 154))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		l := &Listing{Entries: map[string][]*Entry{}}
		var out bytes.Buffer
		if err := errors.Join(l.Merge(x), l.WriteYAML(&out)); err != nil {
			b.Fatal(err)
		}
	}
}
