// SPDX-License-Identifier: Apache-2.0

package index

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/Masterminds/semver/v3"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/internal/file"
)

// Listing is a new index. The entries of a chart are sorted by version, newest first.
type Listing struct {
	Entries   map[string][]*Entry
	Generated time.Time
	// Skipped are the errors of what is not listed: an [*ArchiveError] for each
	// archive, an [*EntryError] for each entry of a merged index.
	Skipped []error
}

// ArchiveError is returned for an archive that is not a valid chart.
type ArchiveError struct {
	Path string
	Err  error
}

func (e *ArchiveError) Error() string { return e.Path + ": " + e.Err.Error() }
func (e *ArchiveError) Unwrap() error { return e.Err }

// Build lists the archives (*.tgz) in dir and its subdirectories. Their URLs are relative to
// base, or to the index if base is "". The creation time of every entry is now.
//
// An archive that is not a valid chart is skipped; see [Listing.Skipped].
func Build(ctx context.Context, dir, base string, now time.Time) (*Listing, error) {
	below, err := url.Parse(base)
	if err != nil {
		return nil, fmt.Errorf("the URL for the archives is malformed: %w", errors.Unwrap(err))
	}
	files, err := archives(dir)
	if err != nil {
		return nil, err
	}
	entries, problems := make([]*Entry, len(files)), make([]error, len(files))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(files)) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(files) && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				entries[i], problems[i] = describe(filepath.Join(dir, filepath.FromSlash(files[i])))
			}
		})
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	l := &Listing{Entries: map[string][]*Entry{}, Generated: now}
	for i, e := range entries {
		if problems[i] != nil {
			l.Skipped = append(l.Skipped, &ArchiveError{Path: files[i], Err: problems[i]})
			continue
		}
		e.URLs, e.Created = []string{place(below, base, files[i])}, now
		l.Entries[e.Name] = append(l.Entries[e.Name], e)
	}
	l.sort()
	return l, nil
}

// archives returns the slash-separated paths of the archives to list.
func archives(dir string) ([]string, error) {
	var out []string
	top, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("list the archives: %w", err)
	}
	for _, f := range top {
		switch {
		case !f.IsDir():
			out = appendArchive(out, dir, f.Name())
		default:
			inner, err := os.ReadDir(filepath.Join(dir, f.Name()))
			if err != nil {
				return nil, fmt.Errorf("list the archives: %w", err)
			}
			for _, g := range inner {
				out = appendArchive(out, dir, f.Name()+"/"+g.Name())
			}
		}
	}
	slices.Sort(out)
	return out, nil
}

func appendArchive(out []string, dir, name string) []string {
	if !strings.HasSuffix(name, ".tgz") {
		return out
	}
	if info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(name))); err == nil && !info.Mode().IsRegular() {
		return out // a directory, or a device that may block
	}
	return append(out, name)
}

// place returns the URL of an archive.
func place(below *url.URL, base, file string) string {
	if base == "" {
		return file
	}
	u := *below
	u.RawPath, u.Path = "", path.Join(below.Path, file)
	if u.Host != "" && !strings.HasPrefix(u.Path, "/") {
		u.Path = "/" + u.Path
	}
	return u.String()
}

// describe returns the entry of an archive, without its URL.
func describe(path string) (*Entry, error) {
	f, err := file.Open(path)
	if err != nil {
		return nil, file.WithoutPath(err)
	}
	defer f.Close()
	digest := sha256.New()
	meta, requirements, err := readMetadata(io.TeeReader(f, digest))
	if err != nil {
		return nil, file.WithoutPath(err)
	}
	if _, err := io.Copy(digest, f); err != nil {
		return nil, file.WithoutPath(err)
	}
	m, err := chart.ParseMetadata(chart.FileMetadata, meta)
	if err != nil {
		return nil, err
	}
	if m.APIVersion == chart.APIVersionV1 && requirements != nil {
		r, err := chart.ParseRequirements(chart.FileRequirements, requirements)
		if err != nil {
			return nil, err
		}
		m.Dependencies, m.Libraries = r.Dependencies, r.Libraries
	}
	if err := m.Validate(); err != nil {
		return nil, err
	}
	return &Entry{Metadata: *m, Digest: hex.EncodeToString(digest.Sum(nil))}, nil
}

// Merge adds the entries of an index whose name and version are not listed yet. If an archive
// is in both, with the same digest, its creation time is kept. Invalid entries of prev are
// added to Skipped.
func (l *Listing) Merge(prev *Index) error {
	have := map[[2]string]*Entry{}
	for _, all := range l.Entries {
		for _, e := range all {
			have[[2]string{e.Name, e.Version}] = e
		}
	}
	unusable, err := prev.Unusable()
	if err != nil {
		return err
	}
	for _, e := range unusable {
		l.Skipped = append(l.Skipped, e)
	}
	for e, err := range prev.All() {
		switch {
		case isEntry(err):
			continue
		case err != nil:
			return err
		}
		key := [2]string{e.Name, e.Version}
		if old := have[key]; old == nil {
			have[key] = e
			l.Entries[e.Name] = append(l.Entries[e.Name], e)
		} else if old.Digest == e.Digest && !e.Created.IsZero() {
			old.Created = e.Created
		}
	}
	l.sort()
	return nil
}

// sort sorts entries by version, newest first. The sort is stable.
func (l *Listing) sort() {
	for _, all := range l.Entries {
		parsed := make(map[string]*semver.Version, len(all))
		for _, e := range all {
			if v, err := semver.NewVersion(e.Version); err == nil {
				parsed[e.Version] = v
			}
		}
		slices.SortStableFunc(all, func(a, b *Entry) int {
			v, w := parsed[a.Version], parsed[b.Version]
			if v == nil || w == nil {
				return strings.Compare(b.Version, a.Version)
			}
			return w.Compare(v)
		})
	}
}
