// SPDX-License-Identifier: Apache-2.0

package plural

import "testing"

func TestCount(t *testing.T) {
	for n, want := range map[int]string{-1: "-1 objects", 0: "0 objects", 1: "1 object", 2: "2 objects"} {
		t.Run(want, func(t *testing.T) {
			if got := Count(n, "object"); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}
