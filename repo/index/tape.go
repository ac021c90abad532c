// SPDX-License-Identifier: Apache-2.0

package index

import "github.com/moonhelm/moonhelm/internal/yaml"

// tape is a document in one piece: every value as a token, and behind a table's
// or a list's token what is in it. YAML, read either way, and JSON come to the
// same tape where they mean the same.
type tape []token

type token struct {
	kind  kind
	plain bool   // a scalar without quotes, which may be null or a boolean
	text  string // a scalar's text as it is there, without quotes and folds
	end   int    // the index behind the value
	line  int    // 1-based in the text that was read, 0 where it is not known
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

// null reports whether the value at i is none.
func (t tape) null(i int) bool {
	if t[i].kind != scalar || !t[i].plain {
		return false
	}
	v, known := yaml.Word(t[i].text)
	return known && v == nil
}

// duplicate finds a key of the table at i, and of it alone, that is there a
// second time: its index, or -1.
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

// open begins a list or table, to be closed with close.
func (t *tape) open(k kind, line int) int {
	*t = append(*t, token{kind: k, line: line})
	return len(*t) - 1
}

func (t tape) close(i int) { t[i].end = len(t) }

func (t *tape) scalar(text string, plain bool, line int) {
	*t = append(*t, token{text: text, plain: plain, end: len(*t) + 1, line: line})
}
