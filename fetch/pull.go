// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/dependency"
	"github.com/moonhelm/moonhelm/internal/file"
	"github.com/moonhelm/moonhelm/registry"
)

// image is an OCI reference of a chart: oci://host/path/name:tag@digest.
type image struct{ name, tag, digest string }

// parseImage parses a reference.
func parseImage(ref string) image {
	var i image
	i.name, i.digest, _ = strings.Cut(ref, "@")
	if slash, colon := strings.LastIndexByte(i.name, '/'), strings.LastIndexByte(i.name, ':'); colon > slash &&
		slash > len("oci:/") {
		i.name, i.tag = i.name[:colon], i.name[colon+1:]
	}
	return i
}

func (i image) String() string {
	s := i.name
	if i.tag != "" {
		s += ":" + i.tag
	}
	if i.digest != "" {
		s += "@" + i.digest
	}
	return s
}

// locateImage returns the source of a chart in a registry. A full version is used as the
// tag; for a range or no version, it lists the tags of the registry.
func (f *Finder) locateImage(ctx context.Context, ref Ref) (source, error) {
	i := parseImage(ref.Name)
	s := source{access: ref.Host}
	_, inexact := semver.StrictNewVersion(strings.TrimPrefix(ref.Version, "v"))
	switch {
	case f.Registry == nil:
		return s, fmt.Errorf("find %s: no registry client is configured", RedactURL(ref.Name))
	case i.tag == "" && i.digest == "" && inexact == nil:
		i.tag = ref.Version
	case i.tag == "" && i.digest == "":
		listed := i.name
		if _, err := semver.NewVersion(ref.Version); err == nil { // "1.2": a range, and perhaps a version
			listed += ":" + ref.Version
		}
		tags, err := f.Registry.Tags(ctx, listed, ref.Host)
		if err != nil {
			return s, err
		}
		if i.tag, err = dependency.Version(tags, ref.Version, ref.Devel); err != nil {
			return s, fmt.Errorf("%s: %w", RedactURL(i.name), err)
		}
	case i.tag != "" && ref.Version != "":
		if _, err := dependency.Version([]string{strings.ReplaceAll(i.tag, "_", "+")}, ref.Version, ref.Devel); err != nil {
			return s, &VersionError{Ref: RedactURL(ref.Name), Version: i.tag, Want: ref.Version}
		}
	}
	s.urls = []string{i.String()}
	s.version = strings.ReplaceAll(i.tag, "_", "+")
	if i.digest != "" && ref.Version != "" {
		s.want = ref.Version
	}
	return s, nil
}

// errHave stops a pull if the archive is in the cache.
var errHave = errors.New("it is in the cache")

// pull returns a chart of a registry, from the cache or the registry.
func (f *Finder) pull(ctx context.Context, s source, address string, a HostOptions, prov bool) (Archive, error) {
	if f.Registry == nil {
		return Archive{}, fmt.Errorf("fetch %s: no registry client is configured", RedactURL(address))
	}
	i := parseImage(address)
	pulled, path := f.cachedImage(i.digest, prov)
	// Only the registry knows whether a different tag refers to the digest.
	if path == "" || i.tag != "" &&
		strings.ReplaceAll(i.tag, "_", "+") != strings.ReplaceAll(pulled.Metadata.Version, "_", "+") {
		var err error
		if path, pulled, err = f.pullImage(ctx, s, address, a, prov); err != nil {
			return Archive{}, addURL(err, address)
		}
	}
	if i.digest != "" && pulled.Manifest != i.digest {
		return Archive{}, &DigestError{URL: RedactURL(address), Want: hexDigest(i.digest), Got: hexDigest(pulled.Manifest)}
	}
	if s.want != "" {
		if _, err := dependency.Version([]string{pulled.Metadata.Version}, s.want, true); err != nil {
			return Archive{}, &VersionError{Ref: RedactURL(address), Version: pulled.Metadata.Version, Want: s.want}
		}
	}
	s.setName(i, pulled)
	got := s.archive(path, pulled.Digest, address)
	got.Provenance, got.Pushed = pulled.Provenance, pulled.Manifest
	return *got, nil
}

