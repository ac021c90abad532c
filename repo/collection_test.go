// SPDX-License-Identifier: Apache-2.0

package repo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/moonhelm/moonhelm/fetch"
)

const small = `apiVersion: v1
entries:
  web:
  - apiVersion: v2
    description: Serves pages
    digest: 0034108cefcb201bf8e68613fb0455ac41f533184f272a8f064c5e13236fa3bc
    name: web
    urls:
    - web-1.0.0.tgz
    version: 1.0.0
  api:
  - apiVersion: v2
    name: api
    urls:
    - api-2.0.0.tgz
    version: 2.0.0
generated: "2026-11-01T00:00:00Z"
`

// site is a web server with the text of each URL. A text may be an error, or have a Validator.
type site struct {
	mu    sync.Mutex
	pages map[string]string
	marks map[string]fetch.Validator
	asked []string // URLs, with "?" for a matching Validator
	slow  time.Duration
}

func (s *site) Get(ctx context.Context, e Entry, address string, have fetch.Validator, w io.Writer) (fetch.Validator, error) {
	s.mu.Lock()
	text, ok := s.pages[address]
	mark := s.marks[address]
	same := have != fetch.Validator{} && have == mark
	if same {
		address += "?"
	}
	s.asked = append(s.asked, address)
	s.mu.Unlock()
	if s.slow > 0 {
		select {
		case <-ctx.Done():
			_, _ = io.WriteString(w, text[:len(text)/2])
			return fetch.Validator{}, context.Cause(ctx)
		case <-time.After(s.slow):
		}
	}
	if same {
		return fetch.Validator{}, fetch.ErrNotModified
	}
	if !ok {
		_, _ = io.WriteString(w, "half of ")
		return fetch.Validator{}, fmt.Errorf("%s: not found", e.Name)
	}
	_, err := io.WriteString(w, text)
	return mark, err
}

func collection(t *testing.T, s *site) Collection {
	dir := t.TempDir()
	return Collection{Path: filepath.Join(dir, "config", "repositories.yaml"), Cache: Cache{Dir: filepath.Join(dir, "cache")}, HTTP: s}
}

