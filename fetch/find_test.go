// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/moonhelm/moonhelm/chart/dependency"
	"github.com/moonhelm/moonhelm/progress"
)

// tgz returns content that begins like an archive.
func tgz(name string) string { return "\x1f\x8b" + name }

// site is a web server that records the requests and their users.
type site struct {
	*httptest.Server
	mu    sync.Mutex
	pages map[string]string
	asked []string
}

func newSite(t *testing.T, pages map[string]string) *site {
	s := &site{pages: pages}
	s.Server = serve(t, func(w http.ResponseWriter, r *http.Request) {
		user, _, _ := r.BasicAuth()
		s.mu.Lock()
		s.asked = append(s.asked, strings.TrimSpace(r.URL.RequestURI()+" "+user))
		page, ok := s.pages[r.URL.Path]
		s.mu.Unlock()
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = io.WriteString(w, page)
	})
	return s
}

// requests returns the requests since the last call.
func (s *site) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	calls := s.asked
	s.asked = nil
	return calls
}

// shelf is a repository with its entries.
type shelf struct {
	Repository
	entries []Entry
}

// shelves implements Repositories.
type shelves []shelf

var errNotAdded = errors.New("not added")

func (s shelves) Named(name string) (Repository, error) {
	for _, r := range s {
		if r.Name == name {
			return r.Repository, nil
		}
	}
	return Repository{}, errNotAdded
}

func (s shelves) ByURL(url string) (Repository, bool) {
	for _, r := range s {
		if r.Name != "" && strings.TrimSuffix(r.URL, "/") == strings.TrimSuffix(url, "/") {
			return r.Repository, true
		}
	}
	return Repository{}, false
}

func (s shelves) Find(_ context.Context, want Repository, chart, version string, devel bool) (Entry, error) {
	for _, r := range s {
		if r.URL != want.URL || r.Name != want.Name {
			continue
		}
		var versions []string
		for _, e := range r.entries {
			if e.Name == chart {
				versions = append(versions, e.Version)
			}
		}
		v, err := dependency.Version(versions, version, devel)
		if err != nil {
			return Entry{}, err
		}
		return r.entries[slices.IndexFunc(r.entries, func(e Entry) bool { return e.Name == chart && e.Version == v })], nil
	}
	return Entry{}, fmt.Errorf("no index of %q at %s as %s", want.Name, want.URL, want.Host.Username)
}

// finder returns a Finder with an empty cache.
func finder(t *testing.T, repos ...shelf) *Finder {
	return &Finder{HTTP: hurried(t), Repositories: shelves(repos), Cache: &Cache{Dir: t.TempDir()}}
}

