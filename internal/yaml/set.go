// SPDX-License-Identifier: Apache-2.0

package yaml

import (
	"errors"
	"fmt"
	"strings"
)

// SetText returns text with the value of a key of its map replaced by value, and everything
// else, comments too, as it was. The key is found in any case; if it is not there, it comes
// last. A value that is there already is left alone. value is quoted if quoted is set or the
// old one was; else it stands as it is. It is an error if the old one is not a scalar on one
// line. A new key may stand in the wrong place, such as behind the end that a text names: the
// caller reads the result.
func SetText(text, key, value string, quoted bool) (string, error) {
	top, _, _, err := outline(text)
	switch {
	case err != nil:
		return "", err
	case top == nil || top.shape != blockMap && top.shape != flowMap:
		return "", errors.New("is not a map")
	}
	var old *part
	for _, e := range top.entries {
		if strings.EqualFold(e.key, key) {
			old = e.value
		}
	}
	switch {
	case old == nil && top.shape == flowMap:
		return "", errors.New("is a flow map")
	case old == nil:
		return fmt.Sprintf("%s\n%*s%s: %s\n", strings.TrimRight(text, "\n"), top.column, "", key, quoteDouble(value)), nil
	}
	was := text[old.start:old.end]
	if old.shape != scalarShape || old.marked || was == "" || strings.IndexByte("|>*", old.quote) >= 0 ||
		strings.Contains(was, "\n") {
		return "", fmt.Errorf("%s is not a simple value", key)
	}
	if v, _ := Resolve(was); was == quoteDouble(value) || was == quoteSingle(value) || old.quote == 0 && v == value {
		return text, nil
	}
	if quoted || old.quote != 0 {
		value = quoteDouble(value)
	}
	return text[:old.start] + value + text[old.end:], nil
}
