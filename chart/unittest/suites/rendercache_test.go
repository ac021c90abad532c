// SPDX-License-Identifier: Apache-2.0

package suites

import (
	"fmt"
	"testing"
)

func TestRenderCache(t *testing.T) {
	var c renderCache
	made := 0
	render := func() (*outputs, error) { made++; return &outputs{}, nil }
	for _, key := range []string{"a", "a", "b", "a"} {
		if _, err := c.do(key, render); err != nil {
			t.Fatal(err)
		}
	}
	if made != 2 {
		t.Errorf("%d renderings of two keys, want 2", made)
	}
	for i := range maxRenderings {
		if _, err := c.do(fmt.Sprint(i), render); err != nil {
			t.Fatal(err)
		}
	}
	if len(c.entries) != maxRenderings || c.entries["a"] != nil {
		t.Errorf("%d entries, want the newest %d", len(c.entries), maxRenderings)
	}
}
