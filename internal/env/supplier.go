// SPDX-License-Identifier: Apache-2.0

package env

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/chart/dependency"
	"github.com/moonhelm/moonhelm/chart/loader"
	"github.com/moonhelm/moonhelm/chart/values"
	"github.com/moonhelm/moonhelm/fetch"
	"github.com/moonhelm/moonhelm/internal/file"
	"github.com/moonhelm/moonhelm/progress"
	"github.com/moonhelm/moonhelm/repo"
)

// supplier implements action.DependencyResolver over everything that charts come from.
type supplier struct {
	root   string // the chart's folder
	finder *fetch.Finder
	repos  *Repositories
	access fetch.Access
	verify bool
	tell   progress.Func
	loader loader.Loader
	time   time.Time // that entries of archives bear

	renewed map[string]bool // repositories, by name
	mu      sync.Mutex
	place   string // scheme and host that the credentials given go to
}

func (e *Env) supplier(root string, f DependencyFlags, tell progress.Func) (*supplier, error) {
	modTime, err := loader.ModTime(e.Getenv)
	return &supplier{
		root: root, finder: e.Finder(f.Keyring), repos: e.Repositories(), access: f.Access(), verify: f.Verify, tell: tell, loader: e.Loader(), time: modTime,
		renewed: map[string]bool{},
	}, err
}

