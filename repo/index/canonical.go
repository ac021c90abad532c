// SPDX-License-Identifier: Apache-2.0

package index

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/moonhelm/moonhelm/internal/yaml"
)

// canonical converts an index to the form that [block] reads, YAML with the same content: in
// block style down to the keys of an entry, in flow style below. It removes comments and
// expands aliases.
//
// Errors are a [*FormatError] or a [*DuplicateError], with the lines of data.
func canonical(data []byte) ([]byte, error) {
	w := &writer{most: 4*len(data) + 16<<20}
	if text := bytes.TrimLeft(data, " \t\r\n"); len(text) > 0 && text[0] == '{' && json.Valid(text) {
		err := w.json(text)
		return w.text, err
	}
	if bytes.Contains(data, []byte("\r\n")) { // the same line break in YAML
		unix := bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
		o, usual, err := outlined(bytes.NewReader(unix), int64(len(unix)))
		if err != nil || usual && o.has("apiVersion") {
			return unix, err
		}
	}
	err := w.yaml(data)
	return w.text, err
}

// writer writes an index in the canonical form.
type writer struct {
	text []byte
	most int  // the maximum length of text, because aliases can expand to a large text
	t    tape // of the current value
	long bool // there was a key that is too long for YAML
}

// field writes a key of the index and its value, which is on the tape.
func (w *writer) field(key string) error {
	start := len(w.text)
	w.key(key)
	w.value(0)
	w.text = append(w.text, '\n')
	return w.bounded(start, fmt.Sprintf("the value of %.100q", key))
}

// charts writes the key of the charts, and calls do to write them.
func (w *writer) charts(do func() error) error {
	w.text = append(w.text, "entries:\n"...)
	start := len(w.text)
	if err := do(); err != nil {
		return err
	}
	w.none(start, "{}")
	return nil
}

// chart writes a chart without entries: its value is null or, if wrong is set, of a kind
// other than a list.
func (w *writer) chart(name string, k kind, wrong bool) error {
	if err := w.name(name); err != nil || !wrong {
		w.none(len(w.text), "[]")
		return err
	}
	w.none(len(w.text), map[kind]string{table: "{}", scalar: `""`}[k])
	return nil
}

// entries writes a chart and its entries. next puts an entry on the tape; it returns false
// if there are no more.
func (w *writer) entries(name string, next func(n int) (bool, error)) error {
	if err := w.name(name); err != nil {
		return err
	}
	start := len(w.text)
	for n := 0; ; n++ {
		w.t = w.t[:0]
		more, err := next(n)
		switch {
		case err != nil:
			return err
		case !more:
			w.none(start, "[]")
			return nil
		}
		if err := counted(name, n+1); err != nil {
			return err
		}
		if err := w.entry(); err != nil {
			return err
		}
	}
}

func (w *writer) name(name string) error {
	start := len(w.text)
	w.text = append(w.text, "  "...)
	w.quoteKey(name)
	w.text = append(w.text, ":\n"...)
	return w.bounded(start, "a chart's name")
}

// entry writes an entry, which is on the tape.
func (w *writer) entry() error {
	start := len(w.text)
	w.text = append(w.text, "  - "...)
	if w.t[0].kind != table || w.t[0].end == 1 {
		w.value(0)
		w.text = append(w.text, '\n')
		return w.bounded(start, "an entry")
	}
	for k := 1; k < w.t[0].end; k = w.t[k+1].end {
		if k > 1 {
			w.text = append(w.text, "    "...)
		}
		w.key(w.t[k].text)
		w.value(k + 1)
		w.text = append(w.text, '\n')
	}
	return w.bounded(start, "an entry")
}

// none replaces the line feed after a key without content.
func (w *writer) none(start int, value string) {
	if len(w.text) == start {
		w.text = append(w.text[:start-1], " "+value+"\n"...)
	}
}

// bounded checks the size of the text from position at on.
func (w *writer) bounded(start int, what string) error {
	switch {
	case w.long:
		return errLongKey
	case len(w.text) > w.most:
		return &FormatError{Problem: errAliases.Error()}
	}
	return bounded(int64(len(w.text)-start), what, nowhere)
}

func (w *writer) key(key string) {
	if plainKey(key) {
		w.text = append(w.text, key...)
	} else {
		w.quoteKey(key)
	}
	w.text = append(w.text, ": "...)
}

func (w *writer) quoteKey(key string) {
	start := len(w.text)
	w.text = yaml.AppendQuoted(w.text, key, bare)
	w.long = w.long || len(w.text)-start > longestKey
}

// plainKey reports whether every YAML parser reads a key as a word.
func plainKey(s string) bool {
	if len(s) < 3 || len(s) > 40 || s[0] <= '9' ||
		strings.IndexFunc(s, func(r rune) bool { return r >= 0x80 || !yaml.IsWordByte(byte(r)) }) >= 0 {
		return false
	}
	_, odd, ok := yaml.PlainKey(s)
	return ok && !odd
}

// value writes the value at index i of the tape, on the same line.
func (w *writer) value(i int) {
	if len(w.text) > w.most {
		return // see bounded
	}
	tok := w.t[i]
	switch tok.kind {
	case list:
		w.text = append(w.text, '[')
		for v := i + 1; v < tok.end; v = w.t[v].end {
			w.comma(v > i+1)
			w.value(v)
		}
		w.text = append(w.text, ']')
	case table:
		w.text = append(w.text, '{')
		for k := i + 1; k < tok.end; k = w.t[k+1].end {
			w.comma(k > i+1)
			w.quoteKey(w.t[k].text)
			w.text = append(w.text, ": "...)
			w.value(k + 1)
		}
		w.text = append(w.text, '}')
	default:
		switch {
		case w.t.null(i):
			w.text = append(w.text, "null"...)
		case tok.plain && plainValue(tok.text):
			w.text = append(w.text, tok.text...)
		default:
			w.text = yaml.AppendQuoted(w.text, tok.text, bare)
		}
	}
}

func (w *writer) comma(more bool) {
	if more {
		w.text = append(w.text, ", "...)
	}
}

// plainValue reports whether an unquoted text, which may be a number or a word with a meaning
// in YAML, can be written unquoted. Other unquoted texts are strings.
func plainValue(s string) bool {
	for i := range len(s) {
		if !yaml.IsWordByte(s[i]) &&
			(strings.IndexByte("./+-", s[i]) < 0 || s[i] == '-' && i == 0 && (len(s) == 1 || s[1] < '0' || s[1] > '9')) {
			return false
		}
	}
	return s != ""
}

// bare reports whether [quickly] accepts a character unescaped.
func bare(r rune) bool { return r <= '~' || r >= 0xa0 && yaml.Simple(string(r)) }