func TestFindInRepositories(t *testing.T) {
	pages := map[string]string{
		"/charts/web-1.0.0.tgz": tgz("one"), "/charts/web-1.1.0.tgz": tgz("two"), "/up.tgz": tgz("up"), "/charts/download": tgz("odd"),
	}
	home, other := newSite(t, pages), newSite(t, pages)
	anna := HostOptions{Username: "anna", Password: "pw"}
	entries := []Entry{
		{Name: "web", Version: "1.0.0", URLs: []string{"web-1.0.0.tgz"}, Digest: digestOf(tgz("one"))},
		{Name: "web", Version: "1.1.0", URLs: []string{"/charts/web-1.1.0.tgz"}, Digest: "sha256:" + strings.ToUpper(digestOf(tgz("two")))},
		{Name: "web", Version: "2.0.0-rc.1", URLs: []string{"../up.tgz?own=1"}},
		{Name: "abs", Version: "1.0.0", URLs: []string{home.URL + "/up.tgz"}},
		{Name: "away", Version: "1.0.0", URLs: []string{other.URL + "/up.tgz"}},
		{Name: "slashes", Version: "1.0.0", URLs: []string{strings.TrimPrefix(other.URL, "http:") + "/up.tgz"}},
		{Name: "mirrored", Version: "1.0.0", URLs: []string{"gone.tgz", other.URL + "/up.tgz"}},
		{Name: "odd", Version: "1.0.0", URLs: []string{"download"}},
		{Name: "../../evil", Version: "1.0.0", URLs: []string{"download"}},
	}
	repo := Repository{Name: "r", URL: home.URL + "/charts", Host: anna}
	token := Repository{Name: "token", URL: home.URL + "/charts/?token=x"}
	every := repo
	every.Name, every.Host.PassAll = "every", true
	repos := []shelf{{repo, entries}, {token, entries}, {every, entries}, {Repository{URL: repo.URL}, entries}, {Repository{URL: other.URL + "/charts"}, entries}}

	for _, c := range []struct {
		ref         Ref
		name        string
		version     string
		home, other []string
	}{
		{Ref{Name: "r/web"}, "web-1.1.0.tgz", "1.1.0", []string{"/charts/web-1.1.0.tgz anna"}, nil},
		{Ref{Name: "r/web", Version: "~1.0"}, "web-1.0.0.tgz", "1.0.0", []string{"/charts/web-1.0.0.tgz anna"}, nil},
		{Ref{Name: "r/web", Devel: true}, "up.tgz", "2.0.0-rc.1", []string{"/up.tgz?own=1 anna"}, nil},
		{Ref{Name: "token/web", Devel: true}, "up.tgz", "2.0.0-rc.1", []string{"/up.tgz?token=x"}, nil},
		{Ref{Name: "token/web"}, "web-1.1.0.tgz", "1.1.0", []string{"/charts/web-1.1.0.tgz?token=x"}, nil},
		{Ref{Name: "r/abs"}, "up.tgz", "1.0.0", []string{"/up.tgz anna"}, nil},
		{Ref{Name: "r/away"}, "up.tgz", "1.0.0", nil, []string{"/up.tgz"}},
		{Ref{Name: "token/slashes"}, "up.tgz", "1.0.0", nil, []string{"/up.tgz"}},
		{Ref{Name: "every/away"}, "up.tgz", "1.0.0", nil, []string{"/up.tgz anna"}},
		{Ref{Name: "r/away", Host: HostOptions{PassAll: true}}, "up.tgz", "1.0.0", nil, []string{"/up.tgz anna"}},
		{Ref{Name: "r/mirrored"}, "up.tgz", "1.0.0", []string{"/charts/gone.tgz anna"}, []string{"/up.tgz"}},
		{Ref{Name: "r/odd"}, "odd-1.0.0.tgz", "1.0.0", []string{"/charts/download anna"}, nil},
		{Ref{Name: "r/../../evil"}, "evil-1.0.0.tgz", "1.0.0", []string{"/charts/download anna"}, nil},
		{Ref{Name: "r/web", Host: HostOptions{Username: "otto", Password: "x"}}, "web-1.1.0.tgz", "1.1.0", []string{"/charts/web-1.1.0.tgz otto"}, nil},
		// --repo: the credentials of an added repository, for its host only.
		{Ref{Name: "web", Repo: repo.URL}, "web-1.1.0.tgz", "1.1.0", []string{"/charts/web-1.1.0.tgz anna"}, nil},
		{Ref{Name: "web", Repo: other.URL + "/charts"}, "web-1.1.0.tgz", "1.1.0", nil, []string{"/charts/web-1.1.0.tgz"}},
		// The same for URLs.
		{Ref{Name: home.URL + "/charts/web-1.0.0.tgz"}, "web-1.0.0.tgz", "", []string{"/charts/web-1.0.0.tgz anna"}, nil},
		{Ref{Name: home.URL + "/up.tgz?a=b"}, "up.tgz", "", []string{"/up.tgz?a=b"}, nil},
		{Ref{Name: byName(home.URL) + "/charts/web-1.0.0.tgz"}, "web-1.0.0.tgz", "", []string{"/charts/web-1.0.0.tgz"}, nil},
		{Ref{Name: home.URL + "/charts/download"}, "download", "", []string{"/charts/download anna"}, nil},
	} {
		t.Run(c.ref.Repo+c.ref.Name+c.ref.Version, func(t *testing.T) {
			f := finder(t, repos...)
			a, err := f.Find(t.Context(), c.ref)
			if err != nil {
				t.Fatal(err)
			}
			if a.Name != c.name || a.Version != c.version || a.Digest != digestOf(read(t, a.Path)) || strings.Contains(a.URL, "token=") {
				t.Errorf("%+v", a)
			}
			if got := home.requests(); !slices.Equal(got, c.home) {
				t.Errorf("home was asked %q, want %q", got, c.home)
			}
			if got := other.requests(); !slices.Equal(got, c.other) {
				t.Errorf("the other was asked %q, want %q", got, c.other)
			}
		})
	}
}

