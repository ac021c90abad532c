// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"math"
	"strconv"
	"strings"

	"github.com/moonhelm/moonhelm/internal/yaml"
)

// key is a key as the reader found it: what it is as text, and whether it can be
// one.
func (q *quick) key(s string, plain, ok bool) (string, bool) {
	q.odd = false
	if !plain || !ok {
		return s, ok
	}
	return q.plainKey(s)
}

// plainKey gives the text that s, without quotes, is as a key: s itself, which
// a whole number is too, or "true" and "false" for the words that mean them. It
// marks the latter as odd, since another key of the map may be the same text.
func (q *quick) plainKey(s string) (string, bool) {
	if v, known := word(s); known {
		b, isBool := v.(bool)
		q.odd = true
		return strconv.FormatBool(b), isBool
	}
	if _, number := decimal(s); number {
		q.odd = true
		return s, true
	}
	c := s[0]
	return s, isLetter(c) || c == '_' || c == '/' || c == '$' || textNumber(s)
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// textNumber reports that s begins with a digit and is not a number, nor a date,
// since it holds a letter that neither of them has, or two dots.
func textNumber(s string) bool {
	return s[0] >= '0' && s[0] <= '9' && (strings.ContainsAny(s, "ghijklmnpqrsuvwyGHIJKLMNPQRSUVWY") ||
		strings.Count(s, ".") > 1 && strings.Trim(s, "0123456789.") == "")
}

// word is the meaning of a word that stands for something else than itself.
func word(s string) (v any, known bool) {
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

// resolve gives the value that a scalar without quotes stands for.
func (q *quick) resolve(s string) any {
	if v, known := word(s); known {
		return v
	}
	c := s[0]
	if isLetter(c) || c == '/' || c == '_' || c == '$' || c == '(' || textNumber(s) {
		return s
	}
	if n, ok := decimal(s); ok {
		return q.whole(n)
	}
	var item []any // an item of a list, since s alone could be a document's marker
	if err := yaml.UnmarshalV2([]byte("- "+s), &item); err != nil || len(item) != 1 {
		return q.fail()
	}
	switch n := item[0].(type) {
	case string, bool, nil:
		return n
	case int:
		return q.whole(int64(n))
	case float64:
		if math.IsInf(n, 0) || math.IsNaN(n) { // not everybody takes these
			return q.fail()
		}
		if q.number != nil {
			return q.number(false, 0, n)
		}
		return n
	}
	return q.fail()
}

// notFinite reports whether s, without quotes, is a number that JSON does not have.
func notFinite(s string) bool {
	switch strings.TrimLeft(s, "+-") {
	case ".inf", ".Inf", ".INF", ".nan", ".NaN", ".NAN":
		return true
	}
	return false
}

func (q *quick) whole(n int64) any {
	if q.number != nil {
		return q.number(true, n, 0)
	}
	return n
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
