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
	"strconv"
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
	// answerTimeout is how long a server may keep silent: a little more than
	// the API server's own limit for one request, so that it is the one to say
	// that it took too long.
	answerTimeout = 65 * time.Second
	// maxTrouble is how long a request is made again, from its first failure
	// on.
	maxTrouble = 30 * time.Second
	// maxMishaps bounds how often a server that fails within (500) is asked: it
	// may pass, as a webhook that is just starting, but it is not an overload.
	maxMishaps = 4
	firstPause = 200 * time.Millisecond
	maxPause   = 5 * time.Second
	// tellEvery keeps many requests with the same trouble from all telling it.
	tellEvery = 10 * time.Second
)

// A RetryError is returned when a request was repeated until it was given up.
type RetryError struct {
	Attempts int
	Took     time.Duration
	Err      error // the last answer
}

func (e *RetryError) Error() string {
	return fmt.Sprintf("%s (tried %d times in %s)", e.Err, e.Attempts, e.Took.Round(time.Second/10))
}

func (e *RetryError) Unwrap() error { return e.Err }

// errSilent is why a request is given up whose answer does not come.
var errSilent = fmt.Errorf("no answer for %s", answerTimeout)

// request is what the server is asked, once or several times.
type request struct {
	method, path string
	query        url.Values
	header       http.Header
	body         []byte
}

// outcome says what a failed try means.
type outcome int

const (
	final   outcome = iota // the next try would end the same way
	undone                 // the server has not done it
	unknown                // the server may have done it
)

// attempt is how one try ended.
type attempt struct {
	resp *http.Response // nil where there was no answer
	body []byte
	err  error
	outcome
	wait time.Duration // for which the server asks
}

// exchange makes a request until it is answered, as often as that is safe and while
// there is hope. What only reads may be repeated always; so may what changes or
// deletes, for it says what shall be, and names the state that it means where
// that matters. What creates is repeated where the server has not done it, or
// may have done it and can be asked afterwards whether it did. With whole, the
// body is read too; otherwise the caller reads and closes it.
func (c *Client) exchange(ctx context.Context, r *request, whole bool) (*http.Response, []byte, error) {
	if !plainPath(r.path) {
		return nil, nil, fmt.Errorf("refuse to %s %q: a name in it is empty, or leads to another place",
			strings.ToLower(r.method), r.path)
	}
	switch r.method {
	case http.MethodPut, http.MethodPatch, http.MethodDelete:
		if !namesObject(r.path) {
			return nil, nil, fmt.Errorf("refuse to %s %q: it names no object, but all of a kind", strings.ToLower(r.method),
				r.path)
		}
	}
	conn, err := c.connect()
	if err != nil {
		return nil, nil, err
	}
	began := time.Now()
	var trouble time.Time // when it began
	lost := false         // an earlier try may have done it
	for n := 1; ; n++ {
		t := c.once(ctx, conn, r, whole)
		switch {
		case t.err == nil:
			return t.resp, t.body, nil
		case ctx.Err() != nil:
			return nil, nil, context.Cause(ctx)
		case lost && r.method == http.MethodDelete && apierrors.IsNotFound(t.err):
			return t.resp, []byte("{}"), nil // that was us
		case lost && r.method == http.MethodPost && apierrors.IsAlreadyExists(t.err):
			if body, ok := c.made(ctx, r, t.resp, time.Since(began)); ok {
				return t.resp, body, nil
			}
			return nil, nil, t.err
		case t.outcome == final:
			return nil, nil, tried(t.err, n, began)
		case t.outcome == unknown && r.method == http.MethodPost && !repeatable(r):
			return nil, nil, tried(t.err, n, began)
		}
		lost = lost || t.outcome == unknown
		if trouble.IsZero() {
			trouble = time.Now()
		}
		left := maxTrouble - time.Since(trouble)
		mishap := t.resp != nil && t.resp.StatusCode == http.StatusInternalServerError
		if left <= 0 || mishap && n >= maxMishaps || c.hasty {
			return nil, nil, tried(t.err, n, began)
		}
		backoff := min(firstPause<<min(n-1, 10), maxPause)
		c.tell(t.err, n)
		if linger.Sleep(ctx, min(max(backoff/2+rand.N(backoff), t.wait), left)) != nil {
			return nil, nil, context.Cause(ctx)
		}
	}
}

func tried(err error, n int, began time.Time) error {
	if n == 1 {
		return err
	}
	return &RetryError{Attempts: n, Took: time.Since(began), Err: err}
}

// tell says once in a while that there is trouble: not at the first failure,
// most pass unnoticed.
func (c *Client) tell(err error, n int) {
	if n < 3 {
		return
	}
	now := time.Now().UnixNano()
	last := c.told.Load()
	if last != 0 && now-last < int64(tellEvery) || !c.told.CompareAndSwap(last, now) {
		return
	}
	c.progress.Send(progress.Event{Kind: progress.Step,
		Text: fmt.Sprintf("the cluster is in trouble, trying again: %s", err)})
}

