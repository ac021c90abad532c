// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/chart/dependency"
	"github.com/moonhelm/moonhelm/fetch"
	"github.com/moonhelm/moonhelm/repo"
	"github.com/moonhelm/moonhelm/repo/index"
)

// repoHints say what to do about errors of chart repositories, nothing about
// others.
func repoHints(err error) []string {
	var (
		unknown   *repo.UnknownError
		unmatched *repo.UnmatchedError
		none      *repo.NoneError
		taken     *repo.TakenError
		registry  *repo.RegistryError
		uncached  *repo.UncachedError
		listing   *action.ListingError
		noURL     *repo.URLError
		locked    *repo.LockedError
		file      *repo.FileError
		late      *repo.TimeoutError
		invalid   *repo.InvalidError
	)
	switch {
	case errors.As(err, &unknown):
		return namesHint(unknown.Suggestion, unknown.Have)
	case errors.As(err, &unmatched):
		return namesHint(unmatched.Suggestion, unmatched.Have)
	case errors.As(err, &none):
		return []string{"helm repo add NAME URL adds one"}
	case errors.As(err, &taken):
		return []string{fmt.Sprintf("helm repo list shows it; --force-update puts this one in its place, helm repo remove %s removes it", taken.Name)}
	case errors.As(err, &registry):
		return []string{"helm show chart oci://HOST/PATH/NAME shows one; helm registry login HOST says who you are"}
	case errors.As(err, &uncached):
		return []string{fmt.Sprintf("helm repo update %s fetches it", uncached.Name)}
	case errors.As(err, &listing):
		return listingHint(listing)
	case errors.As(err, &noURL) && noURL.Name == "":
		return []string{"--repo takes the URL of a repository; charts of one that was added are named NAME/CHART"}
	case errors.As(err, &locked):
		return []string{"try again when it has ended"}
	case errors.As(err, &file):
		return []string{"mend it by hand, or remove it and add the repositories again"}
	case errors.As(err, &late):
		return []string{"--timeout gives it more time"}
	case errors.As(err, &invalid):
		return invalidHint(invalid)
	}
	return nil
}

func listingHint(e *action.ListingError) []string {
	var want *dependency.VersionError
	switch {
	case errors.As(e, &want) && want.Problem != "":
		return nil
	case errors.As(e, &want) && want.Want == "" && len(want.Have) > 0:
		return []string{"--devel takes pre-releases too"}
	case e.Repository != "":
		return []string{fmt.Sprintf("helm repo update %[1]s fetches the newest index; helm search repo %[1]s/ --versions lists what is in the one that is here", e.Repository)}
	}
	return nil
}

func namesHint(near string, have []string) []string {
	switch {
	case near != "":
		return []string{fmt.Sprintf("did you mean %q?", near)}
	case len(have) == 0:
		return []string{"helm repo add NAME URL adds one"}
	}
	return []string{"there is " + strings.Join(have, ", ")}
}

// invalidHint says what to do about a URL at which no index is; nothing where
// it is not the URL that is to blame.
func invalidHint(e *repo.InvalidError) []string {
	var (
		format *index.FormatError
		status *fetch.StatusError
	)
	address := strings.TrimSuffix(e.URL, "/")
	switch {
	case errors.As(e, &status) && (status.Unauthorized() || status.Code >= 500 || status.Code == http.StatusTooManyRequests):
		return nil
	case errors.As(e, &status) && strings.HasSuffix(address, "/index.yaml"):
		return []string{fmt.Sprintf("a repository's URL is the folder's, without the index: %s", strings.TrimSuffix(address, "/index.yaml"))}
	case errors.As(e, &format), errors.As(e, &status):
		return []string{fmt.Sprintf("%s/index.yaml must be the repository's index: is it the URL of the repository itself, not of a page about it?", address)}
	}
	return nil
}
