// SPDX-License-Identifier: Apache-2.0

package index

import "github.com/moonhelm/moonhelm/internal/yaml"

// quickly appends the document text to t if it is in the simple subset of YAML in which nearly
// all indexes are written. The result is the same as the full parser's. If ok is false, the
// text may be valid or not, and t is unchanged.
func quickly(t *tape, text string) (ok bool) {
	before := len(*t)
	if !yaml.Walk(text, t) || len(*t) == before {
		*t = (*t)[:before]
		return false
	}
	return true
}

// Open begins a table or list.
func (t *tape) Open(isMap bool) (id int) {
	if isMap {
		return t.open(table, 0)
	}
	return t.open(list, 0)
}

// Key appends a key of a table.
func (t *tape) Key(key string, _, _ bool) (keep, ok bool) {
	t.scalar(key, false, 0)
	return true, true
}

// Scalar appends a scalar.
func (t *tape) Scalar(text string, plain, _ bool) bool {
	t.scalar(text, plain, 0)
	return true
}

// Close ends a table or list.
func (t *tape) Close(id int) bool {
	t.close(id)
	return (*t)[id].kind != table || t.duplicate(id) < 0
}
