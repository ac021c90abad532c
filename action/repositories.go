// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/moonhelm/moonhelm/chart/dependency"
	"github.com/moonhelm/moonhelm/fetch"
	"github.com/moonhelm/moonhelm/progress"
	"github.com/moonhelm/moonhelm/repo"
	"github.com/moonhelm/moonhelm/repo/index"
)

// Repositories are the configured chart repositories, and any other by its URL. They implement
// [fetch.Repositories]. They read or fetch each index once. They are safe for concurrent use.
type Repositories struct {
	collection repo.Collection
	progress   progress.Func

	mu      sync.Mutex
	file    func() (*repo.File, error)
	indexes map[fetch.Repository]func() (*index.Index, error)
	updated map[string]bool // by name

	updating sync.Mutex // held while indexes are updated
}

// NewRepositories returns the repositories of c. If c.HTTP is nil, an [IndexGetter] fetches
// their indexes. report receives warnings about invalid indexes; it may be nil.
func NewRepositories(c repo.Collection, report progress.Func) *Repositories {
	if c.HTTP == nil {
		c.HTTP = &IndexGetter{}
	}
	return &Repositories{collection: c, progress: report}
}

// load reads the repositories file once.
func (r *Repositories) load() (*repo.File, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file == nil {
		r.file = sync.OnceValues(r.collection.Load)
	}
	return r.file()
}

// Named implements [fetch.Repositories]. It returns a *repo.NotFoundError if there is no such
// repository.
func (r *Repositories) Named(name string) (fetch.Repository, error) {
	f, err := r.load()
	if err != nil {
		return fetch.Repository{}, err
	}
	e, ok := f.Entry(name)
	if !ok {
		unknown := f.Unknown(name)
		unknown.Chart = true
		return fetch.Repository{}, unknown
	}
	return repository(e), nil
}

// ByURL implements [fetch.Repositories]. It ignores a trailing slash and differences in the
// notation of the host. An address without a query, as in a lock, also matches a configured
// URL with a query, which may contain a token.
func (r *Repositories) ByURL(address string) (fetch.Repository, bool) {
	f, err := r.load()
	if err != nil {
		return fetch.Repository{}, false
	}
	want := normalizeURL(address)
	i := slices.IndexFunc(f.Entries, func(e repo.Entry) bool { return normalizeURL(e.URL) == want })
	if i < 0 && !strings.Contains(want, "?") {
		i = slices.IndexFunc(f.Entries, func(e repo.Entry) bool { return normalizeURL(dependency.RedactURL(e.URL)) == want })
	}
	if i < 0 {
		return fetch.Repository{}, false
	}
	return repository(f.Entries[i]), true
}

// Added returns the configured repositories, or nil if they cannot be read. Use it for
// suggestions only.
func (r *Repositories) Added() []repo.Entry {
	f, err := r.load()
	if err != nil {
		return nil
	}
	return f.Entries
}

// normalizeURL returns the normal form of a repository's URL, without the user.
func normalizeURL(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	u.User, u.Fragment, u.RawFragment, u.RawPath = nil, "", "", ""
	u.Scheme, u.Host = strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	if port := map[string]string{"http": ":80", "https": ":443"}[u.Scheme]; port != "" {
		u.Host = strings.TrimSuffix(u.Host, port)
	}
	u.Path = strings.TrimSuffix(path.Clean("/"+u.Path), "/")
	return u.String()
}

func repository(e repo.Entry) fetch.Repository {
	return fetch.Repository{Name: e.Name, URL: e.URL, Host: fetch.HostOptions{
		Username: e.Username, Password: e.Password, PassAll: e.PassAll,
		CertFile: e.CertFile, KeyFile: e.KeyFile, CAFile: e.CAFile, SkipTLS: e.SkipTLS,
	}}
}

// Find implements [fetch.Repositories]. It returns a [*ListingError] if the index does not
// list the chart.
func (r *Repositories) Find(ctx context.Context, repository fetch.Repository, chart, want string,
	devel bool) (fetch.Entry, error) {
	x, err := r.Index(ctx, repository)
	if err != nil {
		return fetch.Entry{}, err
	}
	e, err := x.Find(chart, want, devel)
	if err != nil {
		return fetch.Entry{}, &ListingError{Repository: repository.Name, URL: fetch.RedactURL(repository.URL), Chart: chart,
			Err: err}
	}
	return fetch.Entry{Name: e.Name, Version: e.Version, URLs: e.URLs, Digest: e.Digest}, nil
}

// A ListingError is returned if a repository does not list a chart or version.
type ListingError struct {
	Repository string // "" if it is not configured
	URL        string
	Chart      string
	Err        error // *index.NotFoundError, *dependency.VersionError
}

