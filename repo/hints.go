// SPDX-License-Identifier: Apache-2.0

package repo

import (
	"errors"
	"fmt"
	"strings"

	"github.com/moonhelm/moonhelm/internal/hint"
	"github.com/moonhelm/moonhelm/repo/index"
)

// addOne is the hint if there are no repositories.
const addOne = "helm repo add NAME URL adds one"

// Hint returns advice for users of the command line.
func (e *NotFoundError) Hint() string { return names(e.Suggestion, e.Have) }

// Hint returns advice for users of the command line.
func (e *NamesNotFoundError) Hint() string { return names(e.Suggestion, e.Have) }

func names(suggestion string, have []string) string {
	switch {
	case suggestion != "":
		return fmt.Sprintf("did you mean %q?", suggestion)
	case len(have) == 0:
		return addOne
	}
	return "available: " + strings.Join(have, ", ")
}

// Hint returns advice for users of the command line.
func (e *NoRepositoriesError) Hint() string { return addOne }

// Hint returns advice for users of the command line.
func (e *ExistsError) Hint() string {
	return fmt.Sprintf("helm repo list shows it; --force-update replaces it, helm repo remove %s removes it", e.Name)
}

// Hint returns advice for users of the command line.
func (e *RegistryError) Hint() string {
	return "helm show chart oci://HOST/PATH/NAME shows one; helm registry login HOST logs in"
}

// Hint returns advice for users of the command line.
func (e *UncachedError) Hint() string { return fmt.Sprintf("helm repo update %s fetches it", e.Name) }

// Hint returns advice for users of the command line, or "" for an added repository.
func (e *URLError) Hint() string {
	if e.Name != "" {
		return ""
	}
	return "--repo takes the URL of a repository; charts of an added repository are named NAME/CHART"
}

// Hint returns advice for users of the command line.
func (e *LockedError) Hint() string { return "try again when it has ended" }

// Hint returns advice for users of the command line.
func (e *FileError) Hint() string {
	return "edit it, or remove it and add the repositories again"
}

// Hint returns advice for users of the command line.
func (e *TimeoutError) Hint() string { return "--timeout sets a longer time" }

// Hint returns advice for users of the command line, or "" if the URL is not the cause.
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
		return "a repository's URL does not include index.yaml: " + directory
	case isStatus, errors.As(e.Err, &format):
		return address + "/index.yaml must be the repository's index: check that the URL is that of the repository, " +
			"not of a web page about it"
	}
	return ""
}
