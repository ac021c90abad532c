// SPDX-License-Identifier: Apache-2.0

package action

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

	"github.com/moonhelm/moonhelm/chart/dependency"
	"github.com/moonhelm/moonhelm/chart/loader"
	"github.com/moonhelm/moonhelm/chart/values"
	"github.com/moonhelm/moonhelm/fetch"
	"github.com/moonhelm/moonhelm/internal/file"
	"github.com/moonhelm/moonhelm/progress"
	"github.com/moonhelm/moonhelm/repo"
)

// A RepositoryResolver resolves dependencies as helm does: from repositories and OCI
// registries, from directories beside the chart (file://), and from the content cache. It is
// safe for concurrent use, and belongs to one chart.
type RepositoryResolver struct {
	// Directory is the chart's, where relative file:// paths begin.
	Directory string
	// Finder finds and fetches archives; its Cache must not be nil.
	Finder *fetch.Finder
	// Repositories are those of the Finder.
	Repositories *Repositories
	// Host is for repositories and registries that have no credentials of their own. User
	// name and password are sent to one host only.
	Host fetch.HostOptions
	// Verify requires a valid provenance file of every archive that is fetched.
	Verify bool
	// Loader reads charts at file:// paths.
	Loader loader.Loader
	// ModTime is what the entries of archives made of directories bear.
	ModTime time.Time
	// Progress is told what is done, in Helm's lines; nil is not.
	Progress progress.Func

	mu       sync.Mutex
	renewed  map[string]bool // repositories, by name
	endpoint string          // scheme and host that the credentials given go to
}

var _ DependencyResolver = (*RepositoryResolver)(nil)

// Refresh implements [DependencyResolver]. The words are Helm's. Only repositories that
// are wanted are renewed, and none for what is in the content cache already.
func (r *RepositoryResolver) Refresh(ctx context.Context, wants []Dependency) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.renewed == nil {
		r.renewed = map[string]bool{}
	}
	var names []string
	others := false
	for _, w := range wants {
		if w.Repository == "" || isLocal(w.Repository) || schemeOf(w.Repository) == "oci" {
			continue
		}
		if _, ok := r.cached(w); ok {
			continue
		}
		source, err := r.repository(w)
		if err != nil {
			return &DependencyError{Dependency: w, Err: err}
		}
		if source.Name == "" {
			others = true
		} else if !r.renewed[source.Name] {
			r.renewed[source.Name] = true
			names = append(names, source.Name)
		}
	}
	if others && !r.renewed[""] {
		r.renewed[""] = true
		r.say("Getting updates for unmanaged Helm repositories...") // as each is needed
	}
	if len(names) == 0 {
		return nil
	}
	r.say("Hang tight while we grab the latest from your chart repositories...")
	err := r.Repositories.UpdateEach(ctx, func(result repo.Result) {
		if result.Err != nil && ctx.Err() != nil {
			return // it was interrupted, which is said once
		}
		if result.Err != nil {
			r.say("...Unable to get an update from the %q chart repository (%s):\n\t%s", result.Entry.Name, result.Entry.Shown(),
				result.Err)
			return
		}
		r.say("...Successfully got an update from the %q chart repository", result.Entry.Name)
	}, names...)
	var failed *repo.UpdateError
	if err != nil && !errors.As(err, &failed) {
		return err
	}
	r.say("Update Complete. ⎈Happy Helming!⎈")
	return nil
}

func (r *RepositoryResolver) say(format string, args ...any) {
	r.Progress.Send(progress.Event{Kind: progress.Step, Text: fmt.Sprintf(format, args...)})
}

// repository is the one that w comes from; its Name is "" if it was not added.
func (r *RepositoryResolver) repository(w Dependency) (fetch.Repository, error) {
	name, ok := strings.CutPrefix(w.Repository, "@")
	if !ok {
		name, ok = strings.CutPrefix(w.Repository, "alias:")
	}
	if ok {
		source, err := r.Repositories.Named(name)
		if err != nil {
			err = fmt.Errorf("no repository definition for %s. Please add it via 'helm repo add': %w",
				dependency.Shown(w.Repository), err)
		}
		return source, err
	}
	if schemeOf(w.Repository) == "" {
		return fetch.Repository{}, &RepositoryURLError{Dependency: w.Name, Repository: dependency.Shown(w.Repository)}
	}
	if source, ok := r.Repositories.ByURL(w.Repository); ok {
		return source, nil
	}
	return fetch.Repository{URL: w.Repository}, nil
}

// A RepositoryURLError is returned when a dependency's repository is not a URL.
type RepositoryURLError struct{ Dependency, Repository string }

