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
	"github.com/moonhelm/moonhelm/internal/near"
	"github.com/moonhelm/moonhelm/repo/index"
)

// Getter brings what repositories serve.
type Getter interface {
	// Get writes the document at address, a URL of the repository e, to w. It
	// bounds the document's size. e's credentials are for e's host.
	//
	// have is what the server said of the document that we have, zero where we
	// have none. A Getter that learns from the server that it is still the same
	// writes nothing, and returns [fetch.ErrNotModified]; one that cannot ask brings the
	// document. It returns what the server says of the document that it wrote.
	Get(ctx context.Context, e Entry, address string, have fetch.Validator, w io.Writer) (fetch.Validator, error)
}

// Collection is what a user has added: the file that lists the repositories,
// and their indexes. It is safe for concurrent use, by several processes too.
type Collection struct {
	Path  string // of repositories.yaml
	Cache Cache
	HTTP  Getter // needed by Add, Update and Fetch
	// Timeout is how long one index may take, 0 for as long as it takes.
	Timeout time.Duration
	// Waiting, if any, is called when another process has kept the file locked for a
	// while.
	Waiting func(*LockedError)
}

// Load reads the file.
func (c Collection) Load() (*File, error) { return Load(c.Path) }

// Add adds a repository once its index was fetched and can be read, and reports whether it
// did: one that was added with the same settings already is left alone.
// With replace, e takes the place of one that has its name.
//
// Errors: *[NameError], *[ExistsError], *[ExpiredError] (but for old), *[URLError],
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
	err = update(ctx, c.Path, usual(c.Waiting), func(f *File) error {
		// Another process may have added one of this name since.
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

// invalid is err as a fault of the repository, where it is one.
func invalid(e Entry, err error) error {
	var ours *CacheError
	var field *FieldError
	var none *URLError
	var local *fs.PathError // of a certificate, say
	switch {
	case errors.As(err, &ours), errors.As(err, &field), errors.As(err, &none), errors.As(err, &local):
		return err
	case errors.Is(err, context.Canceled):
		return context.Canceled // nothing has been changed yet: there is no more to say
	}
	return &InvalidError{URL: e.Shown(), Err: err}
}

// has reports whether a repository like e is there, and need not or must not be
// added.
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

// Remove removes a repository and what is cached of it. Errors: *[NoRepositoriesError],
// *[NotFoundError], and those of [Update].
func (c Collection) Remove(ctx context.Context, name string) error {
	f, err := c.Load()
	if err != nil {
		return err
	}
	if len(f.Entries) == 0 {
		return &NoRepositoriesError{}
	}
	err = update(ctx, c.Path, usual(c.Waiting), func(f *File) error {
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

// Result is what has become of the index of a repository.
type Result struct {
	Entry Entry
	Err   error // nil where it is the newest now
	// Unusable are entries of a new index that are passed over.
	Unusable []*index.EntryError
}

// Pick are the repositories of those names, each once; all without a name.
// Errors: *[NoRepositoriesError], *[NamesNotFoundError].
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
			Suggestion: near.Pick(have, missing[0], min(2, len(missing[0])/2), nil), Have: have}
	}
	return entries, nil
}

// How many indexes are fetched at once, and how many checked: that takes memory.
const (
	manyFetched = 16
	manyChecked = 2
)

// Update fetches the indexes of those repositories, many at once, and calls
// report for each as it is done, one at a time. One that fails keeps its old
// index and does not stop the others; an [*UpdateError] names all that failed,
// in the order of entries.
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
	got, err := c.download(ctx, e, c.mark(e))
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
	if r.Err = got.check(); r.Err == nil && !c.gone(e) {
		r.Unusable = got.unusable
		r.Err = c.keep(e, got)
	}
	return r
}

// gone reports whether e has been removed since, or its name given to another: then
// its index is not the one to keep under that name.
func (c Collection) gone(e Entry) bool {
	f, err := c.Load()
	if err != nil {
		return false
	}
	have, ok := f.Entry(e.Name)
	return !ok || have.URL != e.URL
}

// Fetch brings the index of a repository that need not have been added, and
// leaves nothing behind. It needs no cache.
func (c Collection) Fetch(ctx context.Context, e Entry) (*index.Index, error) {
	dir, err := os.MkdirTemp("", "moonhelm-index-")
	if err != nil {
		return nil, fmt.Errorf("fetch the index of %s: %w", e.Shown(), err)
	}
	defer os.RemoveAll(dir)
	c.Cache = Cache{Dir: dir}
	got, err := c.download(ctx, e, fetch.Validator{})
	if err != nil {
		return nil, invalid(e, err)
	}
	data, err := os.ReadFile(got.path) // a file that is open cannot be removed everywhere
	if err != nil {
		return nil, fmt.Errorf("read the index of %s: %w", e.Shown(), err)
	}
	x, err := index.Parse(data)
	if err != nil {
		return nil, invalid(e, err)
	}
	return x, nil
}

// fetched is an index that is not in its place yet.
type fetched struct {
	path     string
	mark     fetch.Validator
	hash     string
	charts   []string // once it was checked
	unusable []*index.EntryError
}

func (g *fetched) discard() { _ = os.Remove(g.path) } // it may have been moved to its place

// check finds out whether all of the index can be used, and leaves it in the form
// in which every later command reads it quickest.
func (g *fetched) check() error {
	x, err := index.Open(g.path)
	if err == nil {
		g.charts = x.Names()
		g.unusable, err = x.Unusable()
		err = errors.Join(err, x.Close())
	}
	if err != nil {
		return unnamed(err)
	}
	text := x.Canonical()
	if text == nil {
		return nil
	}
	sum := sha256.Sum256(text)
	g.hash = hex.EncodeToString(sum[:])
	if err := os.WriteFile(g.path, text, 0o600); err != nil {
		return &CacheError{Dir: filepath.Dir(g.path), Err: bare(err)}
	}
	return nil
}

// unnamed is an error about an index without the name of the file, which is one
// that no one knows.
func unnamed(err error) error {
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
	if err := c.Cache.keep(e.Name, got.path, got.charts, e.cacheMode()); err != nil {
		return fmt.Errorf("keep the index of repository %q: %w", e.Name, err)
	}
	c.remember(e, got)
	return nil
}
