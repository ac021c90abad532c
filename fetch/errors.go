// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"fmt"
	"net/http"
	"time"
)

// URLError tells that something given as a URL is none that can be fetched. It
// does not repeat what is malformed: a password may be in it, and nobody knows
// where.
type URLError struct {
	URL     string // "" where it is malformed
	Scheme  string
	Problem string
}

func (e *URLError) Error() string {
	if e.URL == "" {
		return fmt.Sprintf("fetch: the %s URL given is %s", e.Scheme, e.Problem)
	}
	return fmt.Sprintf("fetch %s: %s", e.URL, e.Problem)
}

// StatusError tells that a server has answered, and not with the content.
type StatusError struct {
	URL  string // without credentials
	Host string // who answered
	Code int
	// Identified tells that a user name and password went with the request.
	Identified bool
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("failed to fetch %s: the server answered %d %s", e.URL, e.Code, http.StatusText(e.Code))
}

// Unauthorized tells whether the server wants to know who asks, or does not like
// who does.
func (e *StatusError) Unauthorized() bool {
	return e.Code == http.StatusUnauthorized || e.Code == http.StatusForbidden || e.Code == http.StatusProxyAuthRequired
}

// UntrustedError tells that a server's certificate does not prove that it is who
// it should be.
type UntrustedError struct {
	URL, Host string
	Err       error // of package x509, or what the server says about our certificate
}

func (e *UntrustedError) Error() string {
	return fmt.Sprintf("fetch %s: the server's certificate is not trusted: %v", e.URL, e.Err)
}

func (e *UntrustedError) Unwrap() error { return e.Err }

// UnreachableError tells that there was no answer, or only a part of it.
type UnreachableError struct {
	URL, Host string
	// Plain tells that the server does not speak TLS, as it should.
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

// StalledError tells that a server was too slow.
type StalledError struct {
	URL  string
	Idle time.Duration // how long nothing has arrived; 0 where it only trickled
	Done int64         // bytes that have arrived
}

func (e *StalledError) Error() string {
	if e.Idle == 0 {
		return fmt.Sprintf("fetch %s: given up after %d bytes, because the server hardly sends anything", e.URL, e.Done)
	}
	return fmt.Sprintf("fetch %s: the server has sent nothing for %v", e.URL, e.Idle)
}

// Timeout implements what net.Error does.
func (e *StalledError) Timeout() bool { return true }

// SizeError tells that content is larger than allowed.
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

// EncodingError tells that content cannot be unpacked after its way.
type EncodingError struct {
	URL, Encoding string
	Err           error // nil for an encoding that nobody asked for
}

func (e *EncodingError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("fetch %s: the server sent it packed by %q, which was not asked for", e.URL, e.Encoding)
	}
	return fmt.Sprintf("fetch %s: the server sent something that does not unpack: %v", e.URL, e.Err)
}

func (e *EncodingError) Unwrap() error { return e.Err }

// InterruptedError tells that the context ended during a download.
type InterruptedError struct {
	URL string
	Err error // the context's
}

func (e *InterruptedError) Error() string { return fmt.Sprintf("fetch %s: %v", e.URL, e.Err) }

func (e *InterruptedError) Unwrap() error { return e.Err }
