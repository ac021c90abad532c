// SPDX-License-Identifier: Apache-2.0

// Package linger lets a write that has begun get its answer when its context ends: else
// the server may have done it, and the program does not know.
package linger

import (
	"context"
	"time"
)

// Time is how long the answer is waited for. An operation is to end within a second of
// its context.
const Time = 500 * time.Millisecond

// Context returns a context with the values of ctx that ends [Time] after ctx does, with
// the same cause. It must be cancelled. A ctx that has ended is returned as it is: nothing
// is to begin.
func Context(ctx context.Context) (context.Context, context.CancelFunc) {
	if ctx.Err() != nil {
		return ctx, func() {}
	}
	longer, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.NewTimer(Time)
		defer timer.Stop()
		select {
		case <-timer.C:
			cancel(context.Cause(ctx))
		case <-longer.Done():
		}
	})
	return longer, func() {
		stop()
		cancel(context.Canceled)
	}
}

// Sleep returns after d, or with the cause of ctx when that ends before.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
