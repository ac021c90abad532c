// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"context"
	"io"
)

// Ref is a chart as a user names it, with what the flags say about it.
type Ref struct {
	// Name is "repo/name", a URL (http, https, oci or a plugin's scheme), or with
	// Repo a chart's name there. Paths on disk never come here.
	Name string
	// Version is a version, a range, or "" for the newest; for oci:// a digest is
	// part of Name ("oci://host/web@sha256:...").
	Version string
	// Devel takes pre-releases too where Version is "".
	Devel bool
	// Repo is the URL of a repository that need not have been added.
	Repo   string
	Access Access
	// Verify and Prov say whether the provenance file is checked, and whether it
	// is fetched at all where that is not so.
	Verify, Prov bool
}

// Archive is a chart's archive on this machine.
type Archive struct {
	// Path is where its bytes are: a file of the content cache, which is not to
	// be changed.
	Path string
	// Name is what the archive is called: "web-1.2.3.tgz".
	Name string
	// URL is where it came from, without credentials.
	URL string
	// Version is what was chosen, "" where only the chart itself can tell.
	Version string
	// Digest is the SHA-256 of its bytes, in hex.
	Digest string
	// Provenance is the text of its .prov file, nil where it was not fetched or
	// there is none.
	Provenance []byte
	// Signer tells who signed it, "" where that was not checked.
	Signer string
	// Pushed is the digest of an OCI manifest ("sha256:..."), "" for others.
	Pushed string
}

// Entry is one version of a chart as a repository lists it.
type Entry struct {
	Name, Version string
	// URLs are where the archive is, relative ones below the repository's.
	URLs []string
	// Digest is the archive's SHA-256 in hex, "" where the index does not say.
	Digest string
}

// Repository is a place of charts with an index.
type Repository struct {
	Name   string // "" for one that was not added
	URL    string
	Access Access
}

// Repositories knows the repositories that were added, and reads indexes.
// Package repo is one, by way of internal/env. It is safe for concurrent use.
type Repositories interface {
	// Named is the repository added under that name; ByURL the one added with
	// that URL. The error names what there is.
	Named(name string) (Repository, error)
	ByURL(url string) (Repository, bool)
	// Find is the entry of a chart whose version want means (see
	// resolve.Version), from the cached index of a repository that was added,
	// and from the index fetched now, once, of one that was not.
	Find(ctx context.Context, r Repository, chart, want string, devel bool) (Entry, error)
}

// Registry speaks to OCI registries. Package oci is one, by way of internal/env.
type Registry interface {
	// Tags are the versions of a chart, oci://host/path/name, with + for _ (see
	// package registry), in no order. A tag behind the name is listed even if it is no
	// full version ("1.2"), where the registry has it.
	Tags(ctx context.Context, ref string, a Access) ([]string, error)
	// Pull writes the archive at oci://host/path/name:version, @sha256:... or
	// :version@sha256:... to w.
	Pull(ctx context.Context, ref string, a Access, w io.Writer, o PullOptions) (Pulled, error)
}

// PullOptions say what of a chart is pulled. The zero value is its archive.
type PullOptions struct {
	// Prov asks for the provenance layer too.
	Prov bool
	// Have tells whether the content of that digest (SHA-256 in hex) is here
	// already: then nothing is written to w. nil has nothing.
	Have func(digest string) bool
}

// Pulled is what a registry says about an archive that was pulled.
type Pulled struct {
	Name, Version string
	// Manifest is the manifest's digest, "sha256:...", and ManifestJSON its
	// bytes, which may be nil.
	Manifest     string
	ManifestJSON []byte
	// Digest is the archive's SHA-256 in hex, Size its bytes.
	Digest     string
	Size       int64
	Provenance []byte // nil where there is none
}

// Downloader brings what plugins know how to bring. Package plugin is one.
type Downloader interface {
	// Schemes are those that plugins serve ("s3"), without those that we do.
	Schemes() []string
	// Get writes the content at url to w.
	Get(ctx context.Context, url string, a Access, w io.Writer) error
}

// Verifier checks provenance. Package sign is one, by way of internal/env.
type Verifier interface {
	// Verify tells who signed the archive that is called name and read from r.
	// Without a valid signature of a known key over these very bytes it is an
	// error.
	Verify(name string, r io.Reader, provenance []byte) (signer string, err error)
}