func (e *ListingError) Error() string {
	where := e.Repository + " index. (try 'helm repo update')"
	if e.Repository == "" {
		where = e.URL + " repository"
	}
	var (
		none *index.NotFoundError
		want *dependency.VersionError
	)
	switch {
	case errors.As(e.Err, &none) && none.Suggestion != "":
		return fmt.Sprintf("chart %q not found in %s: no chart name found; did you mean %q?", e.Chart, where, none.Suggestion)
	case errors.As(e.Err, &none):
		return fmt.Sprintf("chart %q not found in %s: no chart name found", e.Chart, where)
	case errors.As(e.Err, &want) && want.Want != "" && want.Problem == "":
		return fmt.Sprintf("chart %q %s not found in %s: no chart version found for %s-%s: %v", e.Chart, e.versionText(want),
			where, e.Chart, want.Want, want)
	case errors.As(e.Err, &want):
		return fmt.Sprintf("chart %q in %s: %v", e.Chart, where, want)
	}
	return fmt.Sprintf("chart %q in %s: %v", e.Chart, where, e.Err)
}

// versionText returns the requested version in Helm's words.
func (e *ListingError) versionText(want *dependency.VersionError) string {
	if e.Repository == "" {
		return fmt.Sprintf("version %q", want.Want)
	}
	return "matching " + want.Want
}

func (e *ListingError) Unwrap() error { return e.Err }

// Index returns the index of a repository: the cached one of a configured repository;
// otherwise it fetches the index.
func (r *Repositories) Index(ctx context.Context, repository fetch.Repository) (*index.Index, error) {
	key := repository
	if repository.Name != "" { // the options of a configured repository do not matter: its index is cached
		key = fetch.Repository{Name: repository.Name}
	}
	r.mu.Lock()
	once, ok := r.indexes[key]
	if !ok {
		once = sync.OnceValues(func() (*index.Index, error) {
			if repository.Name != "" {
				return r.collection.Cache.Index(repository.Name)
			}
			return r.collection.Fetch(ctx, entry(repository))
		})
		if r.indexes == nil {
			r.indexes = map[fetch.Repository]func() (*index.Index, error){}
		}
		r.indexes[key] = once
	}
	r.mu.Unlock()
	return once()
}

func entry(r fetch.Repository) repo.Entry {
	return repo.Entry{
		Name: r.Name, URL: r.URL, Username: r.Host.Username, Password: r.Host.Password, PassAll: r.Host.PassAll,
		CertFile: r.Host.CertFile, KeyFile: r.Host.KeyFile, CAFile: r.Host.CAFile, SkipTLS: r.Host.SkipTLS,
	}
}

// Update fetches the indexes of the named repositories, or of all without names. It fetches
// each index once, even if it is called again.
func (r *Repositories) Update(ctx context.Context, names ...string) error {
	return r.UpdateEach(ctx, nil, names...)
}

// UpdateEach is like [Repositories.Update], but calls report for each result. Calls are not
// concurrent.
func (r *Repositories) UpdateEach(ctx context.Context, report func(repo.Result), names ...string) error {
	f, err := r.load()
	if err != nil {
		return err
	}
	entries, err := f.Pick(names...)
	if err != nil {
		return err
	}
	r.updating.Lock()
	defer r.updating.Unlock()
	entries = slices.DeleteFunc(slices.Clone(entries), func(e repo.Entry) bool { return r.updated[e.Name] })
	return r.collection.Update(ctx, entries, func(result repo.Result) {
		if result.Err == nil {
			r.forget(result.Entry.Name)
		}
		if report != nil {
			report(result)
		}
	})
}

// forget drops the loaded index of an updated repository.
func (r *Repositories) forget(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.indexes, fetch.Repository{Name: name})
	if r.updated == nil {
		r.updated = map[string]bool{}
	}
	r.updated[name] = true
}

// Search returns the charts in all configured repositories that match q, the best matches
// first. It warns of indexes that it cannot read.
func (r *Repositories) Search(ctx context.Context, q *repo.Query) ([]repo.Found, error) {
	f, err := r.load()
	if err != nil {
		return nil, err
	}
	if len(f.Entries) == 0 {
		return nil, &repo.NoRepositoriesError{}
	}
	found := make([][]repo.Found, len(f.Entries))
	var wg sync.WaitGroup
	slots := make(chan struct{}, parallelSearches)
	for i, e := range f.Entries {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			if ctx.Err() != nil {
				return
			}
			x, err := r.collection.Cache.Index(e.Name)
			if err == nil {
				found[i], err = q.In(e.Name, x)
				err = errors.Join(err, x.Close())
			}
			if err != nil {
				r.progress.Send(progress.Event{Kind: progress.Warning,
					Text: fmt.Sprintf("%v; helm repo update %s fetches it", err, e.Name)})
			}
		})
	}
	wg.Wait()
	all := slices.Concat(found...)
	repo.SortFound(all)
	return all, ctx.Err()
}

// parallelSearches is the number of indexes that are searched concurrently. Each is completely
// in memory.
const parallelSearches = 2
