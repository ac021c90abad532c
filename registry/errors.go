// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/moonhelm/moonhelm/internal/linger"
	"github.com/moonhelm/moonhelm/internal/truncate"
)

// An UnauthorizedError is returned if a registry requires credentials, rejects them, or does
// not permit the request to their user.
type UnauthorizedError struct {
	Ref  string
	Host string
	User string // "" if no credentials were sent
	// Denied is set if the registry accepts the user but does not permit the request.
	Denied  bool
	Message string // of the registry: untrusted text
	// Err is the error of reading stored credentials, or nil.
	Err error
}

func (e *UnauthorizedError) Error() string {
	var what string
	switch {
	case e.Denied && e.User == "":
		what = "the registry does not permit it to users who are not logged in"
	case e.Denied:
		what = fmt.Sprintf("the registry does not permit it to %s", e.User)
	case e.User == "":
		what = "the registry requires credentials, and none are stored for it"
	default:
		what = fmt.Sprintf("the registry does not accept the credentials of %s", e.User)
	}
	if e.Message != "" {
		what += ": " + e.Message
	}
	if e.Err != nil {
		what += fmt.Sprintf(" (stored credentials could not be used: %v)", e.Err)
	}
	return fmt.Sprintf("%s: %s", e.Ref, what)
}

func (e *UnauthorizedError) Unwrap() error { return e.Err }

// A NotFoundError is returned if a registry does not have the chart, version or content of
// a reference.
type NotFoundError struct{ Ref Ref }

func (e *NotFoundError) Error() string {
	what := "chart"
	if e.Ref.Tag != "" {
		what = "version"
	}
	if e.Ref.Digest != "" {
		what = "content"
	}
	return fmt.Sprintf("%s: there is no such %s in the registry", e.Ref.errorName(), what)
}

// A StatusError is returned if a registry responds with an unexpected HTTP status.
type StatusError struct {
	Ref     string
	Code    int
	Message string // of the registry: untrusted text
	// After is how long the registry asks to wait before another request, 0 if it does not say.
	After time.Duration
}

func (e *StatusError) Error() string {
	if e.Message == "" {
		return fmt.Sprintf("%s: the registry answered %d %s", e.Ref, e.Code, http.StatusText(e.Code))
	}
	return fmt.Sprintf("%s: the registry answered %d: %s", e.Ref, e.Code, e.Message)
}

// A KindError is returned for a reference to something that is not a chart.
type KindError struct {
	Ref  string
	Kind string // "a container image"
}

func (e *KindError) Error() string { return fmt.Sprintf("%s is not a chart but %s", e.Ref, e.Kind) }

// A ContentError is returned if a response of a registry is malformed, does not match its
// digest, or is not valid for a chart.
type ContentError struct {
	Ref     string
	Problem string
}

func (e *ContentError) Error() string { return e.Ref + ": " + e.Problem }

// A SizeError is returned if content of a registry exceeds a size limit.
type SizeError struct {
	Ref   string
	What  string // "the archive"
	Limit int64  // in bytes, or in Unit
	Unit  string // "" for bytes
}

func (e *SizeError) Error() string {
	if e.Unit != "" {
		return fmt.Sprintf("%s: %s more than %d %s", e.Ref, e.What, e.Limit, e.Unit)
	}
	return fmt.Sprintf("%s: %s larger than %d MiB", e.Ref, e.What, e.Limit>>20)
}

// A PlainHTTPError is returned if a registry does not speak TLS.
type PlainHTTPError struct{ Ref, Host string }

func (e *PlainHTTPError) Error() string {
	if e.Ref == e.Host { // a login
		return e.Host + " does not speak TLS"
	}
	return fmt.Sprintf("%s: %s does not speak TLS", e.Ref, e.Host)
}

// A ConnectError is returned if a registry does not respond, or the connection breaks.
type ConnectError struct {
	Ref, Host string
	Err       error
}

func (e *ConnectError) Error() string { return fmt.Sprintf("%s: %v", e.Ref, e.Err) }
func (e *ConnectError) Unwrap() error { return e.Err }

// An InterruptedError is returned if the context is done during a request.
type InterruptedError struct {
	Ref string
	Err error // the context's
}

func (e *InterruptedError) Error() string { return fmt.Sprintf("%s: %v", e.Ref, e.Err) }
func (e *InterruptedError) Unwrap() error { return e.Err }

// callerError returns the error for the caller: the cause if ctx is done, or else err.
func (c *call) callerError(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil {
		if errors.Is(cause, errStalled) || errors.Is(cause, errTrickling) || errors.Is(cause, errLongList) {
			return &ConnectError{Ref: c.ref.errorName(), Host: c.ref.Host, Err: cause}
		}
		if errors.Is(cause, context.Canceled) {
			return &InterruptedError{Ref: c.ref.errorName(), Err: ctx.Err()}
		}
		return cause
	}
	return err
}

// responseError returns the error for a failed request, or for a response with an error
// status. It closes the response.
func (c *call) responseError(resp *http.Response, err error) error {
	var (
		request *url.Error
		noTLS   tls.RecordHeaderError
	)
	switch {
	case errors.Is(err, http.ErrSchemeMismatch), errors.As(err, &noTLS):
		return &PlainHTTPError{Ref: c.ref.errorName(), Host: c.ref.Host}
	case errors.As(err, &request):
		return &ConnectError{Ref: c.ref.errorName(), Host: c.ref.Host, Err: request.Err}
	case err != nil:
		return err
	}
	defer resp.Body.Close()
	code, message := errorMessage(resp)
	switch resp.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		return c.unauthorized(&UnauthorizedError{Denied: resp.StatusCode == http.StatusForbidden, Message: message})
	case http.StatusNotFound:
		missing := c.ref
		if code == "NAME_UNKNOWN" {
			missing.Tag, missing.Digest = "", ""
		}
		return &NotFoundError{Ref: missing}
	}
	after, _ := linger.RetryAfter(resp.Header.Get("Retry-After"))
	return &StatusError{Ref: c.ref.errorName(), Code: resp.StatusCode, Message: message, After: after}
}

// maxAnswer is the largest body of an error response that is read, in bytes.
const maxAnswer = 64 << 10

// errorMessage returns the first error code and the messages of an error response.
func errorMessage(resp *http.Response) (code, message string) {
	var response struct {
		Errors []struct{ Code, Message string }
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil || json.Unmarshal(data, &response) != nil {
		return "", ""
	}
	var words []string
	for _, e := range response.Errors[:min(len(response.Errors), 3)] {
		if e.Message != "" {
			words = append(words, short(e.Message))
		}
		if code == "" {
			code = e.Code
		}
	}
	return code, strings.Join(words, "; ")
}

// unauthorized completes e.
func (c *call) unauthorized(e *UnauthorizedError) error {
	e.Ref, e.Host = c.ref.errorName(), c.ref.Host
	c.mu.Lock()
	defer c.mu.Unlock()
	e.User, e.Err = c.user, c.trouble
	return e
}

// short returns an untrusted text, truncated to a line or two.
func short(text string) string { return truncate.Bytes(text, 300, "...") }
