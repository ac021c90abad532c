// SPDX-License-Identifier: Apache-2.0

package index

import "github.com/moonhelm/moonhelm/internal/yaml"

// quickly appends the document text to t, if it is in the plain subset of YAML that indexes
// are written in nearly always. What it takes, the full parser would read the same; what it
// does not take may be valid or not. Where ok is false t is as it was.
func quickly(t *tape, text string) (ok bool) {
	before := len(*t)
	r := &recorder{tape: t}
	r.opened = r.few[:0]
	if !yaml.Walk(text, r) || len(*t) == before {
		*t = (*t)[:before]
		return false
	}
	return true
}

// recorder puts on a tape what is found in a text.
type recorder struct {
	*tape
	opened []int // the tokens of the tables and lists that are open
	few    [8]int
}

// Open begins a table or list.
func (r *recorder) Open(isMap bool) {
	k := list
	if isMap {
		k = table
	}
	r.opened = append(r.opened, r.open(k, 0))
}

// Key is a table's next key.
func (r *recorder) Key(key string, _, _ bool) (keep, ok bool) {
	r.scalar(key, false, 0)
	return true, true
}

// Scalar is a value.
func (r *recorder) Scalar(text string, plain, _ bool) bool {
	r.scalar(text, plain, 0)
	return true
}

// Close ends a table or list.
func (r *recorder) Close() bool {
	i := r.opened[len(r.opened)-1]
	r.opened = r.opened[:len(r.opened)-1]
	r.close(i)
	return (*r.tape)[i].kind != table || r.duplicate(i) < 0
}
