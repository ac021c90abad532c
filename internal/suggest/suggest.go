// SPDX-License-Identifier: Apache-2.0

// Package suggest finds the names most similar to a misspelled one, for "did you mean ...?".
package suggest

import (
	"slices"
	"strings"
)

// Similar returns the first of the names with the smallest distance to want, or "" if none has a
// distance of at most limit. It ignores want itself. fold normalises names before the comparison,
// such as strings.ToLower; it may be nil.
func Similar(names []string, want string, limit int, fold func(string) string) string {
	if fold == nil {
		fold = func(s string) string { return s }
	}
	folded := fold(want)
	best := ""
	for _, name := range names {
		if name == want {
			continue
		}
		if d := Distance(fold(name), folded); d <= limit {
			best, limit = name, d-1
		}
	}
	return best
}

// most is the number of names that Nearest returns.
const most = 3

// Nearest returns the names that want may be a misspelling or the beginning of: up to three with the
// smallest distance to it, in the order of names. Of names at the same distance those with want's
// first letter are nearer. It ignores case, and want itself.
func Nearest(names []string, want string) []string {
	var near []string
	lower := strings.ToLower(want)
	limit := 2*tolerance(want) + 1
	for _, name := range names {
		if name == want || name == "" || slices.Contains(near, name) {
			continue
		}
		d := 2 * misspelled(strings.ToLower(name), lower)
		if lower == "" || strings.ToLower(name)[0] != lower[0] {
			d++
		}
		switch {
		case d > limit:
			continue
		case d < limit:
			near, limit = near[:0], d
		}
		near = append(near, name)
	}
	return near[:min(len(near), most)]
}

// misspelled returns the distance of want to name, or at most 1 if it is the beginning of it.
func misspelled(name, want string) int {
	d := Distance(name, want)
	if len(want) > 2 && strings.HasPrefix(name, want) {
		return min(d, 1)
	}
	return d
}

// tolerance returns the largest distance of a word to what it may be a misspelling of. Of a short
// word few letters are left at a larger distance: "web" is not a misspelled "hub".
func tolerance(word string) int {
	switch n := len(word); {
	case n < 2:
		return 0
	case n < 4:
		return 1
	case n < 10:
		return 2
	}
	return 3
}

// maxLength is the length of the longest compared texts, in bytes.
const maxLength = 100

// Distance returns the number of bytes to insert, delete or replace, or of pairs of neighbours to
// swap, that makes b of a. No byte is changed twice. If one of the texts is longer than 100 bytes,
// Distance returns the length of the longer one.
func Distance(a, b string) int {
	if n := max(len(a), len(b)); n > maxLength {
		return n
	}
	before, above, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, above, row = above, row, before
		row[0] = i + 1
		for j := range len(b) {
			cost := above[j]
			if a[i] != b[j] {
				cost++
			}
			row[j+1] = min(cost, above[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}
