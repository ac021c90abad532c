// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"fmt"

	"github.com/moonhelm/moonhelm/internal/hint"
)

// Hint says what a user of the command line can do about it.
func (e *UnauthorizedError) Hint() string {
	if e.User != "" {
		return fmt.Sprintf("helm registry login %s tries other credentials, and stores them if they are accepted", e.Host)
	}
	return fmt.Sprintf("helm registry login %s stores credentials for it", e.Host)
}

// Hint says what a user of the command line can do about it.
func (e *PlainHTTPError) Hint() string {
	return "--plain-http speaks to it without TLS; what is sent can then be read by others on the way"
}

// Hint says what a user of the command line can do about it.
func (e *ConnectError) Hint() string {
	if hint.IsCertificateError(e.Err) {
		return "--ca-file names the certificate authority that vouches for the registry"
	}
	if proxy := hint.Proxy(e.Err); proxy != "" {
		return proxy
	}
	return fmt.Sprintf("is %s the registry's address, and can it be reached from here?", e.Host)
}

// Hint says what a user of the command line can do about it.
func (e *NotFoundError) Hint() string {
	const hidden = "some registries show what they have only to users who are logged in: helm registry login"
	if e.Ref.Tag != "" {
		return "without --version the newest release is taken; " + hidden
	}
	return "a chart's name is the last part of the path; " + hidden
}