// files returns the names in the cache.
func (c Cache) files(t *testing.T) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(c.Dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestAddAndRemove(t *testing.T) {
	s := &site{pages: map[string]string{"http://a/index.yaml": small, "http://b/index.yaml": small, "http://page/index.yaml": "<!DOCTYPE html>\n<html></html>\n", "http://empty/index.yaml": ""}}
	c := collection(t, s)
	a := Entry{Name: "a", URL: "http://a", Username: "me", Password: "pw"}
	if added, err := c.Add(t.Context(), a, false, false); !added || err != nil {
		t.Fatal(added, err)
	}
	if got := c.Cache.files(t); !slices.Equal(got, []string{"a-charts.txt", "a-index.yaml"}) {
		t.Errorf("the cache has %v", got)
	}
	if text, _ := os.ReadFile(filepath.Join(c.Cache.Dir, "a-charts.txt")); string(text) != "api\nweb\n" {
		t.Errorf("the names are %q", text)
	}
	if added, err := c.Add(t.Context(), a, false, false); added || err != nil || len(s.asked) != 1 {
		t.Errorf("the same again: %t, %v, asked %v", added, err, s.asked)
	}
	for _, other := range []Entry{{Name: "a", URL: "http://b", Username: "me", Password: "pw"}, {Name: "a", URL: "http://a"}, {Name: "a", URL: "http://a", Username: "me", Password: "other"}} {
		_, err := c.Add(t.Context(), other, false, false)
		var taken *ExistsError
		if !errors.As(err, &taken) || err.Error() != "repository name (a) already exists, please specify a different name" {
			t.Errorf("%+v: %v", other, err)
		}
	}
	if added, err := c.Add(t.Context(), Entry{Name: "a", URL: "http://b"}, true, false); !added || err != nil {
		t.Errorf("in its place: %v", err)
	}
	for _, bad := range []string{"http://page", "http://empty", "http://nowhere"} {
		t.Run(bad, func(t *testing.T) {
			_, err := c.Add(t.Context(), Entry{Name: "bad", URL: bad}, false, false)
			var invalid *InvalidError
			if !errors.As(err, &invalid) || !strings.Contains(err.Error(), fmt.Sprintf("looks like %q is not a valid chart repository or cannot be reached", bad)) {
				t.Errorf("%s: %v", bad, err)
			}
			// If an index cannot replace the old one, the old one is kept.
			if _, err := c.Add(t.Context(), Entry{Name: "a", URL: bad}, true, false); err == nil {
				t.Errorf("%s replaced one that works", bad)
			}
		})
	}
	if f, err := c.Load(); err != nil || len(f.Entries) != 1 || f.Entries[0].URL != "http://b" {
		t.Errorf("%+v, %v", f, err)
	}
	if err := c.Remove(t.Context(), "b"); !errors.As(err, new(*NotFoundError)) || err.Error() != `no repo named "b" found` {
		t.Error(err)
	}
	if err := c.Remove(t.Context(), "a"); err != nil {
		t.Error(err)
	}
	if got := c.Cache.files(t); got != nil {
		t.Errorf("left in the cache: %v", got)
	}
	if err := c.Remove(t.Context(), "a"); !errors.As(err, new(*NoRepositoriesError)) {
		t.Error(err)
	}
}

func TestAddExpired(t *testing.T) {
	const old = "https://kubernetes-charts.storage.googleapis.com"
	c := collection(t, &site{pages: map[string]string{old + "/index.yaml": small}})
	if _, err := c.Add(t.Context(), Entry{Name: "stable", URL: old}, false, false); !errors.As(err, new(*ExpiredError)) {
		t.Error(err)
	}
	if added, err := c.Add(t.Context(), Entry{Name: "stable", URL: old}, false, true); !added || err != nil {
		t.Error(err)
	}
}

func TestUpdateErrors(t *testing.T) {
	s := &site{pages: map[string]string{}}
	c := collection(t, s)
	for i := range 20 {
		url := fmt.Sprintf("http://host%d", i)
		s.pages[url+"/index.yaml"] = small
		if _, err := c.Add(t.Context(), Entry{Name: fmt.Sprintf("r%02d", i), URL: url}, false, false); err != nil {
			t.Fatal(err)
		}
	}
	f, _ := c.Load()
	newer := strings.ReplaceAll(small, "1.0.0", "1.1.0")
	for i := range 20 {
		s.pages[fmt.Sprintf("http://host%d/index.yaml", i)] = newer
	}
	delete(s.pages, "http://host3/index.yaml")
	s.pages["http://host7/index.yaml"] = "half: ["
	messages := map[string]bool{}
	err := c.Update(t.Context(), f.Entries, func(r Result) { messages[r.Entry.Name] = r.Err == nil })
	var failed *UpdateError
	if !errors.As(err, &failed) || len(failed.Failed) != 2 || err.Error() != "failed to update the following repositories: [http://host3 http://host7]" {
		t.Error(err)
	}
	if len(messages) != 20 || messages["r03"] || messages["r07"] || !messages["r04"] {
		t.Errorf("told %v", messages)
	}
	for name, want := range map[string]string{"r03": "1.0.0", "r07": "1.0.0", "r04": "1.1.0"} {
		t.Run(name, func(t *testing.T) {
			x, err := c.Cache.Index(name)
			if err != nil || !slices.Equal(x.Versions("web"), []string{want}) {
				t.Errorf("%s has %v, %v", name, x.Versions("web"), err)
			}
		})
	}
	if got := c.Cache.files(t); len(got) != 40 {
		t.Errorf("the cache has %v", got)
	}
}

func TestUpdateNotModified(t *testing.T) {
	const url = "http://a/index.yaml"
	s := &site{pages: map[string]string{url: small}, marks: map[string]fetch.Validator{url: {ETag: `"1"`}}}
	c := collection(t, s)
	if _, err := c.Add(t.Context(), Entry{Name: "a", URL: "http://a"}, false, false); err != nil {
		t.Fatal(err)
	}
	update := func(want string) {
		t.Helper()
		s.asked = nil
		f, _ := c.Load()
		if err := c.Update(t.Context(), f.Entries, nil); err != nil {
			t.Error(err)
		}
		if !slices.Equal(s.asked, []string{want}) {
			t.Errorf("asked %v", s.asked)
		}
		if text, _ := os.ReadFile(filepath.Join(c.Cache.Dir, "a-index.yaml")); string(text) != s.pages[url] {
			t.Errorf("the cache has %s", text)
		}
	}
	update(url + "?")
	s.pages[url], s.marks[url] = strings.ReplaceAll(small, "1.0.0", "1.1.0"), fetch.Validator{ETag: `"2"`}
	update(url)
	update(url + "?")
	// A file in the cache that another program has written is not mistaken for the
	// server's.
	if err := os.WriteFile(filepath.Join(c.Cache.Dir, "a-index.yaml"), []byte(small), 0o644); err != nil {
		t.Fatal(err)
	}
	update(url)
	if err := os.Remove(filepath.Join(c.Cache.Dir, "a-index.yaml")); err != nil {
		t.Fatal(err)
	}
	update(url)
	if err := os.Remove(filepath.Join(c.Cache.Dir, "a-charts.txt")); err != nil {
		t.Fatal(err)
	}
	update(url)
	if err := os.WriteFile(filepath.Join(c.Cache.Dir, "a-index.mark"), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	update(url)
	update(url + "?")
	// After a change of its URL, a repository has another index.
	s.pages["http://b/index.yaml"], s.marks["http://b/index.yaml"] = small, s.marks[url]
	if _, err := c.Add(t.Context(), Entry{Name: "a", URL: "http://b"}, true, false); err != nil {
		t.Fatal(err)
	}
	if text, _ := os.ReadFile(filepath.Join(c.Cache.Dir, "a-index.yaml")); string(text) != small {
		t.Errorf("the cache has %s", text)
	}
	if err := c.Remove(t.Context(), "a"); err != nil || c.Cache.files(t) != nil {
		t.Errorf("%v, left in the cache: %v", err, c.Cache.files(t))
	}
}

// The cache has every index in the canonical form, which does not make the server send it
// again.
func TestUpdateKeepsTheCanonicalForm(t *testing.T) {
	const url, want = "http://a/index.yaml", `apiVersion: "v1"
entries:
  "web":
  - apiVersion: "v2"
    name: "web"
    version: "1.10.0"
    deprecated: true
    urls: ["web.tgz"]
`
	for name, text := range map[string]string{
		"JSON":         `{"apiVersion":"v1","entries":{"web":[{"apiVersion":"v2","name":"web","version":"1.10.0","deprecated":true,"urls":["web.tgz"]}]}}`,
		"unusual YAML": "apiVersion: \"v1\"\nentries: {web: [{apiVersion: \"v2\", name: 'web', version: \"1.10.0\", deprecated: true, urls: ['web.tgz']}]}\n",
	} {
		t.Run(name, func(t *testing.T) {
			s := &site{pages: map[string]string{url: text}, marks: map[string]fetch.Validator{url: {ETag: `"1"`}}}
			c := collection(t, s)
			if _, err := c.Add(t.Context(), Entry{Name: "a", URL: "http://a"}, false, false); err != nil {
				t.Fatal(err)
			}
			if text, _ := os.ReadFile(filepath.Join(c.Cache.Dir, "a-index.yaml")); string(text) != want {
				t.Errorf("the cache has\n%swant\n%s", text, want)
			}
			f, _ := c.Load()
			s.asked = nil
			if err := c.Update(t.Context(), f.Entries, nil); err != nil {
				t.Error(err)
			}
			if !slices.Equal(s.asked, []string{url + "?"}) {
				t.Errorf("asked %v, want the mark to be used", s.asked)
			}
		})
	}
}

func TestAddInterrupted(t *testing.T) {
	s := &site{pages: map[string]string{"http://a/index.yaml": small}, slow: time.Hour}
	c := collection(t, s)
	c.Timeout = 10 * time.Millisecond
	_, err := c.Add(t.Context(), Entry{Name: "a", URL: "http://a"}, false, false)
	var late *TimeoutError
	if !errors.As(err, &late) || !strings.Contains(err.Error(), "was not received within 10ms") {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, cancel)
	c.Timeout = 0
	if err := c.Update(ctx, []Entry{{Name: "a", URL: "http://a"}}, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if got := c.Cache.files(t); got != nil {
		t.Errorf("left behind: %v", got)
	}
	// The next fetch removes old leftovers of a killed process.
	old, fresh := filepath.Join(c.Cache.Dir, ".a-index.yaml-1.part"), filepath.Join(c.Cache.Dir, ".a-index.yaml-2.part")
	for _, path := range []string{old, fresh} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	past := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(old, past, past); err != nil {
		t.Fatal(err)
	}
	s.slow = 0
	if _, err := c.Add(t.Context(), Entry{Name: "a", URL: "http://a"}, false, false); err != nil {
		t.Fatal(err)
	}
	if got := c.Cache.files(t); !slices.Equal(got, []string{filepath.Base(fresh), "a-charts.txt", "a-index.yaml"}) {
		t.Errorf("the cache has %v", got)
	}
}

func TestAddConcurrently(t *testing.T) {
	s := &site{pages: map[string]string{}}
	for i := range 20 {
		s.pages[fmt.Sprintf("http://host%d/index.yaml", i)] = small
	}
	c := collection(t, s)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			if _, err := c.Add(t.Context(), Entry{Name: fmt.Sprint("r", i), URL: fmt.Sprint("http://host", i)}, false, false); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if f, err := c.Load(); err != nil || len(f.Entries) != 20 {
		t.Errorf("%v, %v", f.Names(), err)
	}
	// If several add the same name, one succeeds.
	added := make(chan bool, 20)
	for i := range 20 {
		wg.Go(func() {
			ok, err := c.Add(t.Context(), Entry{Name: "same", URL: fmt.Sprint("http://host", i)}, false, false)
			if err != nil && !errors.As(err, new(*ExistsError)) {
				t.Error(err)
			}
			added <- ok
		})
	}
	wg.Wait()
	close(added)
	won := 0
	for ok := range added {
		if ok {
			won++
		}
	}
	if won != 1 {
		t.Errorf("%d got the name", won)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(c.Path), ".*")); left != nil {
		t.Errorf("left behind: %v", left)
	}
}

func TestLockLikeHelm(t *testing.T) {
	for path, want := range map[string]string{
		"/a/repositories.yaml": "/a/repositories.lock", "/a/noext": "/a/noext.lock", "/a.b/noext": "/a.b/noext.lock", "/a/.repos": "/a/.lock", "a.b.c": "a.b.lock",
	} {
		t.Run(path, func(t *testing.T) {
			if got := lockPath(path); got != want {
				t.Errorf("%s: %s", path, got)
			}
		})
	}
}

func TestUpdateFileCanceled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "repositories.yaml")
	inside, out := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := Update(t.Context(), path, func(*File) error { close(inside); <-out; return nil }); err != nil {
			t.Error(err)
		}
	})
	<-inside
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	if err := Update(ctx, path, func(*File) error { t.Error("two at once"); return nil }); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	close(out)
	wg.Wait()
	failure := errors.New("no")
	if err := Update(t.Context(), path, func(f *File) error { f.Set(Entry{Name: "a"}); return failure }); !errors.Is(err, failure) {
		t.Error(err)
	}
	if f, err := Load(path); err != nil || len(f.Entries) > 0 {
		t.Errorf("saved after a failure: %+v, %v", f, err)
	}
}

