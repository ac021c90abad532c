// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"context"
	"errors"
	"io"
	"time"
)

// patience is how long nothing may arrive or leave before we give up.
const patience = 2 * time.Minute

var errStalled = errors.New("given up, because nothing has moved for two minutes")

// attentive is ctx, ended once alive has not been called for as long as patience
// lasts. stop must be called.
func attentive(ctx context.Context, patience time.Duration) (_ context.Context, alive, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(patience, func() { cancel(errStalled) })
	return ctx, func() { timer.Reset(patience) }, func() {
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
