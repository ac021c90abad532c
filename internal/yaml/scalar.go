// SPDX-License-Identifier: Apache-2.0

package yaml

import (
	"math"
	"strconv"
	"strings"
)

// PlainKey returns the text that a key is which stands as s without quotes: s itself,
// which a whole number is too, or "true" and "false" for the words that mean them. odd
// reports one of the latter, since another key of the map may be the same text. ok is
// false where it takes a full parser to tell.
func PlainKey(s string) (key string, odd, ok bool) {
	if v, known := Word(s); known {
		b, isBool := v.(bool)
		return strconv.FormatBool(b), true, isBool
	}
	if _, number := decimal(s); number {
		return s, true, true
	}
	c := s[0]
	return s, false, isLetter(c) || c == '_' || c == '/' || c == '$' || textNumber(s)
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// textNumber reports that s begins with a digit and is not a number, nor a date,
// since it holds a letter that neither of them has, or two dots.
func textNumber(s string) bool {
	return s[0] >= '0' && s[0] <= '9' && (strings.ContainsAny(s, "ghijklmnpqrsuvwyGHIJKLMNPQRSUVWY") ||
		strings.Count(s, ".") > 1 && strings.Trim(s, "0123456789.") == "")
}

// Word returns the meaning of a word that stands for something else than itself in YAML
// 1.1: nil or a boolean.
func Word(s string) (v any, known bool) {
	if len(s) > 5 {
		return nil, false
	}
	switch s {
	case "", "~", "null", "Null", "NULL":
		return nil, true
	case "y", "Y", "yes", "Yes", "YES", "on", "On", "ON", "true", "True", "TRUE":
		return true, true
	case "n", "N", "no", "No", "NO", "off", "Off", "OFF", "false", "False", "FALSE":
		return false, true
	}
	return nil, false
}

// Resolve returns the value that s stands for without quotes: nil, a bool, an int64, a
// finite float64 or a string. ok is false for what is none of them, or not the same to
// every reader of JSON, such as infinity.
func Resolve(s string) (v any, ok bool) {
	if v, known := Word(s); known {
		return v, true
	}
	c := s[0]
	if isLetter(c) || c == '/' || c == '_' || c == '$' || c == '(' || textNumber(s) {
		return s, true
	}
	if n, ok := decimal(s); ok {
		return n, true
	}
	switch n := resolved(s).(type) {
	case string, bool:
		return n, true
	case int:
		return int64(n), true
	case float64:
		return n, !math.IsInf(n, 0) && !math.IsNaN(n) // not everybody takes these
	}
	return nil, false
}

// resolved is what the full parser makes of s without quotes, nil where that is not a
// scalar or nothing.
func resolved(s string) any {
	var item []any // an item of a list, since s alone could be a document's marker
	if err := UnmarshalV2([]byte("- "+s), &item); err != nil || len(item) != 1 {
		return nil
	}
	return item[0]
}

// notFinite reports whether s, without quotes, is a number that JSON does not have.
func notFinite(s string) bool {
	switch strings.TrimLeft(s, "+-") {
	case ".inf", ".Inf", ".INF", ".nan", ".NaN", ".NAN":
		return true
	}
	return false
}

// decimal is a whole number without sign tricks, leading zeros or underscores.
func decimal(s string) (int64, bool) {
	digits := strings.TrimPrefix(s, "-")
	if digits == "" || len(digits) > 18 || digits[0] == '0' && len(s) > 1 {
		return 0, false
	}
	for i := range len(digits) {
		if digits[i] < '0' || digits[i] > '9' {
			return 0, false
		}
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}
