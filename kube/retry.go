// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/moonhelm/moonhelm/internal/linger"
	"github.com/moonhelm/moonhelm/progress"
)

const (
	// answerTimeout is the maximum time between two reads of a response. It is longer than
	// the API server's own limit of 60 seconds for a request, so that the server's
	// timeout error arrives first.
	answerTimeout = 65 * time.Second
	// retryTimeout is how long a request is retried after its first failure.
	retryTimeout = 30 * time.Second
	// maxServerErrors is the maximum number of attempts if the server responds with 500: the cause
	// may be temporary, such as a webhook that is starting, but it is not overload.
	maxServerErrors = 4
	minBackoff      = 200 * time.Millisecond
	maxBackoff      = 5 * time.Second
	// reportInterval is the minimum time between two reports of retries by all requests.
	reportInterval = 10 * time.Second
)

// A RetryError is returned when a request failed after several attempts.
type RetryError struct {
	Attempts int
	Took     time.Duration
	Err      error // the error of the last attempt
}

func (e *RetryError) Error() string {
	return fmt.Sprintf("%s (tried %d times in %s)", e.Err, e.Attempts, e.Took.Round(time.Second/10))
}

func (e *RetryError) Unwrap() error { return e.Err }

// errNoAnswer is the cause with which a request is cancelled after answerTimeout.
var errNoAnswer = fmt.Errorf("no answer for %s", answerTimeout)

// request is an API request, which may be sent several times.
type request struct {
	method, path string
	query        url.Values
	header       http.Header
	body         []byte
}

// outcome is the effect of a failed attempt.
type outcome int

const (
	final         outcome = iota // another attempt would fail likewise
	notExecuted                  // the server has not executed the request
	maybeExecuted                // the server may have executed the request
)

// attempt is the result of sending a request once.
type attempt struct {
	resp *http.Response // nil if there was no response
	body []byte
	err  error
	outcome
	wait time.Duration // from the Retry-After header
}

// exchange sends a request and retries it while that is safe and retryTimeout has not passed.
// Reads, updates and deletes are always safe to repeat: an update sends the desired state, and
// a resource version where a concurrent change matters. A create is repeated if the server has
// not executed it, or if it can be determined afterwards whether it has (see findCreated). If whole is
// set, exchange reads the body; otherwise the caller reads and closes it.
func (c *Client) exchange(ctx context.Context, r *request, whole bool) (*http.Response, []byte, error) {
	if !isCleanPath(r.path) {
		return nil, nil, fmt.Errorf("refuse to %s %q: the path has an empty, \".\" or \"..\" element",
			strings.ToLower(r.method), r.path)
	}
	switch r.method {
	case http.MethodPut, http.MethodPatch, http.MethodDelete:
		if !isObjectPath(r.path) {
			return nil, nil, fmt.Errorf("refuse to %s %q: the path is of a collection, not of an object",
				strings.ToLower(r.method), r.path)
		}
	}
	conn, err := c.connect()
	if err != nil {
		return nil, nil, err
	}
	began := time.Now()
	var firstFailure time.Time
	uncertain := false // whether an earlier attempt may have been executed
	for n := 1; ; n++ {
		t := c.sendOnce(ctx, conn, r, whole)
		switch {
		case t.err == nil:
			return t.resp, t.body, nil
		case ctx.Err() != nil:
			return nil, nil, context.Cause(ctx)
		case uncertain && r.method == http.MethodDelete && apierrors.IsNotFound(t.err):
			return t.resp, []byte("{}"), nil // deleted by an earlier attempt
		case uncertain && r.method == http.MethodPost && apierrors.IsAlreadyExists(t.err):
			if body, ok := c.findCreated(ctx, r, t.resp, time.Since(began)); ok {
				return t.resp, body, nil
			}
			return nil, nil, t.err
		case t.outcome == final:
			return nil, nil, withAttempts(t.err, n, began)
		case t.outcome == maybeExecuted && r.method == http.MethodPost && !canRepeatCreate(r):
			return nil, nil, withAttempts(t.err, n, began)
		}
		uncertain = uncertain || t.outcome == maybeExecuted
		if firstFailure.IsZero() {
			firstFailure = time.Now()
		}
		left := retryTimeout - time.Since(firstFailure)
		serverError := t.resp != nil && t.resp.StatusCode == http.StatusInternalServerError
		if left <= 0 || serverError && n >= maxServerErrors || c.noRetry {
			return nil, nil, withAttempts(t.err, n, began)
		}
		backoff := min(minBackoff<<min(n-1, 10), maxBackoff)
		c.reportRetry(t.err, n)
		if linger.Sleep(ctx, min(max(backoff/2+rand.N(backoff), t.wait), left)) != nil {
			return nil, nil, context.Cause(ctx)
		}
	}
}

