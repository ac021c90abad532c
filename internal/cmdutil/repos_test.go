// SPDX-License-Identifier: Apache-2.0

package cmdutil

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/moonhelm/moonhelm/chart/dependency"
	"github.com/moonhelm/moonhelm/fetch"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/repo"
	"github.com/moonhelm/moonhelm/repo/index"
)

const listing = `apiVersion: v1
entries:
  web:
  - {apiVersion: v2, name: web, version: 1.1.0, digest: abc, urls: [web-1.1.0.tgz]}
  - {apiVersion: v2, name: web, version: 1.0.0, urls: [web-1.0.0.tgz]}
`

// shop is a web repository that counts requests.
func shop(t *testing.T) (url string, asked *atomic.Int32) {
	asked = &atomic.Int32{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if r.URL.Path != "/charts/index.yaml" {
			http.NotFound(w, r)
			return
		}
		_, _ = io.WriteString(w, listing)
	}))
	t.Cleanup(s.Close)
	return s.URL + "/charts", asked
}

func home(t *testing.T, entries ...repo.Entry) *Factory {
	t.Helper()
	dir := t.TempDir()
	f := New(term.Streams{Getenv: func(name string) string { return map[string]string{"HOME": dir}[name] }})
	t.Cleanup(f.Close)
	if entries != nil {
		if err := os.MkdirAll(filepath.Dir(f.Settings.RepositoryConfig), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := (&repo.File{Entries: entries}).Save(f.Settings.RepositoryConfig); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

func TestRepositoriesByURL(t *testing.T) {
	r := home(t, repo.Entry{Name: "a", URL: "https://Charts.Example.com:443/a//b/", Username: "me", Password: "pw"}, repo.Entry{Name: "q", URL: "http://x/y?token=1"}, repo.Entry{Name: "bad", URL: "http://ho st"}).Repositories()
	for url, want := range map[string]string{
		"https://charts.example.com/a/b": "a", "https://charts.example.com:443/a/b///": "a", "HTTPS://charts.example.com/a/./b#x": "a",
		"https://you:other@charts.example.com/a/b": "a",
		"http://charts.example.com/a/b":            "", "https://charts.example.com:444/a/b": "", "https://charts.example.com/a": "", "https://charts.example.com/A/b": "",
		"http://x/y": "q", "http://x:80/y/?token=1": "q", "http://x/y?token=2": "", "http://ho st": "bad", "": "",
	} {
		got, ok := r.ByURL(url)
		if got.Name != want || ok != (want != "") {
			t.Errorf("%s: %q", url, got.Name)
		}
	}
	if a, err := r.Named("a"); err != nil || a.Host.Username != "me" || a.Host.Password != "pw" || a.Host.PassAll {
		t.Errorf("%+v, %v", a, err)
	}
	var unknown *repo.NotFoundError
	if _, err := r.Named("b"); !errors.As(err, &unknown) || len(unknown.Have) != 3 {
		t.Error(err)
	}
}

func TestRepositoriesFetchIndexOnce(t *testing.T) {
	url, asked := shop(t)
	f := home(t, repo.Entry{Name: "mine", URL: url})
	r := f.Repositories()
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			got, err := r.Find(t.Context(), fetch.Repository{URL: url}, "web", "^1", false)
			if err != nil || got.Version != "1.1.0" || got.Digest != "abc" || !slices.Equal(got.URLs, []string{"web-1.1.0.tgz"}) {
				t.Error(got, err)
			}
		})
	}
	wg.Wait()
	if n := asked.Load(); n != 1 {
		t.Errorf("asked %d times", n)
	}
	if f.Repositories() != r {
		t.Error("a second one would fetch again")
	}
	// An added repository reads its index from the cache, or says how to fetch it.
	mine, err := r.Named("mine")
	if err != nil {
		t.Fatal(err)
	}
	var uncached *repo.UncachedError
	if _, err := r.Find(t.Context(), mine, "web", "", false); !errors.As(err, &uncached) || uncached.Name != "mine" {
		t.Error(err)
	}
	if err := r.Update(t.Context(), "mine"); err != nil {
		t.Fatal(err)
	}
	if got, err := r.Find(t.Context(), mine, "web", "1.0.0", false); err != nil || got.Version != "1.0.0" {
		t.Error(got, err)
	}
	for range 3 {
		if err := r.Update(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if n := asked.Load(); n != 2 {
		t.Errorf("asked %d times", n)
	}
	if err := r.Update(t.Context(), "nope"); !errors.As(err, new(*repo.NamesNotFoundError)) {
		t.Error(err)
	}
}

func TestRepositoriesMissingChart(t *testing.T) {
	url, _ := shop(t)
	r := home(t).Repositories()
	var none *index.NotFoundError
	var want *dependency.VersionError
	if _, err := r.Find(t.Context(), fetch.Repository{URL: url}, "wep", "", false); !errors.As(err, &none) || none.Suggestion != "web" || !strings.Contains(err.Error(), url) {
		t.Error(err)
	}
	if _, err := r.Find(t.Context(), fetch.Repository{URL: url}, "web", "^2", false); !errors.As(err, &want) || !strings.Contains(err.Error(), "1.1.0") {
		t.Error(err)
	}
	secret := strings.Replace(url, "//", "//anna:hunter2@", 1)
	for _, bad := range []string{secret + "/none", strings.Replace(secret, "http", "ftp", 1), "http://anna:hunter2@ho st"} {
		if _, err := r.Find(t.Context(), fetch.Repository{URL: bad}, "web", "", false); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func TestRepositoriesHangingServer(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer s.Close()
	c := home(t).Collection()
	c.Timeout = 20 * time.Millisecond
	var late *repo.TimeoutError
	if _, err := c.Add(t.Context(), repo.Entry{Name: "slow", URL: s.URL}, false, false); !errors.As(err, &late) || !strings.Contains(err.Error(), "not received within 20ms") {
		t.Error(err)
	}
	if left, _ := os.ReadDir(c.Cache.Dir); len(left) > 0 {
		t.Errorf("leftover files: %v", left)
	}
}

func TestRepositoriesBrokenFile(t *testing.T) {
	f := home(t, repo.Entry{Name: "a", URL: "http://x"})
	if err := os.WriteFile(f.Settings.RepositoryConfig, []byte("- {"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := f.Repositories()
	if r.Added() != nil {
		t.Error("unexpected suggestion")
	}
	if _, err := r.Named("a"); !errors.As(err, new(*repo.FileError)) {
		t.Error(err)
	}
}
