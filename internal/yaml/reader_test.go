// SPDX-License-Identifier: Apache-2.0

package yaml

import (
	"testing"
)

// The users of lineReader compare their results with full parsers in fuzz tests.

func TestScalars(t *testing.T) {
	for text, want := range map[string]string{
		"k: a b # c\n":                "a b",
		"k: a\n  b\n\n  c\nnext: 1\n": "a b\nc",
		"k: |\n  x\n    y\n\n":        "x\n  y\n",
		"k: >-\n  x\n  y\n\n  z\n":    "x y\nz",
		"k: \"q\\\"\\n\"\n":           "q\"\n",
		"k: 'it''s' # c\n":            "it's",
		"k: a: b\n":                   "?",
		"k: &x 1\n":                   "?",
		"k: a\tb\n":                   "?",
		"k: \"\\u00e9\"\n":            "?",
		"k: |2\n   x\n":               "?",
		"k: 'a\n  b'\n":               "?",
		"--- \nk: 1\n":                "?",
	} {
		t.Run(text, func(t *testing.T) {
			if got := scalar(text); got != want {
				t.Errorf("%q: got %q, want %q", text, got, want)
			}
		})
	}
}

// scalar returns the value of the first key of text, or "?" if it is unknown.
func scalar(text string) (value string) {
	r := lineReader{Text: text}
	if r.Next(); r.Bad {
		return "?"
	}
	key, plain, ok := r.Key()
	if r.Spaces(); !ok || !plain || key != "k" || !r.AtValue() {
		return "?"
	}
	switch r.Text[r.At] {
	case '|', '>':
		value = r.Block(0, true)
	case '"', '\'':
		value, ok = r.Quoted()
		if ok {
			r.EndLine()
		}
	default:
		value = r.Plain(0, true)
	}
	if r.Bad || !ok {
		return "?"
	}
	return value
}

func TestSimple(t *testing.T) {
	for text, want := range map[string]bool{"a: é\n\tb": true, "a\r\n": false, "\x07": false, "\xff": false, "a\u2028": false, "\ufeffa": false} {
		t.Run(text, func(t *testing.T) {
			if got := Simple(text); got != want {
				t.Errorf("%q: %v", text, got)
			}
		})
	}
}
