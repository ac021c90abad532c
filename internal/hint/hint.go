// SPDX-License-Identifier: Apache-2.0

// Package hint returns the hints of errors: what a user of the command line can do about
// them. An error has a hint if it implements [Hinter]:
//
//	func (e *LockedError) Hint() string { return "retry later, or wait longer with --timeout" }
//
// A hint is a sentence without a trailing period; "" means that there is none. Several hints
// are separated by newlines.
package hint

import (
	"crypto/tls"
	"errors"
	"net"
	"strings"
)

// Hinter is an error with a hint.
type Hinter interface {
	error
	Hint() string
}

// Of returns the hints of the outermost error in the tree of err that has any, or nil. Joined
// errors are searched depth first, in order.
func Of(err error) []string {
	for err != nil {
		if h, ok := err.(Hinter); ok {
			if text := h.Hint(); text != "" {
				return strings.Split(text, "\n")
			}
		}
		if joined, ok := err.(interface{ Unwrap() []error }); ok {
			for _, e := range joined.Unwrap() {
				if found := Of(e); found != nil {
					return found
				}
			}
			return nil
		}
		err = errors.Unwrap(err)
	}
	return nil
}

// With returns err with the hint text. The error message is unchanged.
func With(err error, text string) error { return &hinted{err, text} }

type hinted struct {
	error
	text string
}

func (e *hinted) Unwrap() error { return e.error }
func (e *hinted) Hint() string  { return e.text }

// IsCertificateError reports whether the verification of a server's certificate failed.
func IsCertificateError(err error) bool {
	var failed *tls.CertificateVerificationError
	return errors.As(err, &failed)
}

// Proxy returns a hint if err is a failure to connect to the HTTP proxy, else "".
func Proxy(err error) string {
	var opErr *net.OpError
	if errors.As(err, &opErr) && opErr.Op == "proxyconnect" {
		return "check the proxy that HTTPS_PROXY or HTTP_PROXY names, or exclude the host from it with NO_PROXY"
	}
	return ""
}