func TestFindErrors(t *testing.T) {
	s := newSite(t, map[string]string{"/web.tgz": tgz("web"), "/page.tgz": "<!DOCTYPE html>login", "/empty.tgz": "", "/text.tgz": "text"})
	repo := shelf{Repository{Name: "r", URL: s.URL}, []Entry{
		{Name: "wrong", Version: "1.0.0", URLs: []string{"web.tgz"}, Digest: digestOf("other")},
		{Name: "odd", Version: "1.0.0", URLs: []string{"web.tgz"}, Digest: "abc"},
		{Name: "nowhere", Version: "1.0.0"},
		{Name: "malformed", Version: "1.0.0", URLs: []string{"http://u:hunter2@[::1"}},
		{Name: "file", Version: "1.0.0", URLs: []string{"file:///etc/passwd"}},
		{Name: "gone", Version: "1.0.0", URLs: []string{"gone.tgz"}},
	}}
	for name, want := range map[string]string{
		"web": "non-absolute URLs should be", "/web": "is a local path", "./web.tgz": "is a local path", "../web": "is a local path", "r/": "non-absolute URLs should be", "": "non-absolute URLs should be",
		"nope/web":             "not added",
		"r/unknown":            "there is no version of it",
		"r/wrong":              "digest mismatch: got sha256:" + digestOf(tgz("web")) + ", want sha256:" + digestOf("other"),
		"r/odd":                `its digest "abc" is not a SHA-256`,
		"r/nowhere":            "no URL",
		"r/malformed":          "malformed",
		"r/file":               "is named by its path",
		"r/gone":               "answered 404",
		"file:///etc/passwd":   "is named by its path",
		"s3://bucket/web.tgz":  `scheme "s3" not supported; supported are http, https, oci`,
		"http://u:hunter2@[::": "malformed",
		s.URL + "/page.tgz":    "a web page, not a chart",
		s.URL + "/empty.tgz":   "the content is empty",
		s.URL + "/text.tgz":    "the content is not a chart archive",
		"oci://host/web:1.0.0": "no registry client is configured",
	} {
		t.Run(name, func(t *testing.T) {
			f := finder(t, repo)
			a, err := f.Find(t.Context(), Ref{Name: name})
			if err == nil || a != nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%s: %+v, %v; want %q", name, a, err, want)
			}
			if left := files(t, f.Cache.Dir); len(left) > 0 {
				t.Errorf("%s: %v stays", name, left)
			}
		})
	}
}

func TestFindUsesCache(t *testing.T) {
	s := newSite(t, map[string]string{"/web.tgz": tgz("web")})
	f := finder(t, shelf{Repository{Name: "r", URL: s.URL}, []Entry{{Name: "web", Version: "1.0.0", URLs: []string{"web.tgz"}, Digest: digestOf(tgz("web"))}}})
	find := func() *Archive {
		t.Helper()
		a, err := f.Find(t.Context(), Ref{Name: "r/web"})
		if err != nil || read(t, a.Path) != tgz("web") {
			t.Fatalf("%+v, %v", a, err)
		}
		return a
	}
	a := find()
	find()
	if got := s.requests(); len(got) != 1 {
		t.Errorf("asked %q", got)
	}
	if err := os.WriteFile(a.Path, []byte(tgz("evil")), 0o600); err != nil {
		t.Fatal(err)
	}
	find() // fetches a damaged file again
	if got := s.requests(); len(got) != 1 {
		t.Errorf("asked %q", got)
	}
	if _, err := f.Find(t.Context(), Ref{Name: s.URL + "/web.tgz"}); err != nil || len(s.requests()) != 1 {
		t.Error("a plain URL is asked each time: no one knows what is there now")
	}
}

