// SPDX-License-Identifier: Apache-2.0

// Package near finds the name that was meant where another was written: for "did
// you mean ...?". It knows nothing of what the names stand for.
package near

// Pick returns the name most like want, the first of those that are equally
// like it, or "" where none differs from it in at most that many letters. want
// itself is passed over. fold is what the names and want are compared by, such
// as strings.ToLower; nil compares them as they are.
func Pick(names []string, want string, most int, fold func(string) string) string {
	if fold == nil {
		fold = func(s string) string { return s }
	}
	folded := fold(want)
	best := ""
	for _, name := range names {
		if name == want {
			continue
		}
		if d := Distance(fold(name), folded); d <= most {
			best, most = name, d-1
		}
	}
	return best
}

// longest is where texts are not compared any more: no one mistypes so much.
const longest = 100

// Distance is the number of letters (bytes) to put in, take out or replace to
// make b of a (Levenshtein). Where one of them is longer than a name may be, it
// is the length of the longer one.
func Distance(a, b string) int {
	if n := max(len(a), len(b)); n > longest {
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
