// SPDX-License-Identifier: Apache-2.0

package index

import "github.com/moonhelm/moonhelm/internal/yaml"

// tape is a flat list of the values of a document: each value is a token; the token of a table
// or list is followed by its content. Equivalent documents in YAML and JSON have the same
// tape.
type tape []token

type token struct {
	kind  kind
	plain bool   // an unquoted scalar, which may be null or a boolean
	text  string // a scalar's text without quotes and line folding
	end   int    // the index after the value
	line  int    // in the source text, from 1, or 0 if it is unknown
}

type kind uint8

const (
	scalar kind = iota
	list
	table // keys, each followed by its value
)

func (k kind) String() string {
	return [...]string{"text", "a list", "a table"}[k]
}

// null reports whether the value at index i is null.
func (t tape) null(i int) bool {
	if t[i].kind != scalar || !t[i].plain {
		return false
	}
	v, known := yaml.Word(t[i].text)
	return known && v == nil
}

// duplicate returns the index of a duplicate key of the table at index i, or -1. It does not
// check nested tables.
func (t tape) duplicate(i int) int {
	const few = 24
	n := 0
	for k := i + 1; k < t[i].end; k = t[k+1].end {
		if n++; n > few {
			return t.duplicateOfMany(i)
		}
		for earlier := i + 1; earlier < k; earlier = t[earlier+1].end {
			if t[earlier].text == t[k].text {
				return k
			}
		}
	}
	return -1
}

func (t tape) duplicateOfMany(i int) int {
	seen := map[string]bool{}
	for k := i + 1; k < t[i].end; k = t[k+1].end {
		if seen[t[k].text] {
			return k
		}
		seen[t[k].text] = true
	}
	return -1
}

// open begins a list or table, which close ends.
func (t *tape) open(k kind, line int) int {
	*t = append(*t, token{kind: k, line: line})
	return len(*t) - 1
}

func (t tape) close(i int) { t[i].end = len(t) }

func (t *tape) scalar(text string, plain bool, line int) {
	*t = append(*t, token{text: text, plain: plain, end: len(*t) + 1, line: line})
}