func TestFindSharesDownload(t *testing.T) {
	var requests atomic.Int64
	wait := make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		<-wait
		_, _ = io.WriteString(w, tgz("web"))
	})
	f := finder(t, shelf{Repository{Name: "r", URL: s.URL}, []Entry{{Name: "web", Version: "1.0.0", URLs: []string{"web.tgz"}, Digest: digestOf(tgz("web"))}}})
	// The first call is interrupted, which does not affect the others.
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan error)
	go func() {
		_, err := f.Find(ctx, Ref{Name: "r/web"})
		first <- err
	}()
	for requests.Load() == 0 {
		select {
		case err := <-first:
			t.Fatal(err)
		default:
		}
	}
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			a, err := f.Find(t.Context(), Ref{Name: "r/web"})
			if err != nil || a.Digest != digestOf(tgz("web")) {
				t.Errorf("%+v, %v", a, err)
			}
		})
	}
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	close(wait)
	all.Wait()
	if got := files(t, f.Cache.Dir); len(got) != 1 {
		t.Errorf("%v", got)
	}
}

func TestFindInterrupted(t *testing.T) {
	began := make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write(append([]byte(tgz("")), make([]byte, 100000)...))
		w.(http.Flusher).Flush()
		close(began)
		<-r.Context().Done()
	})
	f := finder(t)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-began
		cancel()
	}()
	_, err := f.Find(ctx, Ref{Name: s.URL + "/web.tgz"})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if left := files(t, f.Cache.Dir); len(left) > 0 {
		t.Errorf("%v", left)
	}
}

// seal implements Verifier: a provenance file is valid if its text is "signed " and the
// archive's digest.
type seal struct{}

func (seal) Verify(name string, r io.Reader, provenance []byte) (string, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return "", err
	}
	if string(provenance) != "signed "+name+" "+digestOf(string(data)) {
		return "", errors.New("bad signature")
	}
	return "anna", nil
}

