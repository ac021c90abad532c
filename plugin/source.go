// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Kind is the kind of a source.
type Kind int

// The kinds of sources.
const (
	Directory Kind = iota // a local directory, which is linked to
	Archive               // a local archive
	Download              // an archive at an http or https URL
	Registry              // an OCI registry
	Git                   // a git repository
)

// Source is the source of a plugin.
type Source struct {
	Kind Kind
	// Location is a path or a URL, which may contain a password.
	Location string
}

// A SourceError is returned for an invalid source.
type SourceError struct{ Source, Problem string }

func (e *SourceError) Error() string {
	if e.Source == "" {
		return "install a plugin: " + e.Problem
	}
	return fmt.Sprintf("install a plugin from %s: %s", e.Source, e.Problem)
}

// gitSchemes are the allowed transports of git. Those that run programs named in the URL
// (ext::) are not allowed.
var gitSchemes = []string{"https", "http", "ssh", "git", "file"}

// isShort reports whether text is git's short form of an ssh URL, git@host:path. No part may
// start with a dash.
func isShort(text string) bool {
	user, rest, ok := strings.Cut(text, "@")
	host, path, ok2 := strings.Cut(rest, ":")
	word := func(s string) bool {
		return s != "" && s[0] != '-' && strings.Trim(s, letters+"0123456789._-") == ""
	}
	return ok && ok2 && word(user) && word(host) && path != "" && path[0] != '-' && path[0] != ':'
}

// ParseSource parses a source: an existing path, or else a URL. An http or https URL is an
// archive if it has the extension of one, or else a git repository. The error is a
// [*SourceError].
func ParseSource(text string) (Source, error) {
	if info, err := os.Stat(text); err == nil && text != "" {
		abs, err := filepath.Abs(text)
		if err != nil {
			return Source{}, err
		}
		if info.IsDir() {
			return Source{Directory, abs}, nil
		}
		return Source{Archive, abs}, nil
	}
	if isShort(text) {
		return Source{Git, text}, nil
	}
	scheme, rest, isURL := strings.Cut(text, "://")
	if !isURL {
		return Source{}, &SourceError{text, "cannot get information about plugin source: there is no such directory or " +
			"file, and it is not a URL"}
	}
	u, err := url.Parse(text)
	if err != nil { // the URL may contain a password
		return Source{}, &SourceError{"", fmt.Sprintf("the %s URL given is malformed", scheme)}
	}
	if strings.HasPrefix(u.Host, "-") || strings.HasPrefix(u.User.Username(), "-") || rest == "" {
		return Source{}, &SourceError{u.Redacted(), "the URL has no valid host"}
	}
	return remote(text, u)
}

func remote(text string, u *url.URL) (Source, error) {
	switch u.Scheme {
	case "oci":
		return Source{Registry, text}, nil
	case "http", "https":
		if isArchive(u.Path) {
			return Source{Download, text}, nil
		}
		return Source{Git, text}, nil
	case "ssh", "git", "file":
		return Source{Git, text}, nil
	}
	for _, s := range gitSchemes {
		if u.Scheme == "git+"+s {
			return Source{Git, strings.TrimPrefix(text, "git+")}, nil
		}
	}
	return Source{}, &SourceError{u.Redacted(),
		"plugins come from directories, archives, and URLs that begin with https, oci, ssh or git"}
}

func isArchive(name string) bool {
	return strings.HasSuffix(name, ".tgz") || strings.HasSuffix(name, ".tar.gz")
}

// String returns the location without a password, and without the query, which may contain a
// token.
func (s Source) String() string {
	if u, err := url.Parse(s.Location); err == nil && u.Scheme != "" {
		if u.Fragment, u.RawFragment = "", ""; u.RawQuery != "" {
			u.RawQuery = "..."
		}
		return u.Redacted()
	}
	return s.Location
}

// plain returns the location without credentials.
func (s Source) plain() string {
	u, err := url.Parse(s.Location)
	switch {
	case err != nil || u.Scheme == "": // git@host:path has no password
		return s.Location
	case s.Kind == Git && u.Scheme == "ssh" && u.User != nil: // the user is part of an ssh URL
		u.User = url.User(u.User.Username())
	default:
		u.User = nil
	}
	return u.String()
}

// base returns the last element of the location. Helm finds the directory of an installed
// repository by it when it updates a plugin.
func (s Source) base() string {
	if s.Kind == Directory || s.Kind == Archive {
		return filepath.Base(s.Location)
	}
	location := s.Location
	if u, err := url.Parse(location); err == nil && u.Scheme != "" {
		location = u.Path
	} else if _, after, ok := strings.Cut(location, ":"); ok {
		location = after
	}
	return path.Base(strings.TrimRight(location, "/"))
}
