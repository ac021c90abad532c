// SPDX-License-Identifier: Apache-2.0

package near_test

import (
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/internal/near"
)

func TestPick(t *testing.T) {
	for _, c := range []struct {
		names string
		want  string
		most  int
		pick  string
	}{
		{"replicas image", "replica", 2, "replicas"},
		{"replicas image", "Replicas", 0, "replicas"}, // folded, and not the same
		{"replicas image", "imgae", 1, ""},            // two letters changed places: two changes
		{"replicas image", "imgae", 2, "image"},
		{"tag", "tag", 2, ""}, // it is there; that is not what was meant
		{"bat cat", "rat", 1, "bat"},
		{"cat bat", "rat", 1, "cat"}, // the first
		{"chat cat", "rat", 2, "cat"},
		{"", "x", 2, ""},
	} {
		if got := near.Pick(strings.Fields(c.names), c.want, c.most, strings.ToLower); got != c.pick {
			t.Errorf("of %q for %q, %d letters off: %q, want %q", c.names, c.want, c.most, got, c.pick)
		}
	}
	if got := near.Pick([]string{"A"}, "a", 0, nil); got != "" {
		t.Errorf("folded letters without being told to: %q", got)
	}
}

func TestDistance(t *testing.T) {
	long := strings.Repeat("x", 101)
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"abc", "abc", 0}, {"abc", "adc", 1},
		{"kitten", "sitting", 3}, {"saturday", "sunday", 3}, {"ab", "ba", 2},
		{long, long[1:], 101}, {"", long, 101},
	} {
		if got := near.Distance(c.a, c.b); got != c.want {
			t.Errorf("%q to %q: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
