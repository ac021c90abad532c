// SPDX-License-Identifier: Apache-2.0

package env

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"github.com/moonhelm/moonhelm/archive"
	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/fetch"
	"github.com/moonhelm/moonhelm/op"
	"github.com/moonhelm/moonhelm/progress"
	"github.com/moonhelm/moonhelm/repo"
	"github.com/moonhelm/moonhelm/resolve"
	"github.com/moonhelm/moonhelm/values"
)

// DependencyFlags say how the dependencies of a chart are had.
type DependencyFlags struct {
	AccessFlags
	VerifyFlags
	ScriptFlags
	SkipRefresh bool
}

// Bind registers the flags.
func (f *DependencyFlags) Bind(fs *pflag.FlagSet, e *Env) {
	fs.BoolVar(&f.SkipRefresh, "skip-refresh", false, "do not fetch the newest indexes of repositories that were added")
	fs.StringVar(&f.Username, "username", "", "user name at the registry or repository; only where all dependencies come from one")
	fs.StringVar(&f.Password, "password", "", "password at the registry or repository; only where all dependencies come from one")
	f.BindTLS(fs)
	f.BindPlain(fs)
	f.VerifyFlags.Bind(fs, e)
	f.ScriptFlags.Bind(fs)
}

// UpdateDependencies makes the dependencies of the chart in the folder at path
// what it lists, and locks them. out gets Helm's lines about it; nil drops them.
func (e *Env) UpdateDependencies(ctx context.Context, path string, f DependencyFlags, out io.Writer) error {
	verb, req, err := e.dependencies(path, f, out)
	if err != nil {
		return err
	}
	return verb.Run(ctx, req)
}

// BuildDependencies makes the dependencies of the chart in the folder at path
// what its lock says.
func (e *Env) BuildDependencies(ctx context.Context, path string, f DependencyFlags, out io.Writer) error {
	verb, req, err := e.dependencies(path, f, out)
	if err != nil {
		return err
	}
	return op.DependencyBuild{DependencyUpdate: verb}.Run(ctx, req)
}

func (e *Env) dependencies(path string, f DependencyFlags, out io.Writer) (verb op.DependencyUpdate, req op.DependencyRequest, err error) {
	if err := archive.Recover(path); err != nil {
		return verb, req, err
	}
	folder, err := e.vendor(path)
	if err != nil {
		return verb, req, err
	}
	report := e.Report()
	verb.Progress = func(ev progress.Event) {
		if ev.Kind != progress.Step {
			report(ev)
		} else if out != nil {
			fmt.Fprintln(out, ev.Text)
		}
	}
	verb.Now = e.Now
	if verb.Supplier, err = e.supplier(path, f, verb.Progress); err != nil {
		return verb, req, err
	}
	verb.Events, err = e.Events(f.ScriptFlags, nil, 0)
	return verb, op.DependencyRequest{Vendor: folder, SkipRefresh: f.SkipRefresh}, err
}

// Vendor is the chart at path, a folder or an archive, to be looked at.
func (e *Env) Vendor(path string) (op.Vendor, error) {
	info, err := os.Stat(path)
	if err != nil || info.IsDir() {
		return e.vendor(path)
	}
	c, err := e.loaded(archive.Loader{}.Load(path))
	if err != nil {
		return nil, err
	}
	f := &archive.Folder{Path: path, Chart: c}
	for _, d := range c.Dependencies() {
		dir := chart.DirCharts
		if d.FromLibrary {
			dir = chart.DirLibrary
		}
		f.Vendored = append(f.Vendored, archive.Vendored{Dir: dir, File: d.Name(), Name: d.Name(), Version: d.Version()})
	}
	return vendor{f}, nil
}

func (e *Env) vendor(path string) (op.Vendor, error) {
	f, err := archive.OpenFolder(path)
	if err != nil {
		if os.IsNotExist(errors.Unwrap(err)) {
			return nil, &ChartNotFoundError{Ref: path}
		}
		return nil, err
	}
	for _, w := range f.Warnings {
		e.Report().Send(progress.Event{Kind: progress.Warning, Text: w})
	}
	return vendor{f}, nil
}

// vendor implements op.Vendor.
type vendor struct{ folder *archive.Folder }

// Chart implements op.Vendor.
func (v vendor) Chart() *chart.Chart { return v.folder.Chart }

// Held implements op.Vendor.
func (v vendor) Held() []op.Held {
	out := make([]op.Held, len(v.folder.Vendored))
	for i, c := range v.folder.Vendored {
		out[i] = op.Held{Library: c.Dir == chart.DirLibrary, File: c.File, Archive: c.Archive, Name: c.Name, Version: c.Version, Err: c.Err}
	}
	return out
}

