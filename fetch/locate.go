// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"context"
	"io"

	"github.com/moonhelm/moonhelm/registry"
)

// Ref is a user's reference to a chart.
type Ref struct {
	// Name is "repository/name", a URL (http, https, oci or a plugin's scheme), or the
	// name of a chart in Repo. A local path is a [*NameError]; use package chart/loader
	// for it.
	Name string
	// Version is a version, a range, or "" for the newest. It is ignored for the URL of an
	// archive. For oci:// a digest is part of Name ("oci://host/web@sha256:...").
	Version string
	// Devel includes pre-releases if Version is "".
	Devel bool
	// Repo is the URL of a repository, which need not be added.
	Repo string
	// Host has priority over the options of an added repository, field by field.
	Host HostOptions
	// Verify fetches and verifies the provenance file. Prov fetches it if it exists,
	// without verifying it.
	Verify, Prov bool
}

// Archive is a chart's archive in the content cache.
type Archive struct {
	// Path is the file. It must not be changed, moved or removed.
	Path string
	// Name is a file name for a copy, without a directory: "web-1.2.3.tgz".
	Name string
	// URL is the URL that it was fetched from, without credentials.
	URL string
	// Version is the selected version, or "" for the URL of an archive, whose version
	// is only in Chart.yaml.
	Version string
	// Digest is the SHA-256 of the file, in lower case hex.
	Digest string
	// Provenance is the content of the .prov file, or nil if it was not requested or does
	// not exist.
	Provenance []byte
	// Signer is the name of the signing key, or "" if the signature was not verified.
	Signer string
	// Pushed is the digest of the OCI manifest ("sha256:..."), or "" for other archives.
	Pushed string
}

// Entry is one version of a chart in a repository's index.
type Entry struct {
	Name, Version string
	// URLs are the URLs of the archive, tried in this order. Relative ones are resolved
	// against the repository's.
	URLs []string
	// Digest is the archive's SHA-256 in hex, or "" if the index has none.
	Digest string
}

// Repository is a chart repository with an index.
type Repository struct {
	Name string // "" if it was not added
	URL  string
	Host HostOptions
}

// Repositories finds charts in the indexes of added and other repositories.
// Implementations must be safe for concurrent use. action.NewRepositories returns an
// implementation.
type Repositories interface {
	// Named returns the added repository with that name. An error should list the names of
	// the added repositories.
	Named(name string) (Repository, error)
	// ByURL returns the added repository with that URL.
	ByURL(url string) (Repository, bool)
	// Find returns the newest version of a chart that matches want, which is a version, a
	// range or ""; devel is [Ref.Devel]. It uses the cached index of an added repository,
	// and fetches the index of another.
	Find(ctx context.Context, r Repository, chart, want string, devel bool) (Entry, error)
}

// Registry lists and pulls charts in OCI registries. Implementations must be safe for
// concurrent use. action.Registries is an implementation.
type Registry interface {
	// Tags returns the versions of a chart, oci://host/path/name, in any order, with + for
	// the _ in tags. If ref ends in a tag that exists, the result includes it even if it is
	// not a full version ("1.2").
	Tags(ctx context.Context, ref string, a HostOptions) ([]string, error)
	// Pull writes the archive oci://host/path/name:version, @sha256:... or
	// :version@sha256:... to w, unless o.Have returns true for it. The metadata of the
	// result has at least the chart's name and version.
	Pull(ctx context.Context, ref string, a HostOptions, w io.Writer, o registry.PullOptions) (*registry.Pulled, error)
}

// Downloader downloads from URLs with other schemes, such as plugins do. Implementations must
// be safe for concurrent use.
type Downloader interface {
	// Schemes returns the supported schemes ("s3"), without http, https and oci.
	Schemes() []string
	// Get writes the content of url to w.
	Get(ctx context.Context, url string, a HostOptions, w io.Writer) error
}

// Verifier verifies signatures of archives, as package provenance does. Implementations
// must be safe for concurrent use.
type Verifier interface {
	// Verify returns the name of the key that signed the archive name, whose content is r.
	// It returns an error unless provenance has a valid signature of a trusted key over
	// exactly this content.
	Verify(name string, r io.Reader, provenance []byte) (signer string, err error)
}
