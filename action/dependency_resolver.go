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

// A RepositoryResolver resolves the dependencies of one chart as helm does: from repositories
// and OCI registries, from local directories (file://), and from the content cache. It is
// safe for concurrent use.
type RepositoryResolver struct {
	// Directory is the chart's directory, which relative file:// paths start from.
	Directory string
	// Finder finds and fetches archives; its Cache must not be nil.
	Finder *fetch.Finder
	// Repositories are the configured repositories, the same as the Finder's.
	Repositories *Repositories
	// Host has the options for repositories and registries without their own credentials.
	// Its user name and password are sent to one host only.
	Host fetch.HostOptions
	// Verify requires a valid provenance file for every archive that is fetched.
	Verify bool
	// Loader reads charts at file:// paths.
	Loader loader.Loader
	// ModTime is the modification time of the files in archives of file:// charts.
	ModTime time.Time
	// Progress receives the lines that Helm prints; it may be nil.
	Progress progress.Func

	mu        sync.Mutex
	refreshed map[string]bool  // names of repositories; "" stands for those without a name
	failures  map[string]error // by the names of repositories whose index could not be fetched
	endpoint  string           // scheme and host that the credentials are sent to
}

var _ DependencyResolver = (*RepositoryResolver)(nil)

// Refresh implements [DependencyResolver], and reports progress in Helm's words. It fetches
// the indexes of repositories that dependencies name, except for dependencies that are in
// the content cache.
func (r *RepositoryResolver) Refresh(ctx context.Context, all []Dependency) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.refreshed == nil {
		r.refreshed = map[string]bool{}
	}
	var names []string
	unmanaged := false
	for _, w := range all {
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
			unmanaged = true
		} else if !r.refreshed[source.Name] {
			r.refreshed[source.Name] = true
			names = append(names, source.Name)
		}
	}
	if unmanaged && !r.refreshed[""] {
		r.refreshed[""] = true
		r.step("Getting updates for unmanaged Helm repositories...") // Resolve fetches their indexes
	}
	if len(names) == 0 {
		return nil
	}
	r.step("Hang tight while we grab the latest from your chart repositories...")
	err := r.Repositories.UpdateEach(ctx, func(result repo.Result) {
		if result.Err != nil && ctx.Err() != nil {
			return // UpdateEach returns the context's error
		}
		if result.Err != nil {
			if r.failures == nil {
				r.failures = map[string]error{}
			}
			r.failures[result.Entry.Name] = result.Err
			r.step("...Unable to get an update from the %q chart repository (%s):\n\t%s",
				result.Entry.Name, result.Entry.RedactedURL(), result.Err)
			return
		}
		r.step("...Successfully got an update from the %q chart repository", result.Entry.Name)
	}, names...)
	if _, ok := errors.AsType[*repo.UpdateError](err); ok {
		return nil // Resolve fails if it needs one of the indexes
	}
	if err != nil {
		return err
	}
	r.step("Update Complete. ⎈Happy Helming!⎈")
	return nil
}

func (r *RepositoryResolver) step(format string, args ...any) {
	r.Progress.Send(progress.Event{Kind: progress.Step, Text: fmt.Sprintf(format, args...)})
}

// repository returns the repository of w. Its Name is "" if it is not a configured one.
func (r *RepositoryResolver) repository(w Dependency) (fetch.Repository, error) {
	name, ok := strings.CutPrefix(w.Repository, "@")
	if !ok {
		name, ok = strings.CutPrefix(w.Repository, "alias:")
	}
	if ok {
		source, err := r.Repositories.Named(name)
		if err != nil {
			err = fmt.Errorf("no repository definition for %s. Please add it via 'helm repo add': %w",
				dependency.RedactURL(w.Repository), err)
		}
		return source, err
	}
	if schemeOf(w.Repository) == "" {
		return fetch.Repository{}, &RepositoryURLError{Dependency: w.Name, Repository: dependency.RedactURL(w.Repository)}
	}
	if source, ok := r.Repositories.ByURL(w.Repository); ok {
		return source, nil
	}
	return fetch.Repository{URL: w.Repository}, nil
}

// A RepositoryURLError is returned if a dependency's repository is not a URL.
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

// cached returns the path of w's archive in the content cache, if w has a digest and the
// cache contains it. With Verify it finds nothing: the provenance file is needed too.
func (r *RepositoryResolver) cached(w Dependency) (string, bool) {
	digest, ok := strings.CutPrefix(w.Content, "sha256:")
	if !ok || r.Verify {
		return "", false
	}
	return r.Finder.Cache.Lookup(digest)
}