// setName sets the chart name and version that were requested, as Helm does: the signature
// must be for this name, and the registry's metadata is not signed. A digest without a tag
// already identifies the chart.
func (s *source) setName(i image, pulled *registry.Pulled) {
	switch {
	case i.tag == "":
		s.version = pulled.Metadata.Version
		if s.chart == "" {
			s.chart = pulled.Metadata.Name
		}
	case s.chart == "":
		s.chart = path.Base(i.name)
	}
}

// pullImage pulls a chart. The registry transfers the archive only if it is not in the
// cache.
func (f *Finder) pullImage(ctx context.Context, s source, address string, a HostOptions, prov bool) (path string,
	pulled *registry.Pulled, err error) {
	here := ""
	have := func(digest string) bool {
		file, ok := f.Cache.Lookup(digest)
		if ok {
			here = file
		}
		return ok
	}
	path, digest, err := f.Cache.add(cacheExt, s.digest, func(w io.Writer) (err error) {
		bounded := &file.LimitWriter{W: w, Left: MaxArchive, Err: &SizeError{URL: RedactURL(address), Limit: MaxArchive}}
		pulled, err = f.Registry.Pull(ctx, address, a, bounded, registry.PullOptions{Provenance: prov, Have: have})
		switch {
		case bounded.Exceeded:
			return bounded.Err
		case err == nil && here != "":
			return errHave
		}
		return err
	})
	switch {
	case errors.Is(err, errHave):
		path, digest = here, pulled.Digest
		if s.digest != "" && s.digest != digest {
			return "", pulled, &DigestError{Want: s.digest, Got: digest}
		}
	case err != nil:
		return "", pulled, err
	}
	if pulled.Digest != "" && pulled.Digest != digest {
		return "", pulled, &DigestError{Want: pulled.Digest, Got: digest}
	}
	pulled.Digest = digest
	f.storeManifest(pulled)
	return path, pulled, nil
}

// storeManifest caches the manifest by its digest, so that a reference with a digest
// needs no request.
func (f *Finder) storeManifest(p *registry.Pulled) {
	if len(p.ManifestJSON) == 0 {
		return
	}
	// If it cannot be stored, the next pull requests it again.
	_, _, _ = f.Cache.add(manifestExt, hexDigest(p.Manifest), func(w io.Writer) error {
		_, err := w.Write(p.ManifestJSON)
		return err
	})
}

// maxManifest is the largest size of a cached manifest, in bytes.
const maxManifest = 4 << 20

// imageManifest is the used part of an OCI manifest, see package registry.
type imageManifest struct {
	Layers []struct {
		MediaType string `json:"mediaType"`
		Digest    string `json:"digest"`
		Size      int64  `json:"size"`
	} `json:"layers"`
	Annotations map[string]string `json:"annotations"`
}

const (
	contentType       = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
	annotationTitle   = "org.opencontainers.image.title"
	annotationVersion = "org.opencontainers.image.version"
)

// cachedImage returns the chart with the digest of an OCI manifest if the manifest and the
// archive are in the cache. Both are verified by their digests.
func (f *Finder) cachedImage(digest string, prov bool) (p *registry.Pulled, path string) {
	file, ok := f.Cache.lookup(hexDigest(digest), manifestExt)
	if digest == "" || !ok {
		return nil, ""
	}
	info, err := os.Stat(file)
	if err != nil || info.Size() > maxManifest {
		return nil, ""
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, ""
	}
	var m imageManifest
	if json.Unmarshal(data, &m) != nil {
		return nil, ""
	}
	p = &registry.Pulled{
		Metadata: &chart.Metadata{Name: m.Annotations[annotationTitle], Version: m.Annotations[annotationVersion]},
		Manifest: digest,
	}
	for _, l := range m.Layers {
		if l.MediaType == contentType {
			p.Digest, p.Size = hexDigest(l.Digest), l.Size
		}
	}
	path, ok = f.Cache.Lookup(p.Digest)
	if !ok || p.Metadata.Name == "" || p.Metadata.Version == "" {
		return nil, ""
	}
	if prov {
		if p.Provenance = f.Cache.Provenance(p.Digest); p.Provenance == nil {
			return nil, ""
		}
	}
	return p, path
}

// hexDigest returns a digest without its algorithm.
func hexDigest(digest string) string { return strings.TrimPrefix(digest, "sha256:") }
