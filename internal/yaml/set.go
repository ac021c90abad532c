// SPDX-License-Identifier: Apache-2.0

package yaml

import (
	"errors"
	"fmt"
	"strings"
)

// SetText returns the text of a map with the value of key replaced by value, and everything
// else, including comments, unchanged. It ignores the case of key, and adds a missing key at
// the end. It quotes value if quoted is set or the old value was quoted, and otherwise writes
// it verbatim. SetText returns an error if the old value is not a scalar on one line.
//
// The caller must parse the result to check it, because a new key may be in the wrong place,
// such as after a document end marker.
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
