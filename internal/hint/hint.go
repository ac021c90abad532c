// SPDX-License-Identifier: Apache-2.0

// Package hint finds what a user can do about an error. Errors of the product know it
// themselves, by a method:
//
//	// Hint says what a user of the command line can do about it.
//	func (e *LockedError) Hint() string { return "try again when it has ended; --timeout waits longer for it" }
//
// A hint is a sentence in terms of the helm command, without a period, "" where there is
// none. Several hints are lines of one text.
package hint

import (
	"crypto/tls"
	"errors"
	"net"
	"strings"
)

// Hinter is an error that knows what can be done about it.
type Hinter interface {
	error
	Hint() string
}

// Of returns the hints of the outermost error in the tree of err that has some, nil where
// none has. Joined errors are asked in their order.
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

// With returns err with a hint, for what only the caller knows. Its text is err's.
func With(err error, text string) error { return &hinted{err, text} }

type hinted struct {
	error
	text string
}

func (e *hinted) Unwrap() error { return e.error }
func (e *hinted) Hint() string  { return e.text }

// Untrusted reports whether a server's certificate was not accepted.
func Untrusted(err error) bool {
	var untrusted *tls.CertificateVerificationError
	return errors.As(err, &untrusted)
}

// Proxy returns a hint where it is a proxy that does not answer, otherwise "".
func Proxy(err error) string {
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "proxyconnect" {
		return "is the proxy right that HTTPS_PROXY or HTTP_PROXY names? NO_PROXY lists the hosts that are reached without it"
	}
	return ""
}
