// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"fmt"
	"net/http"
	"time"
)

// A URLError is returned for a URL that cannot be fetched. It does not repeat a malformed
// one, which may hold a password in an unexpected place.
type URLError struct {
	URL     string // without credentials, "" where it is malformed
	Scheme  string // "https", of a malformed one
	Problem string
}

func (e *URLError) Error() string {
	if e.URL == "" {
		return fmt.Sprintf("fetch: the %s URL given is %s", e.Scheme, e.Problem)
	}
	return fmt.Sprintf("fetch %s: %s", e.URL, e.Problem)
}

// A StatusError is returned when a server answers with a status other than success.
type StatusError struct {
	URL  string // without credentials
	Host string // that answered, which a redirect may have led to
	Code int    // the HTTP status
	// Identified is set where a user name and password were sent with the request.
	Identified bool
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("failed to fetch %s: the server answered %d %s", e.URL, e.Code, http.StatusText(e.Code))
}

// Unauthorized reports whether the server, or a proxy, wants credentials or does not
// accept those that it got: status 401, 403 or 407.
func (e *StatusError) Unauthorized() bool {
	return e.Code == http.StatusUnauthorized || e.Code == http.StatusForbidden || e.Code == http.StatusProxyAuthRequired
}

// An UntrustedError is returned when a server's certificate cannot be verified, or the
// server refuses the client's.
type UntrustedError struct {
	URL, Host string
	Err       error // of package x509, or the server's TLS alert
}

func (e *UntrustedError) Error() string {
	return fmt.Sprintf("fetch %s: the server's certificate is not trusted: %v", e.URL, e.Err)
}

func (e *UntrustedError) Unwrap() error { return e.Err }

// An UnreachableError is returned when a server does not answer, or its answer breaks off.
type UnreachableError struct {
	URL, Host string
	// Plain is set where the URL is https and the server does not speak TLS.
	Plain bool
	Done  int64 // bytes that had arrived when the connection broke
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

// A StalledError is returned when a server sends nothing for a minute, or on average less
// than 4 KiB a second.
type StalledError struct {
	URL  string
	Idle time.Duration // how long nothing has arrived; 0 where it was only slow
	Done int64         // bytes that have arrived
}

func (e *StalledError) Error() string {
	if e.Idle == 0 {
		return fmt.Sprintf("fetch %s: given up after %d bytes, because the server hardly sends anything", e.URL, e.Done)
	}
	return fmt.Sprintf("fetch %s: the server has sent nothing for %v", e.URL, e.Idle)
}

// Timeout returns true; it is a method of [net.Error].
func (e *StalledError) Timeout() bool { return true }

// A SizeError is returned for content that is larger than allowed.
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

// An EncodingError is returned when the transfer compression of content cannot be undone.
type EncodingError struct {
	URL, Encoding string // Encoding is the header Content-Encoding
	Err           error  // nil for an encoding that was not asked for
}

func (e *EncodingError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("fetch %s: the server sent it packed by %q, which was not asked for", e.URL, e.Encoding)
	}
	return fmt.Sprintf("fetch %s: the server sent something that does not unpack: %v", e.URL, e.Err)
}

func (e *EncodingError) Unwrap() error { return e.Err }

// An InterruptedError is returned when the context ends during a download.
type InterruptedError struct {
	URL string
	Err error // the context's
}

func (e *InterruptedError) Error() string { return fmt.Sprintf("fetch %s: %v", e.URL, e.Err) }

func (e *InterruptedError) Unwrap() error { return e.Err }
