// SPDX-License-Identifier: Apache-2.0

package suggest_test

import (
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/internal/suggest"
)

func TestSimilar(t *testing.T) {
	for _, c := range []struct {
		names string
		want  string
		most  int
		pick  string
	}{
		{"replicas image", "replica", 2, "replicas"},
		{"replicas image", "Replicas", 0, "replicas"}, // equal only after fold
		{"replicas image", "imgae", 1, ""},            // transposed letters count as two changes
		{"replicas image", "imgae", 2, "image"},
		{"tag", "tag", 2, ""}, // want itself is ignored
		{"bat cat", "rat", 1, "bat"},
		{"cat bat", "rat", 1, "cat"}, // the first of several
		{"chat cat", "rat", 2, "cat"},
		{"", "x", 2, ""},
	} {
		t.Run(c.names, func(t *testing.T) {
			if got := suggest.Similar(strings.Fields(c.names), c.want, c.most, strings.ToLower); got != c.pick {
				t.Errorf("Similar(%q, %q, %d) = %q, want %q", c.names, c.want, c.most, got, c.pick)
			}
		})
	}
	if got := suggest.Similar([]string{"A"}, "a", 0, nil); got != "" {
		t.Errorf("Similar without fold = %q, want none", got)
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
		t.Run(c.a, func(t *testing.T) {
			if got := suggest.Distance(c.a, c.b); got != c.want {
				t.Errorf("Distance(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
			}
		})
	}
}
