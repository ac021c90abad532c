// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"maps"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/internal/suggest"
)

// mistaken returns the keys of m, most similar to key first, and the key that was probably
// meant.
func mistaken(m map[string]any, key string) *Missing {
	keys := slices.Sorted(maps.Keys(m))
	dist := make(map[string]int, len(keys))
	for _, k := range keys {
		dist[k] = suggest.Distance(strings.ToLower(k), strings.ToLower(key))
	}
	slices.SortStableFunc(keys, func(a, b string) int { return dist[a] - dist[b] })
	return &Missing{Keys: keys, Suggestion: guess(keys, key)}
}

// guess returns the name that is most similar to want, or "" if none is similar.
func guess(names []string, want string) string {
	return suggest.Similar(slices.Sorted(slices.Values(names)), want, min(max(2, len(want)/3), len(want)/2),
		strings.ToLower)
}
