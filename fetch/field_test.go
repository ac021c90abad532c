// SPDX-License-Identifier: Apache-2.0

package fetch_test

import (
	"errors"
	"testing"

	"github.com/moonhelm/moonhelm/fetch"
)

// A Finder without a cache returns an error.
func TestFinderWithoutCache(t *testing.T) {
	var missing *fetch.FieldError
	_, err := (&fetch.Finder{}).Find(t.Context(), fetch.Ref{Name: "https://charts.example/web-1.0.0.tgz"})
	if !errors.As(err, &missing) || missing.Field != "Cache" {
		t.Errorf("got %v, want a FieldError for Cache", err)
	}
}
