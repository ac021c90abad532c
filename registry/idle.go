// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"time"
)

// idleTimeout is how long no data may be transferred before a request is aborted. After that
// time, minRate bytes per second must be transferred on average.
const (
	idleTimeout = 2 * time.Minute
	minRate     = 1 << 10
)

// errStalled and errTrickling are the reasons for aborting a request.
var (
	errStalled   = errors.New("aborted, because no data was transferred for two minutes")
	errTrickling = errors.New("aborted, because the connection is too slow")
)

// withIdleTimeout returns ctx, canceled if alive is not called for the duration of the timeout,
// or with too few bytes on average. stop must be called. alive may be called concurrently.
func withIdleTimeout(
	ctx context.Context, timeout time.Duration,
) (_ context.Context, alive func(bytes int), stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(timeout, func() { cancel(errStalled) })
	begun := time.Now()
	var moved atomic.Int64
	alive = func(bytes int) {
		timer.Reset(timeout)
		since := time.Since(begun)
		if moved.Add(int64(bytes)) < int64(since.Seconds()*minRate) && since > timeout && bytes > 0 {
			cancel(errTrickling)
		}
	}
	return ctx, alive, func() {
		timer.Stop()
		cancel(nil)
	}
}

// countingReader calls tell with the number of bytes of each read.
type countingReader struct {
	io.Reader
	tell func(int)
}

func (w countingReader) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	if n > 0 {
		w.tell(n)
	}
	return n, err
}
