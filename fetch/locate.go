// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"context"
	"io"

	"github.com/moonhelm/moonhelm/registry"
)

// Ref is a chart as a user names it.
type Ref struct {
	// Name is "repository/name", a URL (http, https, oci or a plugin's scheme), or with
	// Repo a chart's name there. A local path is a [*NameError]: package chart/loader reads
	// those.
	Name string
	// Version is a version, a range, or "" for the newest; it is ignored for the URL of an
	// archive. For oci:// a digest is part of Name ("oci://host/web@sha256:...").
	Version string
	// Devel takes pre-releases too where Version is "".
	Devel bool
	// Repo is the URL of a repository that need not have been added.
	Repo string
	// Host is used before the options that a repository was added with, field by field.
	Host HostOptions
	// Verify has the provenance file fetched and checked; Prov has it fetched, if there is
	// one, without being checked.
	Verify, Prov bool
}

// Archive is a chart's archive in the content cache.
type Archive struct {
	// Path is its file, which must not be changed, moved or removed.
	Path string
	// Name is a name for a copy of it: "web-1.2.3.tgz". It has no directory.
	Name string
	// URL is where it came from, without credentials.
	URL string
	// Version is the version that was chosen, "" for the URL of an archive, of which only
	// Chart.yaml knows.
	Version string
	// Digest is the SHA-256 of its bytes, in lower case hex.
	Digest string
	// Provenance is the text of its .prov file, nil where it was not asked for or does not
	// exist.
	Provenance []byte
	// Signer names the key that signed it, "" where that was not checked.
	Signer string
	// Pushed is the digest of its OCI manifest ("sha256:..."), "" for other archives.
	Pushed string
}

// Entry is one version of a chart as a repository lists it.
type Entry struct {
	Name, Version string
	// URLs are those of the archive, tried in this order; relative ones are resolved
	// against the repository's.
	URLs []string
	// Digest is the archive's SHA-256 in hex, "" where the index does not say.
	Digest string
}

// Repository is a chart repository, which has an index.
type Repository struct {
	Name string // "" for one that was not added
	URL  string
	Host HostOptions
}

// Repositories finds charts in the indexes of repositories, those that were added and
// others. Implementations must be safe for concurrent use. action.NewRepositories returns
// one.
type Repositories interface {
	// Named returns the repository that was added under that name. The error should name
	// those that were.
	Named(name string) (Repository, error)
	// ByURL returns the repository that was added with that URL.
	ByURL(url string) (Repository, bool)
	// Find returns the entry of a chart with the newest version that want, a version, a
	// range or "", admits; devel is [Ref.Devel]. The index is the cached one of a
	// repository that was added; that of another is fetched.
	Find(ctx context.Context, r Repository, chart, want string, devel bool) (Entry, error)
}

// Registry lists and pulls charts of OCI registries. Implementations must be safe for
// concurrent use. action.Registries is one.
type Registry interface {
	// Tags returns the versions of a chart, oci://host/path/name, in any order and with +
	// for the _ of tags. With a tag at the end of ref, that tag is listed too, if it
	// exists, even where it is not a full version ("1.2").
	Tags(ctx context.Context, ref string, a HostOptions) ([]string, error)
	// Pull writes the archive at oci://host/path/name:version, @sha256:... or
	// :version@sha256:... to w, unless o.Have has it. What it returns has metadata, with
	// the chart's name and version at least.
	Pull(ctx context.Context, ref string, a HostOptions, w io.Writer, o registry.PullOptions) (*registry.Pulled, error)
}

// Downloader downloads from URLs of other schemes, as plugins do. Implementations must be
// safe for concurrent use.
type Downloader interface {
	// Schemes returns the schemes that are served ("s3"), without http, https and oci.
	Schemes() []string
	// Get writes the content at url to w.
	Get(ctx context.Context, url string, a HostOptions, w io.Writer) error
}

// Verifier checks signatures of archives, as package provenance does. Implementations
// must be safe for concurrent use.
type Verifier interface {
	// Verify returns the name of the key that signed the archive that is called name and
	// read from r. It returns an error unless provenance has a valid signature of a known
	// key over exactly these bytes.
	Verify(name string, r io.Reader, provenance []byte) (signer string, err error)
}