// Refresh implements action.DependencyResolver. The words are Helm's. Only repositories that
// are wanted are renewed, and none for what is in the content cache already.
func (s *supplier) Refresh(ctx context.Context, wants []action.Dependency) error {
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
			return &action.DependencyError{Dependency: w, Err: err}
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
		if r.Err != nil && ctx.Err() != nil {
			return // it was interrupted, which is said once
		}
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
func (s *supplier) repository(w action.Dependency) (fetch.Repository, error) {
	name, ok := strings.CutPrefix(w.Repository, "@")
	if !ok {
		name, ok = strings.CutPrefix(w.Repository, "alias:")
	}
	if ok {
		r, err := s.repos.Named(name)
		if err != nil {
			err = fmt.Errorf("no repository definition for %s. Please add it via 'helm repo add': %w", dependency.Shown(w.Repository), err)
		}
		return r, err
	}
	if schemeOf(w.Repository) == "" {
		return fetch.Repository{}, &RepositoryURLError{Dependency: w.Name, Repository: dependency.Shown(w.Repository)}
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
func (s *supplier) cached(w action.Dependency) (string, bool) {
	digest, ok := strings.CutPrefix(w.Content, "sha256:")
	if !ok || s.verify {
		return "", false
	}
	return s.finder.Cache.Lookup(digest)
}

// Check implements action.DependencyResolver: user name and password are sent only once it is
// known that every repository may have them.
func (s *supplier) Check(wants []action.Dependency) error {
	for _, w := range wants {
		if w.Repository == "" || isLocal(w.Repository) {
			continue
		}
		if _, ok := s.cached(w); ok {
			continue
		}
		ref, _, err := s.ref(w)
		if err != nil {
			continue // which Supply tells, with all else
		}
		if err := s.confine(&ref, w.Repository); err != nil {
			return err
		}
	}
	return nil
}

// Supply implements action.DependencyResolver.
func (s *supplier) Resolve(ctx context.Context, w action.Dependency) (action.ResolvedDependency, error) {
	if isLocal(w.Repository) {
		return s.local(w)
	}
	if path, ok := s.cached(w); ok {
		return supplyOf(path, w.Repository, w.Content)
	}
	ref, from, err := s.ref(w)
	if err != nil {
		return action.ResolvedDependency{}, err
	}
	if err := s.confine(&ref, w.Repository); err != nil {
		return action.ResolvedDependency{}, err
	}
	a, err := s.finder.Find(ctx, ref)
	if err != nil {
		return action.ResolvedDependency{}, err
	}
	return supplyOf(a.Path, from, "sha256:"+a.Digest)
}

// ref is what w is to the finder, and from where it comes as a lock has it.
func (s *supplier) ref(w action.Dependency) (ref fetch.Ref, from string, err error) {
	ref = fetch.Ref{Name: w.Name, Version: w.Version, Access: s.access, Verify: s.verify}
	from = w.Repository
	if schemeOf(from) == "oci" {
		ref.Name = strings.TrimSuffix(from, "/") + "/" + w.Name
		return ref, from, nil
	}
	r, err := s.repository(w)
	if err != nil {
		return ref, from, err
	}
	ref.Repo = strings.TrimSuffix(r.URL, "/")
	if r.Name != "" {
		ref.Name, ref.Repo = r.Name+"/"+w.Name, ""
		ref.Access.Username, ref.Access.Password = "", "" // it has its own
	}
	if schemeOf(from) == "" {
		from = withoutSecrets(r.URL)
	}
	return ref, from, nil
}

// confine sees that user name and password go to one place only: nobody has
// said which of several they are for.
func (s *supplier) confine(ref *fetch.Ref, repository string) error {
	if ref.Access.Username == "" && ref.Access.Password == "" {
		return nil
	}
	u, err := url.Parse(repository)
	if err != nil {
		return &RepositoryURLError{Dependency: ref.Name, Repository: dependency.Shown(repository)}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	place := u.Scheme + "://" + u.Host // what goes over TLS goes nowhere without
	if s.place == "" {
		s.place = place
	}
	if s.place != place {
		return fmt.Errorf("--username and --password are for one place, and dependencies come from %s and %s; log in with helm registry login, or add the repositories with helm repo add", s.place, place)
	}
	return nil
}

// withoutSecrets is a URL without user and password, and without a query, which
// may be a token: locks are for everybody to read.
func withoutSecrets(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.User == nil && u.RawQuery == "" {
		return address
	}
	u.User, u.RawQuery = nil, ""
	return u.String()
}

// supplyOf is the archive in a file.
func supplyOf(path, repository, content string) (action.ResolvedDependency, error) {
	s := action.ResolvedDependency{Repository: repository, Content: content, Open: func() (io.ReadCloser, error) { return file.Open(path) }}
	r, err := s.Open()
	if err != nil {
		return s, err
	}
	defer r.Close()
	m, err := loader.ReadMetadata(r)
	if err != nil {
		return s, err
	}
	s.Name, s.Version = m.Name, m.Version
	return s, nil
}

// local packs the chart at a file:// path, which begins at the chart's folder.
func (s *supplier) local(w action.Dependency) (action.ResolvedDependency, error) {
	path := filepath.FromSlash(strings.TrimPrefix(w.Repository, "file://"))
	if !filepath.IsAbs(path) {
		path = filepath.Join(s.root, path)
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return action.ResolvedDependency{}, &ChartNotFoundError{Ref: path}
	}
	if err == nil && !info.IsDir() && !info.Mode().IsRegular() { // reading a device may never end
		return action.ResolvedDependency{}, fmt.Errorf("%s is neither a chart's folder nor an archive", path)
	}
	c, warnings, err := s.loader.Load(path)
	for _, text := range warnings {
		s.tell.Send(progress.Event{Kind: progress.Warning, Text: path + ": " + text})
	}
	if err != nil {
		return action.ResolvedDependency{}, err
	}
	if missing := values.Missing(c); len(missing) > 0 {
		s.tell.Send(progress.Event{Kind: progress.Warning, Text: fmt.Sprintf("%s lacks dependencies of its own (%s); helm dependency update %s brings them", path, strings.Join(missing, ", "), path)})
	}
	var b bytes.Buffer
	if err := loader.Write(&b, c, loader.Options{ModTime: s.time}); err != nil {
		return action.ResolvedDependency{}, fmt.Errorf("pack %s: %w", path, err)
	}
	return action.ResolvedDependency{Name: c.Name(), Version: c.Version(), Repository: w.Repository, Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b.Bytes())), nil }}, nil
}
