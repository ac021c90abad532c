// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"errors"
	"fmt"
	"strings"
)

// A FieldError is returned for a [Finder] that lacks what a method needs.
type FieldError struct{ Field string }

func (e *FieldError) Error() string { return "the finder of charts has no " + e.Field }

// A NameError is returned for a name that is not repository/name, an OCI reference or a URL.
type NameError struct{ Name string }

// Path reports whether the name is that of a local file or directory.
func (e *NameError) Path() bool { return isPath(e.Name) }

func (e *NameError) Error() string {
	if e.Path() {
		return fmt.Sprintf("%q is a path on this machine: what is fetched is named as repository/chart, or by a URL", e.Name)
	}
	return fmt.Sprintf("non-absolute URLs should be in form of repo_name/path_to_chart, got: %s", e.Name)
}

// A SchemeError is returned for a URL whose scheme neither the Finder nor a plugin serves.
type SchemeError struct {
	URL, Scheme string
	Known       []string // the schemes that are served
}

func (e *SchemeError) Error() string {
	if e.Scheme == "file" {
		return fmt.Sprintf("%s: charts on this machine are named by their paths, not by file URLs", e.URL)
	}
	return fmt.Sprintf("%s: could not find protocol handler for: %s: scheme %[2]q not supported; there is %[3]s, "+
		"and plugins may bring more", e.URL, e.Scheme, strings.Join(e.Known, ", "))
}

// An EntryError is returned when a repository's index lists a chart whose archive cannot
// be fetched.
type EntryError struct {
	Repository, Chart, Version string
	Problem                    string // what is wrong with the entry, "" where Err says it
	Err                        error  // of the download, nil where there was none
}

func (e *EntryError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("%s-%s, which the index of %s lists: %v", e.Chart, e.Version, e.Repository, e.Err)
	}
	return fmt.Sprintf("%s-%s in the index of %s: %s", e.Chart, e.Version, e.Repository, e.Problem)
}

func (e *EntryError) Unwrap() error { return e.Err }

// Gone reports whether the archive does not exist where the index says.
func (e *EntryError) Gone() bool { return e.Err != nil && missing(e.Err) }

// A VersionError is returned when [Ref.Version] does not admit the version that an OCI
// reference names or leads to.
type VersionError struct {
	Ref     string
	Version string // of what Ref leads to
	Want    string // the requested version or range
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("chart reference and version mismatch: %s is not %s, the version of %s", e.Want, e.Version, e.Ref)
}

// A NotArchiveError is returned when the content at a URL is not a chart archive.
type NotArchiveError struct {
	URL   string
	Empty bool
	Page  bool // it looks like a web page
}

func (e *NotArchiveError) Error() string {
	what := "what is there is no chart archive"
	switch {
	case e.Empty:
		what = "there is nothing in it"
	case e.Page:
		what = "what is there is a web page, not a chart archive"
	}
	return fmt.Sprintf("fetch %s: %s", e.URL, what)
}

// named puts the URL into an error of the cache, which knows none.
func named(err error, address string) error {
	var d *DigestError
	if errors.As(err, &d) && d.URL == "" {
		return &DigestError{URL: Clean(address), Want: d.Want, Got: d.Got}
	}
	return err
}
