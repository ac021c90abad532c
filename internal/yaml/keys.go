// SPDX-License-Identifier: Apache-2.0

package yaml

import (
	"cmp"
	"fmt"
	"strconv"
)

// TextKeys returns a copy of m, a map of go.yaml.in/yaml, whose keys are text, written as
// Helm writes numbers and booleans, and whose values are what plain returns for them. Of
// several keys with the same text ("1", 1 and 1.0) the same one always wins: text, else a
// boolean, else a whole number, else the smallest number. A key of any other type is a
// [*KeyError]. Other errors are those of plain.
func TextKeys(m map[any]any, plain func(key string, v any) (any, error)) (map[string]any, error) {
	won := make(map[string]any, len(m)) // the key that won, by its text
	for k := range m {
		s, ok := keyText(k)
		if !ok {
			return nil, &KeyError{Key: k}
		}
		if other, there := won[s]; !there || compareKeys(k, other) < 0 {
			won[s] = k
		}
	}
	out := make(map[string]any, len(won))
	for k, v := range m {
		s, _ := keyText(k)
		if compareKeys(k, won[s]) != 0 {
			continue
		}
		p, err := plain(s, v)
		if err != nil {
			return nil, err
		}
		// Two keys that are both .nan are told apart by their values alone.
		if other, twice := out[s]; twice && fmt.Sprint(other) < fmt.Sprint(p) {
			continue
		}
		out[s] = p
	}
	return out, nil
}

// A KeyError is returned for a map's key that JSON cannot hold.
type KeyError struct{ Key any }

func (e *KeyError) Error() string {
	return fmt.Sprintf("%v is not a valid key: want text, a boolean or a signed 64-bit number", e.Key)
}

// keyText returns the text of a key, false where it has none that JSON could hold.
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

// floatKey is a number as a key, in the precision that Helm writes keys with: one
// too large for it is infinite.
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

// compareKeys orders keys of the same text. Only not-a-number is equal to another
// key.
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
