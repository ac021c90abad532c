// SPDX-License-Identifier: Apache-2.0

package yaml

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Rules are the rules for the text that [Edit] changes.
type Rules struct {
	// Decode decodes text, which ends with a line feed. It must be set.
	Decode func(text string) (map[string]any, error)
	// Old is what Decode returns for the text, or nil to call it.
	Old map[string]any
	// Values is set for the values of a chart: numbers with the same value are equal,
	// whatever their types, and a float64 with an integer value is written without a
	// decimal point. A named type of kind float64, such as values.Real, keeps the point.
	Values bool
}

// Edit returns raw, the text of a map, changed so that rules.Decode returns now for it. It
// makes as few changes as possible: values that stay keep their text, position and comments,
// a removed key is removed with the comments directly above it, and a new key is the last in
// its map. Parts of the text that Edit cannot edit, in the worst case all of it, are
// rewritten. It returns an error for a value that cannot be written as YAML.
func Edit(raw string, want map[string]any, rules Rules) (string, error) {
	goal, err := normalize(want, rules.Values)
	if err != nil {
		return "", err
	}
	text, unended := raw, false
	if raw != "" && !strings.HasSuffix(text, "\n") {
		text, unended = raw+"\n", true
	}
	decoded := func(text string) map[string]any { // nil if it cannot be decoded
		got, err := rules.Decode(text)
		if err != nil {
			return nil
		}
		m, _ := normalize(got, rules.Values)
		return m
	}
	holds := func(m map[string]any) bool { return m != nil && sameValue(m, goal, rules.Values) }
	old := rules.Old
	if old == nil {
		old = decoded(text)
	} else if old, err = normalize(old, rules.Values); err != nil {
		old = nil
	}
	if holds(old) {
		return raw, nil
	}
	for _, out := range []func() (string, bool){
		func() (string, bool) { return rewrite(text, old, goal, rules, false) },
		func() (string, bool) { return rewrite(text, old, goal, rules, true) },
		func() (string, bool) { return headComments(text) + encodeAll(goal, rules), true },
		func() (string, bool) { return encodeAll(goal, rules), true },
	} {
		if next, ok := out(); ok && holds(decoded(next)) {
			// Parsers add a missing line feed after the last line unless that is empty, so
			// it stays if it is part of a block scalar.
			if bare := withoutEnd(next); unended && (!strings.HasSuffix(bare, "\n") || holds(decoded(bare))) {
				return bare, nil
			}
			return next, nil
		}
	}
	return "", errors.New("the object cannot be written as YAML without changes")
}

// withoutEnd returns text without the line break of its last line.
func withoutEnd(text string) string {
	bare := strings.TrimSuffix(text, "\n")
	if cut := strings.TrimSuffix(bare, "\r"); !strings.HasSuffix(cut, "\r") {
		return cut
	}
	return bare
}

func encodeAll(goal map[string]any, rules Rules) string {
	return readable{rules.Values}.document(goal, 2, 0)
}

// headComments returns the comments and empty lines at the beginning of text.
func headComments(text string) string {
	pos := 0
	for pos < len(text) && (text[pos] == '#' || text[pos] == '\n') {
		pos = min(lineEnd(text, pos)+1, len(text))
	}
	return text[:pos]
}

// rewrite edits text, whose content is old; nil is content that cannot be decoded. If whole is set, it
// rewrites every top-level value that changes. It reports false if it cannot edit the text.
func rewrite(text string, old, goal map[string]any, rules Rules, whole bool) (string, bool) {
	if old == nil {
		return "", false
	}
	top, step, dashes, err := outline(text)
	if err != nil {
		return "", false
	}
	x := &editor{text: text, readable: readable{rules.Values}, step: step, dashes: dashes, whole: whole, feed: "\n"}
	if strings.Contains(text, "\r\n") {
		x.feed = "\r\n"
	}
	switch {
	case top == nil:
		x.replace(len(text), len(text), x.document(goal, step, dashes))
	case top.shape == blockMap && x.editable(top, old, goal):
		x.table(top, old, goal)
	case top.shape == flowMap && x.flowTable(top, old, goal):
	default:
		x.replace(lineStart(text, top.start), lineEnd(text, top.end)+1, x.document(goal, step, dashes))
	}
	return x.result()
}

// change replaces a range of the text.
type change struct {
	from, to int
	text     string
}

// editor collects the changes to a text.
type editor struct {
	text    string
	feed    string // the line break
	whole   bool
	depth   int
	changes []change
	readable
	step, dashes int // of the writer
}

func (x *editor) writer() *writer {
	return &writer{manner: x.readable, step: x.step, dashes: x.dashes}
}

func (x *editor) replace(from, to int, text string) {
	if x.feed != "\n" {
		text = strings.ReplaceAll(text, "\n", x.feed)
	}
	x.changes = append(x.changes, change{from, to, text})
}

// result returns the text with all changes. It reports false if they overlap.
func (x *editor) result() (string, bool) {
	slices.SortStableFunc(x.changes, func(a, b change) int { return a.from - b.from })
	var b strings.Builder
	pos := 0
	for _, c := range x.changes {
		if c.from < pos || c.to < c.from || c.to > len(x.text) {
			return "", false
		}
		b.WriteString(x.text[pos:c.from])
		b.WriteString(c.text)
		pos = c.to
	}
	b.WriteString(x.text[pos:])
	return b.String(), true
}

// same compares two normalized values.
func (x *editor) same(a, b any) bool { return sameValue(a, b, x.values) }

// sameValue compares two normalized values. If values is set, it compares numbers by value
// and ignores their types.
func sameValue(a, b any, values bool) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for k, v := range a {
			w, ok := b[k]
			if !ok || !sameValue(v, w, values) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, func(v, w any) bool { return sameValue(v, w, values) })
	case float64:
		if b, ok := b.(float64); ok {
			return a == b || math.IsNaN(a) && math.IsNaN(b)
		}
	}
	if values {
		if i, f, ok := number(a); ok {
			j, g, ok := number(b)
			return ok && i == j && f == g
		}
	}
	switch b.(type) {
	case map[string]any, []any:
		return false
	}
	return a == b
}

// number returns a number as an int64 or, if it is not an integer or out of range, as a
// float64.
func number(v any) (int64, float64, bool) {
	switch v := v.(type) {
	case int64:
		return v, 0, true
	case pointed:
		return number(float64(v))
	case float64:
		if v == math.Trunc(v) && v >= -1<<63 && v < 1<<63 {
			return int64(v), 0, true
		}
		return 0, v, true
	}
	return 0, 0, false
}

// String is for the messages of tests.
func (c change) String() string { return fmt.Sprintf("%d-%d %q", c.from, c.to, c.text) }
