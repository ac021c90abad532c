// SPDX-License-Identifier: Apache-2.0

package repo

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/moonhelm/moonhelm/fetch"
	"github.com/moonhelm/moonhelm/internal/file"
	"github.com/moonhelm/moonhelm/internal/suggest"
	"github.com/moonhelm/moonhelm/repo/index"
)

// Getter fetches files of repositories.
type Getter interface {
	// Get writes the document at address, a URL of the repository e, to w. It must limit
	// the size. e's credentials may be sent only to e's host.
	//
	// have is the validator of the cached document, or zero if there is none. If the
	// server reports that the document is unchanged, Get writes nothing and returns
	// [fetch.ErrNotModified]. A Getter may ignore have. Get returns the validator of the
	// document that it wrote.
	Get(ctx context.Context, e Entry, address string, have fetch.Validator, w io.Writer) (fetch.Validator, error)
}

// Collection manages a user's repositories: the file with their settings, and their
// indexes. It is safe for concurrent use, also by several processes.
type Collection struct {
	Path  string // of repositories.yaml
	Cache Cache
	HTTP  Getter // required by Add, Update and Fetch
	// Timeout limits the time to fetch one index. 0 means no limit.
	Timeout time.Duration
	// Waiting, if not nil, is called if another process holds the lock of the file for a
	// second.
	Waiting func(*LockedError)
}

// Load reads the file.
func (c Collection) Load() (*File, error) { return Load(c.Path) }

// Add fetches the index of a repository, checks it and adds the repository. It reports whether
// it did: a repository with the same name and settings is not added again. With replace, e
// replaces a repository with the same name and other settings.
//
// Errors: *[NameError], *[ExistsError], *[ExpiredError] (unless old is set), *[URLError],
// *[RegistryError], *[InvalidError], and those of [Update].
func (c Collection) Add(ctx context.Context, e Entry, replace, old bool) (bool, error) {
	var expired *ExpiredError
	if err := e.check(); err != nil && !(old && errors.As(err, &expired)) {
		return false, err
	}
	f, err := c.Load()
	if err != nil {
		return false, err
	}
	if same, err := f.has(e, replace); same || err != nil {
		return false, err
	}
	got, err := c.download(ctx, e, fetch.Validator{})
	if err != nil {
		return false, invalid(e, err)
	}
	defer got.discard()
	if err := got.check(); err != nil {
		return false, invalid(e, err)
	}
	added := false
	err = update(ctx, c.Path, defaultWait(c.Waiting), func(f *File) error {
		// Another process may have added a repository with this name.
		if same, err := f.has(e, replace); same || err != nil {
			return err
		}
		if err := c.keep(e, got); err != nil {
			return err
		}
		f.Set(e)
		added = true
		return nil
	})
	return added && err == nil, err
}

// invalid returns err as an [InvalidError], unless its cause is not the repository.
func invalid(e Entry, err error) error {
	var cacheErr *CacheError
	var field *FieldError
	var none *URLError
	var local *fs.PathError // of a certificate, say
	switch {
	case errors.As(err, &cacheErr), errors.As(err, &field), errors.As(err, &none), errors.As(err, &local):
		return err
	case errors.Is(err, context.Canceled):
		return context.Canceled // nothing was changed
	}
	return &InvalidError{URL: e.RedactedURL(), Err: err}
}

// has reports whether the file has a repository like e. It returns an error if the name is
// used by another one and replace is not set.
func (f *File) has(e Entry, replace bool) (same bool, err error) {
	have, ok := f.Entry(e.Name)
	switch {
	case !ok || replace:
		return false, nil
	case have.Same(e):
		return true, nil
	}
	return false, &ExistsError{Name: e.Name}
}

