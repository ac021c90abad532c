// SPDX-License-Identifier: Apache-2.0

package repo

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"
)

// A NameError is returned for an invalid repository name.
type NameError struct {
	Name, Problem string
}

func (e *NameError) Error() string { return fmt.Sprintf("repository name (%s) %s", e.Name, e.Problem) }

// An ExistsError is returned if a repository with the same name but another URL or other
// settings exists. The message is Helm's.
type ExistsError struct{ Name string }

func (e *ExistsError) Error() string {
	return fmt.Sprintf("repository name (%s) already exists, please specify a different name", e.Name)
}

// An ExpiredError is returned for the URL of a repository that has moved permanently. Try
// is its new URL.
type ExpiredError struct{ URL, Try string }

func (e *ExpiredError) Error() string {
	return fmt.Sprintf("repo %q is no longer available; try %q instead", e.URL, e.Try)
}

// A URLError is returned for a repository with an invalid URL. Name is "" for a
// repository that was not added.
type URLError struct{ Name, URL, Problem string }

func (e *URLError) Error() string {
	if e.Name == "" {
		return fmt.Sprintf("%q: %s", e.URL, e.Problem)
	}
	return fmt.Sprintf("the URL of repository %q is %q: %s", e.Name, e.URL, e.Problem)
}

// A RegistryError is returned if the URL to add is an OCI registry: registries need not be
// added.
type RegistryError struct{ URL string }

func (e *RegistryError) Error() string {
	return fmt.Sprintf("%s is an OCI registry: registries have no index and cannot be added; refer to their charts by "+
		"their full URL", e.URL)
}

// An InvalidError is returned if there is no repository at a URL, or it is unreachable. Err is
// the cause.
type InvalidError struct {
	URL string
	Err error
}

func (e *InvalidError) Error() string {
	return fmt.Sprintf("looks like %q is not a valid chart repository or cannot be reached: %v", e.URL, e.Err)
}

func (e *InvalidError) Unwrap() error { return e.Err }

// A NotFoundError is returned for the name of a repository that does not exist.
type NotFoundError struct {
	Name string
	// Chart is set if a chart of the repository was requested.
	Chart      bool
	Suggestion string   // a similar name, or ""
	Have       []string // the existing names
}

// Error returns one of Helm's two messages.
func (e *NotFoundError) Error() string {
	if e.Chart {
		return fmt.Sprintf("repo %s not found", e.Name)
	}
	return fmt.Sprintf("no repo named %q found", e.Name)
}

// A NamesNotFoundError is returned if repositories to update do not exist.
type NamesNotFoundError struct {
	Names      []string
	Suggestion string // a name similar to the first, or ""
	Have       []string
}

func (e *NamesNotFoundError) Error() string {
	quoted := make([]string, len(e.Names))
	for i, name := range e.Names {
		quoted[i] = "'" + name + "'"
	}
	return fmt.Sprintf("no repositories found matching %s.  Nothing will be updated", strings.Join(quoted, ", "))
}

// A NoRepositoriesError is returned if there are no repositories.
type NoRepositoriesError struct{}

func (e *NoRepositoriesError) Error() string { return "no repositories configured" }

// An UpdateError lists the repositories that could not be updated. It unwraps to the
// error of each.
type UpdateError struct{ Failed []Result }

func (e *UpdateError) Error() string {
	urls := make([]string, len(e.Failed))
	for i, r := range e.Failed {
		urls[i] = r.Entry.RedactedURL()
	}
	return fmt.Sprintf("failed to update the following repositories: [%s]", strings.Join(urls, " "))
}

func (e *UpdateError) Unwrap() []error {
	errs := make([]error, len(e.Failed))
	for i, r := range e.Failed {
		errs[i] = r.Err
	}
	return errs
}

// A TimeoutError is returned if fetching an index takes longer than [Collection.Timeout].
type TimeoutError struct{ After time.Duration }

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("the index was not received within %v", e.After)
}

// Timeout returns true. It implements net.Error.
func (e *TimeoutError) Timeout() bool { return true }

// A FileError is returned if repositories.yaml cannot be read.
type FileError struct {
	Path string
	Err  error
}

func (e *FileError) Error() string {
	return fmt.Sprintf("read repositories from %s: %v", e.Path, e.Err)
}

func (e *FileError) Unwrap() error { return e.Err }

// An UncachedError is returned if the index of a repository is not in the cache, or cannot be
// read from it. Err is [fs.ErrNotExist] if it was not fetched.
type UncachedError struct {
	Name string
	Err  error
}

func (e *UncachedError) Error() string {
	if errors.Is(e.Err, fs.ErrNotExist) {
		return fmt.Sprintf("no cached repo found. (try 'helm repo update'): the index of repository %q is not cached", e.Name)
	}
	return fmt.Sprintf("the cached index of repository %q cannot be used: %v", e.Name, e.Err)
}

func (e *UncachedError) Unwrap() error { return e.Err }

// A FieldError is returned if a field of [Collection] that a method needs is not set.
type FieldError struct{ Field string }

func (e *FieldError) Error() string { return "the collection of repositories has no " + e.Field }

// A CacheError is returned if an index cannot be written to the cache.
type CacheError struct {
	Dir string
	Err error
}

func (e *CacheError) Error() string {
	return fmt.Sprintf("cannot write indexes to %s: %v", e.Dir, e.Err)
}

func (e *CacheError) Unwrap() error { return e.Err }
