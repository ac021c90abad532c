// SPDX-License-Identifier: Apache-2.0

package yaml

import (
	"math"
	"strconv"
	"strings"
)

// PlainKey returns the text of the key s without quotes: s itself, also for an integer, or
// "true" or "false" for a boolean. odd is set for a boolean, because another key of the map
// may have the same text. ok is false if only a complete parser can parse s.
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

// textNumber reports whether s begins with a digit and is certainly neither a number nor a
// date, because it has a letter that neither can have, or two dots.
func textNumber(s string) bool {
	return s[0] >= '0' && s[0] <= '9' && (strings.ContainsAny(s, "ghijklmnpqrsuvwyGHIJKLMNPQRSUVWY") ||
		strings.Count(s, ".") > 1 && strings.Trim(s, "0123456789.") == "")
}

// Word returns the value of a word that is null or a boolean in YAML 1.1.
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

// Resolve returns the value of the plain scalar s: nil, a bool, an int64, a finite float64 or
// a string. ok is false for other values, such as infinity, which JSON does not have.
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
		return n, !math.IsInf(n, 0) && !math.IsNaN(n)
	}
	return nil, false
}

// resolved returns the value of the plain scalar s from the complete parser, or nil if it is
// not a scalar.
func resolved(s string) any {
	var item []any // parse a list item, because s alone could be a document marker
	if err := UnmarshalV2([]byte("- "+s), &item); err != nil || len(item) != 1 {
		return nil
	}
	return item[0]
}

// notFinite reports whether the plain scalar s is infinite or not a number.
func notFinite(s string) bool {
	switch strings.TrimLeft(s, "+-") {
	case ".inf", ".Inf", ".INF", ".nan", ".NaN", ".NAN":
		return true
	}
	return false
}

// decimal parses a decimal integer without a plus sign, leading zeros and underscores.
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
