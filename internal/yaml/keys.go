// SPDX-License-Identifier: Apache-2.0

package yaml

import (
	"cmp"
	"fmt"
	"strconv"
)

// TextKeys returns a copy of m, a map of go.yaml.in/yaml, with its keys converted into strings
// as in Helm, and its values converted by plain. If several keys have the same text ("1", 1
// and 1.0), a string wins, otherwise a boolean, otherwise an integer, otherwise the smallest
// number. A key of any other type is a [*KeyError]. TextKeys returns errors of plain
// unchanged.
func TextKeys(m map[any]any, plain func(key string, v any) (any, error)) (map[string]any, error) {
	chosen := make(map[string]any, len(m)) // of the keys with one text, the one whose value counts
	for k := range m {
		s, ok := keyText(k)
		if !ok {
			return nil, &KeyError{Key: k}
		}
		if other, there := chosen[s]; !there || compareKeys(k, other) < 0 {
			chosen[s] = k
		}
	}
	out := make(map[string]any, len(chosen))
	for k, v := range m {
		s, _ := keyText(k)
		if compareKeys(k, chosen[s]) != 0 {
			continue
		}
		p, err := plain(s, v)
		if err != nil {
			return nil, err
		}
		// Two keys .nan differ only by their values.
		if other, twice := out[s]; twice && fmt.Sprint(other) < fmt.Sprint(p) {
			continue
		}
		out[s] = p
	}
	return out, nil
}

// A KeyError is returned for a map's key that is not valid in JSON.
type KeyError struct{ Key any }

func (e *KeyError) Error() string {
	return fmt.Sprintf("%v is not a valid key: want text, a boolean or a signed 64-bit number", e.Key)
}

// keyText returns the text of a key. It reports false for a key that is not valid in JSON.
func keyText(k any) (string, bool) {
	switch k := k.(type) {
	case string:
		return k, true
	case int:
		return strconv.Itoa(k), true
	case int64:
		return strconv.FormatInt(k, 10), true
	case bool:
		return strconv.FormatBool(k), true
	case float64:
		return floatKey(k), true
	}
	return "", false
}

// floatKey returns a number as a key, with the precision of Helm's keys. A number that is too
// large for it becomes infinite.
func floatKey(f float64) string {
	switch s := strconv.FormatFloat(f, 'g', -1, 32); s {
	case "+Inf":
		return ".inf"
	case "-Inf":
		return "-.inf"
	case "NaN":
		return ".nan"
	default:
		return s
	}
}

// compareKeys compares keys with the same text. Only not-a-numbers are equal.
func compareKeys(a, b any) int {
	rank := func(k any) int {
		switch k.(type) {
		case string:
			return 0
		case bool:
			return 1
		case float64:
			return 3
		}
		return 2
	}
	fa, _ := a.(float64)
	fb, _ := b.(float64)
	return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(fa, fb))
}
