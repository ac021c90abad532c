// SPDX-License-Identifier: Apache-2.0

package modules

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/moonhelm/moonhelm/script/engine/bridge"
)

// writer builds a text and charges it as it grows.
type writer struct {
	*call
	b []byte
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

// literal writes a value that JSON and YAML write alike, and reports whether v is one.
func (w *writer) literal(v any) bool {
	switch v := v.(type) {
	case nil:
		w.put("null")
	case bool:
		w.put(strconv.FormatBool(v))
	case int64:
		w.put(strconv.FormatInt(v, 10))
	case float64:
		w.float(v)
	case []any:
		if len(v) == 0 {
			w.put("[]")
		}
		return len(v) == 0
	case map[string]any:
		if len(v) == 0 {
			w.put("{}")
		}
		return len(v) == 0
	default:
		return false
	}
	return true
}

// quoted writes s, which is UTF-8, between double quotes, escaped as JSON and YAML both have it.
// Of control characters and what is not ASCII, escape returns the escape, or "" if there is none.
func (w *writer) quoted(s string, escape func(rune) string) {
	w.put(`"`)
	from := 0
	for i, r := range s {
		if r >= ' ' && r <= '~' && r != '"' && r != '\\' {
			continue
		}
		var as string
		switch r {
		case '"':
			as = `\"`
		case '\\':
			as = `\\`
		case '\n':
			as = `\n`
		case '\t':
			as = `\t`
		default:
			as = escape(r)
		}
		if as != "" {
			w.put(s[from:i])
			w.put(as)
			from = i + utf8.RuneLen(r)
		}
	}
	w.put(s[from:])
	w.put(`"`)
}

// keys returns the keys of v in order.
func (w *writer) keys(v map[string]any) []string {
	w.borrow(16 * uint64(len(v)))
	return slices.Sorted(maps.Keys(v))
}

// checkText returns an error for a string that is not UTF-8.
func (w *writer) checkText(s string) error {
	w.spend(uint64(len(s)) / 4)
	if utf8.ValidString(s) {
		return nil
	}
	return &bridge.Error{Problem: "is not UTF-8 text; write it with base64.encode"}
}

// giveWritten returns what was written to the script, or the error of writing it.
func (w *writer) giveWritten(err error) error {
	if err != nil {
		return w.fail("%w", err)
	}
	return w.giveText(string(w.b))
}
