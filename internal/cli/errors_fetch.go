// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	"github.com/moonhelm/moonhelm/fetch"
	"github.com/moonhelm/moonhelm/registry"
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
	case errors.As(err, &name) && name.Path():
		return []string{"a chart on this machine needs no download: helm show, helm template and helm install take its path"}
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
	case errors.As(err, &status):
		return statusHints(status)
	case errors.As(err, &trust):
		return []string{trustHint(trust)}
	case errors.As(err, &noAnswer) && noAnswer.Plain:
		return []string{"an http:// address goes without TLS; what is sent can then be read by others on the way"}
	case errors.As(err, &noAnswer) && isProxy(err):
		return []string{proxyHint}
	case errors.As(err, &noAnswer) && noAnswer.Done == 0:
		return []string{fmt.Sprintf("is %s the right address, and can it be reached from here? HTTPS_PROXY and HTTP_PROXY name a proxy", noAnswer.Host)}
	case errors.As(err, &noAnswer), errors.As(err, &stalled):
		return []string{"try again; nothing has been left half done"}
	}
	return nil
}

// statusHints say what to do about an answer that is not the content.
func statusHints(e *fetch.StatusError) []string {
	switch {
	case e.Code == http.StatusProxyAuthRequired:
		return []string{"HTTPS_PROXY and HTTP_PROXY may say who you are at the proxy: http://NAME:PASSWORD@HOST"}
	case e.Code == http.StatusForbidden && e.Identified:
		return []string{fmt.Sprintf("%s was told who asks, and does not allow it: ask its owner, or use another --username and --password", e.Host)}
	case e.Unauthorized() && e.Identified:
		return []string{fmt.Sprintf("%s does not accept that user name with that password: --username and --password give others; helm repo add --force-update keeps them for a repository", e.Host)}
	case e.Unauthorized():
		return []string{fmt.Sprintf("--username and --password say who you are at %s; helm repo add keeps them for a repository", e.Host)}
	case e.Code >= 500, e.Code == http.StatusTooManyRequests:
		return []string{fmt.Sprintf("it is %s that has a problem: try again later, or ask its owner", e.Host)}
	case strings.HasSuffix(e.URL, ".tgz"):
		return []string{"is that address right? Charts of a repository can be named without it: NAME --repo URL"}
	}
	return nil
}

// trustHint says what to do about a certificate that proves nothing.
func trustHint(e *fetch.UntrustedError) string {
	var (
		name    x509.HostnameError
		invalid x509.CertificateInvalidError
	)
	switch {
	case errors.As(e, &name):
		return fmt.Sprintf("the certificate is not for %s: is there a name in it to use in the URL?", e.Host)
	case errors.As(e, &invalid) && invalid.Reason == x509.Expired:
		return "is this machine's clock right? If it is, the server's owner has to renew the certificate"
	}
	return "--ca-file names the authorities to trust, where they are your own"
}

const proxyHint = "is the proxy right that HTTPS_PROXY or HTTP_PROXY names? NO_PROXY lists the hosts that are reached without it"

// isProxy tells whether it is a proxy that does not answer.
func isProxy(err error) bool {
	var dial *net.OpError
	return errors.As(err, &dial) && dial.Op == "proxyconnect"
}

// stillFetching tells whether it was a transfer that was interrupted: nothing
// has been begun then that somebody has to look after.
func stillFetching(err error) bool {
	var (
		fetching *fetch.InterruptedError
		pushing  *registry.InterruptedError
	)
	return errors.As(err, &fetching) || errors.As(err, &pushing)
}
