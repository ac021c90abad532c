// SPDX-License-Identifier: Apache-2.0

package index

import (
	"bytes"
	"encoding/json"

	"github.com/moonhelm/moonhelm/internal/yaml"
)

// json writes an index that is a valid JSON object.
func (w *writer) json(text []byte) error {
	d := jsonReader{json.NewDecoder(bytes.NewReader(text))}
	d.UseNumber()
	d.next()
	return d.each(mostKeys, errKeys, func(key string) error {
		if key == "entries" {
			return w.jsonCharts(d)
		}
		w.t = w.t[:0]
		if err := d.value(&w.t, d.next(), 0); err != nil {
			return err
		}
		return w.field(key)
	})
}

func (w *writer) jsonCharts(d jsonReader) error {
	switch d.next() {
	case json.Delim('{'):
	case json.Delim('['):
		return &FormatError{Problem: "entries is a list, must be a table of charts"}
	case nil:
		return w.charts(func() error { return nil })
	default:
		return &FormatError{Problem: "entries is text, must be a table of charts"}
	}
	return w.charts(func() error {
		return d.each(mostCharts, errCharts, func(name string) error {
			switch tok := d.next(); tok {
			case json.Delim('['):
				return w.jsonChart(d, name)
			case json.Delim('{'):
				w.t = w.t[:0]
				if err := d.value(&w.t, tok, 0); err != nil {
					return err
				}
				return w.chart(name, table, true)
			default:
				return w.chart(name, scalar, tok != nil)
			}
		})
	})
}

func (w *writer) jsonChart(d jsonReader, name string) error {
	return w.entries(name, func(n int) (bool, error) {
		if !d.More() {
			d.next()
			return false, nil
		}
		return true, d.value(&w.t, d.next(), 0)
	})
}

// jsonReader reads JSON that is known to be valid.
type jsonReader struct{ *json.Decoder }

func (d jsonReader) next() json.Token {
	tok, _ := d.Token() // the JSON was validated before
	return tok
}

// each calls do for each key of an object whose opening brace was read, and reads its closing
// brace. do reads the values.
func (d jsonReader) each(most int, beyond error, do func(key string) error) error {
	seen := map[string]bool{}
	for d.More() {
		key, _ := d.next().(string)
		switch {
		case seen[key]:
			return &DuplicateError{Key: key}
		case len(seen) == most:
			return beyond
		}
		seen[key] = true
		if err := do(key); err != nil {
			return err
		}
	}
	d.next()
	return nil
}

// value appends the value that begins with tok to t.
func (d jsonReader) value(t *tape, tok json.Token, depth int) error {
	if depth > 10*yaml.MaxDepth {
		return &FormatError{Problem: "it has lists and tables too deep in each other"}
	}
	switch tok := tok.(type) {
	case json.Delim:
		k := list
		if tok == '{' {
			k = table
		}
		i := t.open(k, 0)
		for d.More() {
			if err := d.value(t, d.next(), depth+1); err != nil {
				return err
			}
		}
		d.next()
		t.close(i)
		if k == table {
			if k := t.duplicate(i); k >= 0 {
				return &DuplicateError{Key: (*t)[k].text}
			}
		}
	case string:
		t.scalar(tok, false, 0)
	case json.Number:
		t.scalar(tok.String(), true, 0)
	case bool:
		t.scalar(map[bool]string{true: "true", false: "false"}[tok], true, 0)
	default:
		t.scalar("null", true, 0)
	}
	return nil
}
