// SPDX-License-Identifier: Apache-2.0

package jsonschema

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// types is a set of the types of JSON Schema.
type types uint8

// The order is that of messages: "want null or string".
const (
	typeNull types = 1 << iota
	typeBoolean
	typeNumber
	typeInteger
	typeString
	typeArray
	typeObject
)

var typeNames = []string{"null", "boolean", "number", "integer", "string", "array", "object"}

func typesOf(names []string) types {
	var t types
	for _, name := range names {
		if i := slices.Index(typeNames, name); i >= 0 {
			t |= 1 << i
		}
	}
	return t
}

func (t types) String() string {
	var names []string
	for i, name := range typeNames {
		if t&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, " or ")
}

// typeOf returns the type of a value. It does not distinguish integers from other numbers. It
// returns 0 for a value that JSON does not have.
func typeOf(v any) types {
	switch v := v.(type) {
	case nil:
		return typeNull
	case bool:
		return typeBoolean
	case string:
		return typeString
	case []any:
		return typeArray
	case map[string]any:
		return typeObject
	case float64:
		if math.IsInf(v, 0) || math.IsNaN(v) {
			return 0
		}
		return typeNumber
	case float32:
		return typeOf(float64(v))
	case json.Number, int, int8, int16, int32, int64, uint, uint8, uint16, uint32, uint64:
		return typeNumber
	}
	return 0
}

// number is an exact number of any size.
type number struct {
	small int64 // the value if rat is nil
	rat   *big.Rat
}

// safe is the limit up to which a float64 represents every integer.
const safe = 1 << 53

// numberOf converts a number. It uses the shortest decimal form of a float: 1.1 as a float64
// is exactly 1.1.
func numberOf(v any) (number, bool) {
	switch v := v.(type) {
	case int:
		return number{small: int64(v)}, true
	case int64:
		return number{small: v}, true
	case float64:
		if v == math.Trunc(v) && v < safe && v > -safe {
			return number{small: int64(v)}, true
		}
		return parseNumber(strconv.FormatFloat(v, 'g', -1, 64))
	case json.Number:
		if i, err := strconv.ParseInt(string(v), 10, 64); err == nil {
			return number{small: i}, true
		}
		return parseNumber(string(v))
	case float32:
		return parseNumber(strconv.FormatFloat(float64(v), 'g', -1, 32))
	case int8, int16, int32, uint, uint8, uint16, uint32, uint64:
		return parseNumber(fmt.Sprint(v))
	}
	return number{}, false
}

func parseNumber(text string) (number, bool) {
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return number{}, false
	}
	if r.IsInt() && r.Num().IsInt64() {
		return number{small: r.Num().Int64()}, true
	}
	return number{rat: r}, true
}

// exact returns the number as a fraction.
func (n number) exact() *big.Rat {
	if n.rat != nil {
		return n.rat
	}
	return new(big.Rat).SetInt64(n.small)
}

func (n number) whole() bool { return n.rat == nil || n.rat.IsInt() }

func (n number) compare(o number) int {
	if n.rat == nil && o.rat == nil {
		switch {
		case n.small < o.small:
			return -1
		case n.small > o.small:
			return 1
		}
		return 0
	}
	return n.exact().Cmp(o.exact())
}

// multipleOf reports whether n is a multiple of o, which must not be 0.
func (n number) multipleOf(o number) bool {
	if n.rat == nil && o.rat == nil {
		return n.small%o.small == 0
	}
	return new(big.Rat).Quo(n.exact(), o.exact()).IsInt()
}

// clamp returns an integer as an int, or the nearest int if it is out of range.
func (n number) clamp() int {
	switch {
	case n.rat == nil:
		return int(n.small)
	case n.rat.Sign() < 0:
		return math.MinInt
	case n.rat.IsInt():
		return math.MaxInt
	}
	f, _ := n.rat.Float64()
	return int(f)
}

// String returns the number in decimal notation.
func (n number) String() string {
	switch {
	case n.rat == nil:
		return strconv.FormatInt(n.small, 10)
	case n.rat.IsInt():
		return n.rat.Num().String()
	}
	f, _ := n.rat.Float64()
	return strconv.FormatFloat(f, 'g', -1, 64)
}

// equal reports whether a and b are the same JSON value. odd is a value that JSON does not
// have, if the comparison found one.
func equal(a, b any) (same bool, odd any) {
	ta, tb := typeOf(a), typeOf(b)
	switch {
	case ta == 0:
		return false, a
	case tb == 0:
		return false, b
	case ta != tb:
		return false, nil
	}
	switch a := a.(type) {
	case map[string]any:
		return equalObjects(a, b.(map[string]any))
	case []any:
		b := b.([]any)
		if len(a) != len(b) {
			return false, nil
		}
		for i := range a {
			if same, odd := equal(a[i], b[i]); !same {
				return false, odd
			}
		}
		return true, nil
	case nil, bool, string:
		return a == b, nil
	}
	x, okX := numberOf(a)
	y, okY := numberOf(b)
	return okX && okY && x.compare(y) == 0, nil
}

func equalObjects(a, b map[string]any) (same bool, odd any) {
	if len(a) != len(b) {
		return false, nil
	}
	for k, v := range a {
		w, ok := b[k]
		if !ok {
			return false, nil
		}
		if same, odd := equal(v, w); !same {
			return false, odd
		}
	}
	return true, nil
}

// fingerprint appends a text that is the same for equal values only.
func fingerprint(b []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, 'z')
	case bool:
		return strconv.AppendBool(b, v)
	case string:
		return strconv.AppendQuote(b, v)
	case []any:
		b = append(b, '[')
		for _, e := range v {
			b = append(fingerprint(b, e), ',')
		}
		return append(b, ']')
	case map[string]any:
		b = append(b, '{')
		for _, k := range slices.Sorted(maps.Keys(v)) {
			b = append(strconv.AppendQuote(b, k), ':')
			b = append(fingerprint(b, v[k]), ',')
		}
		return append(b, '}')
	}
	if n, ok := numberOf(v); ok {
		return append(b, n.exact().RatString()...)
	}
	return fmt.Appendf(b, "?%T", v)
}

// quote quotes a string for a message.
func quote(s string) string {
	q := strings.ReplaceAll(strings.ReplaceAll(strconv.Quote(s), `\"`, `"`), "'", `\'`)
	return "'" + q[1:len(q)-1] + "'"
}

func quoteAll(list []string) string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = quote(s)
	}
	return strings.Join(out, ", ")
}

// display formats a value for a message. It reports false for a list or an object.
func display(v any) (string, bool) {
	switch v := v.(type) {
	case []any, map[string]any:
		return "", false
	case string:
		return quote(v), true
	}
	return fmt.Sprint(v), true
}

// grouped returns n with a comma after every three digits.
func grouped(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