// Lock implements op.Vendor.
func (v vendor) Lock() (string, []byte, error) {
	return v.folder.LockName, v.folder.Lock, v.folder.LockErr
}

// Preview implements op.Vendor.
func (v vendor) Preview(put []op.Delivery, drop []op.Held) (*chart.Chart, error) {
	return v.folder.Preview(arrivals(put), departures(drop))
}

// Replace implements op.Vendor.
func (v vendor) Replace(ctx context.Context, put []op.Delivery, drop []op.Held, lock []byte) error {
	return v.folder.Replace(ctx, archive.Replacement{Put: arrivals(put), Drop: departures(drop), LockName: v.folder.LockName, Lock: lock})
}

func arrivals(put []op.Delivery) []archive.New {
	out := make([]archive.New, len(put))
	for i, d := range put {
		out[i] = archive.New{Dir: chartsDir(d.Library), File: d.File, Open: d.Open}
	}
	return out
}

func departures(drop []op.Held) []archive.Vendored {
	out := make([]archive.Vendored, len(drop))
	for i, h := range drop {
		out[i] = archive.Vendored{Dir: chartsDir(h.Library), File: h.File, Archive: h.Archive}
	}
	return out
}

func chartsDir(library bool) string {
	if library {
		return chart.DirLibrary
	}
	return chart.DirCharts
}

// supplier implements op.Supplier over everything that charts come from.
type supplier struct {
	root   string // the chart's folder
	finder *fetch.Finder
	repos  *Repositories
	access fetch.Access
	verify bool
	tell   progress.Func
	time   time.Time // that entries of archives bear

	renewed map[string]bool // repositories, by name
	mu      sync.Mutex
	place   string // the host that the credentials given go to
}

func (e *Env) supplier(root string, f DependencyFlags, tell progress.Func) (*supplier, error) {
	modTime, err := archive.ModTime(e.Getenv)
	return &supplier{
		root: root, finder: e.Finder(f.Keyring), repos: e.Repositories(), access: f.Access(), verify: f.Verify, tell: tell, time: modTime,
		renewed: map[string]bool{},
	}, err
}

// Refresh implements op.Supplier. The words are Helm's. Only repositories that
// are wanted are renewed, and none for what is in the content cache already.
func (s *supplier) Refresh(ctx context.Context, wants []op.Want) error {
	var names []string
	others := false
	for _, w := range wants {
		if w.Repository == "" || isLocal(w.Repository) || schemeOf(w.Repository) == "oci" {
			continue
		}
		if _, ok := s.cached(w); ok {
			continue
		}
		r, err := s.repository(w)
		if err != nil {
			return &op.DependencyError{Want: w, Err: err}
		}
		if r.Name == "" {
			others = true
		} else if !s.renewed[r.Name] {
			s.renewed[r.Name] = true
			names = append(names, r.Name)
		}
	}
	if others && !s.renewed[""] {
		s.renewed[""] = true
		s.say("Getting updates for unmanaged Helm repositories...") // as each is needed
	}
	if len(names) == 0 {
		return nil
	}
	s.say("Hang tight while we grab the latest from your chart repositories...")
	err := s.repos.UpdateEach(ctx, func(r repo.Result) {
		if r.Err != nil {
			s.say("...Unable to get an update from the %q chart repository (%s):\n\t%s", r.Entry.Name, r.Entry.Shown(), r.Err)
			return
		}
		s.say("...Successfully got an update from the %q chart repository", r.Entry.Name)
	}, names...)
	var failed *repo.UpdateError
	if err != nil && !errors.As(err, &failed) {
		return err
	}
	s.say("Update Complete. ⎈Happy Helming!⎈")
	return nil
}

func (s *supplier) say(format string, args ...any) {
	s.tell.Send(progress.Event{Kind: progress.Step, Text: fmt.Sprintf(format, args...)})
}

// repository is the one that w comes from; its Name is "" if it was not added.
func (s *supplier) repository(w op.Want) (fetch.Repository, error) {
	if name, ok := strings.CutPrefix(w.Repository, "@"); ok {
		return s.repos.Named(name)
	}
	if name, ok := strings.CutPrefix(w.Repository, "alias:"); ok {
		return s.repos.Named(name)
	}
	if schemeOf(w.Repository) == "" {
		return fetch.Repository{}, &RepositoryURLError{Dependency: w.Name, Repository: resolve.Shown(w.Repository)}
	}
	if r, ok := s.repos.ByURL(w.Repository); ok {
		return r, nil
	}
	return fetch.Repository{URL: w.Repository}, nil
}

// RepositoryURLError tells that a dependency's repository is no URL.
type RepositoryURLError struct{ Dependency, Repository string }

