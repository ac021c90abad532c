// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"fmt"
	"net/http"
	"time"
)

// A URLError is returned for a URL that cannot be fetched. It does not repeat a malformed
// URL, which may contain a password in an unexpected place.
type URLError struct {
	URL     string // without credentials, or "" if it is malformed
	Scheme  string // "https", if the URL is malformed
	Problem string
}

func (e *URLError) Error() string {
	if e.URL == "" {
		return fmt.Sprintf("fetch: the %s URL given is %s", e.Scheme, e.Problem)
	}
	return fmt.Sprintf("fetch %s: %s", e.URL, e.Problem)
}

// A StatusError is returned if a server responds with an unsuccessful status.
type StatusError struct {
	URL  string // without credentials
	Host string // that responded, possibly after a redirect
	Code int    // the HTTP status
	// Identified is set if the request had a user name and password.
	Identified bool
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("failed to fetch %s: the server answered %d %s", e.URL, e.Code, http.StatusText(e.Code))
}

// Unauthorized reports whether the server or a proxy requires credentials or rejected
// them: status 401, 403 or 407.
func (e *StatusError) Unauthorized() bool {
	return e.Code == http.StatusUnauthorized || e.Code == http.StatusForbidden || e.Code == http.StatusProxyAuthRequired
}

// An UntrustedError is returned if a server's certificate cannot be verified, or the
// server rejects the client's.
type UntrustedError struct {
	URL, Host string
	Err       error // of package x509, or the server's TLS alert
}

func (e *UntrustedError) Error() string {
	return fmt.Sprintf("fetch %s: the server's certificate is not trusted: %v", e.URL, e.Err)
}

func (e *UntrustedError) Unwrap() error { return e.Err }

// An UnreachableError is returned if a server does not respond, or the connection breaks.
type UnreachableError struct {
	URL, Host string
	// Plain is set if the URL is https and the server does not speak TLS.
	Plain bool
	Done  int64 // bytes received before the connection broke
	Err   error
}

func (e *UnreachableError) Error() string {
	if e.Plain {
		return fmt.Sprintf("fetch %s: %s does not speak TLS", e.URL, e.Host)
	}
	if e.Done > 0 {
		return fmt.Sprintf("fetch %s: the connection broke after %d bytes: %v", e.URL, e.Done, e.Err)
	}
	return fmt.Sprintf("fetch %s: %v", e.URL, e.Err)
}

func (e *UnreachableError) Unwrap() error { return e.Err }

// A StalledError is returned if a server sends nothing for a minute, or on average less
// than 4 KiB per second.
type StalledError struct {
	URL  string
	Idle time.Duration // the timeout; 0 if the server was only slow
	Done int64         // bytes received
}

func (e *StalledError) Error() string {
	if e.Idle == 0 {
		return fmt.Sprintf("fetch %s: aborted after %d bytes, because the server is too slow", e.URL, e.Done)
	}
	return fmt.Sprintf("fetch %s: the server has sent nothing for %v", e.URL, e.Idle)
}

// Timeout returns true. It implements [net.Error].
func (e *StalledError) Timeout() bool { return true }

// A SizeError is returned for content that exceeds the size limit.
type SizeError struct {
	URL   string
	Limit int64 // in bytes
}

func (e *SizeError) Error() string {
	if e.Limit < 1<<20 {
		return fmt.Sprintf("fetch %s: larger than %d bytes", e.URL, e.Limit)
	}
	return fmt.Sprintf("fetch %s: larger than %d MiB", e.URL, e.Limit>>20)
}

// An EncodingError is returned if the content cannot be decompressed.
type EncodingError struct {
	URL, Encoding string // Encoding is the header Content-Encoding
	Err           error  // nil if the encoding was not requested
}

func (e *EncodingError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("fetch %s: the server sent the encoding %q, which was not requested", e.URL, e.Encoding)
	}
	return fmt.Sprintf("fetch %s: the content cannot be decompressed: %v", e.URL, e.Err)
}

func (e *EncodingError) Unwrap() error { return e.Err }

// An InterruptedError is returned if the context is done during a download.
type InterruptedError struct {
	URL string
	Err error // the context's
}

func (e *InterruptedError) Error() string { return fmt.Sprintf("fetch %s: %v", e.URL, e.Err) }

func (e *InterruptedError) Unwrap() error { return e.Err }