// once makes a request once.
func (c *Client) once(ctx context.Context, conn *connection, r *request, whole bool) attempt {
	fence := c.fence(ctx, r)
	if err := fence.check(); err != nil {
		return attempt{err: err}
	}
	inner, cancel := context.WithCancelCause(ctx)
	silence := time.AfterFunc(answerTimeout, func() { cancel(errSilent) })
	defer silence.Stop()
	var connected atomic.Bool
	if r.method == http.MethodPost {
		inner = httptrace.WithClientTrace(inner,
			&httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }})
	}
	req, err := conn.request(inner, r, fence)
	if err != nil {
		cancel(nil)
		return attempt{err: err}
	}
	resp, err := conn.http.Do(req)
	if refused := fence.refused(); err != nil && refused != nil {
		cancel(nil)
		return attempt{err: refused}
	}
	if err != nil {
		defer cancel(nil)
		return c.unanswered(ctx, inner, conn, err, r.method != http.MethodPost || connected.Load())
	}
	conn.answered.Store(true)
	c.warnings(resp.Header)
	if resp.StatusCode >= 300 && resp.StatusCode != http.StatusNotModified {
		defer cancel(nil)
		t := attempt{resp: resp, err: statusError(r.method, r.path, resp)}
		if t.outcome, t.wait = judge(resp); unappliable(t.err) {
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
	text, err := readAll(resp, silence)
	if err != nil {
		return c.unanswered(ctx, inner, conn, err, true)
	}
	return attempt{resp: resp, body: text}
}

// openBody ends the request that it is the answer to.
type openBody struct {
	io.ReadCloser
	cancel context.CancelCauseFunc
}

func (b *openBody) Close() error {
	defer b.cancel(nil)
	return b.ReadCloser.Close()
}

// readAll reads an answer for as long as something comes.
func readAll(resp *http.Response, silence *time.Timer) ([]byte, error) {
	var out bytes.Buffer
	if resp.ContentLength > 0 && resp.ContentLength < 64<<20 {
		out.Grow(int(resp.ContentLength) + bytes.MinRead)
	}
	_, err := out.ReadFrom(steady{resp.Body, silence})
	return out.Bytes(), err
}

type steady struct {
	io.Reader
	silence *time.Timer
}

func (s steady) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	s.silence.Reset(answerTimeout)
	return n, err
}

// unanswered judges a try that broke off. sent reports that the server may have
// got the request.
func (c *Client) unanswered(ctx, inner context.Context, conn *connection, err error, sent bool) attempt {
	silent := errors.Is(context.Cause(inner), errSilent)
	if silent {
		err = errSilent
	}
	t := attempt{err: c.ReadError(ctx, err), outcome: unknown}
	if !sent {
		t.outcome = undone
	}
	var op *net.OpError
	switch dialing := errors.As(err, &op) && op.Op == "dial"; {
	case dialing && conn.answered.Load():
		t.outcome = undone // it was there just now, and may be starting again
	case dialing || !silent && !broken(err):
		t.outcome = final
	}
	return t
}

// broken reports whether a connection was lost, in one of the many ways that
// there are to say so.
func broken(err error) bool {
	var timeout net.Error
	if utilnet.IsProbableEOF(err) || utilnet.IsConnectionReset(err) || utilnet.IsConnectionRefused(err) ||
		utilnet.IsHTTP2ConnectionLost(err) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.EPIPE) ||
		errors.Is(err, syscall.ECONNABORTED) ||
		errors.As(err, &timeout) && timeout.Timeout() {
		return true
	}
	text := err.Error()
	for _, sign := range []string{"GOAWAY", "stream error:", "http2: client connection", "server closed idle connection",
		"connection broken"} {
		if strings.Contains(text, sign) {
			return true
		}
	}
	return false
}

// judge tells what an answer that is not a success means.
func judge(resp *http.Response) (outcome, time.Duration) {
	wait := time.Duration(0)
	seconds, err := strconv.Atoi(resp.Header.Get("Retry-After"))
	asks := err == nil && seconds >= 0
	if asks {
		wait = min(time.Duration(seconds)*time.Second, maxTrouble)
	}
	switch resp.StatusCode {
	case http.StatusTooManyRequests:
		return undone, wait
	case http.StatusServiceUnavailable:
		if asks {
			return undone, wait
		}
		return unknown, wait
	case http.StatusInternalServerError, http.StatusBadGateway, http.StatusGatewayTimeout:
		return unknown, wait
	}
	return final, 0
}

// unappliable reports whether the server cannot apply an object because of what
// it holds, such as a variable that is there twice: it says 500 to that.
func unappliable(err error) bool {
	return strings.Contains(err.Error(), "failed to create typed patch object")
}

// repeatable reports whether a creation can be made again although it may have
// been done: one of an object with a name is then refused, and a review leaves
// no object.
func repeatable(r *request) bool {
	return strings.HasSuffix(r.path, "reviews") || sentName(r) != ""
}

func sentName(r *request) string {
	var o struct {
		Metadata struct {
			Name string `json:"name"`
		} `json:"metadata"`
	}
	if json.Unmarshal(r.body, &o) != nil || !plainPath("/"+o.Metadata.Name) {
		return ""
	}
	return o.Metadata.Name
}

// clockSlack is by how much the clocks of one cluster's API servers may differ.
const clockSlack = 5 * time.Second

// made reports whether the object that is in the way of a creation is the one
// that an earlier try of it has made, whose answer was lost; and returns it. It
// must have come into being since then, by the server's own clock, with the
// labels, annotations and data that were sent.
func (c *Client) made(ctx context.Context, r *request, refusal *http.Response, since time.Duration) ([]byte, bool) {
	now, err := http.ParseTime(refusal.Header.Get("Date"))
	if err != nil {
		return nil, false
	}
	read := &request{method: http.MethodGet, path: r.path + "/" + sentName(r)}
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
	fresh := !live.Metadata.Created.Before(now.Add(-since - clockSlack))
	return text, fresh && within(sent.Metadata.Labels, live.Metadata.Labels) &&
		within(sent.Metadata.Annotations, live.Metadata.Annotations) && within(sent.Data, live.Data)
}

// within reports whether all of a is in b. Values that are not text come from
// custom resources: they count by being there.
func within[V any](a, b map[string]V) bool {
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
