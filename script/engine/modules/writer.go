// SPDX-License-Identifier: Apache-2.0

package modules

import (
	"strconv"
	"strings"
)

// writer builds a text and charges it as it grows.
type writer struct {
	*call
	b    []byte
	path []string // of the value that is written
}

// room charges n more bytes, and the copies of the growing buffer.
func (w *writer) room(n int) {
	w.spend(uint64(n)/4 + 1)
	w.borrow(2 * uint64(n))
}

func (w *writer) put(s string) {
	w.room(len(s))
	w.b = append(w.b, s...)
}

func (w *writer) pad(n int) {
	w.room(n)
	for range n {
		w.b = append(w.b, ' ')
	}
}

// float writes f so that it is read as a float again: 2.0, 1.0e+300.
func (w *writer) float(f float64) {
	s := strconv.FormatFloat(f, 'g', -1, 64)
	if !strings.Contains(s, ".") {
		if at := strings.IndexByte(s, 'e'); at >= 0 {
			s = s[:at] + ".0" + s[at:]
		} else {
			s += ".0"
		}
	}
	w.put(s)
}

func (w *writer) enter(step string) { w.path = append(w.path, step) }
func (w *writer) leave()            { w.path = w.path[:len(w.path)-1] }

// notText returns an error for a string that is not UTF-8.
func (w *writer) notText() error {
	where := "the value"
	if len(w.path) > 0 {
		where += " at " + clip(strings.Join(w.path, ""))
	}
	return w.fail("%s is not UTF-8 text; write it with base64.encode", where)
}

func itemStep(i int) string { return "[" + strconv.Itoa(i+1) + "]" }
