// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"fmt"
	"net/http"

	"github.com/moonhelm/moonhelm/internal/hint"
)

// Hint returns advice for users of the command line.
func (e *UnauthorizedError) Hint() string {
	if e.User != "" {
		return fmt.Sprintf("helm registry login %s tries other credentials, and stores them if they are accepted", e.Host)
	}
	return fmt.Sprintf("helm registry login %s stores credentials for it", e.Host)
}

// Hint returns advice for users of the command line.
func (e *PlainHTTPError) Hint() string {
	return "--plain-http connects to it without TLS; others can then read the traffic"
}

// Hint returns advice for users of the command line.
func (e *ConnectError) Hint() string {
	if hint.IsCertificateError(e.Err) {
		return "--ca-file sets the certificate authority of the registry"
	}
	if proxy := hint.Proxy(e.Err); proxy != "" {
		return proxy
	}
	return fmt.Sprintf("check that %s is correct and reachable from this machine", e.Host)
}

// Hint returns advice for users of the command line.
func (e *NotFoundError) Hint() string {
	const hidden = "some registries show their charts only to users who are logged in: helm registry login"
	if e.Ref.Tag != "" {
		return "without --version the newest release is used; " + hidden
	}
	return "the name of the chart is the last element of the path; " + hidden
}

// Hint returns advice for users of the command line, or "" if there is none for the status.
func (e *StatusError) Hint() string {
	switch {
	case e.Code < 500 && e.Code != http.StatusTooManyRequests:
		return ""
	case e.After > 0:
		return fmt.Sprintf("the registry asks to wait for %s: try again then", e.After)
	}
	return "the registry has a problem: try again later, or ask its owner"
}
