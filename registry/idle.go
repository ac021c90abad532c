// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"time"
)

// patience is how long nothing may arrive or leave before we give up, and after
// which pace counts: how many bytes a second there must be on average.
const (
	patience = 2 * time.Minute
	pace     = 1 << 10
)

// errStalled and errTrickling tell why a registry was given up.
var (
	errStalled   = errors.New("given up, because nothing has moved for two minutes")
	errTrickling = errors.New("given up, because hardly anything moves")
)

// attentive is ctx, ended once alive has not been called for as long as patience
// lasts, or with too few bytes for that time. stop must be called. alive may be
// called concurrently.
func attentive(ctx context.Context, patience time.Duration) (_ context.Context, alive func(bytes int), stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(patience, func() { cancel(errStalled) })
	begun := time.Now()
	var moved atomic.Int64
	alive = func(bytes int) {
		timer.Reset(patience)
		since := time.Since(begun)
		if moved.Add(int64(bytes)) < int64(since.Seconds()*pace) && since > patience && bytes > 0 {
			cancel(errTrickling)
		}
	}
	return ctx, alive, func() {
		timer.Stop()
		cancel(nil)
	}
}

// watched calls tell with the number of bytes whenever some were read.
type watched struct {
	io.Reader
	tell func(int)
}

func (w watched) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	if n > 0 {
		w.tell(n)
	}
	return n, err
}
