// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"context"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode"
)

// source is where to fetch a chart's archive, and what is known about it before the
// download.
type source struct {
	urls []string // at least one; may contain credentials
	// home is the URL that access was given for, or "" for urls.
	home           string
	access         HostOptions
	chart, version string // "" if unknown before the download
	digest         string // SHA-256 in hex, "" if unknown
	want           string // the version or range that the archive must match, "" for any
}

// locate resolves ref.
func (f *Finder) locate(ctx context.Context, ref Ref) (source, error) {
	scheme := schemeOf(ref.Name)
	switch {
	case ref.Repo != "" && schemeOf(ref.Repo) == "oci" && scheme == "":
		ref.Name, ref.Repo = strings.TrimSuffix(ref.Repo, "/")+"/"+ref.Name, ""
		return f.locateImage(ctx, ref)
	case ref.Repo != "":
		return f.locateEntry(ctx, f.repositoryAt(ref.Repo), ref.Name, ref)
	case scheme == "oci":
		return f.locateImage(ctx, ref)
	case scheme == "http" || scheme == "https":
		return f.locateURL(ref)
	case scheme != "":
		if !f.hasPlugin(scheme) {
			return source{}, f.schemeError(ref.Name, "http", "https", "oci")
		}
		return source{urls: []string{ref.Name}, access: ref.Host}, nil
	}
	name, chart, ok := strings.Cut(ref.Name, "/")
	if !ok || chart == "" || isPath(ref.Name) {
		return source{}, &NameError{Name: ref.Name}
	}
	if f.Repositories == nil {
		return source{}, fmt.Errorf("find %s: no repositories are configured", ref.Name)
	}
	r, err := f.Repositories.Named(name)
	if err != nil {
		return source{}, err
	}
	return f.locateEntry(ctx, r, chart, ref)
}

// isPath reports whether name is a file path: it begins with /, ./ or ../, which is not
// a valid repository name.
func isPath(name string) bool {
	first, _, slash := strings.Cut(name, "/")
	return slash && strings.Trim(first, ".") == ""
}

// repositoryAt returns the repository at a URL, with the host options of an added
// repository with that URL. Its index is always fetched.
func (f *Finder) repositoryAt(address string) Repository {
	r := Repository{URL: address}
	if f.Repositories != nil {
		if added, ok := f.Repositories.ByURL(address); ok {
			r.Host = added.Host
		}
	}
	return r
}

// locateEntry finds a chart in the index of a repository.
func (f *Finder) locateEntry(ctx context.Context, r Repository, chart string, ref Ref) (source, error) {
	if f.Repositories == nil {
		return source{}, fmt.Errorf("find %s: no repositories are configured", chart)
	}
	r.Host = ref.Host.or(r.Host)
	entry, err := f.Repositories.Find(ctx, r, chart, ref.Version, ref.Devel)
	if err != nil {
		return source{}, err
	}
	s := source{home: r.URL, access: r.Host, chart: entry.Name, version: entry.Version}
	s.digest = strings.ToLower(strings.TrimPrefix(entry.Digest, "sha256:"))
	if s.digest != "" && cachePath(s.digest, "") == "" {
		return source{}, &EntryError{Repository: RedactURL(r.URL), Chart: entry.Name, Version: entry.Version,
			Problem: fmt.Sprintf("its digest %q is not a SHA-256", entry.Digest)}
	}
	for _, u := range entry.URLs {
		full, err := resolveURL(r.URL, u)
		if err != nil {
			return source{}, &EntryError{Repository: RedactURL(r.URL), Chart: entry.Name, Version: entry.Version,
				Problem: "its URL is malformed"}
		}
		if scheme := schemeOf(full); scheme == "oci" && !strings.Contains(path.Base(full), ":") {
			full += ":" + entry.Version
		}
		s.urls = append(s.urls, full)
	}
	if len(s.urls) == 0 {
		return source{}, &EntryError{Repository: RedactURL(r.URL), Chart: entry.Name, Version: entry.Version,
			Problem: "it has no URL to download it from"}
	}
	return s, nil
}

// resolveURL resolves the URL ref in the index of the repository home. A relative URL
// keeps the query of home, which may contain a token, unless the origin changes.
func resolveURL(home, ref string) (string, error) {
	u, err := url.Parse(ref)
	if err != nil {
		return "", err
	}
	if u.IsAbs() {
		return ref, nil
	}
	base, err := url.Parse(home)
	if err != nil {
		return "", err
	}
	query := base.RawQuery
	base = base.JoinPath("/")
	base.RawQuery = ""
	full := base.ResolveReference(u)
	if query != "" && sameOrigin(base, full) {
		full.RawQuery = query
	}
	return full.String(), nil
}

// locateURL returns the source of an archive by URL. It uses the host options of an added
// repository whose URL is a parent of the archive's.
func (f *Finder) locateURL(ref Ref) (source, error) {
	u, err := parse(ref.Name)
	if err != nil {
		return source{}, err
	}
	s := source{urls: []string{ref.Name}, access: ref.Host}
	if f.Repositories == nil || u.User != nil || ref.Host.Username != "" {
		return s, nil
	}
	above := *u
	above.RawQuery, above.Fragment, above.RawPath = "", "", ""
	for above.Path != "" && above.Path != "/" {
		above.Path = strings.TrimSuffix(path.Dir(above.Path), "/")
		if added, ok := f.Repositories.ByURL(above.String()); ok {
			s.access, s.home = ref.Host.or(added.Host), added.URL
			return s, nil
		}
	}
	return s, nil
}

// schemeOf returns the scheme of a URL, or "" if name is not a URL.
func schemeOf(name string) string {
	scheme, _, ok := strings.Cut(name, "://")
	if !ok || strings.ContainsAny(scheme, "/ ") {
		return ""
	}
	return strings.ToLower(scheme)
}

// hasPlugin reports whether a plugin downloads from URLs with this scheme.
func (f *Finder) hasPlugin(scheme string) bool {
	return f.Plugins != nil && slices.Contains(f.Plugins.Schemes(), scheme)
}

// schemeError returns the error for a URL whose scheme is not supported.
func (f *Finder) schemeError(address string, supported ...string) error {
	e := &SchemeError{URL: RedactURL(address), Scheme: schemeOf(address), Known: supported}
	if f.Plugins != nil {
		e.Known = append(e.Known, f.Plugins.Schemes()...)
	}
	return e
}

// archive returns the Archive for a file that was fetched from address.
func (s source) archive(file, digest, address string) *Archive {
	return &Archive{Path: file, Name: s.fileName(address), URL: RedactURL(address), Version: s.version, Digest: digest}
}

// fileName returns the file name of an archive: the last element of its URL, which
// cannot be outside a directory (CVE-2024-25620).
func (s source) fileName(address string) string {
	name := ""
	if u, err := url.Parse(address); err == nil && u.Scheme != "oci" {
		name = plainName(u.Path)
	}
	usual := strings.HasSuffix(name, ".tgz") || strings.HasSuffix(name, ".tar.gz")
	if !usual && s.chart != "" {
		name = plainName(s.chart + "-" + s.version + ".tgz")
	}
	if name == "" {
		return "chart.tgz"
	}
	return name
}

// plainName returns the last element of a path, or "" if it is not a valid file name on
// every system.
func plainName(p string) string {
	name := path.Base(strings.ReplaceAll(p, `\`, "/"))
	if strings.Trim(name, ". /") == "" || strings.ContainsAny(name, `:*?"<>|`) ||
		strings.ContainsFunc(name, unicode.IsControl) || len(name) > 255 {
		return ""
	}
	return name
}