// Other users of the machine cannot read an index that required credentials, also if Helm has
// fetched it.
func TestCacheMode(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs modes")
	}
	for name, test := range map[string]struct {
		entry Entry
		want  os.FileMode
	}{
		"public":               {Entry{Name: "a", URL: "http://a"}, 0o644},
		"with a user":          {Entry{Name: "a", URL: "http://a", Username: "ann", Password: "hunter2"}, 0o600},
		"with a certificate":   {Entry{Name: "a", URL: "http://a", CertFile: "c", KeyFile: "k"}, 0o600},
		"with a user in a URL": {Entry{Name: "a", URL: "http://ann:hunter2@a"}, 0o600},
		"with a token":         {Entry{Name: "a", URL: "http://a?token=x"}, 0o600},
		"with an authority":    {Entry{Name: "a", URL: "http://a", CAFile: "ca"}, 0o644},
	} {
		t.Run(name, func(t *testing.T) {
			address, err := test.entry.IndexURL()
			if err != nil {
				t.Fatal(err)
			}
			c := collection(t, &site{pages: map[string]string{address: small}})
			if _, err := c.Add(t.Context(), test.entry, false, false); err != nil {
				t.Fatal(err)
			}
			check := func(when string) {
				t.Helper()
				for _, file := range []string{"a-index.yaml", "a-charts.txt"} {
					info, err := os.Stat(filepath.Join(c.Cache.Dir, file))
					if err != nil || info.Mode().Perm() != test.want {
						t.Errorf("%s: %s: got %v, %v, want %v", when, file, info.Mode().Perm(), err, test.want)
					}
				}
			}
			check("added")
			for _, file := range []string{"a-index.yaml", "a-charts.txt"} { // as Helm leaves them
				if err := os.Chmod(filepath.Join(c.Cache.Dir, file), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if err := c.Update(t.Context(), []Entry{test.entry}, nil); err != nil {
				t.Fatal(err)
			}
			check("updated")
			c.HTTP = unchanged{}
			c.Cache.protect("a", 0o644)
			if err := c.Update(t.Context(), []Entry{test.entry}, nil); err != nil {
				t.Fatal(err)
			}
			check("unchanged")
		})
	}
}

// unchanged is a server that always responds that the document has not changed.
type unchanged struct{}

func (unchanged) Get(context.Context, Entry, string, fetch.Validator, io.Writer) (fetch.Validator, error) {
	return fetch.Validator{}, fetch.ErrNotModified
}

func TestLockedErrorHolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "repositories.yaml")
	held, err := defaultWait(nil).take(t.Context(), lockPath(path))
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	messages := make(chan *LockedError, 2)
	wait := lockWait{most: 300 * time.Millisecond, pause: time.Millisecond, quiet: time.Millisecond, waiting: func(e *LockedError) { messages <- e }}
	err = update(t.Context(), path, wait, func(*File) error { t.Error("two at once"); return nil })
	by := "another process"
	if runtime.GOOS == "linux" {
		by = fmt.Sprintf("process %d (", os.Getpid())
	}
	var locked *LockedError
	if !errors.As(err, &locked) || !strings.HasPrefix(err.Error(), "timed out after 300ms waiting for the lock "+lockPath(path)+", held by "+by) {
		t.Errorf("got %v", err)
	}
	if got := (<-messages).Error(); !strings.HasPrefix(got, "waiting for the lock "+lockPath(path)+", held by "+by) {
		t.Errorf("told %q", got)
	}
	if len(messages) > 0 {
		t.Error("told twice")
	}
}

