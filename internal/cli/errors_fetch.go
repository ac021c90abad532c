// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"

	"github.com/moonhelm/moonhelm/fetch"
	"github.com/moonhelm/moonhelm/oci"
)

// fetchHints say what to do about errors of fetching, nil for others.
func fetchHints(err error) []string {
	var (
		name     *fetch.NameError
		scheme   *fetch.SchemeError
		entry    *fetch.EntryError
		digest   *fetch.DigestError
		version  *fetch.VersionError
		page     *fetch.NotArchiveError
		unproven *fetch.ProvenanceError
		status   *fetch.StatusError
		noAnswer *fetch.UnreachableError
		stalled  *fetch.StalledError
		trust    *fetch.UntrustedError
	)
	switch {
	case errors.As(err, &name):
		return []string{"helm search repo lists the charts of the repositories that were added; a path begins with ./ or /"}
	case errors.As(err, &scheme) && scheme.Scheme != "file":
		return []string{"helm plugin install adds plugins; helm plugin list shows those that are there"}
	case errors.As(err, &unproven) && unproven.Missing:
		return []string{"its maintainers have not signed it, or have not put the provenance file beside it; without --verify it is used unchecked"}
	case errors.As(err, &entry) && entry.Gone():
		return []string{"the index may be out of date: helm repo update fetches it anew"}
	case errors.As(err, &digest) && errors.As(err, &entry):
		return []string{"the index may be out of date: helm repo update fetches it anew; if they still differ, somebody has replaced the archive: ask the repository's maintainers"}
	case errors.As(err, &version):
		return []string{"give the version in one place only"}
	case errors.As(err, &page) && page.Page:
		return []string{"an archive's own address ends in .tgz; some servers show a page to those whom they do not know: --username, --password"}
	case errors.As(err, &status) && status.Unauthorized():
		return []string{fmt.Sprintf("--username and --password say who you are at %s; helm repo add keeps them for a repository", status.Host)}
	case errors.As(err, &trust):
		return []string{"--ca-file names the authorities to trust, where they are your own"}
	case errors.As(err, &noAnswer) && noAnswer.Plain:
		return []string{"an http:// address goes without TLS; what is sent can then be read by others on the way"}
	case errors.As(err, &noAnswer) && noAnswer.Done == 0:
		return []string{fmt.Sprintf("is %s the right address, and can it be reached from here? HTTPS_PROXY and HTTP_PROXY name a proxy", noAnswer.Host)}
	case errors.As(err, &noAnswer), errors.As(err, &stalled):
		return []string{"try again; nothing has been left half done"}
	}
	return nil
}

// stillFetching tells whether it was a transfer that was interrupted: nothing
// has been begun then that somebody has to look after.
func stillFetching(err error) bool {
	var (
		fetching *fetch.InterruptedError
		registry *oci.InterruptedError
	)
	return errors.As(err, &fetching) || errors.As(err, &registry)
}
