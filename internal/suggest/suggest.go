// SPDX-License-Identifier: Apache-2.0

// Package suggest finds the name most similar to a misspelled one, for "did you mean ...?".
package suggest

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

// maxLength is the length of the longest compared texts, in bytes.
const maxLength = 100

// Distance returns the Levenshtein distance of a and b in bytes. If one of them is longer than 100
// bytes, it returns the length of the longer one.
func Distance(a, b string) int {
	if n := max(len(a), len(b)); n > maxLength {
		return n
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
