// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/internal/near"
)

// mistaken lists the keys of m, those most like key first, and guesses which of
// them was meant.
func mistaken(m map[string]any, key string) *Missing {
	keys := sortedKeys(m)
	dist := make(map[string]int, len(keys))
	for _, k := range keys {
		dist[k] = near.Distance(strings.ToLower(k), strings.ToLower(key))
	}
	slices.SortStableFunc(keys, func(a, b string) int { return dist[a] - dist[b] })
	return &Missing{Keys: keys, Suggestion: guess(keys, key)}
}

// guess is the name most like the wanted one, "" where none is like it.
func guess(names []string, want string) string {
	return near.Pick(slices.Sorted(slices.Values(names)), want, min(max(2, len(want)/3), len(want)/2), strings.ToLower)
}
