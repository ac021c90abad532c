// SPDX-License-Identifier: Apache-2.0

package index

import "github.com/moonhelm/moonhelm/internal/yaml"

// quickly appends the document text to t, if it is in the plain subset of YAML that indexes
// are written in nearly always. What it takes, the full parser would read the same; what it
// does not take may be valid or not. Where ok is false t is as it was.
func quickly(t *tape, text string) (ok bool) {
	before := len(*t)
	if !yaml.Walk(text, t) || len(*t) == before {
		*t = (*t)[:before]
		return false
	}
	return true
}

// Open begins a table or list of usual YAML.
func (t *tape) Open(isMap bool) (id int) {
	if isMap {
		return t.open(table, 0)
	}
	return t.open(list, 0)
}

// Key is a table's next key.
func (t *tape) Key(key string, _, _ bool) (keep, ok bool) {
	t.scalar(key, false, 0)
	return true, true
}

// Scalar is a value.
func (t *tape) Scalar(text string, plain, _ bool) bool {
	t.scalar(text, plain, 0)
	return true
}

// Close ends a table or list.
func (t *tape) Close(id int) bool {
	t.close(id)
	return (*t)[id].kind != table || t.duplicate(id) < 0
}
