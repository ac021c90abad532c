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

// Kind is the kind of place that a plugin comes from.
type Kind int

// The kinds of places.
const (
	Directory Kind = iota // a directory on this machine, which is linked to
	Archive               // an archive on this machine
	Download              // an archive at an http or https URL
	Registry              // an OCI registry
	Git                   // a git repository
)

// Source is where a plugin comes from.
type Source struct {
	Kind Kind
	// Location is a path, or a URL that may have a password in it.
	Location string
}

// A SourceError is returned for a source from which no plugin can be installed.
type SourceError struct{ Source, Problem string }

func (e *SourceError) Error() string {
	if e.Source == "" {
		return "install a plugin: " + e.Problem
	}
	return fmt.Sprintf("install a plugin from %s: %s", e.Source, e.Problem)
}

// gitSchemes are the transports that git may use, without those that run
// programs which an address names (ext::).
var gitSchemes = []string{"https", "http", "ssh", "git", "file"}

// isShort reports whether text is git's short form of an address by ssh:
// git@host:path. No part may look like an option.
func isShort(text string) bool {
	user, rest, ok := strings.Cut(text, "@")
	host, path, ok2 := strings.Cut(rest, ":")
	word := func(s string) bool {
		return s != "" && s[0] != '-' && strings.Trim(s, letters+"0123456789._-") == ""
	}
	return ok && ok2 && word(user) && word(host) && path != "" && path[0] != '-' && path[0] != ':'
}

// ParseSource says what a user means by a place: what exists on disk, else a URL.
// An http or https URL is an archive's where it ends as archives do, and a git
// repository's otherwise. The error is a [*SourceError].
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
	if err != nil { // a password may be in it
		return Source{}, &SourceError{"", fmt.Sprintf("the %s URL given is malformed", scheme)}
	}
	if strings.HasPrefix(u.Host, "-") || strings.HasPrefix(u.User.Username(), "-") || rest == "" {
		return Source{}, &SourceError{u.Redacted(), "it names no host"}
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

// String is the location without a password, and without a query, which may be a
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

// plain is the location without credentials.
func (s Source) plain() string {
	u, err := url.Parse(s.Location)
	switch {
	case err != nil || u.Scheme == "": // git@host:path has no password
		return s.Location
	case s.Kind == Git && u.Scheme == "ssh" && u.User != nil: // whose user is part of the address
		u.User = url.User(u.User.Username())
	default:
		u.User = nil
	}
	return u.String()
}

// base is the last part of the location, the name of a directory or an archive: by it
// Helm finds a plugin again that it should update, with the .git of a repository.
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
