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
		{"replicas image", "imgae", 0, ""},
		{"replicas image", "imgae", 1, "image"}, // swapped letters are one change
		{"tag", "tag", 2, ""},                   // want itself is ignored
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
		{"kitten", "sitting", 3}, {"saturday", "sunday", 3}, {"ab", "ba", 1},
		{"ca", "abc", 3}, {"wiat", "wait", 1}, {"abcd", "badc", 2},
		{long, long[1:], 101}, {"", long, 101},
	} {
		t.Run(c.a, func(t *testing.T) {
			if got := suggest.Distance(c.a, c.b); got != c.want {
				t.Errorf("Distance(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
			}
		})
	}
}

func TestNearest(t *testing.T) {
	for _, c := range []struct{ name, names, want, pick string }{
		{"the nearest, not the first", "bash zsh fish powershell", "fsh", "fish"},
		{"none of a short word", "hub repo", "web", ""},
		{"swapped letters", "wait wait-for-jobs", "wiat", "wait"},
		{"all at the same distance", "bat cat", "rat", "bat cat"},
		{"three at most", "aat bat cat dat", "rat", "aat bat cat"},
		{"a beginning", "customer-facing-app-1 web", "customer", "customer-facing-app-1"},
		{"not of two letters", "status", "st", ""},
		{"a longer name", "customer-facing-app-1 customer-app", "customer-facing-ap-2", "customer-facing-app-1"},
		{"without case", "Web shop", "wEb", "Web"},
		{"the first letter", "zsh fish", "fsh", "fish"},
		{"a name of one letter", "a", "", ""},
		{"not itself", "web wep", "web", "wep"},
		{"once", "web web", "wep", "web"},
		{"one letter", "a b", "c", ""},
		{"nothing to choose from", "", "web", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := strings.Join(suggest.Nearest(strings.Fields(c.names), c.want), " "); got != c.pick {
				t.Errorf("Nearest(%q, %q) = %q, want %q", c.names, c.want, got, c.pick)
			}
		})
	}
}
