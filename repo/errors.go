// SPDX-License-Identifier: Apache-2.0

package repo

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"
)

// NameError tells that a repository cannot have that name.
type NameError struct {
	Name, Problem string
}

func (e *NameError) Error() string { return fmt.Sprintf("repository name (%s) %s", e.Name, e.Problem) }

// TakenError tells that a repository of that name was added with another URL or
// other settings. The words are Helm's.
type TakenError struct{ Name string }

func (e *TakenError) Error() string {
	return fmt.Sprintf("repository name (%s) already exists, please specify a different name", e.Name)
}

// ExpiredError tells that a repository has moved for good.
type ExpiredError struct{ URL, Try string }

func (e *ExpiredError) Error() string {
	return fmt.Sprintf("repo %q is no longer available; try %q instead", e.URL, e.Try)
}

// URLError tells that a repository's URL is none. Name is "" for one that was not
// added.
type URLError struct{ Name, URL, Problem string }

func (e *URLError) Error() string {
	if e.Name == "" {
		return fmt.Sprintf("%q: %s", e.URL, e.Problem)
	}
	return fmt.Sprintf("the URL of repository %q is %q: %s", e.Name, e.URL, e.Problem)
}

// RegistryError tells that what was to be added is a registry, which needs no
// adding.
type RegistryError struct{ URL string }

func (e *RegistryError) Error() string {
	return fmt.Sprintf("%s is an OCI registry: registries have no index and are not added; their charts are named by their whole address", e.URL)
}

// InvalidError tells that there is no repository at a URL, or that it cannot be
// reached: Err knows which.
type InvalidError struct {
	URL string
	Err error
}

func (e *InvalidError) Error() string {
	return fmt.Sprintf("looks like %q is not a valid chart repository or cannot be reached: %v", e.URL, e.Err)
}

func (e *InvalidError) Unwrap() error { return e.Err }

// UnknownError tells that no repository of that name was added.
type UnknownError struct {
	Name string
	// Chart is set where a chart of the repository was looked for.
	Chart      bool
	Suggestion string   // what may have been meant, or ""
	Have       []string // what there is
}

// Error is in the words of Helm, which has two sentences for it.
func (e *UnknownError) Error() string {
	if e.Chart {
		return fmt.Sprintf("repo %s not found", e.Name)
	}
	return fmt.Sprintf("no repo named %q found", e.Name)
}

// UnmatchedError tells that repositories to update have not been added.
type UnmatchedError struct {
	Names      []string
	Suggestion string // what may have been meant by the first, or ""
	Have       []string
}

func (e *UnmatchedError) Error() string {
	quoted := make([]string, len(e.Names))
	for i, name := range e.Names {
		quoted[i] = "'" + name + "'"
	}
	return fmt.Sprintf("no repositories found matching %s.  Nothing will be updated", strings.Join(quoted, ", "))
}

// NoneError tells that no repository was added.
type NoneError struct{}

func (e *NoneError) Error() string { return "no repositories configured" }

// UpdateError tells which repositories could not be updated.
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

// TimeoutError tells that an index has not arrived in time.
type TimeoutError struct{ After time.Duration }

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("the index has not arrived within %v", e.After)
}

// Timeout implements what net.Error does.
func (e *TimeoutError) Timeout() bool { return true }

// FileError tells what is wrong with the file of repositories.
type FileError struct {
	Path string
	Err  error
}

func (e *FileError) Error() string {
	return fmt.Sprintf("read repositories from %s: %v", e.Path, e.Err)
}

func (e *FileError) Unwrap() error { return e.Err }

// UncachedError tells that the index of a repository has not been fetched, is
// gone, or cannot be read.
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

// CacheError tells that an index cannot be written to the cache.
type CacheError struct {
	Dir string
	Err error
}

func (e *CacheError) Error() string {
	return fmt.Sprintf("cannot keep indexes in %s: %v", e.Dir, e.Err)
}

func (e *CacheError) Unwrap() error { return e.Err }
