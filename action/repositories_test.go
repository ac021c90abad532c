// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/lint"
	"github.com/moonhelm/moonhelm/chart/loader"
	"github.com/moonhelm/moonhelm/fetch"
	"github.com/moonhelm/moonhelm/internal/filetest"
	"github.com/moonhelm/moonhelm/repo"
)

// infiniteDownloader is a plugin whose downloads do not end.
type infiniteDownloader struct{}

func (infiniteDownloader) Schemes() []string { return []string{"s3"} }

func (infiniteDownloader) Get(_ context.Context, _ string, _ fetch.HostOptions, w io.Writer) error {
	for chunk := make([]byte, 1<<20); ; {
		if _, err := w.Write(chunk); err != nil {
			return err
		}
	}
}

func TestIndexGetterPluginLimit(t *testing.T) {
	g := &IndexGetter{HTTP: &fetch.Client{}, Plugins: func() fetch.Downloader { return infiniteDownloader{} }}
	_, err := g.Get(t.Context(), repo.Entry{Name: "x", URL: "s3://x"}, "s3://x/index.yaml", fetch.Validator{}, io.Discard)
	if !errors.As(err, new(*fetch.SizeError)) {
		t.Errorf("Get of an infinite index: got %v, want a *fetch.SizeError", err)
	}
}

// A program can update, build and lint without the command: from a local directory, and from a
// repository by its URL.
func TestDependencyUpdateFromProgram(t *testing.T) {
	dir := t.TempDir()
	filetest.Write(t, dir, map[string]string{
		"db/Chart.yaml":  "apiVersion: v2\nname: db\nversion: 1.2.0\n",
		"lib/Chart.yaml": "apiVersion: v2\nname: queue\nversion: 2.0.1\n",
	})
	queue, err := loader.Load(filepath.Join(dir, "lib"))
	if err != nil {
		t.Fatal(err)
	}
	served := filepath.Join(dir, "served")
	if _, err := loader.Save(queue, served, loader.Options{}); err != nil {
		t.Fatal(err)
	}
	filetest.Write(t, served, map[string]string{
		"index.yaml": "apiVersion: v1\nentries:\n  queue:\n  - {apiVersion: v2, name: queue, version: 2.0.1, urls: [queue-2.0.1.tgz]}\n",
	})
	server := httptest.NewServer(http.FileServer(http.Dir(served)))
	defer server.Close()
	web := filepath.Join(dir, "web")
	filetest.Write(t, web, map[string]string{
		"Chart.yaml": "apiVersion: v2\nname: web\nversion: 0.1.0\ndependencies:\n" +
			"- {name: db, version: ^1, repository: 'file://../db'}\n- {name: queue, version: ^2, repository: '" + server.URL + "'}\n",
		"templates/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
	})

	client := &fetch.Client{}
	defer client.Close()
	repositories := NewRepositories(repo.Collection{
		Path: filepath.Join(dir, "repositories.yaml"), Cache: repo.Cache{Dir: filepath.Join(dir, "cache")}, HTTP: &IndexGetter{HTTP: client},
	}, nil)
	resolver := &RepositoryResolver{
		Directory: web, Repositories: repositories,
		Finder: &fetch.Finder{HTTP: client, Repositories: repositories, Cache: &fetch.Cache{Dir: filepath.Join(dir, "content")}},
	}
	update := DependencyUpdate{Resolver: resolver}
	run := func(verb func(DependencyRequest) error) *chart.Chart {
		t.Helper()
		d, err := loader.OpenDirectory(web)
		if err != nil {
			t.Fatal(err)
		}
		if err := verb(DependencyRequest{Directory: d}); err != nil {
			t.Fatal(err)
		}
		c, err := loader.Load(web)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	c := run(func(r DependencyRequest) error { return update.Run(t.Context(), r) })
	if n := len(c.Dependencies()); n != 2 || c.Lock == nil {
		t.Errorf("%d dependencies, lock %v", n, c.Lock)
	}
	if err := os.RemoveAll(filepath.Join(web, "charts")); err != nil {
		t.Fatal(err)
	}
	c = run(func(r DependencyRequest) error { return DependencyBuild(update).Run(t.Context(), r) })
	if n := len(c.Dependencies()); n != 2 {
		t.Errorf("built %d dependencies", n)
	}

	req, err := LoadForLint(loader.Loader{}, web)
	if err != nil {
		t.Fatal(err)
	}
	findings, err := Lint{}.Run(t.Context(), req)
	if err != nil || lint.Worst(findings) == lint.Error {
		t.Errorf("lint found %v, %v", findings, err)
	}
	if paths, err := SubchartPaths(web); err != nil || len(paths) != 2 {
		t.Errorf("subcharts %v, %v", paths, err)
	}
}