// Check implements [DependencyResolver]. It returns a [*CredentialsError] if the user name
// and password would be sent to more than one host.
func (r *RepositoryResolver) Check(all []Dependency) error {
	for _, w := range all {
		if w.Repository == "" || isLocal(w.Repository) {
			continue
		}
		if _, ok := r.cached(w); ok {
			continue
		}
		ref, _, err := r.ref(w)
		if err != nil {
			continue // Resolve returns the error, together with those of other dependencies
		}
		if err := r.checkEndpoint(&ref, w.Repository); err != nil {
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
		return resolvedArchive(path, w.Repository, w.Content)
	}
	ref, from, err := r.ref(w)
	if err != nil {
		return ResolvedDependency{}, err
	}
	if err := r.checkEndpoint(&ref, w.Repository); err != nil {
		return ResolvedDependency{}, err
	}
	a, err := r.Finder.Find(ctx, ref)
	if err != nil {
		return ResolvedDependency{}, r.withFailure(w, err)
	}
	return resolvedArchive(a.Path, from, "sha256:"+a.Digest)
}

// withFailure returns err, the error of finding w. If its repository's index is not cached, or is and
// does not have it, the error of fetching the index is added.
func (r *RepositoryResolver) withFailure(w Dependency, err error) error {
	source, sourceErr := r.repository(w)
	if sourceErr != nil || source.Name == "" {
		return err
	}
	r.mu.Lock()
	failure := r.failures[source.Name]
	r.mu.Unlock()
	fromIndex := errors.As(err, new(*repo.UncachedError)) || errors.As(err, new(*ListingError))
	if failure == nil || !fromIndex {
		return err
	}
	return &RefreshError{Repository: source.Name, Err: err, Cause: failure}
}

// A RefreshError is returned if a dependency cannot be found, and the index of its repository could
// not be fetched before.
type RefreshError struct {
	Repository string
	Err        error // of finding the dependency in the cached index, if there is one
	Cause      error // of fetching the index
}

func (e *RefreshError) Error() string {
	if _, ok := errors.AsType[*repo.UncachedError](e.Err); ok {
		return fmt.Sprintf("%v: %v", e.Err, e.Cause)
	}
	return fmt.Sprintf("%v; the index of %s is the cached one, because it could not be fetched: %v", e.Err, e.Repository,
		e.Cause)
}

// Unwrap returns the cause first, because its hint helps more.
func (e *RefreshError) Unwrap() []error { return []error{e.Cause, e.Err} }

// ref returns the finder's reference to w, and its repository as a lock records it.
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
		ref.Host.Username, ref.Host.Password = "", "" // the repository's entry has its own
	}
	if schemeOf(from) == "" {
		from = dependency.RedactURL(source.URL) // a lock is published with the chart
	}
	return ref, from, nil
}

// checkEndpoint returns a [*CredentialsError] if the user name and password have already
// been used for another endpoint.
func (r *RepositoryResolver) checkEndpoint(ref *fetch.Ref, repository string) error {
	if ref.Host.Username == "" && ref.Host.Password == "" {
		return nil
	}
	u, err := url.Parse(repository)
	if err != nil {
		return &RepositoryURLError{Dependency: ref.Name, Repository: dependency.RedactURL(repository)}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	endpoint := u.Scheme + "://" + u.Host // with the scheme: a password for TLS is not sent in clear text
	if r.endpoint == "" {
		r.endpoint = endpoint
	}
	if r.endpoint != endpoint {
		return &CredentialsError{Endpoints: [2]string{r.endpoint, endpoint}}
	}
	return nil
}

// A CredentialsError is returned if a user name and a password are given, and dependencies
// come from more than one endpoint: the credentials may be for one of them only.
type CredentialsError struct {
	Endpoints [2]string // the first two, such as "https://charts.example.org"
}

func (e *CredentialsError) Error() string {
	return fmt.Sprintf("the user name and the password are for one host, and dependencies come from %s and %s",
		e.Endpoints[0], e.Endpoints[1])
}

// resolvedArchive returns the dependency whose archive is the file at path.
func resolvedArchive(path, repository, content string) (ResolvedDependency, error) {
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

// local packs the chart at a file:// path, which is relative to r.Directory.
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
			Text: fmt.Sprintf("%s lacks dependencies of its own (%s); helm dependency update %s fetches them", path,
				strings.Join(missing, ", "), path)})
	}
	var b bytes.Buffer
	if err := loader.Write(&b, c, loader.Options{ModTime: r.ModTime}); err != nil {
		return ResolvedDependency{}, fmt.Errorf("pack %s: %w", path, err)
	}
	return ResolvedDependency{Name: c.Name(), Version: c.Version(), Repository: w.Repository,
		Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b.Bytes())), nil }}, nil
}
