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

// Repositories are the chart repositories that were added, and any other by its URL. They
// implement [fetch.Repositories]: an index is read or fetched once, for as long as the value
// lives. It is safe for concurrent use.
type Repositories struct {
	home     repo.Collection
	progress progress.Func

	mu      sync.Mutex
	file    func() (*repo.File, error)
	indexes map[fetch.Repository]func() (*index.Index, error)
	updated map[string]bool // by name

	updating sync.Mutex // held while indexes are updated
}

// NewRepositories returns the repositories of c, downloaded by an [IndexGetter] where c.HTTP
// is nil. report is told of indexes that cannot be used; nil is not.
func NewRepositories(c repo.Collection, report progress.Func) *Repositories {
	if c.HTTP == nil {
		c.HTTP = &IndexGetter{}
	}
	return &Repositories{home: c, progress: report}
}

// load reads the file of repositories, once.
func (r *Repositories) load() (*repo.File, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file == nil {
		r.file = sync.OnceValues(r.home.Load)
	}
	return r.file()
}

// Named implements fetch.Repositories. The error is a *repo.NotFoundError.
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

// ByURL implements fetch.Repositories. URLs that differ in a slash at the end,
// or in how the same host is written, are one. A URL without a query, as locks have
// them, also stands for one with, where a token may be.
func (r *Repositories) ByURL(address string) (fetch.Repository, bool) {
	f, err := r.load()
	if err != nil {
		return fetch.Repository{}, false
	}
	want := canonical(address)
	i := slices.IndexFunc(f.Entries, func(e repo.Entry) bool { return canonical(e.URL) == want })
	if i < 0 && !strings.Contains(want, "?") {
		i = slices.IndexFunc(f.Entries, func(e repo.Entry) bool { return canonical(redactURL(e.URL)) == want })
	}
	if i < 0 {
		return fetch.Repository{}, false
	}
	return repository(f.Entries[i]), true
}

// Added are the repositories that were added, none where that cannot be told:
// for those who only want to suggest one.
func (r *Repositories) Added() []repo.Entry {
	f, err := r.load()
	if err != nil {
		return nil
	}
	return f.Entries
}

// canonical is a repository's URL in the form that all that mean the same have.
// Who asks there makes no other place of it.
func canonical(address string) string {
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

// Find implements fetch.Repositories. The error is a *[ListingError].
func (r *Repositories) Find(ctx context.Context, at fetch.Repository, chart, want string, devel bool) (fetch.Entry,
	error) {
	x, err := r.Index(ctx, at)
	if err != nil {
		return fetch.Entry{}, err
	}
	e, err := x.Find(chart, want, devel)
	if err != nil {
		return fetch.Entry{}, &ListingError{Repository: at.Name, URL: fetch.Clean(at.URL), Chart: chart, Err: err}
	}
	return fetch.Entry{Name: e.Name, Version: e.Version, URLs: e.URLs, Digest: e.Digest}, nil
}

// A ListingError is returned when a repository does not list what was looked for.
type ListingError struct {
	Repository string // "" for one that was not added
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
		return fmt.Sprintf("chart %q %s not found in %s: no chart version found for %s-%s: %v", e.Chart, e.wanted(want),
			where, e.Chart, want.Want, want)
	case errors.As(e.Err, &want):
		return fmt.Sprintf("chart %q in %s: %v", e.Chart, where, want)
	}
	return fmt.Sprintf("chart %q in %s: %v", e.Chart, where, e.Err)
}

// wanted is how Helm puts the version that was asked for.
func (e *ListingError) wanted(want *dependency.VersionError) string {
	if e.Repository == "" {
		return fmt.Sprintf("version %q", want.Want)
	}
	return "matching " + want.Want
}

func (e *ListingError) Unwrap() error { return e.Err }

// Index is the index of a repository: the cached one of a repository that was
// added, else the one that is there now.
func (r *Repositories) Index(ctx context.Context, at fetch.Repository) (*index.Index, error) {
	key := at
	if at.Name != "" { // flags say how to reach the archives; the index is here
		key = fetch.Repository{Name: at.Name}
	}
	r.mu.Lock()
	once, ok := r.indexes[key]
	if !ok {
		once = sync.OnceValues(func() (*index.Index, error) {
			if at.Name != "" {
				return r.home.Cache.Index(at.Name)
			}
			return r.home.Fetch(ctx, entry(at))
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

// Update fetches the indexes of those repositories, of all without a name, each
// once in a run of the program.
func (r *Repositories) Update(ctx context.Context, names ...string) error {
	return r.UpdateEach(ctx, nil, names...)
}

// UpdateEach is [Repositories.Update] that calls report as each is done, one at
// a time.
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
	return r.home.Update(ctx, entries, func(result repo.Result) {
		if result.Err == nil {
			r.forget(result.Entry.Name)
		}
		if report != nil {
			report(result)
		}
	})
}

// forget drops the loaded index of a repository that was updated.
func (r *Repositories) forget(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.indexes, fetch.Repository{Name: name})
	if r.updated == nil {
		r.updated = map[string]bool{}
	}
	r.updated[name] = true
}

// Search looks for charts in all repositories that were added, the best first.
// It warns of those whose index cannot be used.
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
	turn := make(chan struct{}, manySearched)
	for i, e := range f.Entries {
		wg.Go(func() {
			turn <- struct{}{}
			defer func() { <-turn }()
			if ctx.Err() != nil {
				return
			}
			x, err := r.home.Cache.Index(e.Name)
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

// manySearched is how many indexes are searched at once: each is in memory whole.
const manySearched = 2
