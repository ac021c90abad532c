// SPDX-License-Identifier: Apache-2.0

package index

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/moonhelm/moonhelm/manifest/quickyaml"
)

// object is an index that is JSON. The text is known to be valid.
type object struct {
	text    string
	top     []member
	charts  []string
	entries []string
}

// member is a key of an object, and its value's text.
type member struct{ key, value string }

// parseObject reads an index that is valid JSON and begins with a brace.
func parseObject(text string) (*object, error) {
	o := &object{text: text}
	top, err := members(text, mostKeys, errKeys)
	if err != nil {
		return nil, err
	}
	for _, m := range top {
		if m.key != "entries" {
			o.top = append(o.top, m)
			continue
		}
		switch m.value[0] {
		case '{':
		case 'n':
			continue
		case '[':
			return nil, &FormatError{Problem: "entries is a list, must be a table of charts"}
		default:
			return nil, &FormatError{Problem: "entries is text, must be a table of charts"}
		}
		charts, err := members(m.value, mostCharts, errCharts)
		if err != nil {
			return nil, err
		}
		for _, c := range charts {
			o.charts, o.entries = append(o.charts, c.key), append(o.entries, c.value)
		}
	}
	return o, nil
}

func (o *object) names() []string { return o.charts }

func (o *object) items(chart int) ([]item, error) {
	text := o.entries[chart]
	switch text[0] {
	case '[':
	case 'n':
		return nil, nil
	case '{':
		return nil, notList(o.charts[chart], table)
	default:
		return nil, notList(o.charts[chart], scalar)
	}
	var out []item
	var t tape
	for at := blanks(text, 1); text[at] != ']'; at = separated(text, at) {
		if err := counted(o.charts[chart], len(out)+1); err != nil {
			return nil, err
		}
		end := valueEnd(text, at)
		it := item{text: text[at:end]}
		t = t[:0]
		if err := o.read(&t, it); err != nil {
			return nil, err
		}
		it.version = t.version()
		out = append(out, it)
		at = end
	}
	return out, nil
}

func (o *object) read(t *tape, it item) error {
	if err := bounded(int64(len(it.text)), "an entry", nowhere); err != nil {
		return err
	}
	return readWhole(t, it.text)
}

func (o *object) field(t *tape, key string) error {
	for _, m := range o.top {
		if m.key == key {
			return m.read(t)
		}
	}
	return nil
}

func (m member) read(t *tape) error {
	if err := bounded(int64(len(m.value)), fmt.Sprintf("the value of %q", m.key), nowhere); err != nil {
		return err
	}
	return readWhole(t, m.value)
}

func (o *object) check() error {
	for _, m := range o.top {
		if err := m.read(&tape{}); err != nil {
			return err
		}
	}
	return nil
}

func readWhole(t *tape, text string) error {
	_, err := readJSON(t, text, 0, 0)
	return err
}

// readJSON appends the value at at of valid JSON to t, and tells where it ends.
func readJSON(t *tape, text string, at, depth int) (end int, err error) {
	if depth > 10*quickyaml.MaxDepth {
		return 0, &FormatError{Problem: "it has lists and tables too deep in each other"}
	}
	switch text[at] {
	case '{':
		i := t.open(table, 0)
		for at = blanks(text, at+1); text[at] != '}'; at = separated(text, at) {
			end = valueEnd(text, at)
			t.scalar(unquote(text[at:end]), false, 0)
			if at, err = readJSON(t, text, afterColon(text, end), depth+1); err != nil {
				return 0, err
			}
		}
		t.close(i)
		if k := t.duplicate(i); k >= 0 {
			return 0, &DuplicateError{Key: (*t)[k].text}
		}
		return at + 1, nil
	case '[':
		i := t.open(list, 0)
		for at = blanks(text, at+1); text[at] != ']'; at = separated(text, at) {
			if at, err = readJSON(t, text, at, depth+1); err != nil {
				return 0, err
			}
		}
		t.close(i)
		return at + 1, nil
	}
	end = valueEnd(text, at)
	if text[at] == '"' {
		t.scalar(unquote(text[at:end]), false, 0)
	} else {
		t.scalar(text[at:end], true, 0)
	}
	return end, nil
}

// members are the keys and values of an object. A key that stands twice is an
// error.
// beyond is the error where there are more than most.
func members(text string, most int, beyond error) ([]member, error) {
	var out []member
	seen := map[string]bool{}
	for at := blanks(text, 1); text[at] != '}'; at = separated(text, at) {
		end := valueEnd(text, at)
		key := unquote(text[at:end])
		if seen[key] {
			return nil, &DuplicateError{Key: key}
		}
		if len(out) == most {
			return nil, beyond
		}
		seen[key] = true
		at = afterColon(text, end)
		end = valueEnd(text, at)
		out = append(out, member{key, text[at:end]})
		at = end
	}
	return out, nil
}

// separated is where the next value, or the bracket that closes, stands behind
// a value that ends at at.
func separated(text string, at int) int {
	if at = blanks(text, at); text[at] == ',' {
		at = blanks(text, at+1)
	}
	return at
}

func afterColon(text string, at int) int { return blanks(text, blanks(text, at)+1) }

func unquote(text string) string {
	if strings.IndexByte(text, '\\') < 0 {
		return strings.ToValidUTF8(text[1:len(text)-1], "\ufffd")
	}
	var s string
	if json.Unmarshal([]byte(text), &s) != nil { // it is valid
		return ""
	}
	return s
}

func blanks(text string, at int) int {
	for at < len(text) && (text[at] == ' ' || text[at] == '\n' || text[at] == '\t' || text[at] == '\r') {
		at++
	}
	return at
}

// valueEnd is where the value that begins at at ends.
func valueEnd(text string, at int) int {
	depth := 0
	for ; at < len(text); at++ {
		switch text[at] {
		case '"':
			at += 1 + closing(text[at+1:], '"')
			if depth == 0 {
				return at + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return at + 1
			}
			if depth < 0 {
				return at
			}
		case ',', ' ', '\n', '\t', '\r':
			if depth == 0 {
				return at
			}
		}
	}
	return at
}
