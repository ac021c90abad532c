// SPDX-License-Identifier: Apache-2.0

package hint

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"testing"
)

func TestOf(t *testing.T) {
	plain := errors.New("x")
	for _, tc := range []struct {
		name string
		err  error
		want []string
	}{
		{"none", fmt.Errorf("a: %w", plain), nil},
		{"nil", nil, nil},
		{"wrapped", fmt.Errorf("a: %w", With(plain, "try")), []string{"try"}},
		{"the outermost", With(fmt.Errorf("a: %w", With(plain, "inner")), "outer"), []string{"outer"}},
		{"an inner one where the outer has none", With(With(plain, "inner"), ""), []string{"inner"}},
		{"the first of joined ones", errors.Join(plain, With(plain, "first"), With(plain, "second")), []string{"first"}},
		{"two", With(plain, "a\nb"), []string{"a", "b"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := Of(tc.err); !slices.Equal(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestWith(t *testing.T) {
	inner := errors.New("x")
	err := With(inner, "try")
	if err.Error() != "x" || !errors.Is(err, inner) {
		t.Errorf("got %v, want the error as it was", err)
	}
}

func TestProxy(t *testing.T) {
	for op, want := range map[string]bool{"proxyconnect": true, "dial": false} {
		t.Run(op, func(t *testing.T) {
			err := fmt.Errorf("a: %w", &net.OpError{Op: op, Err: errors.New("x")})
			if got := Proxy(err) != ""; got != want {
				t.Errorf("Proxy(%s): got a hint: %v, want %v", op, got, want)
			}
		})
	}
}
