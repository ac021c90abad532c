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

func TestRetryAfter(t *testing.T) {
	const year = 365 * 24 * time.Hour
	for _, test := range []struct {
		value string
		want  time.Duration
		ok    bool
	}{
		{"0", 0, true},
		{"120", 2 * time.Minute, true},
		{"18446744073709551615", year, true},
		{"", 0, false},
		{"-1", 0, false},
		{"1.5", 0, false},
		{"18446744073709551616", 0, false},
		{"soon", 0, false},
		{"Sat, 01 Jan 2000 00:01:30 GMT", 0, false},
	} {
		t.Run(test.value, func(t *testing.T) {
			if got, ok := RetryAfter(test.value); got != test.want || ok != test.ok {
				t.Errorf("got %v, %v; want %v, %v", got, ok, test.want, test.ok)
			}
		})
	}
}
