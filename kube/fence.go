// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"sync"
)

// writes reports whether the request may change something.
func (r *request) writes() bool { return r.method != http.MethodGet && r.method != http.MethodHead }

// fencedBody asks whether a request may still be sent when the connection is
// there and its body goes out: a process may have been stopped since it decided
// to write, for as long as it takes others to take its work over. A request
// whose body does not come is not carried out. A nil one allows everything.
type fencedBody struct {
	allow func() error

	mu  sync.Mutex
	err error // why it was not sent
}

// fence returns the fence of a request, nil for none.
func (c *Client) fence(ctx context.Context, r *request) *fencedBody {
	if c.options.Allow == nil || !r.writes() {
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

// refused is why the request was not sent, nil where it may have been.
func (f *fencedBody) refused() error {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// reader reads a body once, from behind the fence.
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
