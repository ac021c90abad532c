// SPDX-License-Identifier: Apache-2.0

package modules

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/moonhelm/moonhelm/script/engine/bridge"
	"github.com/moonhelm/moonhelm/script/wire"
)

// maxIndent is the maximum indentation of json.encode.
const maxIndent = 16

func jsonFunctions() []function {
	return []function{
		fn("json.decode", "(text) → value", "Reads JSON. Numbers without a fraction and an exponent are integers; a key "+
			"that an object has twice is an error.", 1, takesText((*call).decodeJSON)),
		fn("json.encode", "(value[, indent]) → text", "Writes JSON, keys in sorted order, on one line or indented by so "+
			"many spaces a level.", 2, (*call).encodeJSON),
	}
}

func (c *call) decodeJSON(text string) error {
	v, err := c.readJSON(text)
	if err != nil {
		return c.fail("%w", err)
	}
	return c.giveData(v)
}

// readJSON returns the one value of a text.
func (c *call) readJSON(text string) (any, error) {
	c.spend(uint64(len(text)))
	c.borrow(3 * uint64(len(text)))
	if !utf8.ValidString(text) {
		return nil, errors.New("the text is not UTF-8")
	}
	d := jsonReader{call: c, text: text, Decoder: json.NewDecoder(strings.NewReader(text))}
	d.UseNumber()
	v, err := d.next(0)
	if err != nil {
		return nil, d.located(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, d.located(errors.New("something follows the value"))
	}
	return v, nil
}

type jsonReader struct {
	*call
	*json.Decoder
	text string
}

// located adds the line to an error.
func (d *jsonReader) located(err error) error {
	at := d.InputOffset()
	var syntax *json.SyntaxError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		at, err = int64(len(d.text)), errors.New("the text ends too early")
	case errors.As(err, &syntax):
		at = syntax.Offset
	}
	line := 1 + strings.Count(d.text[:min(at, int64(len(d.text)))], "\n")
	return fmt.Errorf("line %d: %w", line, err)
}

func (d *jsonReader) next(depth int) (any, error) {
	if depth > wire.MaxDepth {
		return nil, fmt.Errorf("nests deeper than %d levels", wire.MaxDepth)
	}
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	d.spend(20)
	switch token := token.(type) {
	case json.Delim:
		if token == '[' {
			return d.list(depth)
		}
		return d.object(depth)
	case json.Number:
		return number(string(token))
	}
	return token, nil
}

func (d *jsonReader) list(depth int) (any, error) {
	out := []any{}
	for d.More() {
		d.borrow(64)
		v, err := d.next(depth + 1)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	_, err := d.Token()
	return out, err
}

func (d *jsonReader) object(depth int) (any, error) {
	out := map[string]any{}
	for d.More() {
		d.borrow(160)
		token, err := d.Token()
		if err != nil {
			return nil, err
		}
		key, ok := token.(string)
		if !ok {
			return nil, fmt.Errorf("the key %v is not text", token)
		}
		if _, twice := out[key]; twice {
			return nil, fmt.Errorf("the key %q is there twice in one object", clip(key))
		}
		if out[key], err = d.next(depth + 1); err != nil {
			return nil, err
		}
	}
	_, err := d.Token()
	return out, err
}

// number returns a JSON number. One that is too large for an integer is a float, as in Lua.
func number(s string) (any, error) {
	if !strings.ContainsAny(s, ".eE") {
		if n, err := strconv.ParseInt(s, 10, 64); err == nil {
			return n, nil
		}
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsInf(f, 0) {
		return nil, fmt.Errorf("the number %s is too large", clip(s))
	}
	return f, nil
}

func (c *call) encodeJSON() error {
	indent, err := c.maybeInteger(1, 0)
	if err != nil {
		return err
	}
	if indent < 0 || indent > maxIndent {
		return c.wrong(1, "0 to %d spaces expected, got %d", maxIndent, indent)
	}
	v, err := c.data(0)
	if err != nil {
		return err
	}
	w := jsonWriter{writer: writer{call: c}, indent: int(indent)}
	return w.giveWritten(w.value(v, 0))
}

type jsonWriter struct {
	writer
	indent int
}

func (w *jsonWriter) value(v any, depth int) error {
	if w.literal(v) {
		return nil
	}
	switch v := v.(type) {
	case string:
		return w.quote(v)
	case []any:
		return w.list(v, depth)
	case map[string]any:
		return w.object(v, depth)
	}
	return nil
}

// line begins a new line if the output is indented.
func (w *jsonWriter) line(depth int) {
	if w.indent > 0 {
		w.put("\n")
		w.pad(w.indent * depth)
	}
}

func (w *jsonWriter) list(v []any, depth int) error {
	w.put("[")
	for i, e := range v {
		if i > 0 {
			w.put(",")
		}
		w.line(depth + 1)
		if err := w.value(e, depth+1); err != nil {
			return bridge.Below(int64(i+1), err)
		}
	}
	w.line(depth)
	w.put("]")
	return nil
}

func (w *jsonWriter) object(v map[string]any, depth int) error {
	w.put("{")
	for i, k := range w.keys(v) {
		if i > 0 {
			w.put(",")
		}
		w.line(depth + 1)
		if err := w.field(k, v[k], depth+1); err != nil {
			return bridge.Below(k, err)
		}
	}
	w.line(depth)
	w.put("}")
	return nil
}

func (w *jsonWriter) field(k string, v any, depth int) error {
	if err := w.quote(k); err != nil {
		return err
	}
	w.put(":")
	if w.indent > 0 {
		w.put(" ")
	}
	return w.value(v, depth)
}

// quote writes s as JSON has it; < > & stay as they are.
func (w *jsonWriter) quote(s string) error {
	if err := w.checkText(s); err != nil {
		return err
	}
	w.quoted(s, func(r rune) string {
		switch {
		case r == '\r':
			return `\r`
		case r < ' ':
			return fmt.Sprintf(`\u%04x`, r)
		}
		return ""
	})
	return nil
}
