// SPDX-License-Identifier: Apache-2.0

package repo

import (
	"errors"
	"fmt"
	"strings"

	"github.com/moonhelm/moonhelm/internal/hint"
	"github.com/moonhelm/moonhelm/repo/index"
)

// addOne is the hint where no repository was added yet.
const addOne = "helm repo add NAME URL adds one"

// Hint says what a user of the command line can do about it.
func (e *NotFoundError) Hint() string { return names(e.Suggestion, e.Have) }

// Hint says what a user of the command line can do about it.
func (e *NamesNotFoundError) Hint() string { return names(e.Suggestion, e.Have) }

func names(suggestion string, have []string) string {
	switch {
	case suggestion != "":
		return fmt.Sprintf("did you mean %q?", suggestion)
	case len(have) == 0:
		return addOne
	}
	return "there is " + strings.Join(have, ", ")
}

// Hint says what a user of the command line can do about it.
func (e *NoRepositoriesError) Hint() string { return addOne }

// Hint says what a user of the command line can do about it.
func (e *ExistsError) Hint() string {
	return fmt.Sprintf("helm repo list shows it; --force-update puts this one in its place, "+
		"helm repo remove %s removes it", e.Name)
}

// Hint says what a user of the command line can do about it.
func (e *RegistryError) Hint() string {
	return "helm show chart oci://HOST/PATH/NAME shows one; helm registry login HOST says who you are"
}

// Hint says what a user of the command line can do about it.
func (e *UncachedError) Hint() string { return fmt.Sprintf("helm repo update %s fetches it", e.Name) }

// Hint says what a user of the command line can do about it, "" for a repository that was
// added.
func (e *URLError) Hint() string {
	if e.Name != "" {
		return ""
	}
	return "--repo takes the URL of a repository; charts of one that was added are named NAME/CHART"
}

// Hint says what a user of the command line can do about it.
func (e *LockedError) Hint() string { return "try again when it has ended" }

// Hint says what a user of the command line can do about it.
func (e *FileError) Hint() string {
	return "mend it by hand, or remove it and add the repositories again"
}

// Hint says what a user of the command line can do about it.
func (e *TimeoutError) Hint() string { return "--timeout gives it more time" }

// Hint says what a user of the command line can do about it, "" where it is not the URL
// that is to blame.
func (e *InvalidError) Hint() string {
	if hint.Of(e.Err) != nil {
		return ""
	}
	var (
		format *index.FormatError
		status interface { // an HTTP status, of package fetch
			error
			Unauthorized() bool
		}
	)
	address := strings.TrimSuffix(e.URL, "/")
	directory, named := strings.CutSuffix(address, "/index.yaml")
	switch isStatus := errors.As(e.Err, &status); {
	case isStatus && named:
		return "a repository's URL is the directory's, without the index: " + directory
	case isStatus, errors.As(e.Err, &format):
		return address + "/index.yaml must be the repository's index: is it the URL of the repository itself, " +
			"not of a page about it?"
	}
	return ""
}
