// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"errors"
	"fmt"
	"strings"
)

// A FieldError is returned if a field of [Finder] that a method needs is not set.
type FieldError struct{ Field string }

func (e *FieldError) Error() string { return "the finder of charts has no " + e.Field }

// A NameError is returned for a name that is not repository/name, an OCI reference or a URL.
type NameError struct{ Name string }

// Path reports whether the name is a path of a local file or directory.
func (e *NameError) Path() bool { return isPath(e.Name) }

func (e *NameError) Error() string {
	if e.Path() {
		return fmt.Sprintf("%q is a local path: want repository/chart or a URL", e.Name)
	}
	return fmt.Sprintf("non-absolute URLs should be in form of repo_name/path_to_chart, got: %s", e.Name)
}

// A SchemeError is returned for a URL whose scheme is not supported, also not by a plugin.
type SchemeError struct {
	URL, Scheme string
	Known       []string // the supported schemes
}

func (e *SchemeError) Error() string {
	if e.Scheme == "file" {
		return fmt.Sprintf("%s: a local chart is named by its path, not by a file URL", e.URL)
	}
	return fmt.Sprintf("%s: could not find protocol handler for: %s: scheme %[2]q not supported; supported are %[3]s, "+
		"and the schemes of plugins", e.URL, e.Scheme, strings.Join(e.Known, ", "))
}

// An EntryError is returned if a repository's index lists a chart whose archive cannot be
// fetched.
type EntryError struct {
	Repository, Chart, Version string
	Problem                    string // what is wrong with the entry, or "" if Err is set
	Err                        error  // of the download, or nil
}

func (e *EntryError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("%s-%s, which the index of %s lists: %v", e.Chart, e.Version, e.Repository, e.Err)
	}
	return fmt.Sprintf("%s-%s in the index of %s: %s", e.Chart, e.Version, e.Repository, e.Problem)
}

func (e *EntryError) Unwrap() error { return e.Err }

// Gone reports whether there is no archive at the URL in the index.
func (e *EntryError) Gone() bool { return e.Err != nil && isMissing(e.Err) }

// A VersionError is returned if the version of an OCI reference does not match
// [Ref.Version].
type VersionError struct {
	Ref     string
	Version string // the version of Ref
	Want    string // the requested version or range
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("chart reference and version mismatch: %s is not %s, the version of %s", e.Want, e.Version, e.Ref)
}

// A NotArchiveError is returned if the content of a URL is not a chart archive.
type NotArchiveError struct {
	URL   string
	Empty bool
	Page  bool // the content looks like a web page
}

func (e *NotArchiveError) Error() string {
	what := "the content is not a chart archive"
	switch {
	case e.Empty:
		what = "the content is empty"
	case e.Page:
		what = "the content is a web page, not a chart archive"
	}
	return fmt.Sprintf("fetch %s: %s", e.URL, what)
}

// addURL adds the URL to a [*DigestError] of the cache, which has none.
func addURL(err error, address string) error {
	var d *DigestError
	if errors.As(err, &d) && d.URL == "" {
		return &DigestError{URL: RedactURL(address), Want: d.Want, Got: d.Got}
	}
	return err
}