// Names in an edited file must not lead out of the cache.
func TestCachePathInDirectory(t *testing.T) {
	s := &site{pages: map[string]string{"http://a/index.yaml": small}}
	c := collection(t, s)
	for _, name := range []string{"../out", "a/../../out", `..\out`, "/etc/out", "a\x00"} {
		t.Run(name, func(t *testing.T) {
			if err := os.MkdirAll(filepath.Dir(c.Path), 0o755); err != nil {
				t.Fatal(err)
			}
			f := &File{Entries: []Entry{{Name: name, URL: "http://a"}}}
			if err := f.Save(c.Path); err != nil {
				t.Fatal(err)
			}
			if err := c.Update(t.Context(), f.Entries, nil); !errors.As(err, new(*NameError)) {
				t.Errorf("%q: %v", name, err)
			}
			if _, err := c.Cache.Index(name); !errors.As(err, new(*NameError)) {
				t.Errorf("%q: %v", name, err)
			}
			if got := c.Cache.Charts(name); got != nil {
				t.Errorf("%q: %v", name, got)
			}
			if err := c.Remove(t.Context(), name); err != nil { // it can be removed
				t.Errorf("%q: %v", name, err)
			}
		})
	}
	if out, _ := filepath.Glob(filepath.Join(filepath.Dir(c.Cache.Dir), "out*")); out != nil {
		t.Errorf("written: %v", out)
	}
}

