// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"sync"
)

// isWrite reports whether the request may change something.
func (r *request) isWrite() bool { return r.method != http.MethodGet && r.method != http.MethodHead }

// fencedBody is the body of a write that is sent only if the client's [Options.Allow] permits
// it. The check runs when the connection is established and the body is read: the process may
// have been suspended since it decided to write, for long enough that another client has
// acquired its lock. The server does not execute a request whose body is missing. A nil
// fencedBody permits everything.
type fencedBody struct {
	allow func() error

	mu  sync.Mutex
	err error // the error of allow
}

// fence returns the fence of request r, or nil if r needs none.
func (c *Client) fence(ctx context.Context, r *request) *fencedBody {
	if c.options.Allow == nil || !r.isWrite() {
		return nil
	}
	return &fencedBody{allow: func() error { return c.options.Allow(ctx) }}
}

func (f *fencedBody) check() error {
	if f == nil {
		return nil
	}
	err := f.allow()
	if err != nil {
		f.mu.Lock()
		f.err = err
		f.mu.Unlock()
	}
	return err
}

// refusal returns the error for which the request was not sent, or nil if it may have been
// sent.
func (f *fencedBody) refusal() error {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// reader returns a reader of body that checks f before the first byte.
func (f *fencedBody) reader(body []byte) io.ReadCloser {
	return &fencedReader{fence: f, text: bytes.NewReader(body)}
}

type fencedReader struct {
	fence  *fencedBody
	text   *bytes.Reader
	passed bool
}

func (r *fencedReader) Read(p []byte) (int, error) {
	if !r.passed {
		if err := r.fence.check(); err != nil {
			return 0, err
		}
		r.passed = true
	}
	return r.text.Read(p)
}

func (r *fencedReader) Close() error { return nil }