func TestVerify(t *testing.T) {
	good := "signed web-1.0.0.tgz " + digestOf(tgz("web"))
	s := newSite(t, map[string]string{"/web-1.0.0.tgz": tgz("web")})
	f := finder(t, shelf{Repository{Name: "r", URL: s.URL + "?token=x", Host: HostOptions{Username: "anna"}}, []Entry{{Name: "web", Version: "1.0.0", URLs: []string{"web-1.0.0.tgz"}, Digest: digestOf(tgz("web"))}}})
	f.Verifier = seal{}
	var warned []string
	f.Progress = func(e progress.Event) {
		if e.Kind == progress.Warning {
			warned = append(warned, e.Text)
		}
	}
	ref := Ref{Name: "r/web", Verify: true}
	page := func(path, content string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.pages[path] = content
	}

	// CVE-2026-35205: a missing provenance file is an error.
	a, err := f.Find(t.Context(), ref)
	var unproven *ProvenanceError
	if a != nil || !errors.As(err, &unproven) || !unproven.Missing {
		t.Errorf("%+v, %v", a, err)
	}
	if got := s.requests(); !slices.Equal(got, []string{"/web-1.0.0.tgz?token=x anna", "/web-1.0.0.tgz.prov?token=x anna"}) {
		t.Errorf("%q", got)
	}
	// Without --verify, it is not.
	if a, err := f.Find(t.Context(), Ref{Name: "r/web", Prov: true}); err != nil || a.Provenance != nil || len(warned) > 0 {
		t.Errorf("%+v, %v, %q", a, err, warned)
	}
	for _, bad := range []string{"", "signed", "signed other.tgz " + digestOf(tgz("web")), "signed web-1.0.0.tgz " + digestOf("x"), strings.Repeat("x", maxProvenance+1)} {
		page("/web-1.0.0.tgz.prov", bad)
		if a, err := f.Find(t.Context(), ref); a != nil || !errors.As(err, &unproven) || unproven.Missing {
			t.Errorf("%.30q: %+v, %v", bad, a, err)
		}
	}
	// Without --verify, the file is fetched without a check, and a failure to fetch it is
	// reported.
	if a, err := f.Find(t.Context(), Ref{Name: "r/web", Prov: true}); err != nil || a.Provenance != nil || len(warned) != 1 {
		t.Errorf("%+v, %v, %q", a, err, warned)
	}
	page("/web-1.0.0.tgz.prov", "signed by no one")
	if a, err := f.Find(t.Context(), Ref{Name: "r/web", Prov: true}); err != nil || string(a.Provenance) != "signed by no one" || a.Signer != "" {
		t.Errorf("%+v, %v", a, err)
	}
	page("/web-1.0.0.tgz.prov", good)
	if a, err := f.Find(t.Context(), ref); err != nil || a.Signer != "anna" || string(a.Provenance) != good {
		t.Fatalf("%+v, %v", a, err)
	}
	s.requests()
	// A verified archive is cached, and verified again without a request.
	if a, err := f.Find(t.Context(), ref); err != nil || a.Signer != "anna" || len(s.requests()) > 0 {
		t.Errorf("%+v, %v", a, err)
	}
	// A cached provenance file that is no longer valid is fetched again.
	if err := f.Cache.AddProvenance(digestOf(tgz("web")), []byte("evil")); err != nil {
		t.Fatal(err)
	}
	if a, err := f.Find(t.Context(), ref); err != nil || a.Signer != "anna" || string(a.Provenance) != good || len(s.requests()) != 1 {
		t.Errorf("%+v, %v", a, err)
	}
	// So is an archive that was changed.
	if err := os.WriteFile(a2path(t, f), []byte(tgz("evil")), 0o600); err != nil {
		t.Fatal(err)
	}
	if a, err := f.Find(t.Context(), ref); err != nil || read(t, a.Path) != tgz("web") {
		t.Errorf("%+v, %v", a, err)
	}
	// An archive that was signed under another name or version than the index has is an
	// error.
	for _, e := range []Entry{{Name: "web", Version: "2.0.0"}, {Name: "db", Version: "1.0.0"}} {
		e.URLs = []string{"web-1.0.0.tgz"}
		f.Repositories = shelves{{Repository{Name: "r", URL: s.URL}, []Entry{e}}}
		if a, err := f.Find(t.Context(), Ref{Name: "r/" + e.Name, Verify: true}); !errors.As(err, &unproven) {
			t.Errorf("%+v: %+v, %v", e, a, err)
		}
	}
	f.Verifier = nil
	if a, err := f.Find(t.Context(), ref); err == nil {
		t.Errorf("verified by no one: %+v", a)
	}
}

// a2path returns the path of the archive in the cache.
func a2path(t *testing.T, f *Finder) string {
	t.Helper()
	file, ok := f.Cache.Lookup(digestOf(tgz("web")))
	if !ok {
		t.Fatal("not in the cache")
	}
	return file
}

// bucket implements Downloader for the scheme s3.
type bucket map[string]string

func (bucket) Schemes() []string { return []string{"s3"} }

func (b bucket) Get(_ context.Context, url string, a HostOptions, w io.Writer) error {
	page, ok := b[url+" "+a.Username]
	if !ok {
		return fmt.Errorf("nothing for %s", a.Username)
	}
	_, err := io.WriteString(w, page)
	return err
}

