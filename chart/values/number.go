// SPDX-License-Identifier: Apache-2.0

package values

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"strings"
)

// Templates see every number of a values file as a float64, as Helm has it, and
// scripts see what the author wrote. Where a float64 cannot serve both, a number
// is of one of the types below until [Rounded] makes it a float64. Both are
// written as that float64 wherever values are encoded.

// Long is a whole number that a float64 cannot hold: 9007199254740993.
type Long int64

// Real is a number that was written with a point or an exponent, although its
// value is whole: 1.0, 2e3.
type Real float64

// MarshalJSON writes the float64 that templates see.
func (n Long) MarshalJSON() ([]byte, error) { return json.Marshal(float64(n)) }

// MarshalJSON writes the float64 that templates see.
func (n Real) MarshalJSON() ([]byte, error) { return json.Marshal(float64(n)) }

// MarshalYAML gives the float64 that templates see.
func (n Long) MarshalYAML() (any, error) { return float64(n), nil }

// MarshalYAML gives the float64 that templates see.
func (n Real) MarshalYAML() (any, error) { return float64(n), nil }

// number is what becomes of a number of a values file.
func number(isWhole bool, whole int64, float float64) any {
	if isWhole {
		return wholeNumber(whole)
	}
	return floatNumber(float)
}

func wholeNumber(n int64) any {
	const exact = 1 << 53 // up to here a float64 holds every whole number
	if n > exact || n < -exact {
		// The largest int64 rounds to 2^63, which is none.
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

// jsonTable reads one JSON object, with its numbers as Parse has them.
func jsonTable(data []byte) (map[string]any, bool) {
	if !json.Valid(data) {
		return nil, false
	}
	v, ok := jsonValue(json.NewDecoder(bytes.NewReader(data)))
	table, isTable := v.(map[string]any)
	return table, ok && (isTable || v == nil)
}

// jsonValue reads one JSON value, with its numbers as Parse has them.
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

// Rounded turns every [Long] and [Real] into the float64 that templates see. It
// changes nothing in vals: the result shares with it what holds no such number,
// and is vals itself where there is none.
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

// rounded is v with its numbers rounded, and whether that changes it.
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

// traits are what a chart's defaults, or a user's values, hold somewhere.
type traits struct {
	null  bool // in a table
	exact bool // a Long or a Real
}

// look adds the traits of a table.
func (t *traits) look(table map[string]any) {
	for _, e := range table {
		if e == nil {
			t.null = true
		} else {
			t.lookAt(e)
		}
	}
}

func (t *traits) lookAt(v any) {
	switch v := v.(type) {
	case Long, Real:
		t.exact = true
	case map[string]any:
		t.look(v)
	case []any:
		null := t.null
		for _, e := range v {
			t.lookAt(e)
		}
		t.null = null // those in lists are values
	}
}
