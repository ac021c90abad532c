// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// shelf is a repository with one chart, web, that records its requests.
type shelf struct {
	*httptest.Server
	index func(address string) string

	mu    sync.Mutex
	asked []string
}

func newShelf(t *testing.T) *shelf {
	t.Helper()
	dir := t.TempDir()
	chart := filepath.Join(t.TempDir(), "web")
	if err := os.MkdirAll(chart, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(chart, "Chart.yaml"), []byte("apiVersion: v2\nname: web\nversion: 1.0.0\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	must(t, ours(t), t.TempDir(), "package", chart, "-d", dir)
	must(t, ours(t), t.TempDir(), "repo", "index", dir)
	index, err := os.ReadFile(filepath.Join(dir, "index.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	s := &shelf{index: func(address string) string {
		return strings.Replace(string(index), "- web-1.0.0.tgz", "- "+address, 1)
	}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, _, _ := r.BasicAuth()
		if !strings.HasSuffix(r.URL.Path, "index.yaml") {
			s.mu.Lock()
			s.asked = append(s.asked, strings.TrimSpace(r.Host[:strings.IndexByte(r.Host, ':')]+r.RequestURI+" "+user))
			s.mu.Unlock()
			http.ServeFile(w, r, filepath.Join(dir, "web-1.0.0.tgz"))
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// requests returns the requests for archives since the last call.
func (s *shelf) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	calls := s.asked
	s.asked = nil
	return calls
}

// home returns a home directory to which the repository was added, with an index in which
// address is the URL of the archive.
func (s *shelf) home(t *testing.T, repository, address string) string {
	t.Helper()
	home := t.TempDir()
	for path, text := range map[string]string{
		".config/helm/repositories.yaml":         "apiVersion: \"\"\ngenerated: \"0001-01-01T00:00:00Z\"\nrepositories:\n- name: mine\n  url: " + repository + "\n  username: anna\n  password: secret\n",
		".cache/helm/repository/mine-index.yaml": s.index(address),
	} {
		file := filepath.Join(home, path)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return home
}

// TestTheContentCacheIsShared lets each binary use what the other has fetched, and ours detect
// damaged files.
func TestTheContentCacheIsShared(t *testing.T) {
	s := newShelf(t)
	helm, we := peer(t, helm4), ours(t)
	show := []string{"show", "chart", "mine/web"}
	for _, bins := range [][2]string{{helm, we}, {we, helm}} {
		home := s.home(t, s.URL, "web-1.0.0.tgz")
		want := must(t, bins[0], home, show...)
		if got := s.requests(); len(got) != 1 {
			t.Errorf("the first has asked %q", got)
		}
		if got := must(t, bins[1], home, show...); strings.TrimSpace(got) != strings.TrimSpace(want) {
			t.Errorf("prints %q, and the other %q", got, want)
		}
		if got := s.requests(); len(got) != 0 {
			t.Errorf("the second has asked %q", got)
		}
	}
	home := s.home(t, s.URL, "web-1.0.0.tgz")
	must(t, helm, home, show...)
	files, err := filepath.Glob(filepath.Join(home, ".cache/helm/content/*/*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%q, %v", files, err)
	}
	if err := os.WriteFile(files[0], []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.requests()
	must(t, we, home, show...)
	if got := s.requests(); len(got) != 1 {
		t.Errorf("for a damaged file, asked %q", got)
	}
}

// TestIndexesLeadToTheSamePlaces compares the requests for each form of URL that an index may
// have.
func TestIndexesLeadToTheSamePlaces(t *testing.T) {
	s := newShelf(t)
	elsewhere := strings.Replace(s.URL, "127.0.0.1", "localhost", 1)
	for _, path := range []string{"", "/", "/charts", "/charts/", "/charts?token=x", "/charts/?token=x"} {
		for _, address := range []string{"web-1.0.0.tgz", "sub/web.tgz", "../web.tgz", "/web.tgz", s.URL + "/web.tgz", s.URL + "/web.tgz?a=b", elsewhere + "/web.tgz"} {
			home := s.home(t, s.URL+path, address)
			must(t, peer(t, helm4), home, "show", "chart", "mine/web")
			want := s.requests()
			must(t, ours(t), s.home(t, s.URL+path, address), "show", "chart", "mine/web")
			if got := s.requests(); !slices.Equal(got, want) {
				t.Errorf("%s in the index of %s: ours asks for %q, Helm for %q", address, path, got, want)
			}
		}
	}
}
