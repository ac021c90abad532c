// SPDX-License-Identifier: Apache-2.0

package repo

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"
)

// A NameError is returned for a name that a repository cannot have.
type NameError struct {
	Name, Problem string
}

func (e *NameError) Error() string { return fmt.Sprintf("repository name (%s) %s", e.Name, e.Problem) }

// An ExistsError is returned when a repository of that name was added with another URL or
// other settings. The message is Helm's.
type ExistsError struct{ Name string }

func (e *ExistsError) Error() string {
	return fmt.Sprintf("repository name (%s) already exists, please specify a different name", e.Name)
}

// An ExpiredError is returned for the URL of a repository that has moved for good. Try is
// its new one.
type ExpiredError struct{ URL, Try string }

func (e *ExpiredError) Error() string {
	return fmt.Sprintf("repo %q is no longer available; try %q instead", e.URL, e.Try)
}

// A URLError is returned for a repository whose URL cannot be used. Name is "" for one
// that was not added.
type URLError struct{ Name, URL, Problem string }

func (e *URLError) Error() string {
	if e.Name == "" {
		return fmt.Sprintf("%q: %s", e.URL, e.Problem)
	}
	return fmt.Sprintf("the URL of repository %q is %q: %s", e.Name, e.URL, e.Problem)
}

// A RegistryError is returned when the URL to add is that of an OCI registry: those need
// not be added.
type RegistryError struct{ URL string }

func (e *RegistryError) Error() string {
	return fmt.Sprintf("%s is an OCI registry: registries have no index and are not added; their charts are "+
		"named by their whole address", e.URL)
}

// An InvalidError is returned when there is no repository at a URL, or it cannot be
// reached; Err is the cause.
type InvalidError struct {
	URL string
	Err error
}

func (e *InvalidError) Error() string {
	return fmt.Sprintf("looks like %q is not a valid chart repository or cannot be reached: %v", e.URL, e.Err)
}

func (e *InvalidError) Unwrap() error { return e.Err }

// A NotFoundError is returned for the name of a repository that was not added.
type NotFoundError struct {
	Name string
	// Chart is set where a chart of the repository was looked for.
	Chart      bool
	Suggestion string   // what may have been meant, or ""
	Have       []string // what there is
}

// Error is in the words of Helm, which has two sentences for it.
func (e *NotFoundError) Error() string {
	if e.Chart {
		return fmt.Sprintf("repo %s not found", e.Name)
	}
	return fmt.Sprintf("no repo named %q found", e.Name)
}

// A NamesNotFoundError is returned for names of repositories to update that were not added.
type NamesNotFoundError struct {
	Names      []string
	Suggestion string // what may have been meant by the first, or ""
	Have       []string
}

func (e *NamesNotFoundError) Error() string {
	quoted := make([]string, len(e.Names))
	for i, name := range e.Names {
		quoted[i] = "'" + name + "'"
	}
	return fmt.Sprintf("no repositories found matching %s.  Nothing will be updated", strings.Join(quoted, ", "))
}

// A NoRepositoriesError is returned where no repository was added.
type NoRepositoriesError struct{}

func (e *NoRepositoriesError) Error() string { return "no repositories configured" }

// An UpdateError lists the repositories that could not be updated. It unwraps to the
// error of each.
type UpdateError struct{ Failed []Result }

func (e *UpdateError) Error() string {
	urls := make([]string, len(e.Failed))
	for i, r := range e.Failed {
		urls[i] = r.Entry.Shown()
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

// A TimeoutError is returned for an index that did not arrive within
// [Collection.Timeout].
type TimeoutError struct{ After time.Duration }

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("the index has not arrived within %v", e.After)
}

// Timeout implements what net.Error does.
func (e *TimeoutError) Timeout() bool { return true }

// A FileError is returned for a file of repositories that cannot be read.
type FileError struct {
	Path string
	Err  error
}

func (e *FileError) Error() string {
	return fmt.Sprintf("read repositories from %s: %v", e.Path, e.Err)
}

func (e *FileError) Unwrap() error { return e.Err }

// An UncachedError is returned for a repository whose index is not in the cache, or
// cannot be read there. Err is [fs.ErrNotExist] for one that was not fetched.
type UncachedError struct {
	Name string
	Err  error
}

func (e *UncachedError) Error() string {
	if errors.Is(e.Err, fs.ErrNotExist) {
		return fmt.Sprintf("no cached repo found. (try 'helm repo update'): the index of repository %q is not here", e.Name)
	}
	return fmt.Sprintf("the index of repository %q, which was fetched before, cannot be used: %v", e.Name, e.Err)
}

func (e *UncachedError) Unwrap() error { return e.Err }

// A FieldError is returned for a [Collection] that lacks what a method needs.
type FieldError struct{ Field string }

func (e *FieldError) Error() string { return "the collection of repositories has no " + e.Field }

// A CacheError is returned when an index cannot be written to the cache.
type CacheError struct {
	Dir string
	Err error
}

func (e *CacheError) Error() string {
	return fmt.Sprintf("cannot keep indexes in %s: %v", e.Dir, e.Err)
}

func (e *CacheError) Unwrap() error { return e.Err }
