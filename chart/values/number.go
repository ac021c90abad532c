// SPDX-License-Identifier: Apache-2.0

package values

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"strings"
)

// In templates, as in Helm, every number of a values file is a float64, while scripts
// distinguish integers and floats. Numbers for which a float64 does not suffice have one
// of the types below until [Rounded] converts them. They are encoded like the float64.

// Long is an integer that a float64 cannot represent: 9007199254740993.
type Long int64

// Real is a number with a decimal point or an exponent that has an integer value: 1.0,
// 2e3.
type Real float64

// MarshalJSON encodes n as a float64.
func (n Long) MarshalJSON() ([]byte, error) { return json.Marshal(float64(n)) }

// MarshalJSON encodes n as a float64.
func (n Real) MarshalJSON() ([]byte, error) { return json.Marshal(float64(n)) }

// MarshalYAML returns n as a float64.
func (n Long) MarshalYAML() (any, error) { return float64(n), nil }

// MarshalYAML returns n as a float64.
func (n Real) MarshalYAML() (any, error) { return float64(n), nil }

// number returns a number of a values file as a float64, Long or Real.
func number(isWhole bool, whole int64, float float64) any {
	if isWhole {
		return wholeNumber(whole)
	}
	return floatNumber(float)
}

func wholeNumber(n int64) any {
	const exact = 1 << 53 // a float64 represents every integer up to here
	if n > exact || n < -exact {
		// The largest int64 rounds to 2^63, which is not an int64.
		if f := float64(n); f >= 1<<63 || int64(f) != n {
			return Long(n)
		}
	}
	return float64(n)
}

func floatNumber(n float64) any {
	if n == math.Trunc(n) {
		return Real(n)
	}
	return n
}

// jsonTable parses a JSON object, with the same types of numbers as Parse.
func jsonTable(data []byte) (map[string]any, bool) {
	if !json.Valid(data) {
		return nil, false
	}
	v, ok := jsonValue(json.NewDecoder(bytes.NewReader(data)))
	table, isTable := v.(map[string]any)
	return table, ok && (isTable || v == nil)
}

// jsonValue decodes a JSON value, with the same types of numbers as Parse.
func jsonValue(dec *json.Decoder) (any, bool) {
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return nil, false
	}
	return jsonNumbers(v)
}

func jsonNumbers(v any) (any, bool) {
	switch v := v.(type) {
	case json.Number:
		if !strings.ContainsAny(v.String(), ".eE") && v != "-0" {
			if n, err := v.Int64(); err == nil {
				return wholeNumber(n), true
			}
			f, err := v.Float64()
			return f, err == nil
		}
		f, err := v.Float64()
		if v == "-0" {
			return f, err == nil
		}
		return floatNumber(f), err == nil
	case map[string]any:
		for k, e := range v {
			n, ok := jsonNumbers(e)
			if !ok {
				return nil, false
			}
			v[k] = n
		}
	case []any:
		for i, e := range v {
			n, ok := jsonNumbers(e)
			if !ok {
				return nil, false
			}
			v[i] = n
		}
	}
	return v, true
}

// Rounded returns vals with every [Long] and [Real] converted to a float64. It does not
// modify vals. The result shares tables and lists without such numbers with vals, and is
// vals itself if there are none.
func Rounded(vals map[string]any) map[string]any {
	out, _ := roundedTable(vals)
	return out
}

func roundedTable(table map[string]any) (map[string]any, bool) {
	out := table
	for k, v := range table {
		n, changed := rounded(v)
		if !changed {
			continue
		}
		if same(out, table) {
			out = maps.Clone(table)
		}
		out[k] = n
	}
	return out, !same(out, table)
}

// rounded returns v with its numbers rounded, and reports whether it differs from v.
func rounded(v any) (any, bool) {
	switch v := v.(type) {
	case Long:
		return float64(v), true
	case Real:
		return float64(v), true
	case map[string]any:
		return roundedTable(v)
	case []any:
		var out []any
		for i, e := range v {
			n, changed := rounded(e)
			if !changed {
				continue
			}
			if out == nil {
				out = append(out, v...)
			}
			out[i] = n
		}
		if out != nil {
			return out, true
		}
	}
	return v, false
}

// traits describe the content of a chart's defaults or a user's values.
type traits struct {
	null  bool // has a null in a table
	exact bool // has a Long or a Real
}

// addTable adds the traits of a table.
func (t *traits) addTable(table map[string]any) {
	for _, e := range table {
		if e == nil {
			t.null = true
		} else {
			t.addValue(e)
		}
	}
}

func (t *traits) addValue(v any) {
	switch v := v.(type) {
	case Long, Real:
		t.exact = true
	case map[string]any:
		t.addTable(v)
	case []any:
		null := t.null
		for _, e := range v {
			t.addValue(e)
		}
		t.null = null // nulls in lists do not delete defaults
	}
}