func TestFindWithPlugins(t *testing.T) {
	s := newSite(t, map[string]string{"/web.tgz": tgz("web")})
	f := finder(t, shelf{Repository{Name: "r", URL: "s3://bucket/charts", Host: HostOptions{Username: "anna"}}, []Entry{
		{Name: "web", Version: "1.0.0", URLs: []string{"web-1.0.0.tgz"}},
		{Name: "away", Version: "1.0.0", URLs: []string{"s3://other/web.tgz"}},
		{Name: "http", Version: "1.0.0", URLs: []string{s.URL + "/web.tgz"}},
	}})
	prov := "signed web-1.0.0.tgz " + digestOf(tgz("web"))
	f.Plugins = bucket{
		"s3://bucket/charts/web-1.0.0.tgz anna": tgz("web"), "s3://bucket/charts/web-1.0.0.tgz.prov anna": prov,
		"s3://other/web.tgz ": tgz("web"), "s3://bucket/values.yaml ": "a: b\n", "s3://bucket/text.tgz ": "text",
		"s3://bucket/large.yaml ": strings.Repeat("x", MaxText+1),
	}
	f.Verifier = seal{}
	for _, ref := range []Ref{{Name: "r/web", Verify: true}, {Name: "r/away"}, {Name: "r/http"}, {Name: "s3://other/web.tgz"}} {
		if a, err := f.Find(t.Context(), ref); err != nil || read(t, a.Path) != tgz("web") {
			t.Errorf("%s: %+v, %v", ref.Name, a, err)
		}
	}
	if got := s.requests(); !slices.Equal(got, []string{"/web.tgz"}) {
		t.Errorf("%q", got)
	}
	for name, want := range map[string]string{
		"s3://bucket/text.tgz": "the content is not a chart archive", "s3://bucket/gone.tgz": "fetch s3://bucket/gone.tgz: nothing for ",
		"git://host/web.tgz": "supported are http, https, oci, s3,",
	} {
		t.Run(name, func(t *testing.T) {
			if a, err := f.Find(t.Context(), Ref{Name: name}); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %+v, %v", name, a, err)
			}
		})
	}
	if got, err := f.Text(t.Context(), "s3://bucket/values.yaml"); err != nil || string(got) != "a: b\n" {
		t.Errorf("%q, %v", got, err)
	}
	for location, want := range map[string]string{"s3://bucket/large.yaml": "larger than 20 MiB", "git://host/a": "supported are http, https, s3,", "file:///etc/passwd": "named by its path"} {
		t.Run(location, func(t *testing.T) {
			if got, err := f.Text(t.Context(), location); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %.20q, %v", location, got, err)
			}
		})
	}
}

// CVE-2024-25620, CVE-2026-35206: an archive's file name cannot lead out of its directory,
// whatever a repository returns.
func FuzzFileName(f *testing.F) {
	f.Add("https://host/a/web-1.0.0.tgz?x=y", "web", "1.0.0")
	f.Add("https://host/..%2f..%2fevil.tgz", "", "")
	f.Add(`https://host/..%5cevil.tgz`, "", "")
	f.Add("https://host/download", "../../web", "1.0.0/../../x")
	f.Add("https://host/..", "..", "")
	f.Add("https://host/a%00.tgz", "a", "b")
	f.Fuzz(func(t *testing.T, address, chart, version string) {
		name := source{chart: chart, version: version}.fileName(address)
		if name == "" || name != filepath.Base(name) || strings.ContainsAny(name, "/\\:\x00\n") || strings.Trim(name, ".") == "" || len(name) > 255 {
			t.Errorf("%q", name)
		}
	})
}

func FuzzBelow(f *testing.F) {
	f.Add("https://host/charts?token=x", "web.tgz")
	f.Add("https://host/charts/", "../web.tgz?a=b")
	f.Add("https://host", "//other/web.tgz")
	f.Add("#?token=x", "#") // a fragment is not sent
	query := func(address string) string {
		u, err := url.Parse(address)
		if err != nil {
			return ""
		}
		return u.RawQuery
	}
	f.Fuzz(func(t *testing.T, home, ref string) {
		full, err := resolveURL(home, ref)
		if err != nil {
			return
		}
		if query(home) == "token=x" && query(full) == "token=x" && query(ref) != "token=x" && !SameOrigin(home, full) {
			t.Errorf("%q below %q is %q: the token goes elsewhere", ref, home, full)
		}
	})
}

// An error that already names the archive is not wrapped with its name again.
func TestProvenanceErrorNamesArchiveOnce(t *testing.T) {
	for want, err := range map[string]error{
		"web.tgz is altered":                        &ProvenanceError{Archive: "web.tgz", Err: altered("web.tgz")},
		"web.tgz cannot be verified: b is altered":  &ProvenanceError{Archive: "web.tgz", Err: altered("b")},
		"web.tgz cannot be verified: no such thing": &ProvenanceError{Archive: "web.tgz", Err: errors.New("no such thing")},
	} {
		t.Run(want, func(t *testing.T) {
			if err.Error() != want {
				t.Errorf("got %q, want %q", err, want)
			}
		})
	}
}

type altered string

func (a altered) Archive() string { return string(a) }
func (a altered) Error() string   { return string(a) + " is altered" }
