// SPDX-License-Identifier: Apache-2.0

package render

import (
	"slices"
	"strings"
)

// near lists the keys of m, those most like key first, and guesses which of
// them was meant.
func near(m map[string]any, key string) *Missing {
	keys := sortedKeys(m)
	dist := make(map[string]int, len(keys))
	for _, k := range keys {
		dist[k] = distance(strings.ToLower(k), strings.ToLower(key))
	}
	slices.SortStableFunc(keys, func(a, b string) int { return dist[a] - dist[b] })
	return &Missing{Keys: keys, Guess: guess(keys, key)}
}

// guess is the name most like the wanted one, "" where none is like it.
func guess(names []string, want string) string {
	best, least := "", min(max(2, len(want)/3), len(want)/2)+1
	for _, n := range names {
		if n == want {
			continue
		}
		if d := distance(strings.ToLower(n), strings.ToLower(want)); d < least || d == least && best != "" && n < best {
			best, least = n, d
		}
	}
	return best
}

// distance is the number of letters to change, insert or delete.
func distance(a, b string) int {
	if len(a) > 100 || len(b) > 100 {
		return 100
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := before
			if a[i] != b[j] {
				cost++
			}
			before = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
