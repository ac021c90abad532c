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

// source is where a chart's archive is, and what is known of it before it is
// here.
type source struct {
	urls []string // one at least; with credentials, if they are in them
	// home is the URL that access was given for, "" for urls.
	home           string
	access         HostOptions
	chart, version string // "" where only the archive can tell
	digest         string // SHA-256 in hex, "" where no one says
	want           string // the version that it must be, once it is known; "" for any
}

// locate finds out what ref means.
func (f *Finder) locate(ctx context.Context, ref Ref) (source, error) {
	scheme := schemeOf(ref.Name)
	switch {
	case ref.Repo != "" && schemeOf(ref.Repo) == "oci" && scheme == "":
		ref.Name, ref.Repo = strings.TrimSuffix(ref.Repo, "/")+"/"+ref.Name, ""
		return f.tagged(ctx, ref)
	case ref.Repo != "":
		return f.listed(ctx, f.unnamed(ref.Repo), ref.Name, ref)
	case scheme == "oci":
		return f.tagged(ctx, ref)
	case scheme == "http" || scheme == "https":
		return f.plain(ref)
	case scheme != "":
		if !f.served(scheme) {
			return source{}, f.unserved(ref.Name, "http", "https", "oci")
		}
		return source{urls: []string{ref.Name}, access: ref.Host}, nil
	}
	name, chart, ok := strings.Cut(ref.Name, "/")
	if !ok || chart == "" || isPath(ref.Name) {
		return source{}, &NameError{Name: ref.Name}
	}
	if f.Repositories == nil {
		return source{}, fmt.Errorf("find %s: there are no repositories here", ref.Name)
	}
	r, err := f.Repositories.Named(name)
	if err != nil {
		return source{}, err
	}
	return f.listed(ctx, r, chart, ref)
}

// isPath reports whether name can be nothing but a path: it begins with /, ./ or
// ../, which is not a repository's name.
func isPath(name string) bool {
	first, _, slash := strings.Cut(name, "/")
	return slash && strings.Trim(first, ".") == ""
}

// unnamed is the repository at a URL, with the access of one that was added
// there; its index is read again.
func (f *Finder) unnamed(address string) Repository {
	r := Repository{URL: address}
	if f.Repositories != nil {
		if added, ok := f.Repositories.ByURL(address); ok {
			r.Host = added.Host
		}
	}
	return r
}

// listed is a chart of a repository with an index.
func (f *Finder) listed(ctx context.Context, r Repository, chart string, ref Ref) (source, error) {
	if f.Repositories == nil {
		return source{}, fmt.Errorf("find %s: there are no repositories here", chart)
	}
	r.Host = ref.Host.over(r.Host)
	entry, err := f.Repositories.Find(ctx, r, chart, ref.Version, ref.Devel)
	if err != nil {
		return source{}, err
	}
	s := source{home: r.URL, access: r.Host, chart: entry.Name, version: entry.Version}
	s.digest = strings.ToLower(strings.TrimPrefix(entry.Digest, "sha256:"))
	if s.digest != "" && cachePath(s.digest, "") == "" {
		return source{}, &EntryError{Repository: Clean(r.URL), Chart: entry.Name, Version: entry.Version,
			Problem: fmt.Sprintf("its digest %q is not a SHA-256", entry.Digest)}
	}
	for _, u := range entry.URLs {
		full, err := below(r.URL, u)
		if err != nil {
			return source{}, &EntryError{Repository: Clean(r.URL), Chart: entry.Name, Version: entry.Version,
				Problem: "its URL is malformed"}
		}
		if scheme := schemeOf(full); scheme == "oci" && !strings.Contains(path.Base(full), ":") {
			full += ":" + entry.Version
		}
		s.urls = append(s.urls, full)
	}
	if len(s.urls) == 0 {
		return source{}, &EntryError{Repository: Clean(r.URL), Chart: entry.Name, Version: entry.Version,
			Problem: "it has no URL to download it from"}
	}
	return s, nil
}

// below is the URL that an index at home means by ref. A relative one keeps the
// query of home, where a token may be, as long as it stays at its place.
func below(home, ref string) (string, error) {
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
	if query != "" && samePlace(base, full) {
		full.RawQuery = query
	}
	return full.String(), nil
}

// plain is an archive by its URL. Where a repository was added whose URL is above
// it, its access holds.
func (f *Finder) plain(ref Ref) (source, error) {
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
			s.access, s.home = ref.Host.over(added.Host), added.URL
			return s, nil
		}
	}
	return s, nil
}

// schemeOf is the scheme of a URL, "" for what is none.
func schemeOf(name string) string {
	scheme, _, ok := strings.Cut(name, "://")
	if !ok || strings.ContainsAny(scheme, "/ ") {
		return ""
	}
	return strings.ToLower(scheme)
}

// served reports whether a plugin brings what is at URLs of that scheme.
func (f *Finder) served(scheme string) bool {
	return f.Plugins != nil && slices.Contains(f.Plugins.Schemes(), scheme)
}

// unserved is the error for a URL whose scheme is none of ours, nor a plugin's.
func (f *Finder) unserved(address string, ours ...string) error {
	e := &SchemeError{URL: Clean(address), Scheme: schemeOf(address), Known: ours}
	if f.Plugins != nil {
		e.Known = append(e.Known, f.Plugins.Schemes()...)
	}
	return e
}

// archive describes the archive in a file, which came from address.
func (s source) archive(file, digest, address string) *Archive {
	return &Archive{Path: file, Name: s.fileName(address), URL: Clean(address), Version: s.version, Digest: digest}
}

// fileName is what an archive is called: as its URL ends, and without a way out
// of a directory (CVE-2024-25620).
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

// plainName is the last element of a path, if a file can have that name
// everywhere, else "".
func plainName(p string) string {
	name := path.Base(strings.ReplaceAll(p, `\`, "/"))
	if strings.Trim(name, ". /") == "" || strings.ContainsAny(name, `:*?"<>|`) ||
		strings.ContainsFunc(name, unicode.IsControl) || len(name) > 255 {
		return ""
	}
	return name
}
