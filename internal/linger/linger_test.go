// SPDX-License-Identifier: Apache-2.0

package linger

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cause := errors.New("the lock is lost")
		ctx, end := context.WithCancelCause(t.Context())
		longer, cancel := Context(ctx)
		defer cancel()
		end(cause)
		time.Sleep(GracePeriod - time.Millisecond)
		if longer.Err() != nil {
			t.Errorf("ended early: %v", longer.Err())
		}
		time.Sleep(2 * time.Millisecond)
		if !errors.Is(context.Cause(longer), cause) {
			t.Errorf("Cause = %v, want the cause of the original context", context.Cause(longer))
		}
		after, _ := Context(ctx)
		if after != ctx {
			t.Error("a done context is extended")
		}
	})
}