func (e *RepositoryURLError) Error() string {
	return fmt.Sprintf("the repository %q of the dependency %s is not a URL; write https://..., oci://..., "+
		"file://../directory, or @%s for one that was added under that name", e.Repository, e.Dependency,
		strings.Trim(e.Repository, "@:/"))
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
func (r *RepositoryResolver) cached(w Dependency) (string, bool) {
	digest, ok := strings.CutPrefix(w.Content, "sha256:")
	if !ok || r.Verify {
		return "", false
	}
	return r.Finder.Cache.Lookup(digest)
}

// Check implements [DependencyResolver]: user name and password are sent only once it is
// known that every repository may have them.
func (r *RepositoryResolver) Check(wants []Dependency) error {
	for _, w := range wants {
		if w.Repository == "" || isLocal(w.Repository) {
			continue
		}
		if _, ok := r.cached(w); ok {
			continue
		}
		ref, _, err := r.ref(w)
		if err != nil {
			continue // which Resolve returns, with all else
		}
		if err := r.confine(&ref, w.Repository); err != nil {
			return err
		}
	}
	return nil
}

// Resolve implements [DependencyResolver].
func (r *RepositoryResolver) Resolve(ctx context.Context, w Dependency) (ResolvedDependency, error) {
	if isLocal(w.Repository) {
		return r.local(w)
	}
	if path, ok := r.cached(w); ok {
		return supplyOf(path, w.Repository, w.Content)
	}
	ref, from, err := r.ref(w)
	if err != nil {
		return ResolvedDependency{}, err
	}
	if err := r.confine(&ref, w.Repository); err != nil {
		return ResolvedDependency{}, err
	}
	a, err := r.Finder.Find(ctx, ref)
	if err != nil {
		return ResolvedDependency{}, err
	}
	return supplyOf(a.Path, from, "sha256:"+a.Digest)
}

// ref is what w is to the finder, and from where it comes as a lock has it.
func (r *RepositoryResolver) ref(w Dependency) (ref fetch.Ref, from string, err error) {
	ref = fetch.Ref{Name: w.Name, Version: w.Version, Host: r.Host, Verify: r.Verify}
	from = w.Repository
	if schemeOf(from) == "oci" {
		ref.Name = strings.TrimSuffix(from, "/") + "/" + w.Name
		return ref, from, nil
	}
	source, err := r.repository(w)
	if err != nil {
		return ref, from, err
	}
	ref.Repo = strings.TrimSuffix(source.URL, "/")
	if source.Name != "" {
		ref.Name, ref.Repo = source.Name+"/"+w.Name, ""
		ref.Host.Username, ref.Host.Password = "", "" // it has its own
	}
	if schemeOf(from) == "" {
		from = withoutSecrets(source.URL)
	}
	return ref, from, nil
}

// confine sees that user name and password go to one place only: no one has
// said which of several they are for.
func (r *RepositoryResolver) confine(ref *fetch.Ref, repository string) error {
	if ref.Host.Username == "" && ref.Host.Password == "" {
		return nil
	}
	u, err := url.Parse(repository)
	if err != nil {
		return &RepositoryURLError{Dependency: ref.Name, Repository: dependency.Shown(repository)}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	place := u.Scheme + "://" + u.Host // what goes over TLS goes nowhere without
	if r.endpoint == "" {
		r.endpoint = place
	}
	if r.endpoint != place {
		return &CredentialsError{Places: [2]string{r.endpoint, place}}
	}
	return nil
}

// A CredentialsError is returned where a user name and a password are given, and dependencies
// come from more than one place: they may be for one of these only.
type CredentialsError struct {
	Places [2]string // the first two, such as "https://charts.example.org"
}

func (e *CredentialsError) Error() string {
	return fmt.Sprintf("the user name and the password are for one place, and dependencies come from %s and %s",
		e.Places[0], e.Places[1])
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
func supplyOf(path, repository, content string) (ResolvedDependency, error) {
	s := ResolvedDependency{Repository: repository, Content: content,
		Open: func() (io.ReadCloser, error) { return file.Open(path) }}
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

// local packs the chart at a file:// path, which begins at the chart's directory.
func (r *RepositoryResolver) local(w Dependency) (ResolvedDependency, error) {
	path := filepath.FromSlash(strings.TrimPrefix(w.Repository, "file://"))
	if !filepath.IsAbs(path) {
		path = filepath.Join(r.Directory, path)
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return ResolvedDependency{}, &ChartNotFoundError{Ref: path}
	}
	if err == nil && !info.IsDir() && !info.Mode().IsRegular() { // reading a device may never end
		return ResolvedDependency{}, fmt.Errorf("%s is neither a chart's directory nor an archive", path)
	}
	c, warnings, err := r.Loader.Load(path)
	for _, text := range warnings {
		r.Progress.Send(progress.Event{Kind: progress.Warning, Text: path + ": " + text})
	}
	if err != nil {
		return ResolvedDependency{}, err
	}
	if missing := values.Missing(c); len(missing) > 0 {
		r.Progress.Send(progress.Event{Kind: progress.Warning,
			Text: fmt.Sprintf("%s lacks dependencies of its own (%s); helm dependency update %s brings them", path,
				strings.Join(missing, ", "), path)})
	}
	var b bytes.Buffer
	if err := loader.Write(&b, c, loader.Options{ModTime: r.ModTime}); err != nil {
		return ResolvedDependency{}, fmt.Errorf("pack %s: %w", path, err)
	}
	return ResolvedDependency{Name: c.Name(), Version: c.Version(), Repository: w.Repository,
		Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b.Bytes())), nil }}, nil
}