func withAttempts(err error, n int, began time.Time) error {
	if n == 1 {
		return err
	}
	return &RetryError{Attempts: n, Took: time.Since(began), Err: err}
}

// reportRetry reports a retry, from the third attempt on: most failures are over by then.
func (c *Client) reportRetry(err error, n int) {
	if n < 3 {
		return
	}
	now := time.Now().UnixNano()
	last := c.lastReport.Load()
	if last != 0 && now-last < int64(reportInterval) || !c.lastReport.CompareAndSwap(last, now) {
		return
	}
	c.progress.Send(progress.Event{Kind: progress.Step,
		Text: fmt.Sprintf("a request to the cluster failed, retrying: %s", err)})
}

// sendOnce sends a request once.
func (c *Client) sendOnce(ctx context.Context, conn *connection, r *request, whole bool) attempt {
	fence := c.fence(ctx, r)
	if err := fence.check(); err != nil {
		return attempt{err: err}
	}
	inner, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(answerTimeout, func() { cancel(errNoAnswer) })
	defer timer.Stop()
	var connected atomic.Bool
	if r.method == http.MethodPost {
		inner = httptrace.WithClientTrace(inner,
			&httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }})
	}
	req, err := conn.newRequest(inner, r, fence)
	if err != nil {
		cancel(nil)
		return attempt{err: err}
	}
	resp, err := conn.http.Do(req)
	if refused := fence.refusal(); err != nil && refused != nil {
		cancel(nil)
		return attempt{err: refused}
	}
	if err != nil {
		defer cancel(nil)
		return c.failedAttempt(ctx, inner, conn, err, r.method != http.MethodPost || connected.Load())
	}
	conn.answered.Store(true)
	c.reportWarnings(resp.Header)
	if resp.StatusCode >= 300 && resp.StatusCode != http.StatusNotModified {
		defer cancel(nil)
		t := attempt{resp: resp, err: statusError(r.method, r.path, resp)}
		if t.outcome, t.wait = classify(resp); isTypedPatchError(t.err) {
			t.outcome = final
		}
		return t
	}
	if !whole {
		resp.Body = &openBody{resp.Body, cancel}
		return attempt{resp: resp}
	}
	defer cancel(nil)
	defer resp.Body.Close()
	text, err := readAll(resp, timer)
	if err != nil {
		return c.failedAttempt(ctx, inner, conn, err, true)
	}
	return attempt{resp: resp, body: text}
}

// openBody is the body of a streamed response. Close cancels its request.
type openBody struct {
	io.ReadCloser
	cancel context.CancelCauseFunc
}

func (b *openBody) Close() error {
	defer b.cancel(nil)
	return b.ReadCloser.Close()
}

// readAll reads the body of a response. It resets timer with every read.
func readAll(resp *http.Response, timer *time.Timer) ([]byte, error) {
	var out bytes.Buffer
	if resp.ContentLength > 0 && resp.ContentLength < 64<<20 {
		out.Grow(int(resp.ContentLength) + bytes.MinRead)
	}
	_, err := out.ReadFrom(timerReader{resp.Body, timer})
	return out.Bytes(), err
}

// timerReader restarts a timer with every read.
type timerReader struct {
	io.Reader
	timer *time.Timer
}

func (r timerReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.timer.Reset(answerTimeout)
	return n, err
}

// failedAttempt returns the attempt for a connection error. sent reports whether the server may
// have received the request.
func (c *Client) failedAttempt(ctx, inner context.Context, conn *connection, err error, sent bool) attempt {
	timedOut := errors.Is(context.Cause(inner), errNoAnswer)
	if timedOut {
		err = errNoAnswer
	}
	t := attempt{err: c.ReadError(ctx, err), outcome: maybeExecuted}
	if !sent {
		t.outcome = notExecuted
	}
	var op *net.OpError
	switch dialing := errors.As(err, &op) && op.Op == "dial"; {
	case dialing && conn.answered.Load():
		t.outcome = notExecuted // the server responded before, and may be restarting
	case dialing || !timedOut && !isConnectionError(err):
		t.outcome = final
	}
	return t
}

