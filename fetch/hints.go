// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/moonhelm/moonhelm/internal/hint"
)

// Hint says what a user of the command line can do about it.
func (e *NameError) Hint() string {
	if e.Path() {
		return "a chart on this machine needs no download: helm show, helm template and helm install take its path"
	}
	return "helm search repo lists the charts of the repositories that were added; a path begins with ./ or /"
}

// Hint says what a user of the command line can do about it, "" for the scheme file.
func (e *SchemeError) Hint() string {
	if e.Scheme == "file" {
		return ""
	}
	return "helm plugin install adds plugins; helm plugin list shows those that are there"
}

// Hint says what a user of the command line can do about it, "" for a file that is there.
func (e *ProvenanceError) Hint() string {
	if !e.Missing {
		return ""
	}
	return "its maintainers have not signed it, or have not put the provenance file beside it; without " +
		"--verify it is used unchecked"
}

// Hint says what a user of the command line can do about it, "" where the error of the
// download knows better.
func (e *EntryError) Hint() string {
	var (
		digest   *DigestError
		unproven *ProvenanceError
	)
	switch {
	case errors.As(e.Err, &unproven):
		return ""
	case e.Gone():
		return "the index may be out of date: helm repo update fetches it again"
	case errors.As(e.Err, &digest):
		return "the index may be out of date: helm repo update fetches it again; " +
			"if they still differ, the archive was replaced: ask the repository's maintainers"
	}
	return ""
}

// Hint says what a user of the command line can do about it.
func (e *VersionError) Hint() string { return "give the version in one place only" }

// Hint says what a user of the command line can do about it, "" where it is not a web page.
func (e *NotArchiveError) Hint() string {
	if !e.Page {
		return ""
	}
	return "an archive's own address ends in .tgz; some servers show a page to users who are not logged " +
		"in: --username, --password"
}

// Hint says what a user of the command line can do about it, "" where that is not known.
func (e *StatusError) Hint() string {
	switch {
	case e.Code == http.StatusProxyAuthRequired:
		return "HTTPS_PROXY and HTTP_PROXY may say who you are at the proxy: http://NAME:PASSWORD@HOST"
	case e.Code == http.StatusForbidden && e.Identified:
		return fmt.Sprintf("%s was told who asks, and does not allow it: ask its owner, or use another "+
			"--username and --password", e.Host)
	case e.Unauthorized() && e.Identified:
		return fmt.Sprintf("%s does not accept that user name with that password: --username and --password give others; "+
			"helm repo add --force-update keeps them for a repository", e.Host)
	case e.Unauthorized():
		return fmt.Sprintf("--username and --password say who you are at %s; helm repo add keeps them for a repository",
			e.Host)
	case e.Code >= 500, e.Code == http.StatusTooManyRequests:
		return fmt.Sprintf("it is %s that has a problem: try again later, or ask its owner", e.Host)
	case strings.HasSuffix(e.URL, ".tgz"):
		return "is that address right? Charts of a repository can be named without it: NAME --repo URL"
	}
	return ""
}

// Hint says what a user of the command line can do about it.
func (e *UntrustedError) Hint() string {
	var (
		name    x509.HostnameError
		invalid x509.CertificateInvalidError
	)
	switch {
	case errors.As(e.Err, &name):
		return fmt.Sprintf("the certificate is not for %s: is there a name in it to use in the URL?", e.Host)
	case errors.As(e.Err, &invalid) && invalid.Reason == x509.Expired:
		return "is this machine's clock right? If it is, the server's owner has to renew the certificate"
	}
	return "--ca-file names the authorities to trust, where they are your own"
}

// tryAgain is the hint of downloads that broke off.
const tryAgain = "try again; nothing has been left half done"

// Hint says what a user of the command line can do about it.
func (e *UnreachableError) Hint() string {
	proxy := hint.Proxy(e.Err)
	switch {
	case e.Plain:
		return "an http:// address goes without TLS; what is sent can then be read by others on the way"
	case proxy != "":
		return proxy
	case e.Done == 0:
		return fmt.Sprintf("is %s the right address, and can it be reached from here? "+
			"HTTPS_PROXY and HTTP_PROXY name a proxy", e.Host)
	}
	return tryAgain
}

// Hint says what a user of the command line can do about it.
func (e *StalledError) Hint() string { return tryAgain }
