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

// Hint returns advice for users of the command line.
func (e *NameError) Hint() string {
	if e.Path() {
		return "to use a local chart, pass its path to helm show, helm template or helm install"
	}
	return "helm search repo lists the charts of the added repositories; a path begins with ./ or /"
}

// Hint returns advice for users of the command line, or "" for the scheme file.
func (e *SchemeError) Hint() string {
	if e.Scheme == "file" {
		return ""
	}
	return "helm plugin install adds plugins; helm plugin list shows the installed ones"
}

// Hint returns advice for users of the command line, or "" if the provenance file exists.
func (e *ProvenanceError) Hint() string {
	if !e.Missing {
		return ""
	}
	return "its maintainers have not signed it, or have not uploaded the provenance file; " +
		"without --verify it is used unverified"
}

// Hint returns advice for users of the command line, or "" if Err has better advice.
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

// Hint returns advice for users of the command line.
func (e *VersionError) Hint() string { return "give the version in one place only" }

// Hint returns advice for users of the command line, or "" if the content is not a web page.
func (e *NotArchiveError) Hint() string {
	if !e.Page {
		return ""
	}
	return "the URL of an archive ends in .tgz; some servers show a web page to users who are not logged " +
		"in: --username, --password"
}

// Hint returns advice for users of the command line, or "" if there is none for the status.
func (e *StatusError) Hint() string {
	switch {
	case e.Code == http.StatusProxyAuthRequired:
		return "set credentials for the proxy in HTTPS_PROXY or HTTP_PROXY: http://NAME:PASSWORD@HOST"
	case e.Code == http.StatusForbidden && e.Identified:
		return fmt.Sprintf("%s does not permit access with these credentials: ask its owner, or use another "+
			"--username and --password", e.Host)
	case e.Unauthorized() && e.Identified:
		return fmt.Sprintf("%s does not accept that user name and password: change them with --username and --password; "+
			"helm repo add --force-update stores them for a repository", e.Host)
	case e.Unauthorized():
		return fmt.Sprintf("--username and --password log in to %s; helm repo add stores them for a repository",
			e.Host)
	case e.Code >= 500, e.Code == http.StatusTooManyRequests:
		return fmt.Sprintf("%s has a problem: try again later, or ask its owner", e.Host)
	case strings.HasSuffix(e.URL, ".tgz"):
		return "check the URL; a chart in a repository can also be named without it: NAME --repo URL"
	}
	return ""
}

// Hint returns advice for users of the command line.
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
	return "--ca-file sets the certificate authorities to trust, if they are your own"
}

// tryAgain is the hint for interrupted downloads.
const tryAgain = "try again; nothing has been left half done"

// Hint returns advice for users of the command line.
func (e *UnreachableError) Hint() string {
	proxy := hint.Proxy(e.Err)
	switch {
	case e.Plain:
		return "use an http:// URL to connect without TLS; others can then read the traffic"
	case proxy != "":
		return proxy
	case e.Done == 0:
		return fmt.Sprintf("check that %s is correct and reachable from this machine; "+
			"HTTPS_PROXY and HTTP_PROXY set a proxy", e.Host)
	}
	return tryAgain
}

// Hint returns advice for users of the command line.
func (e *StalledError) Hint() string { return tryAgain }