// isConnectionError reports whether err means that the connection was lost. Some of these
// errors can be recognized only by their text.
func isConnectionError(err error) bool {
	var timeout net.Error
	if utilnet.IsProbableEOF(err) || utilnet.IsConnectionReset(err) || utilnet.IsConnectionRefused(err) ||
		utilnet.IsHTTP2ConnectionLost(err) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.EPIPE) ||
		errors.Is(err, syscall.ECONNABORTED) ||
		errors.As(err, &timeout) && timeout.Timeout() {
		return true
	}
	text := err.Error()
	for _, phrase := range []string{"GOAWAY", "stream error:", "http2: client connection", "server closed idle connection",
		"connection broken"} {
		if strings.Contains(text, phrase) {
			return true
		}
	}
	return false
}

// classify returns the outcome that an unsuccessful response means, and the time to wait that it
// asks for.
func classify(resp *http.Response) (outcome, time.Duration) {
	wait, hasRetryAfter := linger.RetryAfter(resp.Header.Get("Retry-After"))
	wait = min(wait, retryTimeout)
	switch resp.StatusCode {
	case http.StatusTooManyRequests:
		return notExecuted, wait
	case http.StatusServiceUnavailable:
		if hasRetryAfter {
			return notExecuted, wait
		}
		return maybeExecuted, wait
	case http.StatusInternalServerError, http.StatusBadGateway, http.StatusGatewayTimeout:
		return maybeExecuted, wait
	}
	return final, 0
}

// isTypedPatchError reports whether the server cannot apply an object because of its
// content, such as a variable that is defined twice. The server responds with status 500.
func isTypedPatchError(err error) bool {
	return strings.Contains(err.Error(), "failed to create typed patch object")
}

// canRepeatCreate reports whether a create that may have been executed can be repeated: the
// repetition of one with a name is refused as AlreadyExists, and a review is not persisted.
func canRepeatCreate(r *request) bool {
	return strings.HasSuffix(r.path, "reviews") || requestName(r) != ""
}

func requestName(r *request) string {
	var o struct {
		Metadata struct {
			Name string `json:"name"`
		} `json:"metadata"`
	}
	if json.Unmarshal(r.body, &o) != nil || !isCleanPath("/"+o.Metadata.Name) {
		return ""
	}
	return o.Metadata.Name
}

// clockSlack is the assumed maximum difference between the clocks of a cluster's API servers.
const clockSlack = 5 * time.Second

// findCreated reports whether the object that already exists was created by an earlier
// attempt of r whose response was lost, and returns the object. It was if its creation
// timestamp is not older than the first attempt, by the server's clock, and it has the
// labels, annotations and data that were sent.
func (c *Client) findCreated(ctx context.Context, r *request, refusal *http.Response,
	since time.Duration) ([]byte, bool) {
	date, err := http.ParseTime(refusal.Header.Get("Date"))
	if err != nil {
		return nil, false
	}
	read := &request{method: http.MethodGet, path: r.path + "/" + requestName(r)}
	_, text, err := c.exchange(ctx, read, true)
	if err != nil {
		return nil, false
	}
	var sent, live struct {
		Metadata struct {
			Created     time.Time         `json:"creationTimestamp"`
			Labels      map[string]string `json:"labels"`
			Annotations map[string]string `json:"annotations"`
		} `json:"metadata"`
		Data map[string]any `json:"data"`
	}
	if json.Unmarshal(r.body, &sent) != nil || json.Unmarshal(text, &live) != nil {
		return nil, false
	}
	fresh := !live.Metadata.Created.Before(date.Add(-since - clockSlack))
	return text, fresh && isSubset(sent.Metadata.Labels, live.Metadata.Labels) &&
		isSubset(sent.Metadata.Annotations, live.Metadata.Annotations) && isSubset(sent.Data, live.Data)
}

// isSubset reports whether b contains all entries of a. Of values that are not strings, which
// only custom resources have here, it compares the keys only.
func isSubset[V any](a, b map[string]V) bool {
	for k, v := range a {
		w, ok := b[k]
		if !ok {
			return false
		}
		if s, text := any(v).(string); text && any(w) != any(s) {
			return false
		}
	}
	return true
}