// CVE-2021-21303: names in an index are untrusted.
func TestCacheCharts(t *testing.T) {
	if got := chartLines([]string{"web", "a\nb", "\x1b[2J", "api"}); got != "web\napi\n" {
		t.Errorf("%q", got)
	}
	c := Cache{Dir: t.TempDir()}
	if err := os.WriteFile(filepath.Join(c.Dir, "r"+namesSuffix), []byte("web\n\x1b[2J\n\napi\n"), 0o600); err != nil { // as Helm may write it
		t.Fatal(err)
	}
	if got := c.Charts("r"); !slices.Equal(got, []string{"web", "api"}) {
		t.Errorf("%q", got)
	}
}

func TestCacheErrors(t *testing.T) {
	c := collection(t, &site{pages: map[string]string{"http://a/index.yaml": small}})
	c.Cache.Dir = filepath.Join(write(t, "a file"), "cache")
	var cache *CacheError
	if _, err := c.Add(t.Context(), Entry{Name: "a", URL: "http://a"}, false, false); !errors.As(err, &cache) || errors.As(err, new(*InvalidError)) {
		t.Error(err)
	}
	if x, err := c.Fetch(t.Context(), Entry{URL: "http://a"}); err != nil || len(x.Names()) != 2 {
		t.Errorf("what needs no cache: %v", err)
	}
	if err := c.Update(t.Context(), []Entry{{Name: "a", URL: "http://a"}}, nil); !errors.As(err, &cache) {
		t.Error(err)
	}
}

