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
)

// An UnauthorizedError is returned when a registry wants credentials, does not accept
// those that it got, or does not allow their user what was asked.
type UnauthorizedError struct {
	Ref  string
	Host string
	User string // "" where no credentials were sent
	// Denied is set where the registry accepts the user and does not allow the request.
	Denied  bool
	Message string // the registry's words: untrusted text
	// Err is why stored credentials were not used, nil where nothing went wrong.
	Err error
}

func (e *UnauthorizedError) Error() string {
	var what string
	switch {
	case e.Denied && e.User == "":
		what = "the registry does not allow it to users who are not logged in"
	case e.Denied:
		what = fmt.Sprintf("the registry does not allow it to %s", e.User)
	case e.User == "":
		what = "the registry wants to know who asks, and no credentials for it are stored"
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

// A NotFoundError is returned when a registry has no chart, version or content of that
// reference.
type NotFoundError struct{ Ref Ref }

func (e *NotFoundError) Error() string {
	what := "chart"
	if e.Ref.Tag != "" {
		what = "version"
	}
	if e.Ref.Digest != "" {
		what = "content"
	}
	return fmt.Sprintf("%s: there is no such %s in the registry", e.Ref.told(), what)
}

// A StatusError is returned when a registry answers with an unexpected HTTP status.
type StatusError struct {
	Ref     string
	Code    int
	Message string // the registry's words: untrusted text
}

func (e *StatusError) Error() string {
	if e.Message == "" {
		return fmt.Sprintf("%s: the registry answered %d %s", e.Ref, e.Code, http.StatusText(e.Code))
	}
	return fmt.Sprintf("%s: the registry answered %d: %s", e.Ref, e.Code, e.Message)
}

// A KindError is returned for a reference to something other than a chart.
type KindError struct {
	Ref  string
	Kind string // "a container image"
}

func (e *KindError) Error() string { return fmt.Sprintf("%s is not a chart but %s", e.Ref, e.Kind) }

// A ContentError is returned when a registry's answer is malformed, does not have its
// digest, or is not what a chart may hold.
type ContentError struct {
	Ref     string
	Problem string
}

func (e *ContentError) Error() string { return e.Ref + ": " + e.Problem }

// A SizeError is returned for content of a registry that is larger than allowed.
type SizeError struct {
	Ref   string
	What  string // "the archive"
	Limit int64  // in bytes, or as many as Unit says
	Unit  string // "" for bytes
}

func (e *SizeError) Error() string {
	if e.Unit != "" {
		return fmt.Sprintf("%s: %s more than %d %s", e.Ref, e.What, e.Limit, e.Unit)
	}
	return fmt.Sprintf("%s: %s larger than %d MiB", e.Ref, e.What, e.Limit>>20)
}

// A PlainHTTPError is returned when a registry does not speak TLS.
type PlainHTTPError struct{ Ref, Host string }

func (e *PlainHTTPError) Error() string {
	if e.Ref == e.Host { // a login
		return e.Host + " does not speak TLS"
	}
	return fmt.Sprintf("%s: %s does not speak TLS", e.Ref, e.Host)
}

// A ConnectError is returned when a registry does not answer, or its answer breaks off.
type ConnectError struct {
	Ref, Host string
	Err       error
}

func (e *ConnectError) Error() string { return fmt.Sprintf("%s: %v", e.Ref, e.Err) }
func (e *ConnectError) Unwrap() error { return e.Err }

// An InterruptedError is returned when the context ends during a request.
type InterruptedError struct {
	Ref string
	Err error // the context's
}

func (e *InterruptedError) Error() string { return fmt.Sprintf("%s: %v", e.Ref, e.Err) }
func (e *InterruptedError) Unwrap() error { return e.Err }

// explain has an error tell why the context has ended, where it has.
func (c *call) explain(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil {
		if errors.Is(cause, errStalled) || errors.Is(cause, errTrickling) || errors.Is(cause, errLongList) {
			return &ConnectError{Ref: c.ref.told(), Host: c.ref.Host, Err: cause}
		}
		if errors.Is(cause, context.Canceled) {
			return &InterruptedError{Ref: c.ref.told(), Err: ctx.Err()}
		}
		return cause
	}
	return err
}

// refused is the error of a request that failed, or that was answered with an
// error; the answer is closed.
func (c *call) refused(resp *http.Response, err error) error {
	var (
		request *url.Error
		noTLS   tls.RecordHeaderError
	)
	switch {
	case errors.Is(err, http.ErrSchemeMismatch), errors.As(err, &noTLS):
		return &PlainHTTPError{Ref: c.ref.told(), Host: c.ref.Host}
	case errors.As(err, &request):
		return &ConnectError{Ref: c.ref.told(), Host: c.ref.Host, Err: request.Err}
	case err != nil:
		return err
	}
	defer resp.Body.Close()
	code, message := wordsOf(resp)
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
	return &StatusError{Ref: c.ref.told(), Code: resp.StatusCode, Message: message}
}

// maxAnswer is how much of an answer that is an error is read, in bytes.
const maxAnswer = 64 << 10

// wordsOf is what a server says about an error: the first error's code, and
// messages.
func wordsOf(resp *http.Response) (code, message string) {
	var answer struct {
		Errors []struct{ Code, Message string }
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil || json.Unmarshal(data, &answer) != nil {
		return "", ""
	}
	var words []string
	for _, e := range answer.Errors[:min(len(answer.Errors), 3)] {
		if e.Message != "" {
			words = append(words, short(e.Message))
		}
		if code == "" {
			code = e.Code
		}
	}
	return code, strings.Join(words, "; ")
}

// unauthorized fills in who we were.
func (c *call) unauthorized(e *UnauthorizedError) error {
	e.Ref, e.Host = c.ref.told(), c.ref.Host
	c.mu.Lock()
	defer c.mu.Unlock()
	e.User, e.Err = c.user, c.trouble
	return e
}

// short is an untrusted message that fits a line or two.
func short(text string) string {
	const most = 300
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "..."
	}
	return text
}