func (e *RepositoryURLError) Error() string {
	return fmt.Sprintf("the repository %q of the dependency %s is no URL; write https://..., oci://..., file://../folder, or @%s for one that was added under that name", e.Repository, e.Dependency, strings.Trim(e.Repository, "@:/"))
}

func schemeOf(address string) string {
	scheme, _, ok := strings.Cut(address, "://")
	if !ok {
		return ""
	}
	return strings.ToLower(scheme)
}

func isLocal(repository string) bool { return strings.HasPrefix(repository, "file://") }

// cached is the file of w's archive, where its digest is known and the content
// cache has it. Who wants it verified needs its provenance too.
func (s *supplier) cached(w op.Want) (string, bool) {
	digest, ok := strings.CutPrefix(w.Content, "sha256:")
	if !ok || s.verify {
		return "", false
	}
	return s.finder.Cache.Lookup(digest)
}

// Supply implements op.Supplier.
func (s *supplier) Supply(ctx context.Context, w op.Want) (op.Supply, error) {
	if isLocal(w.Repository) {
		return s.local(w)
	}
	if path, ok := s.cached(w); ok {
		return supplyOf(path, w.Repository, w.Content)
	}
	ref := fetch.Ref{Name: w.Name, Version: w.Version, Access: s.access, Verify: s.verify}
	from := w.Repository
	if schemeOf(from) == "oci" {
		ref.Name = strings.TrimSuffix(from, "/") + "/" + w.Name
	} else {
		r, err := s.repository(w)
		if err != nil {
			return op.Supply{}, err
		}
		ref.Repo = strings.TrimSuffix(r.URL, "/")
		if r.Name != "" {
			ref.Name, ref.Repo = r.Name+"/"+w.Name, ""
			ref.Access.Username, ref.Access.Password = "", "" // it has its own
		}
		if schemeOf(from) == "" {
			from = withoutUser(r.URL)
		}
	}
	if err := s.confine(&ref, w.Repository); err != nil {
		return op.Supply{}, err
	}
	a, err := s.finder.Find(ctx, ref)
	if err != nil {
		return op.Supply{}, err
	}
	return supplyOf(a.Path, from, "sha256:"+a.Digest)
}

// confine sees that user name and password go to one place only: nobody has
// said which of several they are for.
func (s *supplier) confine(ref *fetch.Ref, repository string) error {
	if ref.Access.Username == "" && ref.Access.Password == "" {
		return nil
	}
	u, err := url.Parse(repository)
	if err != nil {
		return &RepositoryURLError{Dependency: ref.Name, Repository: resolve.Shown(repository)}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.place == "" {
		s.place = u.Host
	}
	if s.place != u.Host {
		return fmt.Errorf("--username and --password are for one place, and dependencies come from %s and %s; log in with helm registry login, or add the repositories with helm repo add", s.place, u.Host)
	}
	return nil
}

// withoutUser is a URL without user and password.
func withoutUser(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.User == nil {
		return address
	}
	u.User = nil
	return u.String()
}

// supplyOf is the archive in a file.
func supplyOf(path, repository, content string) (op.Supply, error) {
	s := op.Supply{Repository: repository, Content: content, Open: func() (io.ReadCloser, error) { return os.Open(path) }}
	r, err := s.Open()
	if err != nil {
		return s, err
	}
	defer r.Close()
	m, err := archive.ReadMetadata(r)
	if err != nil {
		return s, err
	}
	s.Name, s.Version = m.Name, m.Version
	return s, nil
}

// local packs the chart at a file:// path, which begins at the chart's folder.
func (s *supplier) local(w op.Want) (op.Supply, error) {
	path := filepath.FromSlash(strings.TrimPrefix(w.Repository, "file://"))
	if !filepath.IsAbs(path) {
		path = filepath.Join(s.root, path)
	}
	c, warnings, err := archive.Loader{}.Load(path)
	for _, text := range warnings {
		s.tell.Send(progress.Event{Kind: progress.Warning, Text: path + ": " + text})
	}
	if os.IsNotExist(errors.Unwrap(err)) {
		return op.Supply{}, &ChartNotFoundError{Ref: path}
	}
	if err != nil {
		return op.Supply{}, err
	}
	if missing := values.Missing(c); len(missing) > 0 {
		s.tell.Send(progress.Event{Kind: progress.Warning, Text: fmt.Sprintf("%s lacks dependencies of its own (%s); helm dependency update %s brings them", path, strings.Join(missing, ", "), path)})
	}
	var b bytes.Buffer
	if err := archive.Write(&b, c, archive.Options{ModTime: s.time}); err != nil {
		return op.Supply{}, fmt.Errorf("pack %s: %w", path, err)
	}
	return op.Supply{Name: c.Name(), Version: c.Version(), Repository: w.Repository, Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b.Bytes())), nil }}, nil
}
