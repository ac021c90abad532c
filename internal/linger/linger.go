// SPDX-License-Identifier: Apache-2.0

// Package linger gives requests in flight a grace period after their context is done, so that
// the caller learns whether the server has carried out a write, and waits between requests.
package linger

import (
	"context"
	"strconv"
	"time"
)

// GracePeriod is how long a request in flight may go on. An operation ends within a second of
// its context; this is half of it.
const GracePeriod = 500 * time.Millisecond

// Context returns a context with the values of ctx that is done [GracePeriod] after ctx is,
// with the same cause; its Err is [context.Canceled], and it has no deadline. The caller must
// call the CancelFunc. If ctx is already done it is returned, so that no request starts.
func Context(ctx context.Context) (context.Context, context.CancelFunc) {
	if ctx.Err() != nil {
		return ctx, func() {}
	}
	extended, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.NewTimer(GracePeriod)
		defer timer.Stop()
		select {
		case <-timer.C:
			cancel(context.Cause(ctx))
		case <-extended.Done():
		}
	})
	return extended, func() {
		stop()
		cancel(context.Canceled)
	}
}

// Sleep returns nil after d, or the cause of ctx if that is done before.
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

// RetryAfter returns how long the value of a Retry-After header asks to wait, which is not
// negative, and whether it is a number of seconds (RFC 9110, section 10.2.3). A date is not used:
// by a clock that differs from the server's it could mean any time.
func RetryAfter(value string) (wait time.Duration, ok bool) {
	const most = 365 * 24 * time.Hour // far from the largest Duration
	seconds, err := strconv.ParseUint(value, 10, 64)
	if err != nil {
		return 0, false
	}
	return time.Duration(min(seconds, uint64(most/time.Second))) * time.Second, true
}