// Remove removes a repository and its cached files. Errors: *[NoRepositoriesError],
// *[NotFoundError], and those of [Update].
func (c Collection) Remove(ctx context.Context, name string) error {
	f, err := c.Load()
	if err != nil {
		return err
	}
	if len(f.Entries) == 0 {
		return &NoRepositoriesError{}
	}
	err = update(ctx, c.Path, defaultWait(c.Waiting), func(f *File) error {
		if !f.Remove(name) {
			return f.Unknown(name)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := c.Cache.remove(name); err != nil {
		return fmt.Errorf("remove what is cached of repository %q: %w", name, err)
	}
	return nil
}

// Result is the result of updating the index of a repository.
type Result struct {
	Entry Entry
	Err   error // nil if the index is up to date
	// Unusable are invalid entries of the new index, which are skipped.
	Unusable []*index.EntryError
}

// Pick returns the repositories with the given names without duplicates, or all if there are
// no names. Errors: *[NoRepositoriesError], *[NamesNotFoundError].
func (f *File) Pick(names ...string) ([]Entry, error) {
	if len(f.Entries) == 0 {
		return nil, &NoRepositoriesError{}
	}
	if len(names) == 0 {
		return f.Entries, nil
	}
	var entries []Entry
	var missing []string
	for _, name := range names {
		e, ok := f.Entry(name)
		switch {
		case !ok && !slices.Contains(missing, name):
			missing = append(missing, name)
		case ok && !slices.ContainsFunc(entries, func(x Entry) bool { return x.Name == name }):
			entries = append(entries, e)
		}
	}
	if missing != nil {
		have := f.Names()
		return nil, &NamesNotFoundError{Names: missing,
			Suggestion: suggest.Similar(have, missing[0], min(2, len(missing[0])/2), nil), Have: have}
	}
	return entries, nil
}

// The number of indexes that are fetched and checked concurrently. Checking takes memory.
const (
	manyFetched = 16
	manyChecked = 2
)

// Update fetches the indexes of the given repositories concurrently, and calls report after
// each; calls are not concurrent. A repository that fails keeps its old index and does not stop
// the others; an [*UpdateError] contains all that failed, in the order of entries.
func (c Collection) Update(ctx context.Context, entries []Entry, report func(Result)) error {
	results := make([]Result, len(entries))
	var wg sync.WaitGroup
	var one sync.Mutex
	fetching, checking := make(chan struct{}, manyFetched), make(chan struct{}, manyChecked)
	for i, e := range entries {
		wg.Go(func() {
			fetching <- struct{}{}
			defer func() { <-fetching }()
			results[i] = c.update(ctx, e, checking)
			one.Lock()
			defer one.Unlock()
			if report != nil {
				report(results[i])
			}
		})
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return err
	}
	failed := slices.DeleteFunc(results, func(r Result) bool { return r.Err == nil })
	if len(failed) > 0 {
		return &UpdateError{Failed: failed}
	}
	return nil
}

func (c Collection) update(ctx context.Context, e Entry, checking chan struct{}) Result {
	r := Result{Entry: e}
	got, err := c.download(ctx, e, c.validator(e))
	if errors.Is(err, fetch.ErrNotModified) {
		c.Cache.protect(e.Name, e.cacheMode())
		return r
	}
	if err != nil {
		r.Err = err
		return r
	}
	defer got.discard()
	checking <- struct{}{}
	defer func() { <-checking }()
	if r.Err = got.check(); r.Err == nil && !c.isRemoved(e) {
		r.Unusable = got.unusable
		r.Err = c.keep(e, got)
	}
	return r
}

// isRemoved reports whether e was removed or replaced by a repository with another URL
// during the update. Then its index must not be stored.
func (c Collection) isRemoved(e Entry) bool {
	f, err := c.Load()
	if err != nil {
		return false
	}
	have, ok := f.Entry(e.Name)
	return !ok || have.URL != e.URL
}

// Fetch fetches the index of a repository, which need not be added. It does not use the
// cache.
func (c Collection) Fetch(ctx context.Context, e Entry) (*index.Index, error) {
	dir, err := os.MkdirTemp("", "moonhelm-index-")
	if err != nil {
		return nil, fmt.Errorf("fetch the index of %s: %w", e.RedactedURL(), err)
	}
	defer os.RemoveAll(dir)
	c.Cache = Cache{Dir: dir}
	got, err := c.download(ctx, e, fetch.Validator{})
	if err != nil {
		return nil, invalid(e, err)
	}
	data, err := os.ReadFile(got.path) // not Open: Windows cannot remove an open file
	if err != nil {
		return nil, fmt.Errorf("read the index of %s: %w", e.RedactedURL(), err)
	}
	x, err := index.Parse(data)
	if err != nil {
		return nil, invalid(e, err)
	}
	return x, nil
}

// fetched is an index in a temporary file.
type fetched struct {
	path      string
	validator fetch.Validator
	hash      string
	charts    []string // set by check
	unusable  []*index.EntryError
}

func (g *fetched) discard() { _ = os.Remove(g.path) } // fails if the file was moved to the cache

// check checks the whole index and rewrites it in canonical form, which is the fastest to
// read.
func (g *fetched) check() error {
	x, err := index.Open(g.path)
	if err == nil {
		g.charts = x.Names()
		g.unusable, err = x.Unusable()
		err = errors.Join(err, x.Close())
	}
	if err != nil {
		return withoutFile(err)
	}
	text := x.Canonical()
	if text == nil {
		return nil
	}
	sum := sha256.Sum256(text)
	g.hash = hex.EncodeToString(sum[:])
	if err := os.WriteFile(g.path, text, 0o600); err != nil {
		return &CacheError{Dir: filepath.Dir(g.path), Err: file.WithoutPath(err)}
	}
	return nil
}

// withoutFile returns an error of package index without the name of the temporary file.
func withoutFile(err error) error {
	var format *index.FormatError
	var duplicate *index.DuplicateError
	switch {
	case errors.As(err, &format):
		return format
	case errors.As(err, &duplicate):
		return duplicate
	}
	return err
}

func (c Collection) keep(e Entry, got *fetched) error {
	if err := c.Cache.commit(e.Name, got.path, got.charts, e.cacheMode()); err != nil {
		return fmt.Errorf("keep the index of repository %q: %w", e.Name, err)
	}
	c.saveValidator(e, got)
	return nil
}