func TestFetchLeavesNoFiles(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	c := collection(t, &site{pages: map[string]string{"http://a/index.yaml": small}})
	x, err := c.Fetch(t.Context(), Entry{URL: "http://a"})
	if err != nil || !slices.Equal(x.Names(), []string{"api", "web"}) {
		t.Error(x, err)
	}
	if _, err := c.Fetch(t.Context(), Entry{URL: "http://b"}); !errors.As(err, new(*InvalidError)) {
		t.Error(err)
	}
	for _, dir := range []Cache{c.Cache, {Dir: os.TempDir()}} {
		if got := dir.files(t); got != nil {
			t.Errorf("left behind: %v", got)
		}
	}
}

// getter is a server that also runs a function.
type getter func(e Entry, w io.Writer) error

func (g getter) Get(_ context.Context, e Entry, _ string, _ fetch.Validator, w io.Writer) (fetch.Validator, error) {
	return fetch.Validator{}, g(e, w)
}

// While an update fetches an index, another process removes the repository or gives its name to
// another one, whose index must not be replaced.
func TestUpdateRemoved(t *testing.T) {
	s := &site{pages: map[string]string{"http://a/index.yaml": small, "http://other/index.yaml": strings.ReplaceAll(small, "web", "shop")}}
	c := collection(t, s)
	a := Entry{Name: "a", URL: "http://a"}
	for name, meanwhile := range map[string]func() error{
		"removed": func() error { return c.Remove(t.Context(), "a") },
		"replaced": func() error {
			_, err := c.Add(t.Context(), Entry{Name: "a", URL: "http://other"}, true, false)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := c.Add(t.Context(), a, true, false); err != nil {
				t.Fatal(err)
			}
			slow := c
			slow.HTTP = getter(func(_ Entry, w io.Writer) error {
				_, err := io.WriteString(w, small)
				return errors.Join(err, meanwhile())
			})
			if err := slow.Update(t.Context(), []Entry{a}, nil); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if got := c.Cache.Charts("a"); slices.Contains(got, "web") {
				t.Errorf("%s: the cache still has %v", name, got)
			}
		})
	}
}

// A local error is not blamed on the repository.
func TestAddLocalErrors(t *testing.T) {
	c := collection(t, nil)
	full := func(e Entry, _ io.Writer) error {
		parts, err := filepath.Glob(filepath.Join(c.Cache.Dir, ".*.part"))
		if len(parts) != 1 {
			return fmt.Errorf("%v, %w", parts, err)
		}
		return &fs.PathError{Op: "write", Path: parts[0], Err: syscall.ENOSPC}
	}
	noFile := func(Entry, io.Writer) error {
		return fmt.Errorf("certificate x: %w", &fs.PathError{Op: "open", Path: "x", Err: fs.ErrNotExist})
	}
	for _, test := range []struct {
		get  getter
		want string
	}{
		{full, "cannot write indexes to " + c.Cache.Dir + ": no space left on device"},
		{noFile, "certificate x: open x: file does not exist"},
	} {
		t.Run(test.want, func(t *testing.T) {
			c.HTTP = test.get
			if _, err := c.Add(t.Context(), Entry{Name: "a", URL: "http://a"}, false, false); err == nil || err.Error() != test.want {
				t.Errorf("%v, want %s", err, test.want)
			}
		})
	}
}

func TestIndexUncached(t *testing.T) {
	c := Cache{Dir: t.TempDir()}
	if _, err := c.Index("a"); err == nil || err.Error() != `no cached repo found. (try 'helm repo update'): the index of repository "a" is not cached` {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(c.Dir, "a-index.yaml"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Index("a"); !errors.As(err, new(*UncachedError)) || !strings.HasPrefix(err.Error(), `the cached index of repository "a" cannot be used: `) {
		t.Error(err)
	}
}
