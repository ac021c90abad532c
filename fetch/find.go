// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path"

	"github.com/moonhelm/moonhelm/internal/file"
	"github.com/moonhelm/moonhelm/progress"
)

// Finder finds charts and fetches their archives. Cache is required. If another field is
// nil, charts that need it cause an error; if HTTP is nil, each download uses a new client. A
// Finder is safe for concurrent use and must not be copied.
type Finder struct {
	HTTP         *Client
	Repositories Repositories  // for repository/name and [Ref.Repo]
	Registry     Registry      // for oci://
	Plugins      Downloader    // for other schemes
	Verifier     Verifier      // for [Ref.Verify]
	Cache        *Cache        // required by Find
	Progress     progress.Func // receives downloads and warnings

	flights flights
}

// Find finds the chart ref and fetches its archive into the cache. If the cache has the
// archive, by the digest in the repository's index or in the reference, Find does not
// fetch it.
//
// Errors: [*FieldError], [*NameError], [*SchemeError], [*EntryError], [*VersionError], [*DigestError],
// [*NotArchiveError], [*ProvenanceError], those of [Client.Get], and those of repositories,
// registries and plugins.
func (f *Finder) Find(ctx context.Context, ref Ref) (*Archive, error) {
	if f.Cache == nil {
		return nil, &FieldError{Field: "Cache"}
	}
	s, err := f.locate(ctx, ref)
	if err != nil {
		return nil, err
	}
	a, from, err := f.fetchArchive(ctx, s, ref)
	if err != nil {
		return nil, err
	}
	if !ref.Verify && !ref.Prov {
		a.Provenance = nil
		return a, nil
	}
	if err := f.addProvenance(ctx, s, from, a, ref.Verify); err != nil {
		return nil, err
	}
	return a, nil
}

// fetchArchive fetches the archive from the first of its URLs that works, and returns
// that URL.
func (f *Finder) fetchArchive(ctx context.Context, s source, ref Ref) (a *Archive, from string, err error) {
	if path, ok := f.Cache.Lookup(s.digest); ok {
		return s.archive(path, s.digest, s.urls[0]), s.urls[0], nil
	}
	prov := ref.Verify || ref.Prov
	for _, url := range s.urls {
		a, again := f.flights.join(ctx, flight{url: url, digest: s.digest, home: s.home, access: s.access, prov: prov},
			func() (Archive, error) {
				return f.download(ctx, s, url, prov)
			})
		if again == nil {
			return &a, url, nil
		}
		if err == nil { // the first error is the most useful
			err = again
		}
		if ctx.Err() != nil {
			break
		}
	}
	if s.chart != "" && ctx.Err() == nil {
		err = &EntryError{Repository: RedactURL(s.home), Chart: s.chart, Version: s.version, Err: err}
	}
	return nil, "", err
}

// download fetches the archive from one URL.
func (f *Finder) download(ctx context.Context, s source, address string, prov bool) (Archive, error) {
	access := s.access.For(address, s.home)
	switch scheme := schemeOf(address); {
	case scheme == "oci":
		return f.pull(ctx, s, address, access, prov)
	case scheme == "http" || scheme == "https" || f.hasPlugin(scheme):
		path, digest, err := f.Cache.add(cacheExt, s.digest, func(w io.Writer) error {
			only := &archiveOnly{w: w, url: RedactURL(address)}
			if err := f.get(ctx, address, s.home, s.access, s.fileName(address), MaxArchive, only); err != nil {
				return err
			}
			return only.end()
		})
		if err != nil {
			return Archive{}, addURL(err, address)
		}
		return *s.archive(path, digest, address), nil
	default:
		return Archive{}, f.schemeError(address, "http", "https", "oci")
	}
}

// get writes the content of an http or https URL, or of a plugin's scheme, to w.
func (f *Finder) get(ctx context.Context, address, home string, a HostOptions, text string, limit int64,
	w io.Writer) error {
	switch schemeOf(address) {
	case "http", "https":
		client := f.HTTP
		if client == nil {
			client = &Client{}
			defer client.Close()
		}
		if home != "" && !IsURL(home) { // the repository of a plugin refers to a web server
			a, home = a.For(address, home), ""
		}
		return client.fetch(ctx, request{address: address, home: home, access: a, limit: limit, packed: true, text: text}, w)
	}
	f.Progress.Send(progress.Event{Kind: progress.Download, Text: text})
	bounded := &file.LimitWriter{W: w, Left: limit, Err: &SizeError{URL: RedactURL(address), Limit: limit}}
	err := f.Plugins.Get(ctx, address, a.For(address, home), bounded)
	f.Progress.Send(progress.Event{Kind: progress.Fetched, Text: text, Done: limit - bounded.Left})
	if bounded.Exceeded {
		return bounded.Err
	}
	if err != nil {
		return fmt.Errorf("fetch %s: %w", RedactURL(address), err)
	}
	return nil
}

// Text returns the content of an http or https URL, or of a plugin's scheme, of at most
// [MaxText] bytes. Errors are those of [Client.Get], and [*SchemeError].
func (f *Finder) Text(ctx context.Context, location string) ([]byte, error) {
	if IsURL(location) && f.HTTP != nil {
		return f.HTTP.Text(ctx, location)
	}
	if scheme := schemeOf(location); !f.hasPlugin(scheme) {
		return nil, f.schemeError(location, "http", "https")
	}
	var b bytes.Buffer
	err := f.get(ctx, location, "", HostOptions{}, path.Base(RedactURL(location)), MaxText, &b)
	return b.Bytes(), err
}
